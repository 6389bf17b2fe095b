package serving_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/cli"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/engine"
	"github.com/tombolo-iac/tombolo/internal/view/report/reporttest"
)

const canary = "t0ps3cretvalue"

// printed is the output of a command, for which tests can wait.
type printed struct {
	mu   sync.Mutex
	b    bytes.Buffer
	more chan struct{} // closed and replaced with each write
}

func newPrinted() *printed { return &printed{more: make(chan struct{})} }

func (p *printed) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.b.Write(b)
	close(p.more)
	p.more = make(chan struct{})
	return len(b), nil
}

func (p *printed) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.b.String()
}

// find waits until the output has a match for an expression, and returns its last group. stop ends the wait.
func (p *printed) find(t *testing.T, expression string, stop <-chan struct{}) string {
	t.Helper()
	wanted := regexp.MustCompile(expression)
	for {
		p.mu.Lock()
		found, more := wanted.FindStringSubmatch(p.b.String()), p.more
		p.mu.Unlock()
		if found != nil {
			return found[len(found)-1]
		}
		select {
		case <-more:
		case <-time.After(3 * time.Minute):
			t.Fatalf("the command still has not printed %q:\n%s", expression, p)
		case <-stop:
			t.Fatalf("the command has ended without %q:\n%s", expression, p)
		}
	}
}

// row returns a command of the table.
func row(name string) *command.Command {
	for _, cmd := range cli.Commands() {
		if cmd.Name == name {
			return cmd
		}
	}
	panic("no command " + name)
}

// start runs a command in the working directory.
func start(ctx context.Context, out io.Writer, name string, args ...string) command.Outcome {
	none, err := os.Open(os.DevNull)
	if err != nil {
		panic(err)
	}
	defer none.Close()
	a := &command.App{Surroundings: engine.Surroundings{Program: "tombolo", Title: "Tombolo", Environ: []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TOMBOLO_STATE_HISTORY=5", "TF_VAR_secret=" +
			canary}},
		In: command.NewInput(none), Out: out, Err: out}
	return a.Start(ctx, row(name), name, false, args)
}

// must runs a command that must succeed, and returns its output.
func must(t *testing.T, name string, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	if got := start(t.Context(), &out, name, args...); got != command.Done {
		t.Fatalf("%s %q ends with %d:\n%s", name, args, got, &out)
	}
	return out.String()
}

// project makes a directory with files, changes to it, and initializes it.
func project(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		write(t, name, text)
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// server is the command serve with a browser that has a session.
type server struct {
	t      *testing.T
	out    *printed
	base   string // the address of the first page
	origin string
	http   *http.Client
	cancel context.CancelFunc
	ended  chan struct{}
	how    command.Outcome
}

// serve starts the command serve. open means that the link is opened.
func serve(t *testing.T, open bool, args ...string) *server {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, out: newPrinted(), cancel: cancel, ended: make(chan struct{}), http: &http.Client{Jar: jar}}
	go func() {
		defer close(s.ended)
		s.how = start(ctx, s.out, "serve", args...)
	}()
	t.Cleanup(s.stop)
	link := s.out.find(t, `(https?://\S+)\n`, s.ended)
	u, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	s.origin = u.Scheme + "://" + u.Host
	s.base = s.origin + u.Path
	if open {
		if status, body := s.do(http.MethodGet, link, nil); status != http.StatusOK {
			t.Fatalf("the link answers %d\n%s", status, body)
		}
	}
	return s
}

// stop ends the command, which must end well.
func (s *server) stop() {
	s.cancel()
	<-s.ended
	if s.how != command.Done {
		s.t.Errorf("serve ends with %d:\n%s", s.how, s.out)
	}
}

func (s *server) do(method, address string, form url.Values) (int, string) {
	s.t.Helper()
	if !strings.Contains(address, "://") {
		address = s.base + strings.TrimPrefix(address, "/")
	}
	r, err := http.NewRequestWithContext(s.t.Context(), method, address, strings.NewReader(form.Encode()))
	if err != nil {
		s.t.Fatal(err)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", s.origin)
	}
	resp, err := s.http.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func (s *server) get(path string) string {
	s.t.Helper()
	status, body := s.do(http.MethodGet, path, nil)
	if status != http.StatusOK {
		s.t.Fatalf("%s: status %d\n%s", path, status, body)
	}
	return body
}

// until loads a page until it has a text. The time is only for tests that fail.
func (s *server) until(path, text string) string {
	s.t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		page := s.get(path)
		if strings.Contains(page, text) {
			return page
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("%s still has no %q:\n%s", path, text, page)
		}
	}
}

var (
	input = regexp.MustCompile(`name="(csrf|plan|hash)" value="([^"]*)"`)
	href  = regexp.MustCompile(`href="([^"#]+)"`)
)

// post sends the form of a page with further values. It returns the status and the page that follows.
func (s *server) post(page, path string, more url.Values) (int, string) {
	s.t.Helper()
	form := url.Values{}
	for _, found := range input.FindAllStringSubmatch(page, -1) {
		form.Set(found[1], found[2])
	}
	for name, values := range more {
		form[name] = values
	}
	return s.do(http.MethodPost, path, form)
}

// entitled gets the rights.
func (s *server) entitled() {
	s.t.Helper()
	token := s.out.find(s.t, `token for rights is:\s+(\S+)\n`, s.ended)
	status, page := s.post(s.get("rights"), "rights", url.Values{"token": {token}})
	if status != http.StatusOK || !strings.Contains(page, "This session has them") {
		s.t.Fatalf("the rights answer %d\n%s", status, page)
	}
}

// lookForSecrets opens all pages and looks for the secret on them and in what the command has printed.
func (s *server) lookForSecrets() {
	s.t.Helper()
	seen := map[string]bool{}
	for queue := []string{s.base}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if seen[at] {
			continue
		}
		seen[at] = true
		_, page := s.do(http.MethodGet, at, nil)
		if strings.Contains(at, "/report") {
			page = reporttest.Text(s.t, page)
		} else {
			for _, found := range href.FindAllStringSubmatch(page, -1) {
				queue = append(queue, s.origin+strings.ReplaceAll(found[1], "&amp;", "&"))
			}
		}
		if strings.Contains(page, canary) {
			s.t.Errorf("%s has the secret", at)
		}
	}
	if len(seen) < 8 || strings.Contains(s.out.String(), canary) {
		s.t.Errorf("%d pages; printed:\n%s", len(seen), s.out)
	}
}
