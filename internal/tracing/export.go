package tracing

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/tombolo-iac/tombolo/internal/switched"
)

type droppedError int

// Error implements error.
func (n droppedError) Error() string {
	return fmt.Sprintf("the collector was too slow, so %d spans were dropped", int(n))
}

const (
	defaultEndpoint = "http://localhost:4318"
	defaultTimeout  = 10 * time.Second
	maxTimeout      = 10 * time.Minute
	attempts        = 3
)

// exporter sends spans with OTLP over HTTP, in JSON, which every collector accepts in addition to protobuf.
type exporter struct {
	client   *http.Client
	timeout  time.Duration // of a batch
	url      string
	headers  http.Header
	resource []attribute
	version  string
}

func newExporter(o Options) (*exporter, error) {
	get := func(name string) string { // variables for traces take precedence over those for all signals
		if v := o.Getenv("OTEL_EXPORTER_OTLP_TRACES_" + name); v != "" {
			return v
		}
		return o.Getenv("OTEL_EXPORTER_OTLP_" + name)
	}
	switch protocol := get("PROTOCOL"); protocol {
	case "", "http/json", "http/protobuf":
	default:
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL is %q; only \"http/json\" and \"http/protobuf\" are "+
			"supported. Set it to one of them, and the endpoint to the collector's port for HTTP, usually 4318",
			protocol)
	}
	e := &exporter{timeout: defaultTimeout, version: o.Version, headers: http.Header{}}
	var err error
	if e.url, err = endpoint(o); err != nil {
		return nil, err
	}
	if text := get("TIMEOUT"); text != "" {
		ms, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return nil, errors.New("OTEL_EXPORTER_OTLP_TIMEOUT is not a number of milliseconds")
		}
		e.timeout = min(time.Duration(ms)*time.Millisecond, maxTimeout)
	}
	headers, err := pairs("OTEL_EXPORTER_OTLP_HEADERS", get("HEADERS"))
	if err != nil {
		return nil, err
	}
	for _, h := range headers {
		e.headers.Set(h.Key, h.Value)
	}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{}}
	if name := get("CERTIFICATE"); name != "" {
		text, err := os.ReadFile(name)
		pool := x509.NewCertPool()
		if err != nil || !pool.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CERTIFICATE names the file %s, which cannot be read or has no "+
				"certificate in PEM form", name)
		}
		transport.TLSClientConfig.RootCAs = pool
	}
	e.client = &http.Client{Transport: switched.Over(transport), // a redirect must not get the headers
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return e, e.describe(o)
}

// endpoint returns the URL for traces.
func endpoint(o Options) (string, error) {
	name, text, path := "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", o.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), ""
	if text == "" {
		name, text, path = "OTEL_EXPORTER_OTLP_ENDPOINT", o.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT"), "/v1/traces"
	}
	if text == "" {
		text = defaultEndpoint
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", errors.New(name + " is not a URL such as " + defaultEndpoint) // it may contain a password
	}
	u.Path = strings.TrimSuffix(u.Path, "/") + path
	return u.String(), nil
}

// pairs parses a comma-separated list of key=value.
func pairs(name, text string) (out []Attr, err error) {
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		k, v, ok := strings.Cut(part, "=")
		v, err := url.PathUnescape(strings.TrimSpace(v))
		if k = strings.TrimSpace(k); !ok || k == "" || err != nil {
			return nil, errors.New(name + " is not a list such as key=value,key=value") // it may contain a password
		}
		out = append(out, Attr{k, v})
	}
	return out, nil
}

// describe sets the attributes of the program.
func (e *exporter) describe(o Options) error {
	given, err := pairs("OTEL_RESOURCE_ATTRIBUTES", o.Getenv("OTEL_RESOURCE_ATTRIBUTES"))
	if err != nil {
		return err
	}
	name := o.Getenv("OTEL_SERVICE_NAME")
	for _, a := range given {
		if a.Key == "service.name" {
			if name == "" {
				name = a.Value
			}
			continue
		}
		e.resource = append(e.resource, attributeOf(a))
	}
	if name == "" {
		name = o.Name
	}
	e.resource = append(e.resource, attributeOf(Attr{"service.name", name}),
		attributeOf(Attr{"service.version", o.Version}))
	return nil
}

type attribute struct {
	Key   string `json:"key"`
	Value struct {
		String string `json:"stringValue"`
	} `json:"value"`
}

func attributeOf(a Attr) (out attribute) {
	out.Key, out.Value.String = a.Key, strings.ToValidUTF8(a.Value, "\ufffd")
	return out
}

type spanJSON struct {
	Trace      string      `json:"traceId"`
	ID         string      `json:"spanId"`
	Parent     string      `json:"parentSpanId,omitempty"`
	Name       string      `json:"name"`
	Kind       int         `json:"kind"` // 1: internal
	Start      string      `json:"startTimeUnixNano"`
	End        string      `json:"endTimeUnixNano"`
	Attributes []attribute `json:"attributes,omitempty"`
	Status     struct {
		Code int `json:"code,omitempty"` // 2: an error
	} `json:"status"`
}

func (e *exporter) document(batch []ended) ([]byte, error) {
	spans := make([]spanJSON, len(batch))
	for i, s := range batch {
		j := spanJSON{Trace: hex.EncodeToString(s.trace[:]), ID: hex.EncodeToString(s.id[:]), Name: s.name, Kind: 1,
			Start: strconv.FormatInt(s.start.UnixNano(), 10), End: strconv.FormatInt(s.end.UnixNano(), 10)}
		if s.parent != [8]byte{} {
			j.Parent = hex.EncodeToString(s.parent[:])
		}
		for _, a := range s.attrs {
			j.Attributes = append(j.Attributes, attributeOf(a))
		}
		if !s.ok {
			j.Status.Code = 2
		}
		spans[i] = j
	}
	type object = map[string]any
	return json.Marshal(object{"resourceSpans": []object{{
		"resource": object{"attributes": e.resource},
		"scopeSpans": []object{{
			"scope": object{"name": "github.com/tombolo-iac/tombolo", "version": e.version}, "spans": spans,
		}},
	}}})
}

// export sends a batch. It retries within the timeout if the collector requests that.
func (e *exporter) export(batch []ended) error {
	text, err := e.document(batch)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), e.timeout)
	defer cancel()
	for n := 1; ; n++ {
		again, err := e.post(ctx, text)
		if !again || n == attempts {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(time.Duration(n) * 200 * time.Millisecond):
		}
	}
}

func (e *exporter) post(ctx context.Context, text []byte) (again bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(text))
	if err != nil {
		return false, err
	}
	req.Header = e.headers.Clone()
	req.Header.Set("Content-Type", "application/json")
	resp, err := e.client.Do(req)
	if err != nil {
		return false, err
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // so that the connection can be reused
	_ = resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		again = true
	}
	if resp.StatusCode/100 != 2 {
		return again, fmt.Errorf("the collector answered %q", resp.Status)
	}
	return false, nil
}
