package s3_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/store/history"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/s3"
	"github.com/tombolo-iac/tombolo/state"
)

// State, lock and journal have the same encryption and access control.
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

// OpenTofu's arguments: the objects of states and of locks have different tags, and a role can be configured as it was
// before assume_role.
func TestArgumentsOfOpenTofu(t *testing.T) {
	var mu sync.Mutex
	tags, asked := map[string]string{}, ""
	objects := serve(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		if r.Method == http.MethodPut {
			tags[r.URL.Path[strings.LastIndexAny(r.URL.Path, "/.")+1:]] = r.Header.Get("X-Amz-Tagging")
		}
		if r.URL.Path == "/" && r.Method == http.MethodPost {
			must(t, r.ParseForm())
			asked = r.PostForm.Encode()
			_, _ = io.WriteString(w, "<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>a</AccessKeyId>"+
				"<SecretAccessKey>b</SecretAccessKey><SessionToken>c</SessionToken><Expiration>2199-01-01T00:00:00Z"+
				"</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>")
			mu.Unlock()
			return
		}
		mu.Unlock()
		objects.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	text := cty.StringVal
	more := map[string]cty.Value{
		"state_tags": cty.MapVal(map[string]cty.Value{"team": text("a b"), "x": text("&")}),
		"lock_tags":  cty.MapVal(map[string]cty.Value{"lock": text("yes")}),
		"role_arn":   text("arn:aws:iam::123456789012:role/r"), "session_name": text("me"), "external_id": text("ext"),
		"assume_role_duration_seconds": cty.NumberIntVal(1800), "assume_role_policy": text("{}"),
		"assume_role_policy_arns":         cty.SetVal([]cty.Value{text("arn:aws:iam::aws:policy/p")}),
		"assume_role_tags":                cty.MapVal(map[string]cty.Value{"k": text("v")}),
		"assume_role_transitive_tag_keys": cty.SetVal([]cty.Value{text("k")}),
		"endpoints": cty.ObjectVal(map[string]cty.Value{"s3": text(server.URL),
			"sts": text(server.URL)}),
	}
	p, err := open(t, settings(server.URL, more)).Place(state.DefaultWorkspace)
	must(t, err)
	life(t, p)
	for object, want := range map[string]string{"state": "team=a+b&x=%26", "tflock": "lock=yes", "journal": ""} {
		if got, written := tags[object]; !written || got != want {
			t.Errorf("%s has the tags %q, want %q", object, got, want)
		}
	}
	for _, want := range []string{"RoleArn=arn%3Aaws%3Aiam%3A%3A123456789012%3Arole%2Fr", "RoleSessionName=me",
		"ExternalId=ext", "DurationSeconds=1800", "Policy=%7B%7D", "PolicyArns.member.1.arn=arn",
		"Tags.member.1.Key=k", "TransitiveTagKeys.member.1=k"} {
		if !strings.Contains(asked, want) {
			t.Errorf("the role was asked for without %s: %s", want, asked)
		}
	}
	for want, wrong := range map[string]map[string]cty.Value{
		"conflict. Keep one": {"role_arn": text("arn:aws:iam::123456789012:role/r"), "assume_role": cty.ObjectVal(
			map[string]cty.Value{"role_arn": text("arn:aws:iam::123456789012:role/r")})},
		"900 to 43200": {"role_arn": text("arn:aws:iam::123456789012:role/r"),
			"assume_role_duration_seconds": cty.NumberIntVal(1)},
		"128 characters": {"state_tags": cty.MapVal(map[string]cty.Value{"": text("x")})},
	} {
		_, diags := s3.Kind().Open(t.Context(), cty.ObjectVal(settings(server.URL, wrong)), remote.Surroundings{})
		if err := diags.Err(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
