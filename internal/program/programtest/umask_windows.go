package programtest

// UsualUmask does nothing where there is no umask.
func UsualUmask() {}
