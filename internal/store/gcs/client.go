package gcs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"
)

// Limits on the size of answers, and on the time without data.
const (
	maxObject  = 1 << 30
	maxMessage = 16 << 20
	answerTime = time.Minute
	silence    = 30 * time.Second
)

// How often a request is tried again that the service asks to have tried again, and the pauses before.
const (
	retries      = 6
	firstPause   = 300 * time.Millisecond
	longestPause = 5 * time.Second
)

// client sends requests.
type client struct {
	s      *settings
	http   *http.Client
	access *access
	log    func(format string, args ...any)
	pause  time.Duration // before a request is tried again for the first time
	most   int64         // bytes of an object that is read
}

func newClient(s *settings, scope string, log func(format string, args ...any)) *client {
	proxy := httpproxy.FromEnvironment().ProxyFunc()
	h := &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy:                 func(r *http.Request) (*url.URL, error) { return proxy(r.URL) },
			DialContext:           (&net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			TLSHandshakeTimeout:   10 * time.Second,
			ResponseHeaderTimeout: answerTime,
			IdleConnTimeout:       90 * time.Second,
			ForceAttemptHTTP2:     true,
			MaxIdleConnsPerHost:   16,
			DisableCompression:    true, // an object is what is stored
		},
	}
	return &client{s: s, http: h, log: log, pause: firstPause, most: maxObject, access: newAccess(s, h, scope)}
}

// request is one that may be sent again: it names what it replaces, or changes nothing.
type request struct {
	what, name string // for people: "read", "gs://bucket/object"
	method     string
	address    string
	header     http.Header
	body       []byte
	most       int64 // how much the answer may be; maxMessage when 0
}

// answer is an answer of the service.
type answer struct {
	status int
	header http.Header
	body   []byte
	again  bool // an earlier try may have arrived
}

func (a *answer) ok() bool { return a.status >= 200 && a.status < 300 }

// send sends a request, with retries, until it has a final answer.
func (c *client) send(ctx context.Context, r request) (*answer, error) {
	arrived, fresh := false, false
	for try := 0; ; try++ {
		a, used, err := c.once(ctx, r)
		if err == nil && a.status == http.StatusUnauthorized && !fresh && c.access.refused(used) {
			fresh = true // with a new token
			continue
		}
		var none *noAccess
		passing := err != nil && !lasting(err) && (!errors.As(err, &none) || none.passing)
		if err == nil {
			a.again, passing = arrived, busy(a.status)
		}
		if ctx.Err() != nil {
			return nil, &problem{text: r.what + " " + r.name + ": " + context.Cause(ctx).Error(), err: ctx.Err()}
		}
		if !passing || try == retries {
			return a, c.unheard(r, err)
		}
		arrived = arrived || err != nil && none == nil || err == nil && a.status >= 500
		if err := c.wait(ctx, try); err != nil {
			return nil, &problem{text: r.what + " " + r.name + ": " + err.Error(), err: err}
		}
	}
}

// busy reports whether a later retry of a request may have another result.
func busy(status int) bool {
	return status == http.StatusRequestTimeout || status == http.StatusTooManyRequests || status >= 500 &&
		status != http.StatusNotImplemented
}

// wait waits before another try, for some time within a bound that doubles.
func (c *client) wait(ctx context.Context, try int) error {
	most := min(c.pause<<min(try, 10), longestPause)
	t := time.NewTimer(most/2 + rand.N(most/2+1))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// errLong means that an answer is too long.
var errLong = errors.New("the answer is too long")

// lasting reports whether a retry is useless after an error.
func lasting(err error) bool {
	var op *net.OpError
	return errors.Is(err, errLong) || strings.Contains(err.Error(), "x509: ") ||
		errors.As(err, &op) && op.Op == "proxyconnect"
}

// once sends a request and reads the answer.
func (c *client) once(ctx context.Context, r request) (a *answer, used string, err error) {
	began := time.Now()
	defer func() {
		text := ""
		if err != nil {
			text = err.Error()
		} else {
			text = strconv.Itoa(a.status)
		}
		c.log("gcs: %s %s in %s: %s", r.what, r.name, time.Since(began).Round(time.Millisecond), c.s.clean(text))
	}()
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	out, err := http.NewRequestWithContext(limited, r.method, r.address, bytes.NewReader(r.body))
	if err != nil {
		return nil, "", &problem{text: "the address cannot be used"}
	}
	for name, values := range r.header {
		out.Header[name] = values
	}
	out.Header.Set("User-Agent", "tombolo")
	if used, err = c.access.authorize(limited, out); err != nil {
		return nil, "", err
	}
	in, err := c.http.Do(out)
	if err != nil {
		if inner := (*url.Error)(nil); errors.As(err, &inner) {
			err = inner.Err // without the address
		}
		return nil, used, err
	}
	defer in.Body.Close()
	most := r.most
	if most == 0 || in.StatusCode != http.StatusOK {
		most = maxMessage
	}
	quiet := time.AfterFunc(silence, cancel)
	defer quiet.Stop()
	body, err := io.ReadAll(io.LimitReader(heard{in.Body, quiet}, most+1))
	switch {
	case err != nil && limited.Err() != nil && ctx.Err() == nil:
		return nil, used, fmt.Errorf("the answer is incomplete: no data arrived for %s", silence)
	case err != nil:
		return nil, used, err
	case int64(len(body)) > most:
		return nil, used, fmt.Errorf("%w: %d bytes", errLong, most)
	}
	return &answer{status: in.StatusCode, header: in.Header, body: body}, used, nil
}

// heard resets a timer on each read.
type heard struct {
	r     io.Reader
	quiet *time.Timer
}

// Read implements io.Reader.
func (h heard) Read(p []byte) (int, error) {
	n, err := h.r.Read(p)
	if n > 0 {
		h.quiet.Reset(silence)
	}
	return n, err
}

// problem is an error with a text for people, without secrets.
type problem struct {
	text   string
	reason string // the service's word for it
	err    error
}

func (p *problem) Error() string { return p.text }
func (p *problem) Unwrap() error { return p.err }

// unheard returns the reason why there is no answer, or nil if there is one.
func (c *client) unheard(r request, err error) error {
	if err == nil {
		return nil
	}
	text := r.what + " " + r.name + ": "
	var none *noAccess
	if !errors.As(err, &none) && !errors.Is(err, errLong) {
		text += "the service cannot be reached, or does not answer: "
	}
	return &problem{text: c.s.clean(text + strings.TrimSuffix(err.Error(), ".")), err: err}
}

// failed returns the error for an unexpected answer.
func (c *client) failed(r request, a *answer) error {
	reason, text := message(a.body)
	full := fmt.Sprintf("%s %s: the service answered with status %d", r.what, r.name, a.status)
	if text != "" {
		full += ": " + strings.TrimSuffix(text, ".")
	}
	if h := hint(r, a.status, reason); h != "" {
		full += ". " + h
	}
	return &problem{text: c.s.clean(full), reason: reason}
}

// hint returns advice on an error.
func hint(r request, status int, reason string) string {
	permission := map[string]string{"read": "storage.objects.get", "look for": "storage.objects.get",
		"write": "storage.objects.create and storage.objects.delete", "delete": "storage.objects.delete",
		"list": "storage.objects.list", "seal a key with": "cloudkms.cryptoKeyVersions.useToEncrypt",
		"open a key with": "cloudkms.cryptoKeyVersions.useToDecrypt"}[r.what]
	switch {
	case strings.HasPrefix(reason, "customerEncryptionKey"), strings.HasPrefix(reason, "resourceIsEncryptedWith"),
		strings.HasPrefix(reason, "resourceNotEncryptedWith"):
		return "The object is encrypted with another key, or not encrypted. Check encryption_key and " +
			"GOOGLE_ENCRYPTION_KEY"
	case status == http.StatusUnauthorized:
		return "The credentials are wrong or have expired. Get new ones, and run again: the journal in the bucket " +
			"has the results so far"
	case status == http.StatusForbidden && permission != "":
		text := "Allow " + permission + " to these credentials"
		if r.what == "read" || r.what == "look for" {
			text += ", and storage.objects.list for the bucket: without it, a missing object cannot be told from one " +
				"that these credentials may not read"
		}
		return text
	case status == http.StatusNotFound && !strings.Contains(r.what, "key"):
		return "The backend does not create buckets: create it, or check the argument bucket"
	case status == http.StatusNotFound:
		return "Check kms_encryption_key: expected projects/PROJECT/locations/LOCATION/keyRings/RING/cryptoKeys/KEY"
	case status == http.StatusTooManyRequests:
		return "Other runs write to the bucket too often, or a quota of the project is exhausted"
	}
	return ""
}

// message is the service's description of an error: a code and a text.
func message(body []byte) (reason, text string) {
	var named struct {
		Error struct {
			Message string
			Status  string
			Errors  []struct{ Reason string }
		}
	}
	if json.Unmarshal(body, &named) == nil {
		reason = named.Error.Status
		if len(named.Error.Errors) > 0 {
			reason = named.Error.Errors[0].Reason
		}
		return reason, short(named.Error.Message)
	}
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("<")) {
		return "", ""
	}
	return "", short(string(body))
}

// maxSaid limits how much of a service's text is shown.
const maxSaid = 500

// short returns a text as one line of limited length.
func short(text string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return '?'
		}
		return r
	}, text)
	if runes := []rune(text); len(runes) > maxSaid {
		text = string(runes[:maxSaid]) + "..."
	}
	return text
}
