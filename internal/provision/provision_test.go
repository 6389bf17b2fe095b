//go:build unix

package provision_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/program"
	"github.com/tombolo-iac/tombolo/internal/program/programtest"
	"github.com/tombolo-iac/tombolo/internal/provision"
)

// block returns the configuration of a local-exec block.
func block(vals map[string]cty.Value) cty.Value {
	all := map[string]cty.Value{}
	for name, a := range provision.Schema("local-exec").Attributes {
		all[name] = cty.NullVal(a.Type)
	}
	for name, v := range vals {
		all[name] = v
	}
	return cty.ObjectVal(all)
}

func command(text string) cty.Value {
	return block(map[string]cty.Value{"command": cty.StringVal(text)})
}

func run(ctx context.Context, req provision.Request) (lines []string, err error) {
	req.Output = func(line string) { lines = append(lines, line) }
	err = provision.Run(ctx, "local-exec", req)
	return lines, err
}

func TestLinesOfBothStreamsKeepTheirOrder(t *testing.T) {
	lines, err := run(t.Context(), provision.Request{
		Config: command("echo one; echo two >&2; echo; echo three; printf four")})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`Executing: ["/bin/sh" "-c" "echo one; echo two >&2; echo; echo three; printf four"]`, "one",
		"two", "three", "four"}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
}

func TestArgumentsReachTheProgram(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	lines, err := run(t.Context(), provision.Request{Dir: dir, Config: block(map[string]cty.Value{
		"command": cty.StringVal(`echo "$A-$B"; basename "$(pwd)"; echo $0`), "working_dir": cty.StringVal("sub"),
		"quiet":       cty.True,
		"environment": cty.MapVal(map[string]cty.Value{"A": cty.StringVal("1"), "B": cty.NullVal(cty.String)}),
		"interpreter": cty.ListVal([]cty.Value{cty.StringVal("/bin/sh"), cty.StringVal("-c")}),
	})})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"local-exec: Executing: Suppressed by quiet=true", "1-", "sub", "/bin/sh"},
		lines); diff != "" {
		t.Error(diff)
	}
}

func TestFailuresReportStatusAndOutput(t *testing.T) {
	_, err := run(t.Context(), provision.Request{Config: command("echo why; exit 7")})
	if err == nil || err.Error() != "Error running command 'echo why; exit 7': exit status 7. Output: why\n" {
		t.Errorf("got %v", err)
	}
}

func TestASecretBlockShowsNothing(t *testing.T) {
	lines, err := run(t.Context(), provision.Request{Config: command("echo hush; exit 7"),
		Instead: provision.Suppressed(true, false)})
	for _, line := range lines {
		if line != "(output suppressed due to sensitive value in config)" {
			t.Errorf("shown: %q", line)
		}
	}
	if err == nil || strings.Contains(err.Error(), "hush") {
		t.Errorf("got %v", err)
	}
	if len(lines) != 2 {
		t.Errorf("%d lines, want one for the command and one for its output", len(lines))
	}
}

func TestAnEmptyCommandIsAnArgumentError(t *testing.T) {
	_, err := run(t.Context(), provision.Request{Config: command("")})
	var wrong *provision.ArgumentError
	if !errors.As(err, &wrong) || wrong.Name != "command" {
		t.Errorf("got %v", err)
	}
}

// If a command leaves a program running in the background with its output open, the run waits for that
// program, as in Terraform.
func TestBackgroundProgramsAreWaitedFor(t *testing.T) {
	lines, err := run(t.Context(), provision.Request{Config: command("(sleep 0.4; echo late) & echo early")})
	if err != nil || len(lines) != 3 || lines[2] != "late" {
		t.Errorf("got %q, %v", lines, err)
	}
}

func TestAnEndedContextEndsTheWholeGroup(t *testing.T) {
	for name, text := range map[string]string{"in the foreground": "sleep 600 & echo $!; wait",
		"in the background": "sleep 600 & echo $!"} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			pid := 0
			started := time.Now()
			err := provision.Run(ctx, "local-exec", provision.Request{Config: command(text), Output: func(line string) {
				if n, err := strconv.Atoi(line); err == nil {
					pid = n
					cancel()
				}
			}})
			var stopped *program.StoppedError
			if !errors.As(err, &stopped) {
				t.Errorf("got %v", err)
			}
			if took := time.Since(started); took > time.Minute {
				t.Errorf("took %s", took)
			}
			if !programtest.Ends(pid) {
				t.Errorf("process %d is still there", pid)
			}
		})
	}
}
