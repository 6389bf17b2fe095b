//go:build unix

package handler_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/program/handler"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/provider"
)

// attachedTo returns a provider whose program listens on a socket, and a function that reads its data source.
func attachedTo(t *testing.T, socket, dir string, say func(string)) (read func() provider.ReadDataResponse) {
	t.Helper()
	m, diags := manifest.Parse([]byte(fmt.Sprintf(debuggedManifest, "one-shot")), filepath.Join(dir, manifest.FileName),
		dir)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	p := handler.New(m, handler.NewCaller(m, handler.Surroundings{Dir: dir, Cache: t.TempDir(),
		Env: append(os.Environ(), "TOMBOLO_PROGRAM_DEBUG=s=unix:"+socket)}),
		handler.Options{Output: func(o handler.Output) { say(o.Line) }})
	t.Cleanup(func() { p.Close() })
	return func() provider.ReadDataResponse {
		return p.ReadData(t.Context(), provider.ReadDataRequest{Type: "s_d",
			Config: cty.ObjectVal(map[string]cty.Value{"id": cty.NullVal(cty.String)})})
	}
}

// shortDir returns a folder whose sockets have short paths, as systems require.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "tombolo-socket")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// A program without a kit, which is started when the host already waits for it, learns the directory of the user and
// the variables that it lacks. When the program ends, the open call fails.
func TestAnAttachedProgramLearnsItsSurroundings(t *testing.T) {
	dir := shortDir(t)
	socket := filepath.Join(dir, "s")
	lines := make(chan string, 100)
	read := attachedTo(t, "s", dir, func(line string) { lines <- line })
	greetings := make(chan string, 1)
	failed := make(chan error, 1)
	go func() {
		failed <- func() error {
			if line := <-lines; !strings.Contains(line, "TOMBOLO_LISTEN="+socket) {
				return fmt.Errorf("the host does not say that it waits: %s", line)
			}
			listener, err := net.Listen("unix", socket)
			if err != nil {
				return err
			}
			defer listener.Close()
			if err := os.Chmod(socket, 0o600); err != nil {
				return err
			}
			conn, err := listener.Accept()
			if err != nil {
				return err
			}
			defer conn.Close()
			in := bufio.NewReader(conn)
			hello, err := in.ReadString('\n')
			if err != nil {
				return err
			}
			greetings <- hello
			if _, err := io.WriteString(conn, `{"jsonrpc":"2.0","id":0,"result":{"protocol":1}}`+"\n"); err != nil {
				return err
			}
			if _, err := in.ReadString('\n'); err != nil {
				return err
			}
			const answer = `{"jsonrpc":"2.0","id":1,"result":{"state":{"id":"x"}}}`
			if _, err := io.WriteString(conn, answer+"\n"); err != nil {
				return err
			}
			_, err = in.ReadString('\n') // the second call gets no answer
			return err
		}()
	}()
	resp := read()
	if resp.Diagnostics.HasErrors() || resp.State.GetAttr("id").AsString() != "x" {
		t.Fatal(texts(resp.Diagnostics))
	}
	var hello struct {
		Params struct {
			Attached struct {
				Directory   string
				Environment map[string]string
			}
		}
	}
	text := <-greetings
	if err := json.Unmarshal([]byte(text), &hello); err != nil {
		t.Fatal(err)
	}
	got := hello.Params.Attached
	if got.Directory != dir || got.Environment["TOMBOLO_PROVIDER_DIR"] != dir ||
		got.Environment["TOMBOLO_CACHE_DIR"] == "" || got.Environment["TOMBOLO_PROTOCOL"] != "1" ||
		len(got.Environment) != 3 {
		t.Errorf("the program got %s", text)
	}
	if got := texts(read().Diagnostics); !strings.Contains(got, "the end of the connection") {
		t.Errorf("a call without an answer: %s", got)
	}
	if err := <-failed; err != nil {
		t.Error(err)
	}
}

// Values are not sent to sockets that others can reach, nor to anything else.
func TestSocketsOfOthersAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		make func(path string) error
		want string
	}{
		"a file": {func(path string) error { return os.WriteFile(path, nil, 0o600) }, "which is not a socket"},
		"a link": {func(path string) error {
			if err := listening(t, path+"-other", 0o600); err != nil {
				return err
			}
			return os.Symlink(path+"-other", path)
		}, "which is not a socket"},
		"a socket for all":     {func(path string) error { return listening(t, path, 0o666) }, "mode 0600"},
		"a socket for a group": {func(path string) error { return listening(t, path, 0o620) }, "mode 0600"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := shortDir(t)
			socket := filepath.Join(dir, "s")
			if err := c.make(socket); err != nil {
				t.Fatal(err)
			}
			read := attachedTo(t, socket, dir, func(string) {})
			if got := texts(read().Diagnostics); !strings.Contains(got, c.want) {
				t.Errorf("got %s, want %q", got, c.want)
			}
		})
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "p.sh"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := texts(attachedTo(t, "", dir, func(string) {})().Diagnostics); !strings.Contains(got, "names no socket") {
		t.Errorf("without a path: %s", got)
	}
}

// listening makes a socket with a mode.
func listening(t *testing.T, path string, mode os.FileMode) error {
	listener, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	t.Cleanup(func() { listener.Close() })
	return os.Chmod(path, mode)
}
