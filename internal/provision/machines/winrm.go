package machines

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/Azure/go-ntlmssp"

	"github.com/tombolo-iac/tombolo/internal/switched"
)

// WinRM describes how to reach the remote management service of Windows, which replaces SSH.
type WinRM struct {
	HTTPS    bool
	Insecure bool   // accept any certificate
	CACert   string // certificate authorities in PEM; "" means those that the system trusts
	NTLM     bool   // use NTLM instead of sending the password
}

const (
	winRMPort    = 5985
	winRMTLSPort = 5986
	winRMUser    = "Administrator"
	// maxAnswer limits a response, in bytes: the service is asked for 150 KiB at most.
	maxAnswer = 4 << 20
	// patience is how long the service may wait for output before it responds that there is none yet.
	patience = 20 * time.Second
	// answerTimeout limits one request, which may take patience.
	answerTimeout = patience + 40*time.Second
)

// describe describes an attempt in the same form as Terraform.
func (w *WinRM) describe(c *Connection) string {
	return fmt.Sprintf("Connecting to remote host via WinRM...\n  Host: %s\n  Port: %d\n  User: %s\n  Password: %t\n"+
		"  HTTPS: %t\n  Insecure: %t\n  NTLM: %t\n  CACert: %t", c.Machine.Host, c.Machine.Port, c.Machine.User,
		c.Machine.Password != "", w.HTTPS, w.Insecure, w.NTLM, w.CACert != "")
}

// winRMClient sends requests to the service of one machine.
type winRMClient struct {
	http           *http.Client
	transport      *http.Transport
	url            string
	user, password string
}

func (w *WinRM) client(c *Connection) (*winRMClient, error) {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSHandshakeTimeout: dialTimeout,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: w.Insecure}} //nolint:gosec // the user says so
	if w.CACert != "" {
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM([]byte(w.CACert)) {
			return nil, errors.New("failed to read cacert: no certificate found: cacert is the text of a PEM file, " +
				`not its name; file("ca.pem") reads one`)
		}
		transport.TLSClientConfig.RootCAs = pool
	}
	scheme := "http"
	if w.HTTPS {
		scheme = "https"
	}
	client := &winRMClient{transport: transport, url: scheme + "://" + c.Machine.address() + "/wsman",
		user: c.Machine.User, password: c.Machine.Password}
	client.http = &http.Client{Transport: switched.Over(transport), Timeout: answerTimeout,
		// Redirections must not get the password.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if w.NTLM {
		client.http.Transport = ntlmssp.Negotiator{RoundTripper: switched.Over(transport)}
	}
	return client, nil
}

// dial opens a shell on the machine, in which everything runs.
func (c *winRMClient) dial(ctx context.Context) (link, error) {
	limit, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	answer, err := c.ask(limit, message{action: createShell, options: shellOptions, body: shellBody})
	if err != nil {
		return nil, fmt.Errorf("opening a shell on %s: %w", c.url, err)
	}
	id := answer.shell()
	if id == "" {
		return nil, fmt.Errorf("opening a shell on %s: the answer has no shell id", c.url)
	}
	l := &winRMLink{client: c, shell: id}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l, nil
}

// ask sends a request and returns the response. A fault of the service is returned as a *faultError.
func (c *winRMClient) ask(ctx context.Context, m message) (*envelope, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, strings.NewReader(m.text(c.url)))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/soap+xml;charset=UTF-8")
	req.SetBasicAuth(c.user, c.password)
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end or given up
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil && resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("the machine answered %q", resp.Status)
	case err != nil:
		return nil, fmt.Errorf("reading the answer: %w", err)
	case len(text) > maxAnswer:
		return nil, fmt.Errorf("the answer has more than %d bytes", maxAnswer)
	case resp.StatusCode == http.StatusUnauthorized:
		return nil, fmt.Errorf("the machine answered %q: check user and password, and whether it allows Basic "+
			"authentication (or set use_ntlm)", resp.Status)
	}
	answer, err := parse(text)
	switch {
	case err == nil && answer.Body.Fault != nil:
		return nil, &faultError{answer.Body.Fault}
	case resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("the machine answered %q", resp.Status)
	case err != nil:
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	return answer, nil
}

// winRMLink is a shell on a machine.
type winRMLink struct {
	client *winRMClient
	shell  string
	// ctx is cancelled when the link is cut, which ends everything in progress.
	ctx    context.Context
	cancel context.CancelFunc
}

func (l *winRMLink) cut() { l.cancel() }

// close ends the shell, unless the machine is gone.
func (l *winRMLink) close() {
	l.cancel()
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	_, _ = l.client.ask(ctx, message{action: deleteShell, shell: l.shell}) // it expires anyway
	l.client.transport.CloseIdleConnections()
}

func (l *winRMLink) openFiles() (files, error) { return winRMFiles{l}, nil }

// run implements link.
func (l *winRMLink) run(ctx context.Context, name string, tell func(line string)) error {
	var one sync.Mutex
	out, problems := &lines{one: &one, tell: tell}, &lines{one: &one, tell: tell}
	status, err := l.command(ctx, `"`+strings.ReplaceAll(name, "/", `\`)+`"`, nil, out, problems)
	out.end()
	problems.end()
	switch {
	case err != nil && ctx.Err() != nil:
		return errors.New("interrupted: the command received a signal to end")
	case err != nil:
		return err
	case status != 0:
		return fmt.Errorf("process exited with status %d", status)
	}
	return nil
}

// command runs a command line on the machine, with the content of in as its standard input. When ctx ends, the command
// is asked to end, and is terminated some seconds later.
func (l *winRMLink) command(ctx context.Context, line string, in io.Reader, out, problems io.Writer) (int, error) {
	console := "TRUE"
	if in != nil {
		console = "FALSE"
	}
	answer, err := l.client.ask(l.ctx, message{action: runCommand, shell: l.shell, body: commandBody(line),
		options: map[string]string{"WINRS_CONSOLEMODE_STDIN": console, "WINRS_SKIP_CMD_SHELL": "FALSE"}})
	if err != nil {
		return 0, fmt.Errorf("starting a command: %w", err)
	}
	id := answer.Body.Command.ID
	if id == "" {
		return 0, errors.New("starting a command: the answer has no command id")
	}
	defer l.signal(id, terminate) // ended or not, the service keeps the command until it gets this signal
	if in != nil {
		if err := l.send(id, in); err != nil {
			return 0, err
		}
	}
	return l.receive(ctx, id, out, problems)
}

// signal sends a signal to a command. The command may have ended, so errors are ignored.
func (l *winRMLink) signal(command, code string) {
	limit, cancel := context.WithTimeout(l.ctx, grace)
	defer cancel()
	_, _ = l.client.ask(limit, message{action: sendSignal, shell: l.shell, body: signalBody(command, code)})
}

// send forwards the content of r.
func (l *winRMLink) send(command string, r io.Reader) error {
	buf := make([]byte, maxInput)
	for end := false; !end; {
		n, err := io.ReadFull(r, buf)
		end = errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !end {
			return err
		}
		if _, err := l.client.ask(l.ctx, message{action: sendInput, shell: l.shell,
			body: inputBody(command, buf[:n], end)}); err != nil {
			return fmt.Errorf("sending input: %w", err)
		}
	}
	return nil
}

// receive forwards the output of a command until the command has ended, and returns its exit code.
func (l *winRMLink) receive(ctx context.Context, id string, out, problems io.Writer) (int, error) {
	waiting, stop := context.WithCancel(l.ctx)
	defer stop()
	asked := context.AfterFunc(ctx, func() {
		l.signal(id, interrupt)
		time.AfterFunc(grace, stop)
	})
	defer asked()
	for {
		answer, err := l.client.ask(waiting, message{action: receive, shell: l.shell, body: receiveBody(id)})
		var fault *faultError
		if errors.As(err, &fault) && fault.timedOut() {
			continue // no output yet
		}
		if err != nil {
			return 0, fmt.Errorf("waiting for the command: %w", err)
		}
		for _, s := range answer.Body.Output.Streams {
			to := out
			if s.Name == "stderr" {
				to = problems
			}
			if _, err := to.Write(s.bytes()); err != nil {
				return 0, err
			}
		}
		if state := answer.Body.Output.State; strings.HasSuffix(state.State, "/CommandState/Done") {
			if ctx.Err() != nil {
				return 0, ctx.Err()
			}
			return state.ExitCode, nil
		}
	}
}
