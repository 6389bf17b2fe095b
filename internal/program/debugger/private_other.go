//go:build !unix

package debugger

import "io/fs"

// private reports whether only this user can connect to a socket. There are no such sockets here.
func private(fs.FileInfo) bool { return false }
