package s3

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"

	"github.com/tombolo-iac/tombolo/internal/store/remote/progress"
	"github.com/tombolo-iac/tombolo/internal/store/remote/web"
)

// boundedClient sends the requests of the SDK. The SDK trusts services: it reads responses of any size, waits as long
// as single bytes arrive, and follows redirections with the user's key for the content of objects. This client follows
// no redirection (a request is signed for one host), and reads a response completely before the SDK gets it.
type boundedClient struct {
	next    http.RoundTripper
	silence time.Duration // limit for each step of a response; 0 means web.Silence
	most    int64         // maximum size of an object, in bytes; 0 means maxObject
}

// newBoundedClient returns a boundedClient that sends requests with a client of the SDK.
func newBoundedClient(client aws.HTTPClient) *boundedClient {
	var transport http.RoundTripper = sender{client}
	if b, ok := client.(*awshttp.BuildableClient); ok {
		transport = b.GetTransport()
	}
	return &boundedClient{next: progress.Over(transport)}
}

// sender makes another client of the SDK a transport.
type sender struct{ aws.HTTPClient }

// RoundTrip implements http.RoundTripper.
func (s sender) RoundTrip(r *http.Request) (*http.Response, error) { return s.Do(r) }

// Do implements aws.HTTPClient.
func (w *boundedClient) Do(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	a, err := w.next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	defer a.Body.Close()
	most := int64(web.MaxMessage)
	if r.Method == http.MethodGet && a.StatusCode == http.StatusOK && !isList(r) {
		most = cmp.Or(w.most, maxObject)
	}
	body, err := web.Read(ctx, cancel, a.Body, most, cmp.Or(w.silence, web.Silence))
	if err != nil && r.Context().Err() != nil {
		err = r.Context().Err()
	}
	a.Body = io.NopCloser(&given{bytes.NewReader(body), err})
	return a, nil
}

// isList reports whether a request lists objects.
func isList(r *http.Request) bool {
	query := r.URL.Query()
	return query.Has("list-type") || query.Has("versions")
}

// given is the body of a response that was read.
type given struct {
	body *bytes.Reader
	err  error // replaces io.EOF
}

// Read implements io.Reader.
func (g *given) Read(p []byte) (int, error) {
	n, err := g.body.Read(p)
	if err == io.EOF && g.err != nil {
		err = g.err
	}
	return n, err
}
