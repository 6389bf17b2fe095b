package programtest

// UsualHangup does nothing where there are no hangups.
func UsualHangup() {}
