package replace

import (
	"os"
	"path/filepath"
	"testing"
)

// TestWithinDuringConcurrentChanges calls Within while another process creates and removes the folders in the path.
func TestWithinDuringConcurrentChanges(t *testing.T) {
	base := t.TempDir()
	deep := filepath.Join(base, "a", "b", "c")
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-stop:
				return
			default:
				_ = os.MkdirAll(deep, 0o777)
				_ = os.RemoveAll(filepath.Join(base, "a"))
			}
		}
	}()
	for range 3000 {
		if _, err := Within(base, filepath.Join(deep, "d")); err != nil {
			t.Error(err)
			break
		}
	}
	close(stop)
	<-ended
}
