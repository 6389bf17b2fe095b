package programtest

// UsualUmask does nothing: Windows has no umask.
func UsualUmask() {}
