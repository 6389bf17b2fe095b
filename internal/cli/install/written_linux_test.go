package install_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tombolo-iac/tombolo/internal/cli"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/fetch/fetchtest"
)

// writers are commands that run in a project, each with the commands before it and the files of the project.
const writers = `
init <- | thing.tf
init -upgrade <- init; replace thing.tf newer.tf | thing.tf
init -from-module=https://web.example/vpc.zip <- |
init -migrate-state -force-copy <- init; apply -auto-approve; replace backend.tf local.tf | main.tf backend.tf
get -update <- init | main.tf
fmt <- | bad.tf
plan <- init; apply -auto-approve | main.tf
plan -out=p.plan <- init | main.tf
plan -generate-config-out=new.tf <- init | import.tf
apply -auto-approve <- init | main.tf
apply -auto-approve -json-into=o.json <- init | main.tf
query -generate-config-out=q.tf <- init | main.tf q.tfquery.hcl
apply -auto-approve <- init; apply -auto-approve; taint terraform_data.a | main.tf
destroy -auto-approve <- init; apply -auto-approve | main.tf
refresh <- init; apply -auto-approve | main.tf
import terraform_data.b x <- init | main.tf b.tf
taint terraform_data.a <- init; apply -auto-approve | main.tf
untaint terraform_data.a <- init; apply -auto-approve; taint terraform_data.a | main.tf
test -junit-xml=r.xml <- init | main.tf t.tftest.hcl
console <- init; apply -auto-approve | main.tf
state mv terraform_data.a terraform_data.b <- init; apply -auto-approve | main.tf
state rm terraform_data.a <- init; apply -auto-approve | main.tf
state push -force in.tfstate <- init | main.tf in.tfstate
state replace-provider -auto-approve example.com/a/b example.com/c/d <- | in.tfstate
workspace new other <- init | main.tf
workspace new -state=in.tfstate other <- | main.tf in.tfstate
workspace select -or-create other <- init | main.tf
workspace delete other <- init; workspace new other; workspace select default | main.tf
providers lock <- | thing.tf
providers mirror mirror <- | thing.tf
providers mirror mirror <- providers mirror mirror | thing.tf
provider new made -lang=bash <- |
provider from-openapi spec.json -name=shop -out=made <- | spec.json
store new made -lang=bash <- |
demo made <- |
stack init <- | tombolo.hcl unit/main.tf
stack plan -out=s.plan -report=s.md <- stack apply -auto-approve | tombolo.hcl unit/main.tf
stack apply -auto-approve <- | tombolo.hcl unit/main.tf
stack destroy -auto-approve <- stack apply -auto-approve | tombolo.hcl unit/main.tf
stack import-terragrunt <- | live/terragrunt.hcl mod/main.tf
recover terraform_data.a -forget <- init | main.tf
force-unlock -force x <- init; apply -auto-approve | main.tf
`

// noWriters are commands that write nothing below a project by default, with the reason.
var noWriters = map[string]string{
	"validate": "it reads", "drift": "it reads", "graph": "it reads", "modules": "it reads", "output": "it reads",
	"providers": "it reads", "providers schema": "it reads", "show": "it reads",
	"serve":      "it reads",
	"runs apply": "a database", "runs approve": "a database", "runs cancel": "a database", "runs limit": "a database",
	"runs list": "it reads", "runs logs": "it reads", "runs plan": "a database", "runs show": "it reads",
	"state history": "it reads", "state identities": "it reads", "state list": "it reads", "state pull": "it reads",
	"state show": "it reads", "version": "it reads", "explain": "it prints", "workspace list": "it reads",
	"workspace show": "it reads", "completion": "it prints", "metadata functions": "it prints",
	"login": "files of the user", "logout": "the same",
	"provider build": "a folder that the command line names", "provider call": "it calls a program",
	"provider dev":  "it runs another command",
	"provider docs": "a folder that the command line names", "provider prepare": "it calls a program",
	"provider publish": "a folder that the command line names, in which it follows no links",
	"provider types":   "a file that the command line names",
	"env list":         "an old name of workspace", "env new": "the same", "env select": "the same",
	"env delete": "the same", "stack drift": "it reads", "stack graph": "it reads", "stack list": "it reads",
	"stack output":   "it reads",
	"provider serve": "it calls a program", "provider test": "it calls a program", "store test": "it calls a program",
}

// projectFiles are the files of the projects.
var projectFiles = map[string]string{
	"main.tf": "resource \"terraform_data\" \"a\" {\n  input = \"x\"\n}\n\n" +
		calls("vpc", "https://web.example/vpc.zip"),
	"b.tf":   "resource \"terraform_data\" \"b\" {}\n",
	"bad.tf": "locals {\na=1\n}\n",
	"thing.tf": `terraform {
  required_providers {
    thing = {
      source  = "example.com/corp/thing"
      version = "< 1.3.0"
    }
  }
}
`,
	"newer.tf":   onlyThing,
	"backend.tf": "terraform {\n  backend \"local\" {\n    path = \"one.tfstate\"\n  }\n}\n",
	"local.tf":   "terraform {\n  backend \"local\" {\n    path = \"two.tfstate\"\n  }\n}\n",
	"spec.json": `{"openapi": "3.1.0", "info": {"title": "Shop", "version": "1"},
		"servers": [{"url": "https://shop.example"}],
		"paths": {"/items/{id}": {"get": {"parameters": [{"name": "id", "in": "path", "required": true,
			"schema": {"type": "string"}}], "responses": {"200": {"description": "", "content": {"application/json":
			{"schema": {"type": "object", "properties": {"id": {"type": "string"}}}}}}}}}}}`,
	"tombolo.hcl":         "unit \"u\" { source = \"unit\" }\n",
	"unit/main.tf":        "resource \"terraform_data\" \"a\" {}\n",
	"live/terragrunt.hcl": "terraform { source = \"../mod\" }\ninputs = { x = 1 }\n",
	"mod/main.tf":         "variable \"x\" {}\n",
	"import.tf":           "import {\n  to = terraform_data.b\n  id = \"x\"\n}\n",
	"q.tfquery.hcl":       "",
	"t.tftest.hcl":        "run \"a\" {}\n",
	"in.tfstate":          `{"version":4,"serial":9,"lineage":"x","outputs":{},"resources":[]}`,
	"terraform.tfstate":   `{"version":4,"serial":9,"lineage":"x","outputs":{},"resources":[]}`,
}

// followed are links that commands follow, with the reason. A state may also be a link.
var followed = map[string]string{
	"fmt bad.tf home/file":                   "projects share files by links, and what is formatted is HCL",
	"providers mirror mirror home/folder":    "the command line names the folder, which the command only adds to",
	"TF_DATA_DIR=data data home/folder":      "the variable names the folder, which may be on another disk",
	"TF_DATA_DIR=data unit/data home/folder": "the same",
}

// writer is one line of writers.
type writer struct {
	before, files []string
	line          string
	way           string // one of ways
}

// ways are the ways to run all commands of a writer: unchanged, with another data folder, and from a folder above the
// project.
var ways = []string{"", "TF_DATA_DIR=data", "-chdir=work"}

// site returns a site in which commands run in the way of the writer.
func (w writer) site(t *testing.T, own string, net *fetchtest.Net) *site {
	t.Helper()
	s := newSite(t, own, net)
	if strings.HasPrefix(w.way, "-") {
		s.above = w.way
	} else if w.way != "" {
		s.env = append(s.env, w.way)
	}
	return s
}

func allWriters(t *testing.T) (all []writer) {
	t.Helper()
	for line := range strings.Lines(strings.TrimPrefix(writers, "\n")) {
		command, rest, ok := strings.Cut(strings.TrimSpace(line), " <- ")
		before, files, also := strings.Cut(rest, "|")
		if !ok || !also {
			t.Fatalf("%q is not a command <- commands | files", line)
		}
		w := writer{line: command, files: strings.Fields(files)}
		for one := range strings.SplitSeq(before, ";") {
			if one = strings.TrimSpace(one); one != "" {
				w.before = append(w.before, one)
			}
		}
		all = append(all, w)
	}
	return all
}

// prepare writes the project of a writer.
func (w writer) prepare(t *testing.T, s *site) {
	t.Helper()
	for _, name := range w.files {
		s.write("work/"+name, projectFiles[name])
	}
	s.surroundings()
	s.write("home/file", "a=1\n") // which fmt would format
	for _, line := range w.before {
		if words := strings.Fields(line); words[0] == "replace" {
			s.write("work/"+words[1], projectFiles[words[2]])
			continue
		}
		if output, code := s.run(strings.Fields(line)...); code != 0 {
			t.Fatalf("%s exits with %d: %s", line, code, output)
		}
	}
}

// watch records the paths below a folder that are created, written, moved or removed, until it ends. It misses files
// that are deleted before their folder is watched.
type watch struct {
	root    string
	fd      int
	folders map[int]string // by watch descriptor
	seen    map[string]bool
	end     chan struct{}
	ended   chan struct{}
}

func newWatch(t *testing.T, root string) *watch {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		t.Skipf("needs inotify: %v", err)
	}
	w := &watch{root: root, fd: fd, folders: map[int]string{}, seen: map[string]bool{}, end: make(chan struct{}),
		ended: make(chan struct{})}
	w.add(".", false)
	go w.read()
	return w
}

// add watches a folder and its subfolders. Files in new folders may have been created before the watch.
func (w *watch) add(rel string, isNew bool) {
	const changes = unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_MODIFY |
		unix.IN_ATTRIB | unix.IN_ONLYDIR | unix.IN_DONT_FOLLOW
	wd, err := unix.InotifyAddWatch(w.fd, filepath.Join(w.root, rel), changes)
	if err != nil {
		return // it was deleted
	}
	w.folders[wd] = rel
	entries, _ := os.ReadDir(filepath.Join(w.root, rel))
	for _, e := range entries {
		name := filepath.Join(rel, e.Name())
		if isNew {
			w.seen[name] = true
		}
		if e.IsDir() {
			w.add(name, isNew)
		}
	}
}

// read reads events.
func (w *watch) read() {
	defer close(w.ended)
	last := false
	buffer := make([]byte, 64<<10)
	for {
		n, err := unix.Read(w.fd, buffer)
		for at := 0; err == nil && at < n; {
			wd := int(int32(binary.NativeEndian.Uint32(buffer[at:])))
			mask, size := binary.NativeEndian.Uint32(buffer[at+4:]), int(binary.NativeEndian.Uint32(buffer[at+12:]))
			base := string(bytes.TrimRight(buffer[at+16:at+16+size], "\x00"))
			at += 16 + size
			if base == "" {
				continue // the event is about the folder itself
			}
			name := filepath.Join(w.folders[wd], base)
			w.seen[name] = true
			if mask&unix.IN_ISDIR != 0 && mask&(unix.IN_CREATE|unix.IN_MOVED_TO) != 0 {
				w.add(name, true)
			}
		}
		if err != nil && last {
			return
		}
		select {
		case <-w.end:
			last = true
		case <-time.After(time.Millisecond):
		}
	}
}

// names ends the watch, and returns the recorded paths that are predictable.
func (w *watch) names() (all []string) {
	close(w.end)
	<-w.ended
	_ = unix.Close(w.fd)
	for name := range w.seen {
		if !chance.MatchString(name) {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// chance matches names with a random part, which an attacker cannot predict.
var chance = regexp.MustCompile(`\.[0-9a-z]{10,}$|[0-9a-f]{10,}`)

// learn runs a writer, and returns the paths below the project that it writes and removes.
func (w writer) learn(t *testing.T, own string, net *fetchtest.Net) (names []string) {
	t.Helper()
	s := w.site(t, own, net)
	w.prepare(t, s)
	seen := newWatch(t, filepath.Join(s.dir, "work"))
	before := s.tree("work")
	_, _ = s.run(strings.Fields(w.line)...)
	after := s.tree("work")
	names = seen.names()
	for name, content := range after {
		if was, there := before[name]; (!there || was != content) && !chance.MatchString(name) {
			names = append(names, strings.TrimPrefix(name, "work/"))
		}
		delete(before, name)
	}
	for name := range before {
		names = append(names, strings.TrimPrefix(name, "work/"))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// TestLinksInPlaceOfWrittenFilesAreNotFollowed records the paths below a project that each command writes and removes.
// It then puts links at each of these paths before the command. Nothing outside of the project may change.
func TestLinksInPlaceOfWrittenFilesAreNotFollowed(t *testing.T) {
	own, net := program(t), newPlantedNet(t)
	targets := append(slices.Clone(kinds), "home/folder/one/more")
	full := os.Getenv("TOMBOLO_PLANTED_FULL") != ""
	for n, w := range allWriters(t) {
		for i, way := range ways {
			if i > 0 && !full && n%(len(ways)-1) != i-1 {
				continue // only a sample
			}
			w := w
			w.way = way
			t.Run(strings.TrimSpace(fmt.Sprintf("%d %s %s", n, w.line, way)), func(t *testing.T) {
				t.Parallel()
				names := w.learn(t, own, net.Net)
				t.Logf("%q", names)
				for i, name := range names {
					for k, to := range targets {
						if to == "home/none" && strings.HasSuffix(name, ".tfstate") ||
							followed[w.line+" "+name+" "+to] != "" || followed[w.way+" "+name+" "+to] != "" {
							continue
						}
						if !full && ((i+n)%len(targets) != k || way != "" && (i+n)%3 > 0) {
							continue // only a sample
						}
						w.plant(t, own, net.Net, name, to)
					}
				}
			})
		}
	}
}

// plant runs a writer with a link in place of a file or folder.
func (w writer) plant(t *testing.T, own string, net *fetchtest.Net, name, to string) {
	t.Helper()
	s := w.site(t, own, net)
	w.prepare(t, s)
	s.remove("work/" + name)
	s.plant(name, to)
	before := s.tree("home")
	output, _ := s.run(strings.Fields(w.line)...)
	for path, content := range s.tree("home") {
		if was, there := before[path]; (!there || was != content) && !strings.HasPrefix(path, "home/.terraform.d") {
			t.Errorf("%s is a link to %s: %s was %q and is %q:\n%s", name, to, path, was, content, output)
		}
		delete(before, path)
	}
	for path := range before {
		t.Errorf("%s is a link to %s: %s is gone:\n%s", name, to, path, output)
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		t.Fatalf("%s is a link to %s: %s is no device any more", name, to, os.DevNull)
	}
}

// TestEveryCommandIsAttackedOrWritesNothing checks that a new command is in writers or noWriters.
func TestEveryCommandIsAttackedOrWritesNothing(t *testing.T) {
	all := allWriters(t)
	var walk func(path string, commands []*command.Command)
	walk = func(path string, commands []*command.Command) {
		for _, c := range commands {
			name := strings.TrimSpace(path + " " + c.Name)
			if c.Setup != nil && !c.Absent && !c.Hidden {
				writes := slices.ContainsFunc(all, func(w writer) bool {
					_, words, ok := strings.Cut(w.line+" ", name+" ")
					first, _, _ := strings.Cut(words, " ")
					return ok && strings.HasPrefix(w.line, name) &&
						!slices.ContainsFunc(c.Members, func(m *command.Command) bool { return m.Name == first })
				})
				if writes == (noWriters[name] != "") {
					t.Errorf("the command %s is among the writers (%t), and has the reason %q", name, writes,
						noWriters[name])
				}
			}
			walk(name, c.Members)
		}
	}
	walk("", cli.Commands())
}
