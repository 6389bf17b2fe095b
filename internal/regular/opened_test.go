package regular

import (
	"os"
	"testing"
)

// What was put in the place of a file after it was looked at is found out when it is open.
func TestTheOpenFileIsCheckedToo(t *testing.T) {
	f, err := judged(os.Open(t.TempDir()))
	if err == nil {
		f.Close()
		t.Fatal("a folder was taken for a file")
	}
}
