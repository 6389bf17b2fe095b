package programtest

// UsualHangup does nothing: Windows has no hangups.
func UsualHangup() {}
