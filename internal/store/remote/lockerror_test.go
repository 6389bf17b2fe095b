package remote

import (
	"errors"
	"fmt"
	"testing"
)

type named string

func (n named) String() string { return string(n) }

func TestErrorsOfLocksNameThemOnce(t *testing.T) {
	for given, want := range map[string]string{
		"dial tcp":                    "lock http://x/s: dial tcp",
		"lock http://x/s/l: dial tcp": "lock http://x/s/l: dial tcp",
	} {
		cause := errors.New("refused")
		err := aboutLock(named("http://x/s"), fmt.Errorf("%s: %w", given, cause))
		if err.Error() != want+": refused" || !errors.Is(err, cause) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
