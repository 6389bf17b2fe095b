//go:build unix

package drivers

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// edited is a project with a program provider and a module. Its last argument of the resource is badly formatted.
var edited = map[string]string{
	"main.tf": `terraform {
  required_providers {
    notes = { source = "example/notes" }
  }
}

resource "notes_file" "a" {
  path = abspath("a.txt")
  text   = "hello"

}

module "greet" {
  source = "./greet"
  whom   = notes_file.a.bytes

}
`,
	"greet/main.tf": `variable "whom" {}
variable "loud" { default = false }
`,
	".terraform.lock.hcl": "", // without it, the server asks for no schemas
	"notes/tombolo-provider.json": `{
  "protocol": 1,
  "name": "notes",
  "version": "0.1.0",
  "command": ["cat"],
  "schema": {"resource_schemas": {"notes_file": {
    "description": "A file with a text.",
    "attributes": {
      "path":  {"type": "string", "required": true, "description": "Where the file is."},
      "text":  {"type": "string", "required": true, "description": "What is in the file."},
      "owner": {"type": "string", "optional": true},
      "bytes": {"type": "number", "computed": true}
    }
  }}}
}
`,
}

// TestTheLanguageServerKnowsProgramProviders runs a session of terraform-ls, unmodified, with Tombolo as its terraform:
// types and attributes of a program provider are completed and described, files are formatted, problems are reported.
func TestTheLanguageServerKnowsProgramProviders(t *testing.T) {
	e := newEditor(t, languageServer(t))
	e.open("main.tf")
	e.completes(9, 0, "owner", "count") // in the resource; both attributes are set already
	e.completes(6, 10, "notes_file")
	e.completes(15, 0, "loud") // in the module, as modules.json says where it is
	e.hover(6, 12, "A file with a text.")
	e.hover(8, 3, "What is in the file.")
	e.hover(7, 10, "abspath(path string) string")
	if text := e.formatted("main.tf"); !strings.Contains(text, "\n  text = \"hello\"\n") {
		t.Errorf("the formatted file is:\n%s", text)
	}
	e.replace("main.tf", strings.Replace(edited["main.tf"], "  text   =", "  txt = 1\n  text =", 1))
	var ignored any
	e.must(e.call(&ignored, "workspace/executeCommand", map[string]any{
		"command": "terraform-ls.terraform.validate", "arguments": []string{"uri=" + e.uri("")}}))
	e.until("a diagnostic of validate", func() bool {
		e.lock.Lock()
		defer e.lock.Unlock()
		return slices.Contains(e.problems[e.uri("main.tf")], `8: Unsupported argument: An argument named "txt" is not `+
			`expected here. The arguments here are: owner, path, text.`)
	})
	calls, err := os.ReadFile(filepath.Join(e.dir, "calls"))
	e.must(err)
	for _, want := range []string{"version -json", "providers schema -json", "fmt -no-color -",
		"validate -no-color -json"} {
		if !strings.Contains(string(calls), want) {
			t.Errorf("the server did not run Tombolo with %q, only:\n%s", want, calls)
		}
	}
}

// languageServer returns the path of terraform-ls: that on PATH, or one that is compiled if TOMBOLO_DRIVERS says so.
func languageServer(t *testing.T) string {
	t.Helper()
	if asked := os.Getenv("TOMBOLO_DRIVERS"); asked == "all" || asked == "terraformls" {
		bin := filepath.Join(t.TempDir(), "terraform-ls")
		inModule(t, "terraformls", "build", "-o", bin, "github.com/hashicorp/terraform-ls")
		return bin
	}
	bin, err := exec.LookPath("terraform-ls")
	if err != nil {
		t.Skipf("needs terraform-ls; TOMBOLO_DRIVERS=terraformls compiles it from its published source: %v", err)
	}
	return bin
}

// An editor is the client of a language server.
type editor struct {
	t    *testing.T
	dir  string
	in   io.Writer
	lock sync.Mutex // protects in and the maps
	// waiting are the calls without an answer, problems the diagnostics of each file as "LINE: MESSAGE".
	waiting  map[int]chan answer
	problems map[string][]string
	last     int
}

type answer struct {
	Result json.RawMessage
	Error  *struct{ Message string }
}

// newEditor starts a server in a project that Tombolo has initialized.
func newEditor(t *testing.T, server string) *editor {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	e := &editor{t: t, dir: dir, waiting: map[int]chan answer{}, problems: map[string][]string{}}
	for name, text := range edited {
		e.write(name, text, 0o666)
	}
	e.write("bin/tombolo", fmt.Sprintf("#!/bin/sh\necho \"$@\" >>'%s/calls'\nexec '%s' \"$@\"\n", dir,
		ours(t, "tombolo")), 0o777)
	env := append(os.Environ(), "HOME="+t.TempDir(), "TOMBOLO_PROGRAM_PROVIDERS=example/notes=./notes",
		"TF_CLI_CONFIG_FILE=")
	init := exec.Command(filepath.Join(dir, "bin/tombolo"), "init", "-no-color")
	init.Dir, init.Env = dir, env
	if out, err := init.CombinedOutput(); err != nil {
		t.Fatalf("init: %v\n%s", err, out)
	}
	cmd := exec.Command(server, "serve")
	cmd.Dir, cmd.Env = dir, env
	in, err := cmd.StdinPipe()
	e.must(err)
	out, err := cmd.StdoutPipe()
	e.must(err)
	e.in = in
	e.must(cmd.Start())
	read := make(chan struct{})
	go func() { e.listen(bufio.NewReader(out)); close(read) }()
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-read
		cmd.Wait()
	})
	var ignored any
	e.must(e.call(&ignored, "initialize", map[string]any{
		"rootUri": e.uri(""), "capabilities": map[string]any{},
		"initializationOptions": map[string]any{"terraform": map[string]any{"path": filepath.Join(dir, "bin/tombolo")}},
	}))
	e.must(e.send(map[string]any{"method": "initialized", "params": map[string]any{}}))
	return e
}

// listen handles what the server sends until its output ends. Requests of the server get an empty answer.
func (e *editor) listen(r *bufio.Reader) {
	for {
		header, err := textproto.NewReader(r).ReadMIMEHeader()
		if err != nil {
			break
		}
		length, _ := strconv.Atoi(header.Get("Content-Length"))
		text := make([]byte, length)
		if _, err := io.ReadFull(r, text); err != nil {
			break
		}
		var m struct {
			answer
			ID     *int
			Method string
			Params struct {
				URI         string
				Diagnostics []struct {
					Message string
					Range   struct{ Start struct{ Line int } }
				}
			}
		}
		if json.Unmarshal(text, &m) != nil {
			continue
		}
		if m.Method != "" && m.ID != nil {
			e.send(map[string]any{"id": *m.ID, "result": nil})
			continue
		}
		e.lock.Lock()
		if m.Method == "textDocument/publishDiagnostics" {
			e.problems[m.Params.URI] = nil
			for _, d := range m.Params.Diagnostics {
				e.problems[m.Params.URI] = append(e.problems[m.Params.URI],
					fmt.Sprintf("%d: %s", d.Range.Start.Line, d.Message))
			}
		} else if m.ID != nil && e.waiting[*m.ID] != nil {
			e.waiting[*m.ID] <- m.answer
		}
		e.lock.Unlock()
	}
	e.lock.Lock()
	defer e.lock.Unlock()
	for _, c := range e.waiting {
		close(c)
	}
	e.waiting = nil
}

func (e *editor) send(message map[string]any) error {
	message["jsonrpc"] = "2.0"
	text, err := json.Marshal(message)
	if err != nil {
		return err
	}
	e.lock.Lock()
	defer e.lock.Unlock()
	_, err = fmt.Fprintf(e.in, "Content-Length: %d\r\n\r\n%s", len(text), text)
	return err
}

// call calls a method of the server and stores its result.
func (e *editor) call(result any, method string, params map[string]any) error {
	e.lock.Lock()
	if e.waiting == nil {
		e.lock.Unlock()
		return errors.New("the server has ended")
	}
	e.last++
	id, c := e.last, make(chan answer, 1)
	e.waiting[id] = c
	e.lock.Unlock()
	if err := e.send(map[string]any{"id": id, "method": method, "params": params}); err != nil {
		return err
	}
	got, ok := <-c
	if !ok {
		return fmt.Errorf("the server ended during %s", method)
	}
	e.lock.Lock()
	delete(e.waiting, id)
	e.lock.Unlock()
	if got.Error != nil {
		return fmt.Errorf("%s: %s", method, got.Error.Message)
	}
	return json.Unmarshal(got.Result, result)
}

func (e *editor) must(err error) {
	e.t.Helper()
	if err != nil {
		e.t.Fatal(err)
	}
}

// until waits for what the server does in the background, such as reading schemas.
func (e *editor) until(what string, ok func() bool) {
	e.t.Helper()
	for range 600 {
		if ok() {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	e.lock.Lock()
	defer e.lock.Unlock()
	e.t.Errorf("there was no %s; the diagnostics are %q", what, e.problems)
}

func (e *editor) uri(name string) string { return "file://" + filepath.Join(e.dir, name) }

func (e *editor) write(name, text string, mode os.FileMode) {
	path := filepath.Join(e.dir, name)
	e.must(errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), mode)))
}

func (e *editor) open(name string) {
	document := map[string]any{"uri": e.uri(name), "languageId": "terraform", "version": 1, "text": edited[name]}
	e.must(e.send(map[string]any{"method": "textDocument/didOpen", "params": map[string]any{"textDocument": document}}))
}

func (e *editor) replace(name, text string) {
	e.write(name, text, 0o666)
	e.must(e.send(map[string]any{"method": "textDocument/didChange", "params": map[string]any{
		"textDocument":   map[string]any{"uri": e.uri(name), "version": 2},
		"contentChanges": []any{map[string]any{"text": text}}}}))
}

func (e *editor) at(line, column int) map[string]any {
	return map[string]any{"textDocument": map[string]any{"uri": e.uri("main.tf")},
		"position": map[string]any{"line": line, "character": column}}
}

// completes checks that words are offered at a position of main.tf.
func (e *editor) completes(line, column int, words ...string) {
	e.t.Helper()
	e.until(fmt.Sprintf("completion of %q in line %d", words, line), func() bool {
		var list struct{ Items []struct{ Label string } }
		if e.call(&list, "textDocument/completion", e.at(line, column)) != nil {
			return false
		}
		for _, word := range words {
			if !slices.ContainsFunc(list.Items, func(i struct{ Label string }) bool { return i.Label == word }) {
				return false
			}
		}
		return true
	})
}

// hover checks the text that is shown at a position of main.tf.
func (e *editor) hover(line, column int, want string) {
	e.t.Helper()
	e.until(fmt.Sprintf("hover %q in line %d", want, line), func() bool {
		var hover struct{ Contents struct{ Value string } }
		return e.call(&hover, "textDocument/hover", e.at(line, column)) == nil &&
			strings.Contains(hover.Contents.Value, want)
	})
}

// formatted returns a file after the changes that the server proposes, which are of whole lines.
func (e *editor) formatted(name string) string {
	e.t.Helper()
	var edits []struct {
		Range   struct{ Start, End struct{ Line int } }
		NewText string
	}
	e.must(e.call(&edits, "textDocument/formatting", map[string]any{
		"textDocument": map[string]any{"uri": e.uri(name)}, "options": map[string]any{}}))
	lines := slices.Collect(strings.Lines(edited[name]))
	for _, edit := range slices.Backward(edits) {
		lines = slices.Replace(lines, edit.Range.Start.Line, edit.Range.End.Line, edit.NewText)
	}
	return strings.Join(lines, "")
}
