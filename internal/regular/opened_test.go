package regular

import (
	"os"
	"testing"
)

// A file that was replaced after it was checked is checked again when it is open.
func TestTheOpenFileIsCheckedToo(t *testing.T) {
	f, err := judged(os.Open(t.TempDir()))
	if err == nil {
		f.Close()
		t.Fatal("a folder was taken for a file")
	}
}
