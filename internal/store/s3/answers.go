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

// boundedClient sends the requests of the SDK, which trusts services: it reads answers as long as they are, waits for
// them as long as a byte arrives now and then, and follows redirections with the user's key for the content of objects.
// Here no redirection is followed (a request is signed for one host), and an answer is read whole before the SDK sees
// it.
type boundedClient struct {
	next    http.RoundTripper
	silence time.Duration // how long each step of an answer may take; web.Silence when 0
	most    int64         // bytes of an object; maxObject when 0
}

// newBoundedClient returns what sends requests in the place of a client of the SDK.
func newBoundedClient(client aws.HTTPClient) *boundedClient {
	var transport http.RoundTripper = sender{client}
	if b, ok := client.(*awshttp.BuildableClient); ok {
		transport = b.GetTransport()
	}
	return &boundedClient{next: progress.Over(transport)}
}

// sender is a client that the SDK made otherwise.
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

// isList reports whether a request asks for a list of objects, and not for one.
func isList(r *http.Request) bool {
	query := r.URL.Query()
	return query.Has("list-type") || query.Has("versions")
}

// given is what was read of an answer.
type given struct {
	body *bytes.Reader
	err  error // in the place of the end
}

// Read implements io.Reader.
func (g *given) Read(p []byte) (int, error) {
	n, err := g.body.Read(p)
	if err == io.EOF && g.err != nil {
		err = g.err
	}
	return n, err
}
