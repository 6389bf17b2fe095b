package store_test

import (
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// A state and the files beside it may be leased to a client of a file server. The store waits until the lease is
// broken.
func TestLocksWaitForLeases(t *testing.T) {
	dir := t.TempDir()
	ws := openDefault(t, dir)
	seedOn(t, ws, put("t.a", "1"))
	f, err := os.OpenFile(filepath.Join(dir, "terraform.tfstate"), os.O_RDWR, 0)
	must(t, err)
	defer f.Close()
	wanted := make(chan os.Signal, 1)
	signal.Notify(wanted, syscall.SIGIO)
	defer signal.Stop(wanted)
	for _, kind := range []int{unix.F_WRLCK, unix.F_RDLCK} {
		name, flag := filepath.Join(dir, "terraform.tfstate"), os.O_RDWR
		if kind == unix.F_RDLCK {
			flag = os.O_RDONLY
		}
		must(t, f.Close())
		f, err = os.OpenFile(name, flag, 0)
		must(t, err)
		if _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, kind); err != nil {
			t.Skipf("needs leases of files: %s", err)
		}
		stop, ended := make(chan struct{}), make(chan bool)
		go func() {
			select {
			case <-wanted:
				_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
				ended <- err == nil
			case <-stop:
				ended <- false
			}
		}()
		if kind == unix.F_WRLCK {
			_, err := ws.Read(ctx)
			must(t, err)
		} else {
			must(t, lockOn(t, ws).Unlock())
		}
		close(stop)
		if !<-ended {
			t.Errorf("the lease of kind %d was not called back", kind)
		}
	}
}
