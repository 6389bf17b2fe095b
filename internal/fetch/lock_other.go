//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package fetch

// lockFolder is of no use where folders cannot be locked.
func lockFolder(string) (unlock func(), err error) { return func() {}, nil }
