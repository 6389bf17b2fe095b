package scripts

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tombolo-iac/tombolo/internal/cli"
)

// nobody is the user that the command unforked becomes if it starts as root, for whom process limits do not apply.
const nobody = 65534

// threads is the number of threads that unforked creates in advance: while they are idle, the runtime starts no more.
const threads = 64

// unprivileged runs the command line as a user without special rights.
func unprivileged() {
	becomeNobody()
	os.Exit(cli.Main())
}

// becomeNobody makes the user nobody the owner of the script's folder and drops root privileges.
func becomeNobody() {
	if os.Geteuid() != 0 {
		return
	}
	give(os.Getenv("WORK"))
	if err := errors.Join(unix.Setgroups(nil), unix.Setgid(nobody), unix.Setuid(nobody)); err != nil {
		panic(err)
	}
}

// unforked runs the command line as a user who cannot start more processes.
func unforked() {
	becomeNobody()
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		panic(err)
	}
	var reading sync.WaitGroup
	for range threads {
		reading.Go(func() { _, _ = syscall.Read(pipe[0], make([]byte, 1)) })
	}
	for alive() < threads {
		time.Sleep(time.Millisecond)
	}
	unix.Close(pipe[1])
	reading.Wait()
	time.Sleep(100 * time.Millisecond) // the runtime marks a thread idle a little after its goroutine has ended
	if err := unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: 1, Max: 1}); err != nil {
		panic(err)
	}
	os.Exit(cli.Main())
}

// alive returns the number of threads of this process.
func alive() int {
	all, err := os.ReadDir("/proc/self/task")
	if err != nil {
		panic(err)
	}
	return len(all)
}

// give makes that user the owner of a folder, and makes the path to it accessible.
func give(dir string) {
	err := filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(name, nobody, nobody)
	})
	for up := filepath.Dir(dir); err == nil && up != filepath.Dir(up) && up != os.TempDir(); up = filepath.Dir(up) {
		var info fs.FileInfo
		if info, err = os.Stat(up); err == nil && info.Mode()&0o001 == 0 {
			err = os.Chmod(up, info.Mode().Perm()|0o011)
		}
	}
	if err != nil {
		panic(err)
	}
}

func init() { commands["unforked"], commands["unprivileged"] = unforked, unprivileged }
