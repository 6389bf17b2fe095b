//go:build !without_modules

package sandbox

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/tetratelabs/wazero/api"

	"github.com/tombolo-iac/tombolo/internal/switched"
)

// Functions for modules that send HTTP requests; docs/sandboxed-programs.md specifies them.
const (
	hostModule   = "tombolo"
	sendFunction = "http_send" // (pointer, length) -> length of the answer
	readFunction = "http_read" // (pointer, capacity) -> bytes that were copied
)

// Limits of requests.
const (
	maxRedirects   = 5
	maxHeaderBytes = 1 << 20
	maxBody        = 16 << 20
	maxRequest     = maxBody/3*4 + 1<<20 // the text: an encoded body, and the rest
	maxHeaders     = 64 << 10            // the text of the headers
	requestTime    = 30 * time.Second
	maxRequestTime = 5 * time.Minute
)

// ownHeaders are headers that modules cannot set: they belong to the connection, or select another server on it.
var ownHeaders = []string{"Connection", "Content-Length", "Expect", "Host", "Keep-Alive", "Te", "Trailer",
	"Transfer-Encoding", "Upgrade"}

// plainHeaders are those that a redirect to another origin keeps. All others may be credentials.
var plainHeaders = []string{"Accept", "Accept-Language", "User-Agent"}

// request is what a module passes to http_send.
type request struct {
	Method  string            `json:"method"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
	// Base64 means that Body is encoded.
	Base64 bool `json:"base64"`
	// Timeout is in seconds; 0 means requestTime.
	Timeout float64 `json:"timeout"`
}

// response is what it gets. Error is set if there is none.
type response struct {
	Status  int               `json:"status,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    string            `json:"body"`
	Base64  bool              `json:"base64,omitempty"`
	Error   string            `json:"error,omitempty"`
}

// exchange holds the answer of a run between the two functions. Only the run uses it.
type exchange struct{ answer []byte }

// begin returns the name of a new run, by which the functions find its exchange. The caller calls end after the run.
func (m *Module) begin() (name string, end func()) {
	name = strconv.FormatUint(m.runs.Add(1), 10)
	m.exchanges.Store(name, &exchange{})
	return name, func() { m.exchanges.Delete(name) }
}

// exchangeOf returns the exchange of a run.
func (m *Module) exchangeOf(name string) *exchange {
	found, _ := m.exchanges.Load(name)
	x, ok := found.(*exchange)
	if !ok {
		panic(errors.New("sandbox: a run without its exchange"))
	}
	return x
}

// provideHTTP exports the functions to all modules. They refuse hosts that are not allowed.
func (m *Module) provideHTTP(ctx context.Context) error {
	i32 := []api.ValueType{api.ValueTypeI32, api.ValueTypeI32}
	b := m.runtime.NewHostModuleBuilder(hostModule)
	for name, call := range map[string]func(context.Context, *exchange, api.Memory, uint32, uint32) uint32{
		sendFunction: m.send, readFunction: m.read,
	} {
		b = b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(ctx context.Context, guest api.Module,
			stack []uint64) {
			memory := guest.Memory()
			if memory == nil {
				panic(errors.New("the module has no memory"))
			}
			stack[0] = uint64(call(ctx, m.exchangeOf(guest.Name()), memory, uint32(stack[0]), uint32(stack[1])))
		}), i32, i32[:1]).Export(name)
	}
	_, err := b.Instantiate(ctx)
	return err
}

// send sends the request at an address of the memory, and returns the length of the answer.
func (m *Module) send(ctx context.Context, x *exchange, memory api.Memory, at, size uint32) uint32 {
	x.answer = nil
	text, ok := memory.Read(at, size)
	if !ok {
		panic(errors.New("the request is outside of the memory"))
	}
	got, err := (*response)(nil), fmt.Errorf("the request is longer than %d MiB", maxRequest>>20)
	if size <= maxRequest {
		got, err = m.perform(ctx, bytes.Clone(text))
	}
	if err != nil {
		got = &response{Error: strings.ToValidUTF8(err.Error(), "\uFFFD")}
	}
	answer, err := json.Marshal(got)
	if err != nil { // all members are texts and numbers
		panic("sandbox: " + err.Error())
	}
	x.answer = answer
	return uint32(len(answer))
}

// read copies the answer, or its beginning, into the memory.
func (m *Module) read(_ context.Context, x *exchange, memory api.Memory, at, capacity uint32) uint32 {
	part := x.answer[:min(len(x.answer), int(capacity))]
	if !memory.Write(at, part) {
		panic(errors.New("the answer does not fit into the memory"))
	}
	x.answer = x.answer[len(part):]
	return uint32(len(part))
}

// perform sends a request and follows redirects to allowed hosts.
func (m *Module) perform(ctx context.Context, text []byte) (*response, error) {
	r, to, body, err := m.parse(text)
	if err != nil {
		return nil, err
	}
	limit := requestTime
	if r.Timeout > 0 {
		limit = time.Duration(min(r.Timeout, maxRequestTime.Seconds()) * float64(time.Second))
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("there was no answer after %s", limit))
	defer cancel()
	headers := http.Header{}
	for name, value := range r.Headers {
		headers.Set(name, value)
	}
	method := r.Method
	for hop := 0; ; hop++ {
		resp, err := m.once(ctx, method, to, headers, body)
		if err != nil {
			return nil, err
		}
		next, err := m.redirected(resp, to, &method, &body, headers)
		if next == nil || err != nil {
			var got *response
			if err == nil {
				got, err = answered(ctx, resp, to)
			}
			return got, errors.Join(err, resp.Body.Close())
		}
		if err := resp.Body.Close(); err != nil {
			return nil, err
		}
		if hop == maxRedirects {
			return nil, fmt.Errorf("more than %d redirects", maxRedirects)
		}
		to = next
	}
}

// parse reads and checks a request.
func (m *Module) parse(text []byte) (r request, to *url.URL, body []byte, err error) {
	// The text is as long as the module wants it to be: nothing of it is decoded whose size is not limited.
	var given struct {
		request
		Headers json.RawMessage `json:"headers"`
	}
	decode := json.NewDecoder(bytes.NewReader(text))
	decode.DisallowUnknownFields()
	if err := decode.Decode(&given); err != nil {
		return r, nil, nil, fmt.Errorf("the request cannot be read: %w", err)
	}
	if _, err := decode.Token(); !errors.Is(err, io.EOF) {
		return r, nil, nil, errors.New("the request is not a single JSON value")
	}
	r = given.request
	switch {
	case len(given.Headers) > maxHeaders:
		return r, nil, nil, fmt.Errorf("the headers have more than %d KiB", maxHeaders>>10)
	case len(given.Headers) > 0:
		if err := json.Unmarshal(given.Headers, &r.Headers); err != nil {
			return r, nil, nil, fmt.Errorf("the headers cannot be read: %w", err)
		}
	}
	switch strings.ToUpper(r.Method) {
	case "":
		r.Method = http.MethodGet
	case http.MethodConnect, http.MethodTrace:
		return r, nil, nil, fmt.Errorf("the method %s is not allowed", r.Method)
	}
	if to, err = url.Parse(r.URL); err != nil {
		return r, nil, nil, errors.New("the address cannot be read")
	}
	if err := m.allows(to); err != nil {
		return r, nil, nil, err
	}
	for name := range r.Headers {
		name = http.CanonicalHeaderKey(name)
		if slices.Contains(ownHeaders, name) || strings.HasPrefix(name, "Proxy-") {
			return r, nil, nil, fmt.Errorf("the header %s cannot be set", name)
		}
	}
	body = []byte(r.Body)
	if r.Base64 {
		if body, err = base64.StdEncoding.DecodeString(r.Body); err != nil {
			return r, nil, nil, errors.New("the body is not valid Base64")
		}
	}
	if len(body) > maxBody {
		return r, nil, nil, fmt.Errorf("the body has %d MiB, more than %d MiB", len(body)>>20, maxBody>>20)
	}
	return r, to, body, nil
}

// allows returns an error unless requests may go to a server.
func (m *Module) allows(to *url.URL) error {
	host := strings.ToLower(to.Host)
	switch {
	case strings.ContainsFunc(to.Host, func(r rune) bool { return r > unicode.MaxASCII }):
		// Its small letters are not those that the name is looked up with.
		return errors.New("the name of the host contains characters that are not ASCII: write it in Punycode (xn--...)")
	case to.User != nil:
		return errors.New("the address contains credentials; use a header")
	case to.Scheme == "https":
		host = strings.TrimSuffix(host, ":443")
	case to.Scheme == "http":
		host = "http://" + strings.TrimSuffix(host, ":80")
	default:
		return errors.New("the address must begin with https:// or http://")
	}
	for _, allowed := range m.hosts {
		prefix, domain, wild := strings.Cut(allowed, "*.")
		if !wild && allowed == host {
			return nil
		}
		if name, ok := strings.CutPrefix(host, prefix); wild && ok && !strings.Contains(name, "//") &&
			strings.HasSuffix(name, "."+domain) && len(name) > len(domain)+1 {
			return nil
		}
	}
	return fmt.Errorf("requests to %s are not allowed: the manifest does not name this host under \"http\" in "+
		"\"permissions\"", host)
}

// once sends one request.
func (m *Module) once(ctx context.Context, method string, to *url.URL, headers http.Header, body []byte) (
	*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, to.String(), bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the method or the address of the request is not valid")
	}
	req.Header = headers.Clone()
	resp, err := switched.Refuse(m.transport.RoundTrip(req))
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	return resp, err
}

// redirected returns the target of a redirect, or nil for other answers. To another origin go neither credentials nor
// bodies.
func (m *Module) redirected(resp *http.Response, from *url.URL, method *string, body *[]byte, headers http.Header) (
	*url.URL, error) {
	location := resp.Header.Get("Location")
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther:
		if *method != http.MethodGet && *method != http.MethodHead {
			*method, *body = http.MethodGet, nil
			headers.Del("Content-Type")
		}
	case http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil, nil
	}
	if location == "" {
		return nil, nil
	}
	to, err := from.Parse(location)
	if err != nil {
		return nil, errors.New("the server redirected to an address that cannot be read")
	}
	if err := m.allows(to); err != nil {
		return nil, fmt.Errorf("the server redirected: %w", err)
	}
	if to.Scheme == from.Scheme && strings.EqualFold(to.Host, from.Host) {
		return to, nil
	}
	if len(*body) > 0 {
		return nil, fmt.Errorf("the server redirected to another server, %s, to which the body is not sent", to.Host)
	}
	for name := range headers {
		if !slices.Contains(plainHeaders, name) {
			headers.Del(name)
		}
	}
	return to, nil
}

// answered reads an answer.
func answered(ctx context.Context, resp *http.Response, from *url.URL) (*response, error) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("the answer is incomplete: %w", err)
	case len(body) > maxBody:
		return nil, fmt.Errorf("the answer is longer than %d MiB", maxBody>>20)
	}
	got := &response{Status: resp.StatusCode, URL: from.String(), Headers: map[string]string{}}
	for name, values := range resp.Header {
		got.Headers[strings.ToLower(name)] = strings.ToValidUTF8(strings.Join(values, ", "), "\uFFFD")
	}
	if got.Body = string(body); !utf8.Valid(body) {
		got.Body, got.Base64 = base64.StdEncoding.EncodeToString(body), true
	}
	return got, nil
}

// newTransport returns the transport of a module that may send requests to hosts. It has no cookies and follows no
// redirects.
func newTransport(hosts []string) *http.Transport {
	t := &http.Transport{Proxy: http.ProxyFromEnvironment}
	if usual, ok := http.DefaultTransport.(*http.Transport); ok {
		t = usual.Clone()
	}
	t.MaxResponseHeaderBytes, t.MaxConnsPerHost = maxHeaderBytes, 16
	dialer := &net.Dialer{Timeout: requestTime}
	outside := &net.Dialer{Timeout: requestTime, Control: onlyOutside}
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if namesDomain(hosts, address) {
			return outside.DialContext(ctx, network, address)
		}
		return dialer.DialContext(ctx, network, address) // an address or localhost, as granted, or a proxy
	}
	return t
}

// namesDomain reports whether an address with a port is that of a domain to which requests may go. Users grant the name
// of a domain without knowing its addresses: its owner could let it point to this machine.
func namesDomain(hosts []string, address string) bool {
	name, _, err := net.SplitHostPort(address)
	name = strings.ToLower(name)
	if err != nil || net.ParseIP(name) != nil || name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return false
	}
	return slices.ContainsFunc(hosts, func(allowed string) bool {
		allowed = strings.TrimPrefix(allowed, "http://")
		if host, _, err := net.SplitHostPort(allowed); err == nil {
			allowed = host
		}
		domain, wild := strings.CutPrefix(allowed, "*")
		return name == allowed || wild && strings.HasSuffix(name, domain)
	})
}

// onlyOutside refuses connections to this machine, and to services that only machines themselves can reach.
func onlyOutside(_, address string, _ syscall.RawConn) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return err
	}
	if ip = ip.Unmap(); ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsUnspecified() || ip.IsMulticast() {
		return fmt.Errorf("the name of the host has the address %s, which is not allowed for names", ip)
	}
	return nil
}
