//go:build unix

package kits_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/program/handler"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/provider"
)

// startedByHand starts the program of a manifest as its author does in an editor: it listens on a socket. It returns
// the socket, and a function that waits for a line of its standard error.
func startedByHand(t *testing.T, m *manifest.Manifest, words ...string) (socket string, said func(what string) string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "tombolo-listen") // the path of a socket must be short
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket = filepath.Join(dir, "s")
	argv := append(words, manifest.InPackage(m.Dir, m.Command.For("linux", "amd64"))[min(1, len(words)):]...)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "TOMBOLO_LISTEN="+socket)
	stderr, err := cmd.StderrPipe()
	must(t, err)
	must(t, cmd.Start())
	lines := make(chan string, 1000)
	var read sync.WaitGroup
	read.Go(func() {
		defer close(lines)
		for scan := bufio.NewScanner(stderr); scan.Scan(); {
			lines <- scan.Text()
		}
	})
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		read.Wait()
		_ = cmd.Wait()
	})
	return socket, func(what string) string {
		t.Helper()
		var before []string
		for line := range lines {
			if strings.Contains(line, what) {
				return line
			}
			before = append(before, line)
		}
		t.Fatalf("the program has ended, and did not say %q, but:\n%s", what, strings.Join(before, "\n"))
		return ""
	}
}

const attachedManifest = `{"protocol": 1, "name": "p", "mode": "MODE", "command": COMMAND, "schema": {
  "data_source_schemas": {"p_echo": {"timeouts": {"data": "1ns"}, "attributes": {
    "in": {"type": "dynamic", "optional": true}, "bad": {"type": "string", "optional": true},
    "out": {"type": "dynamic", "computed": true}}}}}}`

// Several engines, one after the other and at the same time, use a program that was started by hand, in each language
// and even if its manifest says that it is one-shot. It gets no time limits.
func TestAProgramThatWasStartedByHandIsUsed(t *testing.T) {
	for _, l := range languages {
		if l.name == "bash" {
			continue // it cannot listen
		}
		t.Run(l.name, func(t *testing.T) {
			m, diags := manifest.Load(l.folderOf(t, []byte(echoPrograms[l.name]), attachedManifest, "one-shot"))
			must(t, diags.Err())
			var words []string
			if l.kit != nil {
				words = []string{l.tools[0]}
			}
			socket, said := startedByHand(t, m, words...)
			said("TOMBOLO_PROGRAM_DEBUG=NAME=unix:" + socket)
			dir := t.TempDir()
			open := func() provider.Provider {
				p := handler.New(m, handler.NewCaller(m, handler.Surroundings{Cache: t.TempDir(), Dir: dir,
					Env: append(os.Environ(), "TOMBOLO_PROGRAM_DEBUG=p=unix:"+socket)}), handler.Options{})
				t.Cleanup(func() { p.Close() })
				return p
			}
			one, two := open(), open()
			for i, p := range []provider.Provider{one, two, one, open(), two} {
				resp := p.ReadData(t.Context(), provider.ReadDataRequest{Type: "p_echo", Config: cty.ObjectVal(
					map[string]cty.Value{"in": cty.StringVal("x"), "bad": cty.StringVal(""),
						"out": cty.NullVal(cty.DynamicPseudoType)})})
				must(t, resp.Diagnostics.Err())
				if got := resp.State.GetAttr("out"); !got.RawEquals(cty.StringVal("x")) {
					t.Errorf("call %d returned %#v", i, got)
				}
				if i == 2 {
					must(t, one.Close())
				}
			}
		})
	}
}

// A host waits while the program stops at its first line in the inspector of Node.js, until the debugger that is
// attached continues it. The program then listens, and its answer arrives.
func TestAProgramThatStopsInTheInspectorIsWaitedFor(t *testing.T) {
	l := languages[1]
	m, diags := manifest.Load(l.folderOf(t, []byte(echoPrograms[l.name]), attachedManifest, "session"))
	must(t, diags.Err())
	socket, said := startedByHand(t, m, "node", "--inspect-brk=127.0.0.1:0")
	where := regexp.MustCompile(`ws://(127\.0\.0\.1:\d+)(/\S+)`).FindStringSubmatch(said("ws://"))
	waiting := make(chan string, 100)
	p := handler.New(m, handler.NewCaller(m, handler.Surroundings{Cache: t.TempDir(), Patience: time.Nanosecond,
		Env: append(os.Environ(), "TOMBOLO_PROGRAM_DEBUG=p=unix:"+socket)}),
		handler.Options{Output: func(o handler.Output) { waiting <- o.Line }})
	defer p.Close()
	answered := make(chan provider.ReadDataResponse, 1)
	go func() {
		answered <- p.ReadData(t.Context(), provider.ReadDataRequest{Type: "p_echo", Config: cty.ObjectVal(
			map[string]cty.Value{"in": cty.True, "bad": cty.StringVal(""), "out": cty.NullVal(cty.DynamicPseudoType)})})
	}()
	if line := <-waiting; !strings.Contains(line, "Start it with this variable in its environment: TOMBOLO_LISTEN="+
		socket) {
		t.Errorf("the host said %q", line)
	}
	inspector, err := net.Dial("tcp", where[1])
	must(t, err)
	defer inspector.Close()
	fmt.Fprintf(inspector, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n", where[2], where[1])
	reader := bufio.NewReader(inspector)
	upgraded, err := http.ReadResponse(reader, nil)
	if err != nil || upgraded.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("the inspector answered %v, %v", upgraded, err)
	}
	send := func(method string) {
		text := fmt.Sprintf(`{"id": 1, "method": %q}`, method)
		frame := append([]byte{0x81, 0x80 | byte(len(text)), 0, 0, 0, 0}, text...) // its mask is zero
		_, err := inspector.Write(frame)
		must(t, err)
	}
	await := func(what string) {
		for said := ""; !strings.HasSuffix(said, what); {
			one, err := reader.ReadByte()
			must(t, err)
			said += string(one)
		}
	}
	send("Debugger.enable")
	await(`"id":1`)
	send("Runtime.runIfWaitingForDebugger")
	await(`"Debugger.paused"`) // at the first line
	send("Debugger.resume")
	go io.Copy(io.Discard, reader)
	resp := <-answered
	must(t, resp.Diagnostics.Err())
	if got := resp.State.GetAttr("out"); !got.RawEquals(cty.True) {
		t.Errorf("the program returned %#v", got)
	}
}
