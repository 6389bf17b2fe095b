package oraclecloud_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/oracle/oci-go-sdk/v65/common"
	"github.com/oracle/oci-go-sdk/v65/objectstorage"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/store/oraclecloud/oraclecloudtest"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
	"github.com/tombolo-iac/tombolo/state"
)

// official wraps Oracle's own client of Object Storage, which Terraform's backend uses.
type official struct {
	*testing.T
	objectstorage.ObjectStorageClient
	key string // key of the customer
}

func (o *official) put(name, content string, fresh bool) error {
	r := objectstorage.PutObjectRequest{NamespaceName: common.String("acme"), BucketName: common.String("states"),
		ObjectName: common.String(name), PutObjectBody: io.NopCloser(strings.NewReader(content))}
	if fresh {
		r.IfNoneMatch = common.String("*")
	} else if o.key != "" {
		r.OpcSseCustomerAlgorithm, r.OpcSseCustomerKey = common.String("AES256"), common.String(o.key)
		r.OpcSseCustomerKeySha256 = common.String(customerSum)
	}
	_, err := o.PutObject(o.Context(), r)
	return err
}

func (o *official) get(name string, sealed bool) string {
	o.Helper()
	r := objectstorage.GetObjectRequest{NamespaceName: common.String("acme"), BucketName: common.String("states"),
		ObjectName: common.String(name)}
	if sealed && o.key != "" {
		r.OpcSseCustomerAlgorithm, r.OpcSseCustomerKey = common.String("AES256"), common.String(o.key)
		r.OpcSseCustomerKeySha256 = common.String(customerSum)
	}
	a, err := o.GetObject(o.Context(), r)
	must(o.T, err)
	defer a.Content.Close()
	text, err := io.ReadAll(a.Content)
	must(o.T, err)
	return string(text)
}

func (o *official) names(prefix string) (names []string) {
	o.Helper()
	a, err := o.ListObjects(o.Context(), objectstorage.ListObjectsRequest{NamespaceName: common.String("acme"),
		BucketName: common.String("states"), Prefix: common.String(prefix)})
	must(o.T, err)
	for _, object := range a.Objects {
		names = append(names, *object.Name)
	}
	return names
}

const customerSum = "hhAJ7E1Zn6sfQKvHbm+JiAz/WDPHnFSMmfkEXxkc2Qs="

// A state, its lock and its workspaces are shared with a program that uses Oracle's own client as Terraform's backend
// does: each reads what the other has written, and waits for its lock.
func TestStatesAreSharedWithOraclesClient(t *testing.T) {
	for name, more := range map[string]map[string]cty.Value{
		"plain": nil, "customer's key": {"sse_customer_key": cty.StringVal(customerKey)},
		"names with signs": {"key": cty.StringVal("a b/c+d&e=ü%2F?")},
	} {
		t.Run(name, func(t *testing.T) {
			s := start()
			var mu sync.Mutex
			var seen []http.Header
			address := drivertest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				seen = append(seen, r.Header.Clone())
				mu.Unlock()
				s.ServeHTTP(w, r)
			}))
			client, err := objectstorage.NewObjectStorageClientWithConfigurationProvider(
				common.NewRawConfigurationProvider(oraclecloudtest.Tenancy, oraclecloudtest.User, "us-ashburn-1",
					oraclecloudtest.Fingerprint, key().PEM(), nil))
			must(t, err)
			client.Host = address
			them := &official{T: t, ObjectStorageClient: client}
			object := "some/state"
			if more["key"] != cty.NilVal {
				object = more["key"].AsString()
			}
			if more["sse_customer_key"] != cty.NilVal {
				them.key = customerKey
			}
			us := open(t, address, more)
			p, err := us.Place(state.DefaultWorkspace)
			must(t, err)

			must(t, them.put(object, `{"version":4,"serial":1}`, false))
			there, err := p.Read(t.Context())
			must(t, err)
			if string(there.Data) != `{"version":4,"serial":1}` {
				t.Errorf("we read %s", there.Data)
			}
			h, err := p.Lock(t.Context(), drivertest.Info(lockID))
			must(t, err)
			err = them.put(object+".lock", `{"ID":"theirs"}`, true)
			if failed := common.ServiceError(nil); !errors.As(err, &failed) || failed.GetHTTPStatusCode() != 412 {
				t.Errorf("they lock what we have locked: %v", err)
			}
			var info state.LockInfo
			if err := json.Unmarshal([]byte(them.get(object+".lock", false)), &info); err != nil || info.ID != lockID {
				t.Errorf("they find the lock of %+v: %v", info, err)
			}
			_, err = h.Write(t.Context(), remote.Write{Data: []byte(`{"version":4,"serial":2}`), Was: there.Version})
			must(t, err)
			if got := them.get(object, true); got != `{"version":4,"serial":2}` {
				t.Errorf("they read %s", got)
			}
			must(t, h.Unlock(t.Context()))

			must(t, them.put(object+".lock", `{"ID":"theirs","Who":"another"}`, true))
			locked := (*state.LockedError)(nil)
			if _, err := p.Lock(t.Context(), drivertest.Info(lockID)); !errors.As(err, &locked) ||
				locked.Info == nil || locked.Info.ID != "theirs" {
				t.Errorf("we lock what they have locked: %v", err)
			}
			must(t, p.ForceUnlock(t.Context(), "theirs"))

			must(t, them.put("tf-state-env/blue/"+object, `{"version":4,"serial":1}`, false))
			names, err := us.Workspaces(t.Context())
			must(t, err)
			if !slices.Equal(names, []string{"blue"}) {
				t.Errorf("we find the workspaces %q", names)
			}
			if got := them.names("tf-state-env/"); !slices.Equal(got, []string{"tf-state-env/blue/" + object}) {
				t.Errorf("they find %q", got)
			}
			mu.Lock()
			defer mu.Unlock()
			compareSignatures(t, seen)
		})
	}
}

// compareSignatures checks that both programs sign requests in the same way.
func compareSignatures(t *testing.T, seen []http.Header) {
	t.Helper()
	forms := map[string]bool{}
	for _, h := range seen {
		signature := h.Get("Authorization")
		id, rest, _ := strings.Cut(signature, `keyId="`)
		form, _, ok := strings.Cut(rest, `"`)
		if !ok || !strings.HasPrefix(id, "Signature version=") {
			t.Errorf("a request is signed with %q", signature)
		}
		forms[form] = true
	}
	want := oraclecloudtest.Tenancy + "/" + oraclecloudtest.User + "/" + oraclecloudtest.Fingerprint
	if len(forms) != 1 || !forms[want] {
		t.Errorf("requests are signed by %v, want %s", forms, want)
	}
}

// The lines of a key in a variable may be joined.
func TestKeysMayHaveJoinedLines(t *testing.T) {
	s := start()
	one := strings.ReplaceAll(key().PEM(), "\n", `\n`)
	d := open(t, drivertest.Serve(t, s), map[string]cty.Value{"private_key": cty.StringVal(one)})
	p, err := d.Place(state.DefaultWorkspace)
	must(t, err)
	if there, err := p.Read(t.Context()); err != nil || !bytes.Equal(there.Data, nil) {
		t.Errorf("%s: %v", there.Data, err)
	}
}
