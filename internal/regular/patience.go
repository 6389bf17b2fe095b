package regular

import (
	"errors"
	"os"
	"time"
)

// Patient calls open again while it says that the file is leased to somebody else. Whoever opens without waiting is
// told so where another would wait: the lease of a local program, or of a client of a file server, is being called
// back, which takes some milliseconds, and as long as the system lets a holder keep it at most.
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
