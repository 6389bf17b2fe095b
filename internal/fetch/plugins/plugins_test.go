package plugins_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apparentlymart/go-versions/versions"
	"github.com/google/go-cmp/cmp"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/fetch/lockfile"
	"github.com/tombolo-iac/tombolo/internal/fetch/packages"
	"github.com/tombolo-iac/tombolo/internal/fetch/plugins"
	"github.com/tombolo-iac/tombolo/internal/fetch/require"
	"github.com/tombolo-iac/tombolo/internal/fetch/web"
	"github.com/tombolo-iac/tombolo/internal/settings"
)

// offline is a client without a network.
var offline = web.New(web.Options{Transport: noNetwork{}})

type noNetwork struct{}

func (noNetwork) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("no network here")
}

// world is a mirror, and a folder to install into.
type world struct {
	t      *testing.T
	mirror string
	opts   plugins.Options
	steps  []string
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, mirror: t.TempDir()}
	w.opts = plugins.Options{
		Wanted: plugins.Wanted{},
		Folder: packages.Folder{Dir: filepath.Join(t.TempDir(), "providers")},
		Sources: plugins.NewSources(&settings.Settings{Explicit: true, Installation: []settings.Method{
			{Kind: settings.FilesystemMirror, Location: w.mirror}}}, nil, offline),
		Progress: func(s plugins.Step) {
			w.steps = append(w.steps, strings.TrimSpace(fmt.Sprint(s.Kind, " ", s.Provider.Type, " ", s.Version, " ",
				s.Constraints)))
		},
	}
	return w
}

func parse(t *testing.T, source string) addr.Provider {
	t.Helper()
	p, err := addr.ParseProvider(source)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// has adds a package to the mirror.
func (w *world) has(source, version string) {
	w.t.Helper()
	w.put(w.mirror, source, version, packages.Current().String())
}

func (w *world) put(mirror, source, version, platform string) {
	w.t.Helper()
	p := parse(w.t, source)
	dir := filepath.Join(mirror, p.Host, p.Namespace, p.Type, version, platform)
	program := filepath.Join(dir, "terraform-provider-"+p.Type+"_v"+version)
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(program, []byte(source+version), 0o755)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) wants(source, constraints string) {
	w.t.Helper()
	c, err := require.Parse(constraints)
	if err != nil {
		w.t.Fatal(err)
	}
	w.opts.Wanted[parse(w.t, source)] = c
}

func (w *world) install() (plugins.Result, diag.List) {
	w.steps = nil
	result, diags := plugins.Install(context.Background(), w.opts)
	if !diags.HasErrors() {
		w.opts.Locked = result.Lock
	}
	return result, diags
}

func (w *world) mustInstall() plugins.Result {
	w.t.Helper()
	result, diags := w.install()
	if diags.HasErrors() {
		w.t.Fatal(diags.Err())
	}
	return result
}

func (w *world) version(source string) string {
	e, ok := w.opts.Locked.Entry(parse(w.t, source))
	if !ok {
		return ""
	}
	return e.Version.String()
}

func (w *world) ready() (map[addr.Provider]string, diag.List) {
	return plugins.Ready(w.t.Context(), plugins.ReadyOptions{Wanted: w.opts.Wanted, Locked: w.opts.Locked,
		Folder: w.opts.Folder, Overrides: w.opts.Overrides, BuiltIn: w.opts.BuiltIn})
}

func wantError(t *testing.T, diags diag.List, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !diags.HasErrors() || !strings.Contains(diags.Err().Error(), text) {
			t.Errorf("got %v, want %q", diags.Err(), text)
		}
	}
}

func TestTheNewestVersionThatMatchesIsInstalledAndLocked(t *testing.T) {
	w := newWorld(t)
	for _, v := range []string{"3.1.0", "3.2.2", "3.10.0", "4.0.0"} {
		w.has("hashicorp/null", v)
	}
	w.wants("hashicorp/null", ">= 3, < 4")
	result := w.mustInstall()
	if got := w.version("hashicorp/null"); got != "3.10.0" {
		t.Errorf("got %s", got)
	}
	if len(result.ThisPlatformOnly) != 1 {
		t.Errorf("of this platform only: %v", result.ThisPlatformOnly)
	}
	if diff := cmp.Diff([]string{"2 null 0.0.0 >= 3.0.0, < 4.0.0", "4 null 3.10.0", "5 null 3.10.0"},
		w.steps); diff != "" {
		t.Error(diff)
	}
	programs, diags := w.ready()
	if diags.HasErrors() || !strings.HasSuffix(programs[parse(t, "hashicorp/null")],
		"terraform-provider-null_v3.10.0") {
		t.Errorf("%v, %v", programs, diags.Err())
	}
	again := w.mustInstall()
	if diff := cmp.Diff([]string{"1 null 3.10.0", "3 null 3.10.0"}, w.steps); diff != "" ||
		len(again.ThisPlatformOnly) != 0 {
		t.Error(diff)
	}
}

func TestTheLockedVersionStaysUntilUpgrade(t *testing.T) {
	w := newWorld(t)
	w.has("hashicorp/null", "3.1.0")
	w.wants("hashicorp/null", "~> 3.0")
	w.mustInstall()
	w.has("hashicorp/null", "3.2.0")
	w.mustInstall()
	if got := w.version("hashicorp/null"); got != "3.1.0" {
		t.Errorf("got %s without -upgrade", got)
	}
	os.RemoveAll(w.opts.Folder.Dir)
	w.mustInstall()
	if got := w.version("hashicorp/null"); got != "3.1.0" {
		t.Errorf("got %s in a fresh folder", got)
	}
	w.opts.Upgrade = true
	w.mustInstall()
	if got := w.version("hashicorp/null"); got != "3.2.0" {
		t.Errorf("got %s with -upgrade", got)
	}
}

func TestOutdatedLocksAreErrors(t *testing.T) {
	w := newWorld(t)
	w.has("hashicorp/null", "3.1.0")
	w.wants("hashicorp/null", "")
	w.mustInstall()
	w.wants("hashicorp/null", ">= 4")
	_, diags := w.install()
	wantError(t, diags, "Failed to query available provider packages", "3.1.0", ">= 4.0.0", "-upgrade")
	_, diags = w.ready()
	wantError(t, diags, "Inconsistent dependency lock file", "the lock file has version 3.1.0")
	w.wants("hashicorp/null", "")
	os.RemoveAll(filepath.Join(w.mirror, addr.DefaultProviderHost, "hashicorp", "null", "3.1.0"))
	os.RemoveAll(w.opts.Folder.Dir)
	w.has("hashicorp/null", "3.0.0")
	_, diags = w.install()
	wantError(t, diags, "3.1.0 from the lock file is no longer available", "3.0.0")
}

func TestAChangedPackageIsNeitherInstalledNorUsed(t *testing.T) {
	w := newWorld(t)
	w.has("hashicorp/null", "3.1.0")
	w.wants("hashicorp/null", "")
	w.mustInstall()
	// The installed folder is a link to the mirror.
	program := filepath.Join(w.mirror, addr.DefaultProviderHost, "hashicorp", "null", "3.1.0",
		packages.Current().String(), "terraform-provider-null_v3.1.0")
	if err := os.WriteFile(program, []byte("changed"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, diags := w.ready()
	wantError(t, diags, "Required plugins are not installed", "has none of the checksums")
	locked := w.opts.Locked
	_, diags = w.install()
	wantError(t, diags, "Failed to install provider", "has none of the checksums")
	if !w.opts.Locked.Equal(locked) {
		t.Error("the lock file would change")
	}
}

func TestLocksWithoutHashesRunNothing(t *testing.T) {
	w := newWorld(t)
	w.has("hashicorp/null", "3.1.0")
	w.wants("hashicorp/null", "")
	w.mustInstall()
	e, _ := w.opts.Locked.Entry(parse(t, "hashicorp/null"))
	e.Hashes = nil
	w.opts.Locked = w.opts.Locked.With(e)
	_, diags := w.ready()
	wantError(t, diags, "Required plugins are not installed", "the lock file has no checksum")
	w.mustInstall()
	if _, diags := w.ready(); diags.HasErrors() {
		t.Error(diags.Err())
	}
}

func TestHashesOfOtherPlatformsAreKept(t *testing.T) {
	w := newWorld(t)
	w.has("hashicorp/null", "3.1.0")
	w.wants("hashicorp/null", "")
	first, _ := w.mustInstall().Lock.Entry(parse(t, "hashicorp/null"))
	first.Hashes = append(first.Hashes, "zh:otherplatform")
	w.opts.Locked = w.opts.Locked.With(first)
	w.mustInstall()
	e, _ := w.opts.Locked.Entry(parse(t, "hashicorp/null"))
	if len(e.Hashes) != 2 {
		t.Errorf("got %v", e.Hashes)
	}
	w.has("hashicorp/null", "3.2.0")
	w.opts.Upgrade = true
	w.mustInstall()
	e, _ = w.opts.Locked.Entry(parse(t, "hashicorp/null"))
	if len(e.Hashes) != 1 || e.Version.String() != "3.2.0" {
		t.Errorf("the hashes of the former version are kept: %v", e)
	}
}

func TestUnneededProvidersLeaveTheLockFile(t *testing.T) {
	w := newWorld(t)
	w.has("hashicorp/null", "3.1.0")
	w.has("example.com/corp/thing", "1.0.0")
	w.wants("hashicorp/null", "")
	w.wants("example.com/corp/thing", "")
	w.mustInstall()
	delete(w.opts.Wanted, parse(t, "hashicorp/null"))
	w.mustInstall()
	if len(w.opts.Locked.Entries()) != 1 {
		t.Errorf("got %s", w.opts.Locked.Bytes())
	}
}

func TestMissingProvidersAreReportedTogether(t *testing.T) {
	w := newWorld(t)
	w.has("hashicorp/null", "3.1.0")
	w.put(w.mirror, "hashicorp/other", "1.0.0", "plan9_mips")
	w.wants("hashicorp/null", "> 3.1.0")
	w.wants("hashicorp/gone", "")
	w.wants("hashicorp/other", "")
	_, diags := w.install()
	if len(diags) != 3 {
		t.Errorf("got %d problems: %v", len(diags), diags.Err())
	}
	wantError(t, diags, "no available releases match the constraint > 3.1.0; there are 3.1.0",
		"hashicorp/gone: it was not found in "+w.mirror, "Incompatible provider version")
	if entries, _ := os.ReadDir(w.opts.Folder.Dir); len(entries) != 0 {
		t.Errorf("something was installed: %v", entries)
	}
}

func TestBuiltInProvidersServeWithoutOtherSources(t *testing.T) {
	w := newWorld(t)
	w.opts.BuiltIn = func(p addr.Provider) bool { return p.Type == "external" }
	w.wants("hashicorp/external", "~> 2.0")
	w.wants("terraform.io/builtin/terraform", "")
	w.mustInstall()
	if len(w.opts.Locked.Entries()) != 0 || len(w.steps) != 3 {
		t.Errorf("%s, %v", w.opts.Locked.Bytes(), w.steps)
	}
	if programs, diags := w.ready(); diags.HasErrors() || len(programs) != 0 {
		t.Errorf("%v, %v", programs, diags.Err())
	}
	w.has("hashicorp/external", "2.3.4")
	w.mustInstall()
	if programs, diags := w.ready(); diags.HasErrors() || len(programs) != 1 {
		t.Errorf("%v, %v", programs, diags.Err())
	}
}

func TestDevelopmentOverridesNeedNoPackageAndNoLock(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	null := parse(t, "hashicorp/null")
	w.opts.Overrides = map[addr.Provider]string{null: dir}
	w.wants("hashicorp/null", ">= 99")
	w.mustInstall()
	_, diags := w.ready()
	wantError(t, diags, "Development override cannot be used", dir, "terraform-provider-null")
	program := filepath.Join(dir, "terraform-provider-null")
	if err := os.WriteFile(program, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	programs, diags := w.ready()
	if diags.HasErrors() || programs[null] != program {
		t.Errorf("%v, %v", programs, diags.Err())
	}
}

func TestProvidersThatRunAlreadyNeedNoPackageAndKeepTheirLock(t *testing.T) {
	w := newWorld(t)
	w.put(w.mirror, "hashicorp/null", "1.0.0", packages.Current().String())
	w.wants("hashicorp/null", "")
	locked := w.mustInstall().Lock
	w.wants("hashicorp/other", "")
	w.opts.Locked, w.opts.Upgrade = locked, true
	w.opts.Elsewhere = func(addr.Provider) bool { return true }
	if result := w.mustInstall(); !result.Lock.Equal(locked) {
		t.Errorf("the lock file has changed: %v, want %v", result.Lock.Entries(), locked.Entries())
	}
}

func TestImpliedFoldersPrecedeRegistriesUnlessConfigured(t *testing.T) {
	w := newWorld(t)
	implied, missing := t.TempDir(), filepath.Join(t.TempDir(), "missing")
	w.put(implied, "hashicorp/null", "1.0.0", packages.Current().String())
	w.wants("hashicorp/null", "")
	_, diags := w.install()
	wantError(t, diags, "was not found in "+w.mirror)
	w.opts.Sources = plugins.NewSources(&settings.Settings{}, []string{missing, implied}, offline)
	w.mustInstall()
	if got := w.version("hashicorp/null"); got != "1.0.0" {
		t.Errorf("got %q", got)
	}
	w.wants("hashicorp/gone", "")
	_, diags = w.install()
	wantError(t, diags, "registry.terraform.io", "no network here", "not found in "+implied)
}

func TestMethodsAreUsedForTheirProviders(t *testing.T) {
	w := newWorld(t)
	second := t.TempDir()
	w.has("hashicorp/null", "1.0.0")
	w.put(second, "hashicorp/null", "2.0.0", packages.Current().String())
	null, _ := settings.ParsePattern("hashicorp/null", addr.DefaultProviderHost)
	w.opts.Sources = plugins.NewSources(&settings.Settings{Explicit: true, Installation: []settings.Method{
		{Kind: settings.FilesystemMirror, Location: w.mirror, Include: []settings.Pattern{null}},
		{Kind: settings.FilesystemMirror, Location: second, Exclude: []settings.Pattern{null}},
	}}, nil, offline)
	w.wants("hashicorp/null", "")
	w.mustInstall()
	if got := w.version("hashicorp/null"); got != "1.0.0" {
		t.Errorf("got %q", got)
	}
	w.wants("example.com/a/b", "")
	w.opts.Sources = plugins.NewSources(&settings.Settings{Explicit: true}, nil, offline)
	_, diags := w.install()
	wantError(t, diags, "has no installation method for it")
}

func TestAMirrorThatCannotBeReadIsAnError(t *testing.T) {
	w := newWorld(t)
	w.opts.Sources = plugins.NewSources(&settings.Settings{Explicit: true, Installation: []settings.Method{
		{Kind: settings.FilesystemMirror, Location: filepath.Join(w.mirror, "missing")}}}, nil, offline)
	w.wants("hashicorp/null", "")
	_, diags := w.install()
	wantError(t, diags, "cannot be searched")
}

func TestMissingLockFileAdvisesInit(t *testing.T) {
	w := newWorld(t)
	w.wants("hashicorp/null", "")
	_, diags := w.ready()
	wantError(t, diags, "Inconsistent dependency lock file", "no version is selected")
	w.opts.Locked = w.opts.Locked.With(lockfile.Entry{Provider: parse(t, "hashicorp/null"),
		Version: versions.MustParseVersion("1.0.0")})
	_, diags = w.ready()
	wantError(t, diags, "Required plugins are not installed", "there is no package")
}

// Checks that began earlier give the same results as checks of the packages now, and are ignored if they are of other
// entries.
func TestEarlyChecksChangeNoResult(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 2))
		w := newWorld(t)
		var names []string
		for i := range 1 + r.IntN(4) {
			name := fmt.Sprintf("hashicorp/p%d", i)
			w.has(name, "1.0.0")
			w.wants(name, "")
			names = append(names, name)
		}
		w.mustInstall()
		var damage []string
		for _, name := range names {
			p := parse(t, name)
			dir := filepath.Join(w.mirror, p.Host, p.Namespace, p.Type, "1.0.0", packages.Current().String())
			program := filepath.Join(dir, "terraform-provider-"+p.Type+"_v1.0.0")
			kind := r.IntN(5)
			damage = append(damage, fmt.Sprint(kind))
			var err error
			switch kind {
			case 0:
				err = os.WriteFile(program, []byte("altered"), 0o755)
			case 1:
				err = os.WriteFile(filepath.Join(dir, "more"), nil, 0o644)
			case 2:
				err = os.RemoveAll(dir)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		o := plugins.ReadyOptions{Wanted: w.opts.Wanted, Locked: w.opts.Locked, Folder: w.opts.Folder}
		want, problems := plugins.Ready(t.Context(), o)
		early := w.opts.Locked.Entries()
		switch r.IntN(3) {
		case 0: // the lock file had other hashes
			early = slices.Clone(early)
			early[0].Hashes = []lockfile.Hash{"h1:other"}
		case 1: // or fewer entries
			early = early[1:]
		}
		o.Checks = plugins.Check(t.Context(), o.Folder, early)
		got, diags := plugins.Ready(t.Context(), o)
		o.Checks.Wait()
		if !maps.Equal(got, want) || fmt.Sprint(diags.Err()) != fmt.Sprint(problems.Err()) {
			t.Errorf("seed %d, damage %v: got %v, %v; want %v, %v", seed, damage, got, diags.Err(), want,
				problems.Err())
		}
	}
}

func TestCancelledChecksEnd(t *testing.T) {
	w := newWorld(t)
	w.has("hashicorp/null", "1.0.0")
	w.wants("hashicorp/null", "")
	w.mustInstall()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	checks := plugins.Check(ctx, w.opts.Folder, w.opts.Locked.Entries())
	checks.Wait()
	_, diags := plugins.Ready(t.Context(), plugins.ReadyOptions{Wanted: w.opts.Wanted, Locked: w.opts.Locked,
		Folder: w.opts.Folder, Checks: checks})
	wantError(t, diags, "Required plugins are not installed", "context canceled")
}

// A problem of missing providers holds them as values: exactly those that its text names.
func TestProblemsHoldTheProvidersThatAreMissing(t *testing.T) {
	for _, each := range []bool{false, true} {
		for _, locked := range []bool{false, true} {
			w := newWorld(t)
			names := []string{"hashicorp/first", "hashicorp/second", "hashicorp/third"}
			for _, name := range names {
				w.has(name, "1.0.0")
				w.wants(name, "")
			}
			if locked {
				w.mustInstall()
				if err := os.RemoveAll(w.opts.Folder.Dir); err != nil {
					t.Fatal(err)
				}
			}
			_, diags := plugins.Ready(t.Context(), plugins.ReadyOptions{Wanted: w.opts.Wanted, Locked: w.opts.Locked,
				Folder: w.opts.Folder, Each: each})
			found := 0
			for _, d := range diags {
				missing, _ := d.Extra.(plugins.Missing)
				for _, name := range names {
					p := parse(t, name)
					has := slices.Contains(missing.Providers, p)
					if names := strings.Contains(d.Summary+d.Detail, p.String()); names != has {
						t.Errorf("each %t, locked %t: %s is in the text: %t, in the value: %t", each, locked, p,
							names, has)
					}
					if has {
						found++
					}
				}
			}
			if found != len(names) {
				t.Errorf("each %t, locked %t: found %d providers in %v", each, locked, found, diags.Err())
			}
		}
	}
}
