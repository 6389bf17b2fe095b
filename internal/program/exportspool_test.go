//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package program

// MakeRoom creates the files of a call.
func MakeRoom(call Spool) error {
	s := &spooled{limits: Command{Spool: call}}
	defer s.close()
	return s.makeRoom()
}
