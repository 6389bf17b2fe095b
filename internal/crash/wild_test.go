//go:build unix

package crash

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/program/programtest"
)

// underWildClock makes the clock of a command jump forwards and backwards while it runs, by seconds and by decades.
func underWildClock(t testing.TB, cmd *exec.Cmd, seed uint64) {
	t.Helper()
	env, err := programtest.WildClock(seed)
	if err != nil {
		t.Skip("needs a clock that can be set: ", err)
	}
	cmd.Env = append(cmd.Env, env...)
}

// trace skips a test if processes cannot be controlled, and otherwise checks that the clock jumps.
func trace(t *testing.T) {
	t.Helper()
	r := newTestProject(t, `output "now" { value = timestamp() }`)
	cmd := programtest.Bounded(t, os.Args[0], "apply", "-auto-approve", "-no-color")
	cmd.Dir = r.job.Dir
	cmd.Env = programtest.Environ(roleCLI + "=1")
	underWildClock(t, cmd, 7)
	out, err := cmd.CombinedOutput()
	switch {
	case cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == programtest.WildImpossible:
		t.Skipf("needs a system on which a test can control its processes: %s", out)
	case err != nil:
		t.Fatalf("%s\n%s", err, out)
	case strings.Contains(string(out), time.Now().UTC().Format(`now = "2006-01-02T`)):
		t.Errorf("the clock shows the real time:\n%s", out)
	}
}

// TestAnyConfigurationConvergesUnderWildClocks is TestAnyConfigurationConverges while the clock is set continually: no
// state, lock, wait or order depends on it.
func TestAnyConfigurationConvergesUnderWildClocks(t *testing.T) {
	trace(t)
	rounds := 3
	if full {
		rounds = 60
	}
	for n := range rounds {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(uint64(seed), uint64(n)+1000))
			convergeBy(t, random, func(r *testProject) (problems []string) {
				cmd := r.job.command()
				underWildClock(t, cmd, random.Uint64())
				var output bytes.Buffer
				cmd.Stdout, cmd.Stderr = &output, &output
				err := cmd.Run()
				var exit *exec.ExitError
				if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
					t.Fatalf("%v\n%s", err, &output)
				}
				for line := range strings.Lines(output.String()) {
					if strings.HasPrefix(line, "error: ") || strings.HasPrefix(line, "warning: ") {
						problems = append(problems, strings.TrimSpace(line))
					}
				}
				if err != nil && len(problems) == 0 {
					problems = append(problems, output.String())
				}
				return problems
			})
		})
	}
}

// TestKilledUnderWildClocks kills applies whose clock jumps, and recovers them with runs whose clock jumps as well.
func TestKilledUnderWildClocks(t *testing.T) {
	trace(t)
	kills := 4
	if full {
		kills = 60
	}
	first, _ := crowd(true, "0s")
	second, expected := crowd(false, "20ms")
	quick, _ := crowd(false, "0s")
	some := newTestProject(t, first)
	some.noErrors(some.job.do(t.Context(), nil))
	some.configure(second)
	trial := some.copyTo(t)
	cmd := trial.job.command()
	underWildClock(t, cmd, uint64(seed))
	begun := time.Now()
	killed(t, cmd)
	length := time.Since(begun)
	random := rand.New(rand.NewPCG(uint64(seed), 4))
	for i := range kills {
		moment, seed := time.Duration(random.Float64()*float64(length)), random.Uint64()
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			r := some.copyTo(t)
			j := r.job
			cmd := j.command()
			underWildClock(t, cmd, seed)
			killedAfter(t, cmd, moment)
			r.configure(quick)
			j.RecoverOnly = true
			cmd = j.command()
			underWildClock(t, cmd, seed+1)
			killed(t, cmd)
			r.aftermath(expected)
		})
	}
}
