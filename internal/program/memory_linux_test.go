package program_test

import (
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/program"
	"github.com/tombolo-iac/tombolo/internal/program/programtest"
)

func TestMemoryOfProgramsIsLimited(t *testing.T) {
	const limit = 1 << 30
	for grow, enough := range map[string]bool{"1048576": true, "2147483648": false} {
		// It reads its input before it allocates memory, and gets the input after the limit is set.
		res, err := run(t, program.Command{Argv: programtest.Argv("grow", grow), MaxMemory: limit, Stdin: []byte("go")})
		if err != nil {
			t.Fatal(err)
		}
		if got := res.ExitCode == 0; got != enough {
			t.Errorf("%s bytes with %d at most: %s, stderr %q", grow, limit, res.State,
				strings.SplitN(string(res.Stderr), "\n", 2)[0])
		}
	}
}
