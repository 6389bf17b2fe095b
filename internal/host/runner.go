package host

import (
	"bufio"
	"bytes"
	"context"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/tombolo-iac/tombolo/internal/host/process"
	"github.com/tombolo-iac/tombolo/internal/regex"
	"github.com/tombolo-iac/tombolo/internal/wire/handshake"
	"github.com/tombolo-iac/tombolo/internal/wire/rpc"
)

// launch starts the program with the environment of a plugin.
func (r *running) launch() error {
	sockets, env := socketFolder()
	temp, err := os.MkdirTemp(sockets, "plugin-dir")
	if err != nil {
		return err
	}
	base := r.plugin.Env
	if base == nil {
		base = os.Environ()
	}
	r.spec = process.Spec{
		Path: r.plugin.Program, Args: r.plugin.Args, Dir: r.plugin.Dir, Temp: temp,
		Env: slices.Concat(base, handshake.Environment(temp, r.plugin.offered()), r.env, env),
	}
	if r.spec.Dir != "" { // a relative path would be relative to Dir
		if r.spec.Path, err = filepath.Abs(r.spec.Path); err != nil {
			return err
		}
	}
	p, err := process.Start(r.spec)
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.proc = p
	late := r.killed
	r.mu.Unlock()
	if late {
		p.Kill()
	}
	r.readers.Go(func() { r.listen(p) })
	r.readers.Go(func() {
		defer close(r.read)
		r.logStderr(io.TeeReader(p.Stderr(), r.tail))
	})
	return nil
}

// connect starts the program, waits for its address, and connects to it.
func (r *running) connect(ctx context.Context) (conn *rpc.Conn, version int, err error) {
	if err := r.launch(); err != nil {
		return nil, 0, err
	}
	var line string
	late := time.NewTimer(r.plugin.StartTimeout)
	defer late.Stop()
	select {
	case line = <-r.hello:
	case <-late.C:
		return nil, 0, errors.New("timeout while waiting for the plugin to start")
	}
	if line == "" {
		return nil, 0, errors.New("the plugin has not printed its handshake line")
	}
	hello, err := handshake.Parse(line, r.plugin.offered())
	if err != nil {
		return nil, 0, err
	}
	if hello.Certificate != nil && r.tls != nil {
		r.tls.RootCAs = x509.NewCertPool()
		r.tls.RootCAs.AddCert(hello.Certificate)
		r.tls.Time = handshake.Timeless(hello.Certificate)
	}
	conn, err = rpc.Dial(ctx, func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, hello.Network, hello.Address)
	}, r.tls)
	if err != nil {
		return nil, 0, fmt.Errorf("it does not accept connections at %s %s, the address in its handshake line: %w",
			hello.Network, hello.Address, err)
	}
	r.readers.Go(func() { r.forward(conn) })
	return conn, hello.Version, nil
}

// forward logs the plugin's standard output and error after the handshake.
func (r *running) forward(conn *rpc.Conn) {
	logged := func(stream string) io.Writer {
		return lineWriter(func(text string) { r.log.Debug("provider wrote to "+stream, "text", text) })
	}
	stdout, stderr := logged("stdout"), io.MultiWriter(logged("stderr"), r.tail)
	chunk := new(emptypb.Empty)
	// A plugin without this method writes to its own streams.
	_, _ = conn.Stream(context.Background(), handshake.Output, new(emptypb.Empty), chunk, maxChunk, func() bool {
		to := stdout
		data, isError := handshake.ReadOutput(chunk)
		if isError {
			to = stderr
		}
		_, _ = to.Write(data) // neither log nor memory returns errors
		return true
	})
}

// maxChunk limits a piece of forwarded output, in bytes.
const maxChunk = 4 << 20

// courtesy is how long a plugin may take to end after it was asked to.
const courtesy = 2 * time.Second

// shutDown asks the plugin to end, waits, and kills what is left.
func (r *running) shutDown(conn *rpc.Conn) {
	late := time.AfterFunc(patience, r.kill) // a stopped program cannot even refuse
	defer late.Stop()
	_, _ = conn.Invoke(context.Background(), handshake.Shutdown, new(emptypb.Empty), new(emptypb.Empty), maxChunk)
	_ = conn.Close()
	select {
	case <-r.process().Ended():
	case <-time.After(courtesy):
	}
	r.end()
}

// end kills the rest of the program and its group, and removes the folder of its socket.
func (r *running) end() {
	r.kill()
	r.readers.Wait()
	if r.spec.Temp != "" {
		_ = os.RemoveAll(r.spec.Temp)
	}
}

// maxHandshake limits the first line, in bytes: one with a certificate has less than two thousand.
const maxHandshake = 64 << 10

// listen reads the program's standard output: the first line is the handshake; the rest, which plugins should not
// write, is logged.
func (r *running) listen(p *process.Process) {
	in := bufio.NewReaderSize(io.TeeReader(p.Stdout(), r.head), maxHandshake)
	line, _ := in.ReadSlice('\n') // an incomplete line is checked as well
	bad := handshakeProblem(string(line), r.plugin.Plain)
	r.mu.Lock()
	r.bad = bad
	r.mu.Unlock()
	if bad == "" {
		r.hello <- string(line)
	} else {
		// Let it write more before it is killed: the reason is often on stderr.
		select {
		case <-p.Ended():
		case <-time.After(300 * time.Millisecond):
		}
	}
	close(r.hello)
	logLines(in, func(text string) { r.log.Debug("provider wrote to stdout", "text", text) })
}

var introduction = regex.Lazy(`^\d+\|\d+\|(tcp|unix)\|[^|]+\|`)

// handshakeProblem returns the problem of a plugin's handshake line, or "" if it is valid.
func handshakeProblem(line string, plain bool) string {
	line = strings.TrimSpace(line)
	parts := strings.Split(line, "|")
	switch {
	case !introduction().MatchString(line):
		return "it is not the handshake line of a plugin"
	case len(parts) < 5 || parts[4] != "grpc":
		return "it does not offer gRPC"
	case plain && len(parts) > 5 && len(parts[5]) > 50:
		return "it requires TLS, but TF_DISABLE_PLUGIN_TLS disables it"
	case !plain && (len(parts) < 6 || len(parts[5]) < 50):
		return "it has no certificate in its sixth field, which is required for TLS"
	case !plain && slices.ContainsFunc(protocols, func(v int) bool { return parts[1] == strconv.Itoa(v) }):
		return certificateProblem(parts[5])
	}
	return "" // the versions are checked elsewhere
}

// certificateProblem returns the problem of a plugin's certificate. Handwritten handshakes often contain one of two
// mistakes.
func certificateProblem(field string) string {
	der, err := base64.RawStdEncoding.DecodeString(field)
	if err != nil {
		if _, err := base64.StdEncoding.DecodeString(field); err == nil {
			return `the certificate in its sixth field ends in padding, but hosts expect base64 without padding: ` +
				`remove each "=" at its end`
		}
		return "its sixth field must be the certificate in base64, but it is not base64"
	}
	if _, err := x509.ParseCertificate(der); err != nil {
		if bytes.Contains(der, []byte("-----BEGIN")) {
			return "the certificate in its sixth field is base64 of a PEM file. It must be base64 of DER: the lines " +
				"between BEGIN and END, joined"
		}
		return fmt.Sprintf("its sixth field is base64, but does not contain a DER certificate: %s", err)
	}
	return ""
}

// logLines reads from to its end and calls to with each line, which it truncates to a length suitable for logs.
func logLines(from io.Reader, to func(string)) {
	const most = 4096
	in := bufio.NewReaderSize(from, most)
	for {
		line, isPrefix, err := in.ReadLine()
		if err != nil {
			return
		}
		if len(line) > 0 {
			to(string(line))
		}
		for isPrefix && err == nil {
			_, isPrefix, err = in.ReadLine()
		}
	}
}

type lineWriter func(string)

// Write implements io.Writer.
func (w lineWriter) Write(b []byte) (int, error) {
	for line := range strings.Lines(string(b)) {
		if line = strings.TrimRight(line, "\r\n"); line != "" {
			w(line)
		}
	}
	return len(b), nil
}

func (r *running) process() *process.Process {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.proc
}

// kill kills the program, even if it is just being started.
func (r *running) kill() {
	r.mu.Lock()
	r.killed = true
	p := r.proc
	r.mu.Unlock()
	if p != nil {
		p.Kill()
	}
}

// explainStart returns the error of a failed start, with the fate of the program.
func (r *running) explainStart(err error) error {
	p := r.process()
	if p == nil {
		return fmt.Errorf("the program %s cannot be started: %w%s", r.plugin.Program, err,
			unstartable(r.plugin.Program, err))
	}
	exit := p.ExitState()
	r.mu.Lock()
	bad := r.bad
	r.mu.Unlock()
	var what string
	switch output, late := strings.TrimSpace(r.head.String()), strings.Contains(err.Error(), "timeout"); {
	case output != "" && late: // do not judge before the program has ended
		what = fmt.Sprintf(
			"it did not print its handshake line within %s: its standard output has no newline\n\n%s",
			r.plugin.StartTimeout, indent(output))
	case output != "" && bad != "":
		what = fmt.Sprintf("unrecognized remote plugin message: it wrote this to standard output instead of the "+
			"handshake line (%s):\n\n%s", bad, indent(output))
	case late:
		what = fmt.Sprintf("it did not print its handshake line within %s", r.plugin.StartTimeout)
	case output == "":
		what = "it ended without printing its handshake line"
	default:
		what = err.Error()
	}
	text := fmt.Sprintf("the program %s does not work as a provider plugin: %s", r.plugin.Program, what)
	if exit != "" && !strings.Contains(exit, "killed") {
		text += fmt.Sprintf("\n\nThe program has ended: %s.", exit)
	}
	return errors.New(text + r.lastWords())
}

// unstartable explains an error of the system, which also reports that a program is missing if its interpreter is.
func unstartable(program string, err error) string {
	var begin [256]byte
	f, openErr := os.Open(program)
	if openErr != nil {
		return "" // the error needs no explanation
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	n, _ := io.ReadFull(f, begin[:])
	line, _, _ := strings.Cut(string(begin[:n]), "\n")
	interpreter, script := strings.CutPrefix(line, "#!")
	switch missing := errors.Is(err, fs.ErrNotExist); {
	case missing && script:
		return fmt.Sprintf("\n\nIt is a script, but the interpreter in its first line does not exist: %q.",
			strings.Trim(interpreter, " \t"))
	case missing:
		return "\n\nIt exists, but the loader or libraries it needs do not: it was built for another system."
	case errors.Is(err, syscall.ENOEXEC) && !utf8.Valid(begin[:n]):
		return "\n\nIt was built for another system or processor."
	case errors.Is(err, syscall.ENOEXEC):
		return "\n\nA script needs a first line with #! and its interpreter."
	}
	return ""
}

// explain returns how the program ended, for a call without a response. Only the first of these calls gets the
// program's output.
func (r *running) explain() string {
	p := r.process()
	select {
	case <-p.Ended():
	case <-time.After(500 * time.Millisecond): // the connection ends shortly before the program does
	}
	exit := p.ExitState()
	if exit == "" {
		return ""
	}
	text := fmt.Sprintf("The program %s has ended: %s.", r.plugin.Program, exit)
	r.telling.Lock()
	defer r.telling.Unlock()
	words := r.lastWords()
	switch {
	case words == "":
	case r.shown:
		text += " The first of these errors includes its standard error."
	default:
		r.shown = true
		text += words
	}
	return text
}

// lastWords returns the end of the program's stderr without its log, as a paragraph, or "". A crash of a Go program
// begins at its panic.
func (r *running) lastWords() string {
	select {
	case <-r.read:
	case <-time.After(500 * time.Millisecond): // its children may have the other end open
	}
	const most = 40
	crashed := false
	var words []string
	for line := range strings.Lines(r.tail.String()) {
		line = strings.TrimRight(line, "\r\n")
		if !crashed && (strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ")) {
			words, crashed = nil, true
		}
		if !strings.HasPrefix(line, `{"@`) && strings.TrimSpace(line) != "" {
			words = append(words, line)
		}
	}
	if len(words) == 0 {
		return ""
	}
	text := func() string { return indent(r.plugin.Redact(strings.Join(words, "\n"))) }
	if crashed {
		words = words[:min(most, len(words))]
		name := filepath.Base(r.plugin.Program)
		return fmt.Sprintf("\n\nThe %s plugin crashed! This is always a bug in the plugin. Report it to its "+
			"maintainers, with the following. Stack trace from the %s plugin:\n\n%s", name, name, text())
	}
	words = words[max(0, len(words)-most):]
	return "\n\nIt wrote to standard error:\n\n" + text()
}

func indent(text string) string { return "    " + strings.ReplaceAll(text, "\n", "\n    ") }

// tail keeps the end, or the beginning, of what is written to it.
type tail struct {
	max       int
	keepFirst bool

	mu   sync.Mutex // guards text
	text []byte
}

// Write implements io.Writer.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.keepFirst {
		t.text = append(t.text, b[:min(len(b), t.max-len(t.text))]...)
		return len(b), nil
	}
	if t.text = append(t.text, b...); len(t.text) > 2*t.max {
		t.text = append([]byte(nil), t.text[len(t.text)-t.max:]...)
	}
	return len(b), nil
}

// String returns the stored bytes as valid UTF-8.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(string(t.text[max(0, len(t.text)-t.max):]), "\uFFFD")
}
