//go:build unix

// Package winrmtest starts WinRM servers for tests, on loopback. A server stops when its test ends.
//
// Windows file names stand for files below a directory of the server. A command is a file there, which the local shell
// runs, or one of the PowerShell scripts with which package machines handles files; the server recognizes these by the
// cmdlets that they call. The tests do not prove that Windows itself accepts the scripts.
package winrmtest

import (
	"bytes"
	"crypto/tls"
	"encoding/base64"
	"encoding/pem"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf16"
)

// A Server is a machine with WinRM.
type Server struct {
	Port           int
	User, Password string
	CACert         string // PEM: authority that certifies a server with TLS
	// NTLM makes the server refuse the password itself.
	NTLM bool
	// Quiet is how long the server waits for output before it responds that there is none; 0 means one second.
	Quiet time.Duration
	dir   string

	mu       sync.Mutex // guards the fields below
	commands map[string]*command
	shells   map[string]bool
	asked    []string // actions, in order
	numbers  int
}

// command is a command that was started.
type command struct {
	line    string
	in      bytes.Buffer
	inEnds  chan struct{}
	process *exec.Cmd

	mu       sync.Mutex // guards the fields below
	out, err bytes.Buffer
	ended    bool
	status   int
	news     chan struct{} // closed when there is new output or the command has ended
}

// Start starts a server. With https set, it has a certificate issued by CACert.
func Start(t testing.TB, https bool) *Server {
	t.Helper()
	s := &Server{User: "Administrator", Password: "hush & hush", dir: t.TempDir(), commands: map[string]*command{},
		shells: map[string]bool{}}
	if err := os.MkdirAll(s.Path("C:/windows/temp"), 0o777); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	if https {
		server.TLS = &tls.Config{NextProtos: []string{"http/1.1"}}
		server.StartTLS()
		s.CACert = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	} else {
		server.Start()
	}
	s.Port, _ = strconv.Atoi(server.URL[strings.LastIndex(server.URL, ":")+1:])
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return s
}

// Path returns the file for a Windows file name.
func (s *Server) Path(name string) string {
	return filepath.Join(s.dir, strings.ReplaceAll(strings.ReplaceAll(name, `\`, "/"), ":", ""))
}

// Asked returns the last words of the requested actions, in order.
func (s *Server) Asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.asked...)
}

// Open returns the number of shells and commands that were not ended.
func (s *Server) Open() (shells, commands int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.shells), len(s.commands)
}

type request struct {
	Action string `xml:"Header>Action"`
	Shell  string `xml:"Header>SelectorSet>Selector"`
	Body   struct {
		Command string `xml:"CommandLine>Command"`
		Input   struct {
			ID   string `xml:"CommandId,attr"`
			End  bool   `xml:"End,attr"`
			Text string `xml:",chardata"`
		} `xml:"Send>Stream"`
		Desired struct {
			ID string `xml:"CommandId,attr"`
		} `xml:"Receive>DesiredStream"`
		Signal struct {
			ID   string `xml:"CommandId,attr"`
			Code string
		}
	}
}

const envelope = `<s:Envelope xmlns:s="http://www.w3.org/2003/05/soap-envelope"` +
	` xmlns:w="http://schemas.dmtf.org/wbem/wsman/1/wsman.xsd"` +
	` xmlns:r="http://schemas.microsoft.com/wbem/wsman/1/windows/shell"><s:Body>%s</s:Body></s:Envelope>`

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if !s.allowed(w, r) {
		return
	}
	text, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	var q request
	if err == nil {
		err = xml.Unmarshal(text, &q)
	}
	w.Header().Set("Content-Type", "application/soap+xml;charset=UTF-8")
	answer := ""
	if err == nil {
		answer, err = s.answer(r, &q)
	}
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		answer = "<s:Fault><s:Code><s:Value>s:Receiver</s:Value><s:Subcode><s:Value>" + err.Error() + "</s:Value>" +
			"</s:Subcode></s:Code><s:Reason><s:Text>No.</s:Text></s:Reason></s:Fault>"
	}
	_, _ = fmt.Fprintf(w, envelope, answer) // the client may have gone away
}

var errNothing, errUnknown = errors.New("w:TimedOut"), errors.New("w:InvalidSelectors")

func (s *Server) answer(r *http.Request, q *request) (string, error) {
	action := q.Action[strings.LastIndex(q.Action, "/")+1:]
	s.mu.Lock()
	s.asked = append(s.asked, action)
	known := s.shells[q.Shell]
	s.mu.Unlock()
	switch {
	case action == "Create":
		id := s.number("SHELL")
		s.mu.Lock()
		s.shells[id] = true
		s.mu.Unlock()
		return `<w:ResourceCreated><w:ReferenceParameters><w:SelectorSet><w:Selector Name="ShellId">` + id +
			`</w:Selector></w:SelectorSet></w:ReferenceParameters></w:ResourceCreated>`, nil
	case !known:
		return "", errUnknown
	}
	switch action {
	case "Delete":
		s.mu.Lock()
		delete(s.shells, q.Shell)
		s.mu.Unlock()
		return "", nil
	case "Command":
		return "<r:CommandResponse><r:CommandId>" + s.start(q.Body.Command) + "</r:CommandId></r:CommandResponse>", nil
	case "Send":
		return "<r:SendResponse/>", s.input(q)
	case "Signal":
		return "<r:SignalResponse/>", s.signal(q)
	case "Receive":
		return s.output(r, q)
	}
	return "", errUnknown
}

func (s *Server) number(kind string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.numbers++
	return fmt.Sprintf("%s-%d", kind, s.numbers)
}

func (s *Server) command(id string) (*command, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.commands[id]; c != nil {
		return c, nil
	}
	return nil, errUnknown
}

func (s *Server) start(line string) string {
	id := s.number("COMMAND")
	c := &command{line: line, inEnds: make(chan struct{}), news: make(chan struct{})}
	s.mu.Lock()
	s.commands[id] = c
	s.mu.Unlock()
	if encoded, ok := strings.CutPrefix(line, powershell); ok {
		go func() { c.end(s.script(c, encoded)) }()
		return id
	}
	c.process = exec.Command("/bin/sh", s.Path(strings.Trim(line, `"`)))
	c.process.Stdout, c.process.Stderr = writer{c, &c.out}, writer{c, &c.err}
	c.process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.process.Start(); err != nil {
		c.end(1)
		return id
	}
	go func() {
		_ = c.process.Wait() // the status is read elsewhere
		c.end(c.process.ProcessState.ExitCode())
	}()
	return id
}

// writer appends to a stream of a command.
type writer struct {
	c  *command
	to *bytes.Buffer
}

func (w writer) Write(p []byte) (int, error) {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	w.c.tell()
	return w.to.Write(p)
}

// tell wakes waiting requests; the caller holds mu.
func (c *command) tell() {
	close(c.news)
	c.news = make(chan struct{})
}

func (c *command) end(status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended, c.status = true, status
	c.tell()
}

func (s *Server) input(q *request) error {
	c, err := s.command(q.Body.Input.ID)
	if err != nil {
		return err
	}
	data, err := base64.StdEncoding.DecodeString(q.Body.Input.Text)
	if err != nil {
		return errUnknown
	}
	c.in.Write(data)
	if q.Body.Input.End {
		close(c.inEnds)
	}
	return nil
}

func (s *Server) signal(q *request) error {
	c, err := s.command(q.Body.Signal.ID)
	if err != nil {
		return err
	}
	signal := syscall.SIGTERM
	if strings.HasSuffix(q.Body.Signal.Code, "/terminate") {
		signal = syscall.SIGKILL
		s.mu.Lock()
		delete(s.commands, q.Body.Signal.ID)
		s.mu.Unlock()
	}
	if c.process != nil && c.process.Process != nil {
		_ = syscall.Kill(-c.process.Process.Pid, signal) // it may have already ended
	}
	return nil
}

// output waits until a command has output or has ended.
func (s *Server) output(r *http.Request, q *request) (string, error) {
	c, err := s.command(q.Body.Desired.ID)
	if err != nil {
		return "", err
	}
	quiet := s.Quiet
	if quiet == 0 {
		quiet = time.Second
	}
	timer := time.NewTimer(quiet)
	defer timer.Stop()
	for {
		c.mu.Lock()
		news := c.news
		if c.out.Len()+c.err.Len() > 0 || c.ended {
			defer c.mu.Unlock()
			return c.output(q.Body.Desired.ID), nil
		}
		c.mu.Unlock()
		select {
		case <-news:
		case <-timer.C:
			return "", errNothing
		case <-r.Context().Done():
			return "", errNothing
		}
	}
}

// output returns the output of a command so far and removes it; the caller holds mu.
func (c *command) output(id string) string {
	var b strings.Builder
	b.WriteString("<r:ReceiveResponse>")
	for name, from := range map[string]*bytes.Buffer{"stdout": &c.out, "stderr": &c.err} {
		if from.Len() > 0 {
			fmt.Fprintf(&b, `<r:Stream Name="%s" CommandId="%s">%s</r:Stream>`, name, id,
				base64.StdEncoding.EncodeToString(from.Bytes()))
			from.Reset()
		}
	}
	state := "http://schemas.microsoft.com/wbem/wsman/1/windows/shell/CommandState/"
	if c.ended {
		fmt.Fprintf(&b, `<r:CommandState CommandId="%s" State="%sDone"><r:ExitCode>%d</r:ExitCode></r:CommandState>`,
			id, state, c.status)
	} else {
		fmt.Fprintf(&b, `<r:CommandState CommandId="%s" State="%sRunning"/>`, id, state)
	}
	b.WriteString("</r:ReceiveResponse>")
	return b.String()
}

const powershell = "powershell.exe -NoProfile -NonInteractive -ExecutionPolicy Bypass -OutputFormat Text " +
	"-EncodedCommand "

// A PowerShell script: the cmdlets that it calls, with a name, and whether it reads lines of base64.
var (
	isDir = regexp.MustCompile(`^if\(Test-Path -LiteralPath ('(?:[^']|'')*') -PathType Container\)` +
		`\{exit 0\};exit 1$`)
	mkdir  = regexp.MustCompile(`^\[void\]\[IO\.Directory\]::CreateDirectory\(('(?:[^']|'')*')\)$`)
	remove = regexp.MustCompile(`^\[IO\.File\]::Delete\(('(?:[^']|'')*')\)$`)
	write  = regexp.MustCompile(`^\$p=\[IO\.Path\]::GetFullPath\(('(?:[^']|'')*')\);\[IO\.File\]::Delete\(\$p\);.*` +
		`\[IO\.FileMode\]::CreateNew\);.*in \$input\)\{\$b=\[Convert\]::FromBase64String\(\$l\)`)
)

// script performs the action of a PowerShell script, and returns its status.
func (s *Server) script(c *command, encoded string) int {
	utf, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return 99
	}
	var units []uint16
	for i := 0; i+1 < len(utf); i += 2 {
		units = append(units, uint16(utf[i])|uint16(utf[i+1])<<8)
	}
	text := string(utf16.Decode(units))
	text, _ = strings.CutPrefix(text, "$ErrorActionPreference='Stop';$ProgressPreference='SilentlyContinue';try{")
	text, _ = strings.CutSuffix(text, "}catch{[Console]::Error.WriteLine($_.Exception.Message);exit 2}")
	name := func(re *regexp.Regexp) (string, bool) {
		m := re.FindStringSubmatch(text)
		if m == nil {
			return "", false
		}
		return s.Path(strings.ReplaceAll(m[1][1:len(m[1])-1], "''", "'")), true
	}
	if at, ok := name(isDir); ok {
		if info, err := os.Stat(at); err != nil || !info.IsDir() {
			return 1
		}
		return 0
	} else if at, ok = name(mkdir); ok {
		err = os.MkdirAll(at, 0o777)
	} else if at, ok = name(remove); ok {
		err = gone(os.Remove(at))
	} else if at, ok = name(write); ok {
		err = c.store(at)
	} else {
		return 99
	}
	if err != nil {
		_, _ = io.WriteString(writer{c, &c.err}, err.Error()+"\r\n") // a buffer returns no errors
		return 2
	}
	return 0
}

func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// store decodes lines of base64 from its input and writes them to a file.
func (c *command) store(name string) error {
	<-c.inEnds
	if err := gone(os.Remove(name)); err != nil {
		return err
	}
	var all []byte
	for line := range strings.Lines(c.in.String()) {
		data, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(line, "\r\n"))
		if err != nil {
			return err
		}
		all = append(all, data...)
	}
	return os.WriteFile(name, all, 0o666)
}
