//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package fetch

import "context"

// lockFolder does nothing: folders cannot be locked on this system.
func lockFolder(context.Context, string, func()) (unlock func(), err error) {
	return func() {}, nil
}
