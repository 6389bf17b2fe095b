package s3_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/store/history"
	"github.com/tombolo-iac/tombolo/state"
)

// State, lock and journal are encrypted alike, and seen by the same people.
func TestAllObjectsAreWrittenAlike(t *testing.T) {
	const kms = "arn:aws:kms:eu-central-1:123456789012:key/12345678-1234-4234-9234-123456789012"
	const customer = "X-Amz-Server-Side-Encryption-Customer-"
	const key = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
	for name, test := range map[string]struct {
		settings   map[string]cty.Value
		put, fetch map[string]string // headers
	}{
		"plain": {nil, map[string]string{"X-Amz-Server-Side-Encryption": "", "X-Amz-Acl": ""}, nil},
		"bucket": {map[string]cty.Value{"encrypt": cty.True, "acl": cty.StringVal("bucket-owner-full-control")},
			map[string]string{"X-Amz-Server-Side-Encryption": "AES256", "X-Amz-Acl": "bucket-owner-full-control"}, nil},
		"kms": {map[string]cty.Value{"encrypt": cty.True, "kms_key_id": cty.StringVal(kms)},
			map[string]string{"X-Amz-Server-Side-Encryption": "aws:kms",
				"X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id": kms}, nil},
		"customer": {map[string]cty.Value{"encrypt": cty.True, "sse_customer_key": cty.StringVal(key)},
			map[string]string{customer + "Algorithm": "AES256", customer + "Key": key,
				"X-Amz-Server-Side-Encryption": ""},
			map[string]string{customer + "Algorithm": "AES256", customer + "Key": key}},
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			objects, seen := serve(t), map[string]bool{}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				want := test.fetch
				switch {
				case r.Method == http.MethodPut:
					want = test.put
					mu.Lock()
					seen[r.URL.Path[strings.LastIndexAny(r.URL.Path, "/.")+1:]] = true
					mu.Unlock()
				case r.Method == http.MethodDelete, r.URL.Query().Has("versions"):
					want = nil
				}
				for name, value := range want {
					if got := r.Header.Get(name); got != value {
						t.Errorf("%s %s: %s is %q, want %q", r.Method, r.URL.Path, name, got, value)
					}
				}
				objects.ServeHTTP(w, r)
			}))
			t.Cleanup(server.Close)
			p, err := open(t, settings(server.URL, test.settings)).Place(state.DefaultWorkspace)
			must(t, err)
			life(t, p)
			_, err = p.(history.Historian).List(t.Context())
			must(t, err)
			for _, object := range []string{"state", "tflock", "journal", "probe"} {
				if !seen[object] {
					t.Errorf("%s was not written", object)
				}
			}
		})
	}
}
