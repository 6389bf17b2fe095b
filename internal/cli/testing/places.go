package testing

import (
	"context"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/replace"
	"github.com/tombolo-iac/tombolo/internal/store"
	"github.com/tombolo-iac/tombolo/internal/store/mem"
	"github.com/tombolo-iac/tombolo/internal/suite"
	"github.com/tombolo-iac/tombolo/internal/suite/testfile"
	"github.com/tombolo-iac/tombolo/state"
)

// places holds the locations of test states: a folder for this process below the data directory, with one folder per
// test file. While they have objects, a crash loses nothing: they have journals like other states.
type places struct {
	call   *command.Call
	dir    string // of this process; "" until it is needed
	failed error  // why there is no folder
	full   bool   // something is left in the folder
}

// folder returns the parent of the folders of all processes.
func (p *places) folder() string { return filepath.Join(p.call.DataDir(), "tests") }

// of returns the place of a state.
func (p *places) of(f *testfile.File, key string) suite.Place {
	if p.dir == "" && p.failed == nil {
		p.dir = filepath.Join(p.folder(), fmt.Sprintf("%s-%d", time.Now().UTC().Format("20060102T150405"), os.Getpid()))
	}
	if p.failed == nil {
		_, p.failed = replace.Within(p.call.DataBase(), p.fileDir(f))
	}
	if p.failed == nil {
		p.failed = command.MakeDir(p.fileDir(f))
	}
	if p.failed != nil {
		return suite.Place{Store: mem.New()}
	}
	name := filepath.Join(p.fileDir(f), named(key, "main")+".tfstate")
	return suite.Place{
		Path: name, Store: store.New(store.Options{Path: name, WorkspaceDir: name + ".d", BackupTo: "-"})}
}

func (p *places) fileDir(f *testfile.File) string { return filepath.Join(p.dir, named(f.Name, "")) }

// named returns a file name for a text. Different texts have different names.
func named(text, empty string) string {
	if text == "" {
		return empty
	}
	plain := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '_'
	}, text)
	h := fnv.New32a()
	h.Write([]byte(text))
	if len(plain) > 60 {
		plain = plain[:60]
	}
	return fmt.Sprintf("%s-%08x", strings.Trim(plain, "._"), h.Sum32())
}

// emptied removes the folder of a test file whose states are empty.
func (p *places) emptied(f *testfile.File) {
	if p.dir != "" && p.failed == nil {
		if command.RemoveDir(p.fileDir(f)) != nil {
			p.full = true
		}
	}
}

// close removes empty folders, and reports why states were not kept.
func (p *places) close() (diags diag.List) {
	if p.dir != "" {
		for _, dir := range []string{p.dir, p.folder(), p.call.DataDir()} {
			if command.RemoveFile(dir) != nil {
				break // it is not empty
			}
		}
	}
	if p.failed != nil {
		diags = diags.Warnf(nil, "States of tests were not kept on disk",
			"No folder could be created for them: %s. They were only in memory, so a crash would have lost them.",
			p.failed)
	}
	return diags
}

// remains warns about objects that earlier tests have left behind.
func (p *places) remains(ctx context.Context) (diags diag.List) {
	names, _ := filepath.Glob(filepath.Join(p.folder(), "*", "*", "*.tfstate"))
	wals, _ := filepath.Glob(filepath.Join(p.folder(), "*", "*", "*.tfstate.*"))
	for _, name := range wals {
		base, _, _ := strings.Cut(name, ".tfstate.")
		names = append(names, base+".tfstate")
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		ws, err := store.New(store.Options{Path: name, WorkspaceDir: name + ".d"}).Workspace(state.DefaultWorkspace)
		if err != nil {
			continue
		}
		snapshot, err := ws.Read(ctx)
		if err != nil || snapshot == nil || snapshot.Running != nil {
			continue // another process uses it
		}
		var list []string
		for _, r := range snapshot.State.Resources() {
			if r.Addr.Resource.Mode == addr.Managed {
				list = append(list, "  - "+r.Addr.String())
			}
		}
		for _, f := range snapshot.InFlight {
			list = append(list, fmt.Sprintf("  - %s (its %s was interrupted)", f.Object, f.Action))
		}
		if len(list) > 0 {
			diags = diags.Warnf(nil, "Objects of earlier tests remain", "An earlier test, or another one that "+
				"is running, has created these objects, which are still in its state %s:\n%s\n\nDestroy them with "+
				"\"%s destroy -state=%[1]s\" in the directory of their module, or by hand; then remove the folder.",
				name, strings.Join(list, "\n"), p.call.Program)
		}
	}
	return diags
}
