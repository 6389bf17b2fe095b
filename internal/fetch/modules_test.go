package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/fetch"
	"github.com/tombolo-iac/tombolo/internal/fetch/catalog"
	"github.com/tombolo-iac/tombolo/internal/replace"
)

// store contains packages by source, as maps of files.
type store struct {
	packages map[string]map[string]string
	versions []string
	// wait is called in Fetch.
	wait func(ctx context.Context, pkg string) error

	mu    sync.Mutex // guards the fields below
	asked map[string]int
}

func (s *store) count(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked == nil {
		s.asked = map[string]int{}
	}
	s.asked[what]++
}

func (s *store) Versions(_ context.Context, m catalog.Module) ([]string, error) {
	s.count("versions of " + m.String())
	if s.versions == nil {
		return nil, errors.New("the registry is out of reach")
	}
	return s.versions, nil
}

func (s *store) Locate(_ context.Context, m catalog.Module, version string) (catalog.Package, error) {
	s.count("place of " + m.String() + " " + version)
	return catalog.Package{Source: "https://example.com/" + m.Name + "-" + version + ".zip//top"}, nil
}

func (s *store) Fetch(ctx context.Context, from catalog.Package, dir string) error {
	pkg := from.Source
	s.count(pkg)
	if s.wait != nil {
		if err := s.wait(ctx, pkg); err != nil {
			return err
		}
	}
	files, ok := s.packages[pkg]
	if !ok {
		return errors.New("there is no such package")
	}
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content),
			0o644)); err != nil {
			return err
		}
	}
	return nil
}

func call(name, source string) string {
	return fmt.Sprintf("module %q {\n  source = %q\n}\n", name, source)
}

// project creates a working directory with a configuration.
func project(t *testing.T, configuration string) string {
	t.Helper()
	dir := t.TempDir()
	rewrite(t, dir, configuration)
	return dir
}

func rewrite(t *testing.T, dir, configuration string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(configuration), 0o644); err != nil {
		t.Fatal(err)
	}
}

// modulesDir lists the content of the folder of modules.
func modulesDir(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, config.DefaultDataDir, "modules"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestPackagesAreFetchedOnceForAllCalls(t *testing.T) {
	s := &store{versions: []string{"1.0.0", "1.1.0"}, packages: map[string]map[string]string{
		"https://example.com/net-1.1.0.zip": {"top/main.tf": call("in", "../side"),
			"side/main.tf": call("git", "git::https://example.com/x.git?ref=v1"), ".hidden/x": "h"},
		"git::https://example.com/x.git?ref=v1": {"main.tf": "", "sub/main.tf": ""},
	}}
	var configuration strings.Builder
	for i := range 20 {
		configuration.WriteString(call(fmt.Sprint("m", i), "corp/net/aws"))
	}
	configuration.WriteString(call("sub", "git::https://example.com/x.git//sub?ref=v1"))
	dir := project(t, configuration.String())
	lines, report, diags := install(t, dir, fetch.Options{Packages: s})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	want := map[string]int{"versions of corp/net/aws": 1, "place of corp/net/aws 1.1.0": 1,
		"https://example.com/net-1.1.0.zip": 1, "git::https://example.com/x.git?ref=v1": 1}
	if diff := cmp.Diff(want, s.asked); diff != "" {
		t.Error(diff)
	}
	if len(report.Modules) != 61 || report.Modules[0].Version != "1.1.0" {
		t.Errorf("%d modules, the first is %+v", len(report.Modules), report.Modules[0])
	}
	if want := []string{"Downloading registry.terraform.io/corp/net/aws 1.1.0 for m0...",
		"- m0 in .terraform/modules/m0/top", "- m0.in in .terraform/modules/m0/side",
		"Downloading git::https://example.com/x.git?ref=v1 for m0.in.git...",
		"- m0.in.git in .terraform/modules/m0.in.git"}; !cmp.Equal(lines[:5], want) {
		t.Errorf("the lines are %q", lines[:5])
	}
	if _, diags := config.Load(context.Background(), config.Options{Dir: dir}); diags.HasErrors() {
		t.Error(diags.Err())
	}
	if _, err := os.Stat(filepath.Join(dir, ".terraform/modules/m7/.hidden/x")); err != nil {
		t.Error(err)
	}
	// Installed modules are not requested again, so this works without a network.
	if lines, _, diags := install(t, dir, fetch.Options{}); len(lines) > 0 || diags.HasErrors() {
		t.Errorf("%q, %v", lines, diags.Err())
	}
	if _, _, diags := install(t, dir, fetch.Options{Packages: s, Upgrade: true}); diags.HasErrors() ||
		s.asked["https://example.com/net-1.1.0.zip"] != 2 {
		t.Errorf("an upgrade asks for %v: %v", s.asked, diags.Err())
	}
}

func TestVersionsAreChosenByTheRulesOfModules(t *testing.T) {
	for constraint, want := range map[string]string{
		"": "1.10.0", "~> 1.0": "1.10.0", "~> 1.2.0": "1.2.3", ">= 1.0, != 1.10.0": "1.2.3",
		"2.0.0-beta1": "2.0.0-beta1", "= 2.0.0-beta1": "2.0.0-beta1", ">= 2.0.0-alpha": "", "~> 2.0.0-beta1": "",
		"1.2.3": "1.2.3", "v1.2.3": "1.2.3",
		"> 9": "",
	} {
		s := &store{versions: []string{"1.2.3", "nonsense", "1.10.0", "1.0.0", "2.0.0-beta1", "1..2",
			strings.Repeat("9", 300)}, packages: map[string]map[string]string{}}
		for _, v := range s.versions {
			s.packages["https://example.com/net-"+v+".zip"] = map[string]string{"top/main.tf": ""}
		}
		version := ""
		if constraint != "" {
			version = fmt.Sprintf("  version = %q\n", constraint)
		}
		_, report, diags := install(t, project(t, "module \"m\" {\n  source = \"corp/net/aws\"\n"+version+"}\n"),
			fetch.Options{Packages: s})
		switch {
		case want == "" && (len(diags) != 1 || diags[0].Summary != "Unresolvable module version constraint"):
			t.Errorf("%q: %v", constraint, diags.Err())
		case want != "" && (diags.HasErrors() || report.Modules[0].Version != want):
			t.Errorf("%q gives %+v: %v", constraint, report.Modules, diags.Err())
		}
	}
}

func TestFailuresKeepInstalledModules(t *testing.T) {
	s := &store{packages: map[string]map[string]string{
		"https://example.com/a.zip": {"main.tf": "# 1"}, "https://example.com/up.zip": {
			"x/main.tf": call("out", "../../b")}, "https://example.com/loop.zip": {
			"main.tf": call("again", "https://example.com/loop.zip")},
		"https://example.com/bad.zip": {"main.tf": "bogus {}"}, "https://example.com/two.zip": {"a1/x": "", "a2/x": ""},
		"https://example.com/missing.zip": {"main.tf": call("in", "./none")},
	}}
	dir := project(t, call("a", "https://example.com/a.zip"))
	if _, _, diags := install(t, dir, fetch.Options{Packages: s}); diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	before := manifest(t, dir)
	s.packages["https://example.com/a.zip"] = map[string]string{"main.tf": "# 2"}
	for source, want := range map[string]string{
		"https://example.com/none.zip":    "Failed to download module",
		"https://example.com/up.zip//x":   "Local module path escapes module package",
		"https://example.com/loop.zip":    "Module calls itself",
		"https://example.com/bad.zip":     "Unsupported block type",
		"https://example.com/two.zip//a*": "Unreadable module subdirectory",
		"https://example.com/two.zip//b":  "Unreadable module subdirectory",
		"https://example.com/missing.zip": "Unreadable module directory",
		"corp/net/aws":                    "Error accessing remote module registry",
	} {
		rewrite(t, dir, call("a", "https://example.com/a.zip")+call("b", source))
		_, _, diags := install(t, dir, fetch.Options{Packages: s, Upgrade: true})
		if len(diags) != 1 || diags[0].Summary != want || diags[0].Subject == nil {
			t.Errorf("%s: got %v, want %q", source, diags.Err(), want)
		}
		if got := manifest(t, dir); got != before {
			t.Errorf("%s: the manifest is %s", source, got)
		}
		if got := modulesDir(t, dir); !cmp.Equal(got, []string{"a", "modules.json"}) {
			t.Errorf("%s leaves %q", source, got)
		}
		if content, _ := os.ReadFile(filepath.Join(dir, ".terraform/modules/a/main.tf")); string(content) != "# 1" {
			t.Errorf("%s: a has become %s", source, content)
		}
	}
	fresh := project(t, call("b", "https://example.com/none.zip"))
	install(t, fresh, fetch.Options{Packages: s})
	if _, err := os.Stat(filepath.Join(fresh, ".terraform")); err == nil {
		t.Error("a failure in a new directory leaves folders")
	}
}

func TestEndlessPackagesAreLimited(t *testing.T) {
	s := &endless{}
	_, _, diags := install(t, project(t, call("m", "https://example.com/0.zip")), fetch.Options{Packages: s})
	if len(diags) != 1 || diags[0].Summary != "Too many modules" {
		t.Errorf("got %v", diags.Err())
	}
}

// endless has packages that call further ones endlessly.
type endless struct{ store }

func (e *endless) Fetch(_ context.Context, from catalog.Package, dir string) error {
	pkg := from.Source
	var n int
	if _, err := fmt.Sscanf(pkg, "https://example.com/%d.zip", &n); err != nil {
		return err
	}
	return errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "main.tf"),
		[]byte(call("m", fmt.Sprintf("https://example.com/%d.zip", n+1))), 0o644))
}

// counting is a context that ends after a number of calls of Err.
type counting struct {
	context.Context
	left int
}

// Err implements context.Context.
func (c *counting) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestAnInterruptedCopyLeavesNothing interrupts the copy of a module at each point.
func TestAnInterruptedCopyLeavesNothing(t *testing.T) {
	source := t.TempDir()
	for name, size := range map[string]int{"main.tf": 100, "sub/big": 200_000, "sub/deep/other": 1, "z": 1} {
		path := filepath.Join(source, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, make([]byte, size),
			0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for asked := 0; ; asked++ {
		dir := t.TempDir()
		diags := fetch.CopyModule(&counting{t.Context(), asked}, source, dir, nil)
		left, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		if !diags.HasErrors() {
			if len(left) != 3 || asked < 10 {
				t.Errorf("a copy that asks %d times has made %v", asked, left)
			}
			return
		}
		if len(left) > 0 {
			t.Errorf("a copy that ends when it asks for the time %d leaves %v", asked, left)
		}
	}
}

func TestAnInterruptedDownloadLeavesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	s := &store{packages: map[string]map[string]string{"https://example.com/a.zip": {"main.tf": ""}},
		wait: func(ctx context.Context, pkg string) error {
			if pkg == "https://example.com/b.zip" {
				cancel()
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}}
	dir := project(t, call("a", "https://example.com/a.zip")+call("b", "https://example.com/b.zip"))
	_, diags := fetch.InstallModules(ctx, dir, config.DefaultDataDir, fetch.Options{Packages: s})
	if len(diags) != 1 || diags[0].Summary != "Operation canceled" {
		t.Errorf("got %v", diags.Err())
	}
	if _, err := os.Stat(filepath.Join(dir, ".terraform")); err == nil {
		t.Error("something is left")
	}
}

func TestStagesOfKilledRunsAreRemoved(t *testing.T) {
	s := &store{packages: map[string]map[string]string{"https://example.com/a.zip": {"main.tf": ""}}}
	dir := project(t, call("a", "https://example.com/a.zip"))
	modules := filepath.Join(dir, ".terraform", "modules")
	if err := os.MkdirAll(modules, 0o755); err != nil {
		t.Fatal(err)
	}
	works, err := replace.Unfinished(modules, ".new-now")
	if err != nil {
		t.Fatal(err)
	}
	defer works.Remove()
	mark, err := os.ReadFile(filepath.Join(works.Dir, ".tombolo-unfinished")) // without its lock
	for _, name := range []string{".new-old", ".new-foreign"} {
		err = errors.Join(err, os.Mkdir(filepath.Join(modules, name), 0o755))
	}
	err = errors.Join(err, os.WriteFile(filepath.Join(modules, ".new-old", ".tombolo-unfinished"), mark, 0o600))
	for _, path := range []string{works.Dir, filepath.Join(modules, ".new-foreign")} {
		err = errors.Join(err, os.Chtimes(path, time.Time{}, time.Now().Add(-48*time.Hour)))
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, _, diags := install(t, dir, fetch.Options{Packages: s}); diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	want := []string{".new-foreign", filepath.Base(works.Dir), "a", "modules.json"}
	if got := modulesDir(t, dir); !cmp.Equal(got, want) {
		t.Errorf("there is %q", got)
	}
}

// Two hundred packages from slow servers are fetched concurrently: each waits until others are being fetched as well.
// Modules that one process has installed, and may be reading, are not replaced by another one that began earlier.
func TestConcurrentRunsKeepEachOthersModules(t *testing.T) {
	const pkg = "git::https://example.com/x.git"
	packages := map[string]map[string]string{pkg: {"a/main.tf": "", "b/main.tf": ""}, "https://example.com/new.zip": {
		"main.tf": ""}}
	dir := project(t, call("a", pkg+"//a")+call("b", pkg+"//b"))
	inside := filepath.Join(dir, config.DefaultDataDir, "modules", "b", "b", "main.tf")
	var before os.FileInfo
	late := &store{packages: packages, wait: func(context.Context, string) error {
		if _, _, diags := install(t, dir, fetch.Options{Packages: &store{packages: packages}}); diags.HasErrors() {
			return diags.Err()
		}
		var err error
		before, err = os.Stat(inside)
		return err
	}}
	if _, _, diags := install(t, dir, fetch.Options{Packages: late}); diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	if after, err := os.Stat(inside); err != nil || !os.SameFile(before, after) {
		t.Errorf("the module was replaced: %v", err)
	}
	if got := modulesDir(t, dir); !slices.Equal(got, []string{"a", "b", "modules.json"}) {
		t.Errorf("there are %q", got)
	}
	// All concurrently.
	for round := range 3 {
		rewrite(t, dir, call("a", pkg+"//a")+call("b", pkg+"//b")+call(fmt.Sprint("c", round),
			"https://example.com/new.zip"))
		var wait sync.WaitGroup
		for range 4 {
			wait.Go(func() {
				if _, diags := fetch.InstallModules(context.Background(), dir, config.DefaultDataDir, fetch.Options{
					Packages: &store{packages: packages}, Upgrade: round == 1}); diags.HasErrors() {
					t.Error(diags.Err())
				}
			})
		}
		wait.Wait()
		for _, name := range []string{"a/a/main.tf", "b/b/main.tf", fmt.Sprintf("c%d/main.tf", round)} {
			if _, err := os.Stat(filepath.Join(dir, config.DefaultDataDir, "modules",
				filepath.FromSlash(name))); err != nil {
				t.Error(err)
			}
		}
	}
}

// A project may contain a link in place of the folder of modules, and a module with the same name as a foreign folder.
func TestLinksOutOfTheProjectRemoveNothing(t *testing.T) {
	const pkg = "https://example.com/x.zip"
	s := &store{packages: map[string]map[string]string{pkg: {"main.tf": ""}}}
	dir, elsewhere := project(t, call("documents", pkg)), t.TempDir()
	mine := filepath.Join(elsewhere, "documents", "mine")
	if err := errors.Join(os.Mkdir(filepath.Dir(mine), 0o755), os.WriteFile(mine, nil, 0o644),
		os.Mkdir(filepath.Join(dir, config.DefaultDataDir), 0o755)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, filepath.Join(dir, config.DefaultDataDir, "modules")); err != nil {
		t.Skip("needs the right to make symbolic links, which not everybody has on Windows: ", err)
	}
	for _, name := range []string{"documents", "other"} {
		rewrite(t, dir, call(name, pkg))
		_, _, diags := install(t, dir, fetch.Options{Packages: s})
		if !diags.HasErrors() || !strings.Contains(diags.Err().Error(), "symbolic link takes") {
			t.Errorf("got %v", diags.Err())
		}
	}
	if got, err := os.ReadDir(elsewhere); err != nil || len(got) != 1 {
		t.Errorf("%v %v", got, err)
	}
	if _, err := os.Stat(mine); err != nil {
		t.Error(err)
	}
	// A folder that the user has chosen may be anywhere.
	data := filepath.Join(t.TempDir(), "data")
	if err := errors.Join(os.Mkdir(data, 0o755), os.Symlink(data, data+".link")); err != nil {
		t.Fatal(err)
	}
	if _, diags := fetch.InstallModules(t.Context(), dir, data+".link", fetch.Options{Packages: s}); diags.HasErrors() {
		t.Error(diags.Err())
	}
}

func TestPackagesAreFetchedConcurrently(t *testing.T) {
	s := &store{packages: map[string]map[string]string{}}
	var configuration strings.Builder
	for i := range 20 {
		var inner strings.Builder
		for j := range 9 {
			pkg := fmt.Sprintf("https://example.com/%d-%d.zip", i, j)
			s.packages[pkg] = map[string]string{"main.tf": ""}
			inner.WriteString(call(fmt.Sprint("n", j), pkg))
		}
		pkg := fmt.Sprintf("https://example.com/%d.zip", i)
		s.packages[pkg] = map[string]string{"main.tf": inner.String()}
		configuration.WriteString(call(fmt.Sprint("m", i), pkg))
	}
	var mu sync.Mutex
	busy, most := 0, 0
	release := make(chan struct{})
	s.wait = func(context.Context, string) error {
		mu.Lock()
		if busy++; busy > most {
			if most = busy; most == 8 {
				close(release)
			}
		}
		mu.Unlock()
		<-release
		mu.Lock()
		busy--
		mu.Unlock()
		return nil
	}
	_, report, diags := install(t, project(t, configuration.String()), fetch.Options{Packages: s})
	if diags.HasErrors() || len(report.Modules) != 200 || most != 8 {
		t.Errorf("%d modules, %d at the same time: %v", len(report.Modules), most, diags.Err())
	}
}
