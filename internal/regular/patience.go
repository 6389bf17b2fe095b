package regular

import (
	"errors"
	"os"
	"time"
)

// Patient calls open again while the file is leased to another program. Opening without blocking fails while the lease
// of a local program, or of a client of a file server, is being broken. That takes some milliseconds, and at most as
// long as the system lets a holder keep the lease.
func Patient(open func() (*os.File, error)) (*os.File, error) {
	f, err := open()
	if err == nil || !errors.Is(err, leased) {
		return f, err
	}
	end := time.Now().Add(leaseBreak())
	for pause := time.Millisecond; errors.Is(err, leased) && time.Now().Before(end); pause = min(2*pause,
		100*time.Millisecond) {
		time.Sleep(pause)
		f, err = open()
	}
	return f, err
}
