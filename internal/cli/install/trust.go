package install

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/backend"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/replace"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/state"
)

// trust asks for approval of the programs that a backend runs because this directory names them, and of the user's
// tokens that it sends to services which the directory names. A directory may have been cloned from a stranger, and
// init is the first command that users run in it. Programs and services from the command line are approved, and so are
// those that this user has approved here before. Without interactive input, init continues without them, unless states
// must be copied. Variables that are meant for any service that a block names are sent then: pipelines are set up in
// that way, as for Terraform.
func (s *backendSetup) trust(ctx context.Context, c *command.Call, b, recorded *backend.Backend) (warnings,
	diags diag.List) {
	same := recorded != nil && b.SamePlace(recorded)
	copies := s.migrate && !s.force && !s.reconfigure && !same // from the recorded location
	named := s.unapproved(c, b, recorded, copies)
	if len(named.lines) == 0 {
		return nil, nil
	}
	lines, title := strings.Join(named.lines, "\n  "), runsNamed
	what := "runs a program that its files name"
	switch {
	case named.sends && named.runs:
		what = "runs programs and sends tokens that its files name"
	case named.sends:
		what = "sends a token to a service that its files name"
		title = "send a token to a service that this directory names"
	}
	why := "To reach the states of this directory, this command " + what + ":"
	if s.permitted(ctx, c, title, why, named.lines) {
		return nil, nil
	}
	left, err := false, error(nil)
	if !same {
		left, err = s.leaves(ctx, c, recorded)
	}
	names := strings.Join(slices.Sorted(maps.Keys(named.arguments)), ", ")
	switch {
	case err != nil:
		return nil, diag.FromError("Failed to load state", err)
	case left && !s.reconfigure:
		return nil, diags.Errorf(nil, "Program of the backend was not run",
			"%s\n  %s\n\nIt is needed now, because there are states to copy. Nothing was changed. If you trust "+
				"this directory, approve the program when init asks, or set it with -backend-config%s.",
			why, lines, inBrackets(names))
	}
	s.distrusted = true
	return warnings.Warnf(nil, "Program of the backend was not run",
		"%s\n  %s\n\nIt was not run, and init has not read the states. If you trust this directory, continue: "+
			"commands that need a state run the program. To approve it in advance, set it with -backend-config%s.",
		why, lines, inBrackets(names)), nil
}

// named is a program or service that a directory names, without approval.
type named struct {
	lines       []string
	arguments   map[string]bool // of the block
	runs, sends bool
}

// unapproved returns the programs and services that a backend uses without approval, including those of the recorded
// backend if states are copied from there.
func (s *backendSetup) unapproved(c *command.Call, b, recorded *backend.Backend, copies bool) named {
	around := remote.Surroundings{Getenv: c.Getenv, Dir: c.Surroundings.In(".")}
	here, n := consent(around.Dir), named{arguments: map[string]bool{}}
	add := func(p remote.Program) {
		n.lines = append(n.lines, p.Line)
		n.runs, n.sends = n.runs || !p.Token, n.sends || p.Token
	}
	nobody := !s.input || !c.InputAllowed() || c.JSON || c.In.Terminal() == nil
	usual := func(p remote.Program) bool { return p.Usual && nobody || here.given(p.Line) }
	for _, p := range slices.DeleteFunc(b.Programs(around), usual) {
		if slices.Contains(s.named(), p.Argument) {
			here.give(p.Line)
			continue
		}
		n.arguments[p.Argument] = true
		add(p)
	}
	if copies {
		for _, p := range slices.DeleteFunc(recorded.Programs(around), usual) {
			add(p)
		}
	}
	slices.Sort(n.lines)
	n.lines = slices.Compact(n.lines)
	return n
}

func inBrackets(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

// runsNamed completes the question.
const runsNamed = "run a program that this directory names"

// permitted asks whether programs may run, and records an approval.
func (s *backendSetup) permitted(ctx context.Context, c *command.Call, title, why string, lines []string) bool {
	if !s.input || !c.InputAllowed() || c.JSON {
		return false
	}
	text := why + "\n\n" + strings.Join(lines, "\n") + "\n\nEnter \"yes\" to allow it now."
	answer, err := c.Ask(ctx, "Do you want to "+title+"?", text, false)
	if err != nil || answer != "yes" {
		return false
	}
	for _, line := range lines {
		consent(c.Surroundings.In(".")).give(line)
	}
	return true
}

// errNotAgreed is the reason why a program of the encryption settings does not run.
var errNotAgreed = errors.New("a file of this directory names the program, and nobody has approved it")

// approver returns a function that decides about programs of this directory's encryption block, asking at most once for
// each.
func (s *backendSetup) approver(ctx context.Context, c *command.Call) func(line string) error {
	refused := map[string]bool{}
	return func(line string) error {
		const why = "To read the encrypted states of this directory, this command runs a program, or sends a token " +
			"to a service, that its files name:"
		if s.force || consent(c.Surroundings.In(".")).given(line) {
			return nil
		}
		if !refused[line] && s.permitted(ctx, c, runsNamed, why, []string{line}) {
			return nil
		}
		if !refused[line] {
			refused[line], s.refused = true, append(s.refused, line)
		}
		return errNotAgreed
	}
}

// hooks returns the hooks of this directory on init, of which only approved ones run.
func (i *initCommand) hooks(ctx context.Context, c *command.Call) (engine.InitHooks, diag.List) {
	here := consent(c.Surroundings.In("."))
	return c.HooksOfInit(func(lines []string) bool {
		lines = slices.DeleteFunc(slices.Clone(lines), here.given)
		return len(lines) == 0 || i.setup.permitted(ctx, c, runsNamed,
			"The project file of this directory names programs that run on init:", lines)
	}, func(name, line string) { tell(c, "hook "+name+": "+line) })
}

// unread returns a warning about states that cannot be decrypted because a program was not run, if there are any.
func (s *backendSetup) unread() (diags diag.List) {
	if len(s.refused) == 0 {
		return nil
	}
	return diags.Warnf(nil, "Program of the encryption was not run",
		"The states of this directory are encrypted, and the encryption block runs a program or sends a token to get "+
			"the key:\n  %s\n\nIt was not run, and init has not read the states: providers that only they need are "+
			"not installed. If you trust this directory, continue: commands that need a state run the program.",
		strings.Join(s.refused, "\n  "))
}

// consent is a folder of records of programs that the user has approved for a working directory. It is among the user's
// own files, because the working directory is not trusted.
type consent string

// file returns the name of the file that records the consent to a command, or "" if there is no place for it.
func (dir consent) file(line string) string {
	base, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	if _, err := os.Stat(filepath.Dir(base)); err != nil {
		return "" // the user has no home directory
	}
	here, err := filepath.Abs(string(dir))
	if err == nil {
		here, err = filepath.EvalSymlinks(here)
	}
	if err != nil {
		return ""
	}
	return filepath.Join(base, "tombolo", "agreed", fmt.Sprintf("%x", sha256.Sum256([]byte(here+"\x00"+line))))
}

func (dir consent) given(line string) bool {
	name := dir.file(line)
	if name == "" {
		return false
	}
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// give records that a program may run here. If the record cannot be stored, init asks again.
func (dir consent) give(line string) {
	name := dir.file(line)
	if name == "" || command.MakeDir(filepath.Dir(name)) != nil {
		return
	}
	_ = replace.Exact(name, 0o600, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, "A program that a working directory names may run.")
		return err
	})
}

// leaves reports whether the former location has states.
func (s *backendSetup) leaves(ctx context.Context, c *command.Call, recorded *backend.Backend) (bool, error) {
	if recorded != nil {
		return true, nil
	}
	st, diags := c.Store(ctx, nil, recorded.Options().Store())
	if diags.HasErrors() {
		return false, diags.Err()
	}
	names, err := st.Workspaces(ctx)
	for _, name := range names {
		ws, wsErr := st.Workspace(name)
		if err = errors.Join(err, wsErr); err != nil {
			break
		}
		var snapshot *state.Snapshot
		if snapshot, err = ws.Read(ctx); err != nil {
			break
		}
		if !isEmpty(snapshot.State) || leftOpen(snapshot) {
			return true, nil
		}
	}
	return false, err
}

// named returns the arguments that the command line sets individually.
func (s *backendSetup) named() (names []string) {
	for _, text := range s.settings {
		if name, _, ok := strings.Cut(text, "="); ok {
			names = append(names, name)
		}
	}
	return names
}
