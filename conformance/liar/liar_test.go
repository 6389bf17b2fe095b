//go:build unix

package liar

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tombolo-iac/tombolo/internal/program/programtest"
)

// lieCase is one lie in one scene.
type lieCase struct {
	scene    scene
	lie      string
	protocol int
	legacy   bool
}

func (c lieCase) name() string { return c.named(c.lie) }

// about returns the name under which reasons list a case. For a random lie it is the value that was sent.
func (c lieCase) about(v verdict) string {
	if v.Lie == "" {
		return c.name()
	}
	return c.named(v.Lie)
}

func (c lieCase) named(lie string) string {
	kind := "strict"
	if c.legacy {
		kind = "legacy"
	}
	return fmt.Sprintf("%s: %s (protocol %d, %s)", c.scene.name, lie, c.protocol, kind)
}

// all returns every case, in an order that distributes scenes and lies.
func all() (list []lieCase) {
	names := slices.Concat(slices.Collect(maps.Keys(lies)), slices.Collect(maps.Keys(rawLies)))
	for _, s := range scenes {
		kind := ""
		for _, f := range fields {
			if f.name == s.field {
				kind = f.kind
			}
		}
		for _, lie := range names {
			for _, protocol := range []int{5, 6} {
				for _, legacy := range []bool{false, true} {
					if legacy && (protocol == 6 || s.field != "plan" && s.field != "apply") {
						continue // the other responses cannot claim it, and no provider does over version 6
					}
					if fits(lie, kind, protocol) {
						list = append(list, lieCase{s, lie, protocol, legacy})
					}
				}
			}
		}
	}
	order := func(c lieCase) uint64 {
		h := fnv.New64a()
		h.Write([]byte(c.name()))
		return h.Sum64()
	}
	slices.SortFunc(list, func(a, b lieCase) int { return cmp.Compare(order(a), order(b)) })
	return list
}

// verdict returns the stored verdict of terraform. Those that are the same over both versions of the protocol are
// stored once.
func (c lieCase) verdict(stored map[string]verdict) (verdict, bool) {
	v, known := stored[c.name()]
	if _, raw := rawLies[c.lie]; known || c.protocol == 6 || c.legacy || raw || strings.Contains(c.lie, "write-only") {
		return v, known
	}
	c.protocol = 6
	v, known = stored[c.name()]
	return v.flat(), known
}

// nestedAttribute matches the attribute that objects only have over version 6.
var nestedAttribute = regexp.MustCompile(`"nest":\[[^]]*\],`)

// flat returns the verdict on an object without nested attributes.
func (v verdict) flat() verdict {
	v.State = slices.Clone(v.State)
	for i := range v.State {
		v.State[i] = nestedAttribute.ReplaceAllString(v.State[i], "")
	}
	return v
}

// A verdict is the result of a lie. The titles of errors are for readers of the table; they are not compared.
type verdict struct {
	Exit   int      `json:"exit"`
	Errors []string `json:"errors,omitempty"` // their titles, sorted
	State  []string `json:"state,omitempty"`  // its content afterwards
	Lie    string   `json:"told,omitempty"`   // the place of a random lie, and the value there
}

// A stage is a directory in which the steps before the lie have run: cases that differ only in their lie share one.
type stage struct {
	once sync.Once
	dir  string // copied for each lie
	home string
	err  error
}

// stages holds a stage for each scene, version of the protocol, type system and program.
type stages struct {
	root string
	mu   sync.Mutex // guards of
	of   map[string]*stage
}

// prepare returns the stage of a case and builds it if this is its first case.
func (s *stages) prepare(ctx context.Context, c lieCase, bin string) (*stage, error) {
	key := fmt.Sprint(c.scene.name, c.protocol, c.legacy, bin)
	s.mu.Lock()
	if s.of[key] == nil {
		s.of[key] = &stage{}
	}
	st := s.of[key]
	s.mu.Unlock()
	st.once.Do(func() { st.err = st.build(ctx, s.root, c, bin) })
	return st, st.err
}

// build creates the folders, installs the plugin and runs the steps before the lie.
func (st *stage) build(ctx context.Context, root string, c lieCase, bin string) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	if root, err = os.MkdirTemp(root, "stage"); err != nil {
		return err
	}
	st.dir, st.home = filepath.Join(root, "dir"), filepath.Join(root, "home")
	plugin := pluginPrefix + strings.TrimPrefix(c.provider(), "liar") + "_v1.0.0"
	if err := errors.Join(os.Mkdir(st.dir, 0o777), os.Mkdir(st.home, 0o777),
		os.WriteFile(filepath.Join(st.home, "empty.tfrc"), nil, 0o666)); err != nil {
		return err
	}
	for _, host := range []string{"registry.terraform.io", "registry.opentofu.org"} {
		at := filepath.Join(st.home, ".terraform.d", "plugins", host, "tombolo", c.provider(), "1.0.0",
			runtime.GOOS+"_"+runtime.GOARCH)
		if err := errors.Join(os.MkdirAll(at, 0o777), os.Symlink(exe, filepath.Join(at, plugin))); err != nil {
			return err
		}
	}
	first := c.scene.lying.config
	if len(c.scene.before) > 0 {
		first = c.scene.before[0].config
	}
	for _, s := range slices.Concat([]step{{first, "init"}}, c.scene.before) {
		v, stderr, err := c.run(ctx, bin, st.home, st.dir, s, false)
		if err != nil {
			return err
		}
		if v.Exit != 0 {
			return fmt.Errorf("%s without a lie: %s", s.command, stderr)
		}
	}
	return nil
}

// verdictOf runs a case with a program, in a copy of its stage.
func (c lieCase) verdictOf(t testing.TB, s *stages, bin string) (verdict, error) {
	st, err := s.prepare(context.WithoutCancel(t.Context()), c, bin)
	if err != nil {
		return verdict{}, err
	}
	dir := t.TempDir()
	if err := copyFolder(dir, st.dir); err != nil {
		return verdict{}, err
	}
	v, _, err := c.run(t.Context(), bin, st.home, dir, c.scene.lying, true)
	if err != nil {
		return v, err
	}
	lies, _ := os.ReadFile(filepath.Join(dir, toldFile)) // only random lies write it
	lines := strings.Split(strings.TrimSpace(string(lies)), "\n")
	slices.Sort(lines)
	v.Lie = strings.Join(slices.Compact(lines), "; ") // one for each changed response
	v.State, err = stateOf(filepath.Join(dir, "terraform.tfstate"))
	return v, err
}

// run writes the configuration of a step, if it has one, and runs its command. It also returns stderr.
func (c lieCase) run(ctx context.Context, bin, home, dir string, s step, lying bool) (verdict, string, error) {
	if s.config != "" {
		if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(c.configuration(s.config)), 0o666); err != nil {
			return verdict{}, "", err
		}
	}
	if s.command == "query" {
		if err := os.WriteFile(filepath.Join(dir, "find.tfquery.hcl"), []byte(find), 0o666); err != nil {
			return verdict{}, "", err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	words := strings.Fields(s.command)
	words = slices.Concat(words[:1], flagsOf[words[0]], words[1:])
	cmd := exec.CommandContext(ctx, bin, words...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + os.TempDir(),
		"TF_CLI_CONFIG_FILE=" + filepath.Join(home, "empty.tfrc"), "CHECKPOINT_DISABLE=1"}
	if c.legacy {
		cmd.Env = append(cmd.Env, legacyEnv+"=1")
	}
	if lying {
		cmd.Env = append(cmd.Env, lieEnv+"="+c.lie, fieldEnv+"="+c.scene.field, sceneEnv+"="+c.scene.name)
	}
	var stderr strings.Builder
	cmd.Stderr, cmd.WaitDelay = &stderr, 10*time.Second
	programtest.Tie(cmd)
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && ctx.Err() == nil {
		err = nil
	}
	v := verdict{Exit: cmd.ProcessState.ExitCode()}
	for line := range strings.Lines(stderr.String()) {
		if _, title, ok := strings.Cut(line, "Error: "); ok {
			v.Errors = append(v.Errors, strings.TrimSpace(title))
		}
	}
	slices.Sort(v.Errors)
	v.Errors = slices.Compact(v.Errors) // the number of errors found before the end varies
	return v, stderr.String(), err
}

// copyFolder copies regular files, folders and links.
func copyFolder(to, from string) error {
	return filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(from, path)
		if err := errors.Join(err, relErr); err != nil {
			return err
		}
		switch at := filepath.Join(to, rel); {
		case e.IsDir():
			return os.MkdirAll(at, 0o777)
		case e.Type() == fs.ModeSymlink:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(target, at)
		default:
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(at, data, 0o666)
		}
	})
}

var flagsOf = map[string][]string{
	"plan":  {"-input=false", "-no-color", "-lock=false"},
	"apply": {"-input=false", "-no-color", "-auto-approve", "-lock=false"},
	"init":  {"-input=false", "-no-color"},
	"query": {"-no-color"},
}

// provider returns the name under which the plugin is installed.
func (c lieCase) provider() string {
	name := "liar"
	if isRandom(c.lie) {
		name = "liarfull"
	}
	if c.protocol == 5 {
		name += "5"
	}
	return name
}

func (c lieCase) configuration(body string) string {
	nest := "nest = [{ key = \"k\" }]"
	if c.protocol == 5 {
		nest = ""
	}
	return "terraform {\n  required_providers {\n    liar = {\n      source = \"tombolo/" + c.provider() +
		"\"\n    }\n  }\n}\n" + strings.ReplaceAll(body, "NEST", nest)
}

// stateOf returns the objects and outputs of a state: the address, whether it is tainted, and the attributes.
func stateOf(path string) ([]string, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var s struct {
		Outputs   map[string]struct{ Value json.RawMessage }
		Resources []struct {
			Mode, Type, Name string
			Instances        []struct {
				Status     string
				Deposed    string
				Attributes map[string]any
			}
		}
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, err
	}
	var lines []string
	for name, o := range s.Outputs {
		var compact bytes.Buffer
		_ = json.Compact(&compact, o.Value)
		lines = append(lines, "output "+name+" "+compact.String())
	}
	for _, r := range s.Resources {
		for _, i := range r.Instances {
			if r.Type == "terraform_data" {
				i.Attributes["id"] = "some"
			}
			for name, v := range i.Attributes {
				if v == nil {
					delete(i.Attributes, name)
				}
			}
			text, err := json.Marshal(i.Attributes)
			if err != nil {
				return nil, err
			}
			lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s.%s %s %s", r.Mode, r.Type, r.Name, i.Status,
				text)))
		}
	}
	slices.Sort(lines)
	return lines, nil
}

// TestEveryLieMeetsTheSameVerdict compares the verdicts of both programs on lies.
func TestEveryLieMeetsTheSameVerdict(t *testing.T) {
	mode := os.Getenv("TOMBOLO_LIAR")
	stored, reasons := map[string]verdict{}, map[string]string{}
	read(t, "verdicts.json", &stored)
	read(t, "reasons.json", &reasons)
	list := all()
	if mode != "fill" {
		list = slices.DeleteFunc(list, func(c lieCase) bool { _, known := c.verdict(stored); return !known })
	}
	switch {
	case mode == "" && testing.Short():
		list = list[:min(8, len(list))]
	case mode == "":
		list = list[:min(40, len(list))]
	case strings.Contains(mode, "-"):
		var from, to int
		if _, err := fmt.Sscanf(mode, "%d-%d", &from, &to); err != nil || from > to {
			t.Fatalf("TOMBOLO_LIAR is %q, which is no range such as 0-200", mode)
		}
		list = list[min(from, len(list)):min(to, len(list))]
	}
	theirs := ""
	if mode == "live" || mode == "fill" {
		theirs = terraform(t)
	}
	trial{mode: mode, file: "verdicts.json", theirs: theirs, stored: stored, reasons: reasons}.compare(t, list)
}

// A trial compares the verdicts on lies.
type trial struct {
	mode    string
	file    string // of the stored verdicts
	theirs  string // the program that is run; "" for none
	stored  map[string]verdict
	reasons map[string]string // why verdicts differ
}

func (tr trial) compare(t *testing.T, list []lieCase) {
	mode, stored, reasons, theirs := tr.mode, tr.stored, tr.reasons, tr.theirs
	ours := filepath.Join(t.TempDir(), "tombolo")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(exe, ours); err != nil {
		t.Fatal(err)
	}
	prepared := &stages{root: t.TempDir(), of: map[string]*stage{}}
	var mu sync.Mutex // guards stored, different and needed
	different, needed := map[string]string{}, map[string]bool{}
	t.Run("cases", func(t *testing.T) {
		for _, c := range list {
			t.Run(c.name(), func(t *testing.T) {
				t.Parallel()
				mu.Lock()
				want, known := c.verdict(stored)
				mu.Unlock()
				if theirs != "" && (mode == "live" || !known) {
					got, err := c.verdictOf(t, prepared, theirs)
					if err != nil {
						t.Fatal(err)
					}
					if diff := gocmp.Diff(want, got); known && diff != "" {
						t.Errorf("terraform's verdict is another than the stored one (-stored +now):\n%s", diff)
					}
					mu.Lock()
					if !known {
						want, known, stored[c.name()] = got, true, got
						write(t, tr.file, stored)
					}
					mu.Unlock()
				}
				if !known {
					t.Fatal("there is no verdict of terraform in verdicts.json")
				}
				got, err := c.verdictOf(t, prepared, ours)
				if err != nil {
					t.Fatal(err)
				}
				diff := gocmp.Diff(want, got, cmpopts.IgnoreFields(verdict{}, "Errors"))
				why := reason(reasons, c.about(want))
				switch {
				case got.Exit != 0 && got.Exit != 1:
					t.Errorf("tombolo exits with %d", got.Exit)
				case want.Lie != got.Lie, want.Lie != "" && want.Exit > 1:
					return // their calls differ, and so do the lies; or terraform crashes
				}
				if diff != "" {
					mu.Lock()
					needed[why] = true
					different[c.name()] = fmt.Sprintf("terraform %d %q\n%s\ntombolo   %d %q\n%s\n", want.Exit,
						want.Errors, want.State, got.Exit, got.Errors, got.State)
					mu.Unlock()
				}
				if diff != "" && why == "" {
					t.Errorf("terraform and tombolo disagree (-terraform +tombolo):\n%s", diff)
				}
			})
		}
	})
	for _, pattern := range slices.Sorted(maps.Keys(reasons)) {
		if mode == "all" && !needed[pattern] {
			t.Errorf("no verdict of %s differs where the reasons say %q: remove the entry", tr.file, pattern)
		}
	}
	if at := os.Getenv("TOMBOLO_LIAR_DIFFERENT"); at != "" {
		var text strings.Builder
		for _, name := range slices.Sorted(maps.Keys(different)) {
			fmt.Fprintf(&text, "== %s\n%s", name, different[name])
		}
		if err := os.WriteFile(at, []byte(text.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// reason returns the pattern of the entry that explains the different verdicts on a case; * matches any text.
func reason(reasons map[string]string, name string) string {
	for _, pattern := range slices.Sorted(maps.Keys(reasons)) {
		if matches(pattern, name) {
			return pattern
		}
	}
	return ""
}

func matches(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	if !strings.HasPrefix(name, parts[0]) {
		return false
	}
	name = name[len(parts[0]):]
	for _, part := range parts[1:] {
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name = name[i+len(part):]
	}
	return name == "" || parts[len(parts)-1] == ""
}

func terraform(t *testing.T) string {
	path, err := exec.LookPath("terraform")
	if err != nil {
		t.Skip("needs terraform 1.11.4 on PATH")
	}
	out, err := exec.Command(path, "version").Output()
	if first, _, _ := strings.Cut(string(out), "\n"); err != nil || strings.TrimSpace(first) != "Terraform v1.11.4" {
		t.Skip("needs terraform 1.11.4 on PATH: it is another version")
	}
	return path
}

func read(t *testing.T, name string, into any) {
	t.Helper()
	data, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, name string, v any) {
	t.Helper()
	data, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, append(data, '\n'), 0o666); err != nil {
		t.Fatal(err)
	}
}
