package machines

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/net/proxy"
)

const (
	dialTimeout = 15 * time.Second // of one attempt
	firstPause  = time.Second      // between two attempts; it grows up to lastPause
	lastPause   = 20 * time.Second
	aliveEvery  = 5 * time.Second
	aliveMissed = 6 // keepalive requests without a response after which the machine counts as lost
)

// A Machine is an open connection to a machine.
type Machine struct {
	conn  *Connection
	link  link
	files files // opened when first needed
}

// A link is a connection of one type.
type link interface {
	// openFiles returns a writer of files on the machine. It ends with ctx, or when the link is cut.
	openFiles() (files, error)
	// run runs a program on the machine and calls tell with each line of output. When ctx ends, the program is asked to
	// end.
	run(ctx context.Context, name string, tell func(line string)) error
	// cut ends everything in progress.
	cut()
	close()
}

// sshLink is a connection by SSH.
type sshLink struct {
	client  *ssh.Client
	windows bool
	closes  []func() error // called in reverse order
}

// permanentError is an error that another attempt would not change.
type permanentError struct{ error }

// Connect opens a connection to a machine. It describes each attempt in a text of several lines, and tries again until
// the timeout of the connection. The error is that of the last attempt.
func Connect(ctx context.Context, c *Connection, tell func(text string)) (*Machine, error) {
	dial, description, done, err := c.dialer()
	if err != nil {
		return nil, err
	}
	defer done()
	limit, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	var last error
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		tell(description)
		link, err := dial(limit)
		if err == nil {
			tell("Connected!")
			return &Machine{conn: c, link: link}, nil
		}
		var permanent permanentError
		switch {
		case ctx.Err() != nil:
			return nil, fmt.Errorf("interrupted while connecting to %s", c.Machine.Host)
		case errors.As(err, &permanent):
			return nil, permanent.error
		case last == nil || !cutShort(limit, err): // an attempt that was cut short says less than its predecessor
			last = err
		}
		select {
		case <-time.After(pause):
		case <-limit.Done():
		}
		if ctx.Err() == nil && limit.Err() != nil {
			return nil, fmt.Errorf("timeout - last error: %w", last)
		}
	}
}

// cutShort reports whether an attempt failed because of the end of a context. A connection can notice that a moment
// before the context does.
func cutShort(limit context.Context, err error) bool {
	const moment = 100 * time.Millisecond
	var slow net.Error
	deadline, ok := limit.Deadline()
	return limit.Err() != nil || ok && errors.As(err, &slow) && slow.Timeout() && time.Until(deadline) < moment
}

// dialer returns a function that connects once, and the description of an attempt; done releases the resources of both.
func (c *Connection) dialer() (dial func(context.Context) (link, error), description string, done func(), err error) {
	if w := c.WinRM; w != nil {
		client, err := w.client(c)
		if err != nil {
			return nil, "", nil, err
		}
		return client.dial, w.describe(c), func() {}, nil
	}
	keys, err := openKeys(c)
	if err != nil {
		return nil, "", nil, err
	}
	for _, h := range []*Hop{&c.Machine, c.Bastion} {
		if h == nil {
			continue
		}
		if _, err := keys.config(h); err != nil { // another attempt will not help
			keys.close()
			return nil, "", nil, err
		}
	}
	return func(ctx context.Context) (link, error) { return c.dial(ctx, keys) }, c.describe(keys), keys.close, nil
}

// describe describes an attempt in the same form as Terraform.
func (c *Connection) describe(keys *keys) string {
	var b strings.Builder
	hop := func(h *Hop) {
		fmt.Fprintf(&b, "  Host: %s\n  User: %s\n  Password: %t\n  Private key: %t\n  Certificate: %t\n"+
			"  SSH Agent: %t\n  Checking Host Key: %t\n", h.Host, h.User, h.Password != "", h.PrivateKey != "",
			h.Certificate != "", keys.agent != nil, h.HostKey != "")
	}
	b.WriteString("Connecting to remote host via SSH...\n")
	hop(&c.Machine)
	platform := "unix"
	if c.Windows {
		platform = "windows"
	}
	fmt.Fprintf(&b, "  Target Platform: %s\n", platform)
	if c.Bastion != nil {
		b.WriteString("Using configured bastion host...\n")
		hop(c.Bastion)
	}
	if p := c.Proxy; p != nil {
		fmt.Fprintf(&b, "Using configured proxy host...\n  ProxyHost: %s\n  ProxyPort: %d\n  ProxyUserName: %s\n"+
			"  ProxyUserPassword: %t\n", p.Host, p.Port, p.User, p.Password != "")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (h *Hop) address() string {
	return net.JoinHostPort(strings.Trim(h.Host, "[]"), strconv.Itoa(h.Port))
}

// dial connects once, through the proxy and the bastion if there are any.
func (c *Connection) dial(ctx context.Context, keys *keys) (_ link, err error) {
	m := &sshLink{windows: c.Windows}
	defer func() {
		if err != nil {
			m.close()
		}
	}()
	first := &c.Machine
	if c.Bastion != nil {
		first = c.Bastion
	}
	conn, err := c.firstConn(ctx, first.address())
	if err != nil {
		return nil, err
	}
	client, err := m.handshake(ctx, conn, first, keys)
	if err != nil {
		return nil, err
	}
	if c.Bastion != nil {
		limit, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		conn, err := client.DialContext(limit, "tcp", c.Machine.address())
		if err != nil {
			return nil, fmt.Errorf("connecting to %s from the bastion host %s: %w", c.Machine.address(),
				c.Bastion.Host, err)
		}
		if client, err = m.handshake(ctx, conn, &c.Machine, keys); err != nil {
			return nil, err
		}
	}
	m.client = client
	return m, nil
}

// handshake starts SSH on a plain connection, which it closes on failure.
func (m *sshLink) handshake(ctx context.Context, conn net.Conn, h *Hop, keys *keys) (*ssh.Client, error) {
	m.closes = append(m.closes, conn.Close)
	config, err := keys.config(h)
	if err != nil {
		return nil, permanentError{err}
	}
	limit, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	stop := context.AfterFunc(limit, func() { _ = conn.Close() }) // the only way to end a handshake
	defer stop()
	ssl, channels, requests, err := ssh.NewClientConn(conn, h.address(), config)
	if err != nil {
		if limit.Err() != nil {
			err = errors.New("the machine did not answer in time")
		}
		var wrong *hostKeyError
		if errors.As(err, &wrong) {
			return nil, permanentError{wrong}
		}
		return nil, fmt.Errorf("SSH authentication failed (%s@%s): %w", h.User, h.address(), err)
	}
	client := ssh.NewClient(ssl, channels, requests)
	m.closes = append(m.closes, client.Close)
	done := make(chan struct{})
	m.closes = append(m.closes, func() error { close(done); return nil })
	go keepAlive(client, done)
	return client, nil
}

// keepAlive sends keepalive requests until done is closed. Without responses it closes the connection, so that a lost
// machine is not waited for indefinitely.
func keepAlive(client *ssh.Client, done <-chan struct{}) {
	tick := time.NewTicker(aliveEvery)
	defer tick.Stop()
	answers := make(chan struct{}, 1)
	asked, missed := false, 0
	for {
		select {
		case <-done:
			return
		case <-answers:
			asked, missed = false, 0
		case <-tick.C:
			if asked {
				if missed++; missed >= aliveMissed {
					_ = client.Close()
					return
				}
				continue
			}
			asked = true
			go func() {
				if _, _, err := client.SendRequest("keepalive@openssh.com", true, nil); err == nil {
					answers <- struct{}{}
				}
			}()
		}
	}
}

// firstConn opens the connection that leaves this machine.
func (c *Connection) firstConn(ctx context.Context, address string) (net.Conn, error) {
	limit, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	dialer := &net.Dialer{KeepAlive: aliveEvery}
	p := c.Proxy
	if p == nil {
		return dialer.DialContext(limit, "tcp", address)
	}
	at := net.JoinHostPort(strings.Trim(p.Host, "[]"), strconv.Itoa(p.Port))
	if p.Scheme == "socks5" {
		var auth *proxy.Auth
		if p.User != "" {
			auth = &proxy.Auth{User: p.User, Password: p.Password}
		}
		socks, err := proxy.SOCKS5("tcp", at, auth, dialer)
		if err != nil {
			return nil, err
		}
		return socks.(proxy.ContextDialer).DialContext(limit, "tcp", address)
	}
	conn, err := dialer.DialContext(limit, "tcp", at)
	if err != nil {
		return nil, err
	}
	if p.Scheme == "https" {
		conn = tls.Client(conn, &tls.Config{ServerName: p.Host})
	}
	tunnel, err := p.tunnel(limit, conn, address)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return tunnel, nil
}

// tunnel asks an HTTP proxy for a tunnel to an address.
func (p *Proxy) tunnel(ctx context.Context, conn net.Conn, address string) (net.Conn, error) {
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	req := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address,
		Header: http.Header{}}
	if p.User != "" {
		req.Header.Set("Proxy-Authorization",
			"Basic "+base64.StdEncoding.EncodeToString([]byte(p.User+":"+p.Password)))
	}
	if err := req.Write(conn); err != nil {
		return nil, fmt.Errorf("connecting to the proxy %s: %w", p.Host, err)
	}
	in := bufio.NewReaderSize(conn, 4096)
	resp, err := http.ReadResponse(in, req)
	if err != nil {
		return nil, fmt.Errorf("reading the answer of the proxy %s: %w", p.Host, err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the proxy %s answered %q", p.Host, resp.Status)
	}
	return &bufferedConn{conn, in}, nil
}

// bufferedConn is a connection from which some bytes were already read.
type bufferedConn struct {
	net.Conn
	in *bufio.Reader
}

func (c *bufferedConn) Read(p []byte) (int, error) { return c.in.Read(p) }

// Close closes the connection and ends everything that uses it.
func (m *Machine) Close() {
	if m.files != nil {
		m.files.close()
	}
	m.link.close()
}

func (m *sshLink) cut() { _ = m.client.Close() }

func (m *sshLink) close() {
	for i := len(m.closes) - 1; i >= 0; i-- {
		_ = m.closes[i]() // closing twice is a harmless error
	}
	m.closes = nil
}
