package azure

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/web"
)

const (
	apiVersion = "2021-12-02"
	maxState   = 1 << 30 // bytes of a blob: bounds a response without end
	maxMessage = 1 << 20
	silence    = time.Minute
	tries      = 6
)

// problem is an error whose text is for users and contains no secrets.
type problem struct {
	text string
	err  error
}

func (p *problem) Error() string { return p.text }
func (p *problem) Unwrap() error { return p.err }

// blobs is a client for a container.
type blobs struct {
	s    *settings
	log  func(format string, args ...any)
	http *http.Client

	silence time.Duration // limit for each step of a response
	most    int64         // maximum size of a blob, in bytes

	clock web.Clock

	mu     sync.Mutex
	access *access // nil until the first request
}

func newBlobs(s *settings, o remote.Surroundings) *blobs {
	return &blobs{s: s, log: o.Log, http: web.HTTP(nil), silence: silence, most: maxState}
}

// request is one request to the service.
type request struct {
	what   string // verb for messages: "read"
	method string
	blob   string // "" for the container
	query  url.Values
	header map[string]string
	body   []byte
	most   int64 // maximum size of the response
}

// answer is a response of the service.
type answer struct {
	status int
	code   string // the service's name for an error
	text   string // the service's text for it
	header http.Header
	body   []byte
	again  bool // the request was retried
}

func (a *answer) ok() bool { return a.status >= 200 && a.status < 300 }

// send sends a request, with retries, and returns the final response.
func (b *blobs) send(ctx context.Context, r request) (a *answer, err error) {
	for try := 1; ; try++ {
		began := time.Now()
		a, err = b.once(ctx, r)
		message := ""
		if err != nil {
			message = err.Error()
		} else {
			message, a.again = fmt.Sprintf("%d %s", a.status, a.code), try > 1
		}
		b.log("azurerm: %s %s in %s: %s", r.what, b.name(r.blob), time.Since(began).Round(time.Millisecond),
			b.s.credentials.clean(message))
		var lasting *problem
		if ctx.Err() != nil || try == tries || errors.As(err, &lasting) || err == nil && !passing(a.status) &&
			!(try == 1 && b.clock.Adopt(nil, &web.Answer{Status: a.status, Header: a.header})) {
			break
		}
		var asked http.Header
		if a != nil {
			asked = a.header
		}
		_ = web.Wait(ctx, try-1, b.s.pause, asked) // the next try fails where the context has ended
	}
	if err != nil {
		return nil, b.noResponse(ctx, r, err)
	}
	return a, nil
}

// passing reports whether a retry may have another result.
func passing(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// once sends a request without retries and reads the response.
func (b *blobs) once(ctx context.Context, r request) (*answer, error) {
	access, err := b.reach(ctx)
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithCancel(ctx)
	if b.s.timeout > 0 {
		limited, cancel = context.WithTimeout(ctx, b.s.timeout)
	}
	defer cancel()
	out, err := b.prepare(limited, access, r)
	if err != nil {
		return nil, err
	}
	in, err := b.http.Do(out)
	if err != nil {
		return nil, err
	}
	defer in.Body.Close()
	body, err := web.Read(limited, cancel, in.Body, max(r.most, maxMessage), b.silence)
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	if errors.Is(err, web.ErrLong) {
		err = &problem{text: err.Error()}
	}
	if err != nil {
		return nil, err
	}
	a := &answer{status: in.StatusCode, header: in.Header, body: body, code: in.Header.Get("x-ms-error-code")}
	if !a.ok() {
		var response struct {
			Code    string
			Message string
		}
		if xml.Unmarshal(bytes.TrimPrefix(body, []byte("\ufeff")), &response) == nil {
			a.text, _, _ = strings.Cut(response.Message, "\n")
			if a.code == "" {
				a.code = response.Code
			}
		}
	}
	return a, nil
}

// prepare returns an HTTP request with credentials.
func (b *blobs) prepare(ctx context.Context, access *access, r request) (*http.Request, error) {
	u := access.base.JoinPath(b.s.container)
	if r.blob != "" {
		for part := range strings.SplitSeq(r.blob, "/") {
			u = u.JoinPath(url.PathEscape(part))
		}
	}
	query := url.Values{}
	for name, values := range r.query {
		query[name] = values
	}
	for name, values := range b.s.sas {
		if access.key == nil && access.token == nil {
			query[name] = values
		}
	}
	u.RawQuery = query.Encode()
	out, err := http.NewRequestWithContext(ctx, r.method, u.String(), bytes.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	out.Header.Set("x-ms-version", apiVersion)
	out.Header.Set("x-ms-date", b.clock.Now().Format(http.TimeFormat))
	for name, value := range r.header {
		if value != "" {
			out.Header.Set(name, value)
		}
	}
	switch {
	case access.key != nil:
		Sign(out, b.s.account, access.key)
	case access.token != nil:
		token, err := access.token(ctx)
		if err != nil {
			return nil, err
		}
		out.Header.Set("Authorization", "Bearer "+token)
	}
	return out, nil
}

// Sign signs a request with the access key of an account.
func Sign(r *http.Request, account string, key []byte) {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(signed(r, account)))
	r.Header.Set("Authorization", "SharedKey "+account+":"+base64.StdEncoding.EncodeToString(h.Sum(nil)))
}

// signed returns the text that a signature covers.
func signed(r *http.Request, account string) string {
	length := ""
	if r.ContentLength > 0 {
		length = strconv.FormatInt(r.ContentLength, 10)
	}
	lines := []string{r.Method, r.Header.Get("Content-Encoding"), r.Header.Get("Content-Language"), length,
		r.Header.Get("Content-MD5"), r.Header.Get("Content-Type"), r.Header.Get("Date"),
		r.Header.Get("If-Modified-Since"), r.Header.Get("If-Match"), r.Header.Get("If-None-Match"),
		r.Header.Get("If-Unmodified-Since"), r.Header.Get("Range")}
	var own []string
	for name, values := range r.Header {
		if name = strings.ToLower(name); strings.HasPrefix(name, "x-ms-") {
			own = append(own, name+":"+strings.Join(values, ","))
		}
	}
	slices.Sort(own)
	lines = append(append(lines, own...), "/"+account+r.URL.EscapedPath())
	var query []string
	for name, values := range r.URL.Query() {
		slices.Sort(values)
		query = append(query, strings.ToLower(name)+":"+strings.Join(values, ","))
	}
	slices.Sort(query)
	return strings.Join(append(lines, query...), "\n")
}

// name returns the name of a blob in messages.
func (b *blobs) name(blob string) string {
	return "azurerm://" + b.s.account + "/" + strings.TrimSuffix(b.s.container+"/"+blob, "/")
}

// noResponse returns the error for a request without a response. The request may have been performed.
func (b *blobs) noResponse(ctx context.Context, r request, err error) error {
	if ctx.Err() != nil {
		return &problem{text: r.what + " " + b.name(r.blob) + ": " + context.Cause(ctx).Error(), err: ctx.Err()}
	}
	if p := (*problem)(nil); errors.As(err, &p) {
		return &problem{text: b.s.credentials.clean(r.what + " " + b.name(r.blob) + ": " + p.text), err: err}
	}
	if inner := (*url.Error)(nil); errors.As(err, &inner) {
		err = inner.Err // drop the address, which may contain a signature
	}
	return &problem{text: b.s.credentials.clean(fmt.Sprintf(
		"%s %s: the service cannot be reached, or does not answer: %v", r.what, b.name(r.blob), err)), err: err}
}

// refused returns the error for a response with an error status.
func (b *blobs) refused(r request, a *answer) error {
	text := fmt.Sprintf("%s %s: the service answered %d %s", r.what, b.name(r.blob), a.status, web.Short(a.code))
	if a.text != "" {
		text += ": " + strings.TrimSuffix(web.Short(a.text), ".")
	}
	if id := a.header.Get("x-ms-request-id"); id != "" {
		text += " (request " + web.Short(id) + ")"
	}
	if hint := hint(a); hint != "" {
		text += ". " + hint
	}
	return &problem{text: b.s.credentials.clean(text)}
}

// foreign returns the error for a successful response that did not come from the service.
func (b *blobs) foreign(r request, why string) error {
	return &problem{text: fmt.Sprintf("%s %s: the answer is not from the service: %s. Check the address, and any "+
		"proxy", r.what, b.name(r.blob), why)}
}

// hint returns advice on an error response.
func hint(a *answer) string {
	switch a.code {
	case "ContainerNotFound":
		return "The backend does not create containers: create it, or check storage_account_name and container_name"
	case "AuthenticationFailed", "InvalidAuthenticationInfo":
		return "The access key or the signature is wrong or has expired, or belongs to another storage account"
	case "KeyBasedAuthenticationNotPermitted":
		return "The storage account does not accept access keys. Set use_azuread_auth = true"
	case "AuthorizationPermissionMismatch", "AuthorizationFailure", "AuthorizationSourceIPMismatch":
		return "Give the identity the role \"Storage Blob Data Contributor\" for the container (for reading, " +
			"\"Storage Blob Data Reader\"), and check that the account's firewall allows this machine"
	case "LeaseIdMissing", "LeaseIdMismatchWithBlobOperation":
		return "Another run holds the lock on the state"
	case "LeaseLost", "LeaseNotPresentWithBlobOperation":
		return "The lock was released in the meantime"
	}
	return ""
}
