package oraclecloud_test

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/store/oraclecloud"
	"github.com/tombolo-iac/tombolo/internal/store/oraclecloud/oraclecloudtest"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
	"github.com/tombolo-iac/tombolo/state"
)

const (
	lockID = "0b5c8e7e-6c1f-4d9e-9d6d-000000000001"
	// customerKey is a key of 256 bits.
	customerKey = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// key is generated only once, because that takes long.
var key = sync.OnceValue(func() *oraclecloudtest.Server { return oraclecloudtest.New("acme", "states") })

// start returns an empty service.
func start() *oraclecloudtest.Server {
	s := oraclecloudtest.New("acme", "states")
	s.Key = key().Key
	return s
}

// settings returns the settings of a block.
func settings(more map[string]cty.Value) cty.Value {
	s := map[string]cty.Value{"bucket": cty.StringVal("states"), "namespace": cty.StringVal("acme"),
		"key": cty.StringVal("some/state"), "region": cty.StringVal("us-ashburn-1"),
		"tenancy_ocid": cty.StringVal(oraclecloudtest.Tenancy), "user_ocid": cty.StringVal(oraclecloudtest.User),
		"fingerprint": cty.StringVal(oraclecloudtest.Fingerprint), "private_key": cty.StringVal(key().PEM())}
	for name, v := range more {
		s[name] = v
	}
	if s["sse_customer_key"] != cty.NilVal && s["sse_customer_key_sha256"] == cty.NilVal {
		s["sse_customer_key_sha256"] = cty.StringVal(customerSum)
	}
	return cty.ObjectVal(s)
}

func open(t *testing.T, address string, more map[string]cty.Value) remote.Driver {
	t.Helper()
	d, err := oraclecloud.Hasty(t.Context(), settings(more), address, nil)
	must(t, err)
	return d
}

func TestDriver(t *testing.T) {
	for name, more := range map[string]map[string]cty.Value{
		"plain":          nil,
		"customer's key": {"sse_customer_key": cty.StringVal(customerKey), "key": cty.StringVal("a b/c+d")},
		"a vault's key":  {"kms_key_id": cty.StringVal("ocid1.key.oc1.iad.x")},
	} {
		t.Run(name, func(t *testing.T) {
			drivertest.Run(t, drivertest.Options{}, func(t *testing.T) (a, b remote.Driver) {
				s := start()
				s.PageSize = 2
				address := drivertest.Serve(t, s)
				return open(t, address, more), open(t, address, more)
			})
		})
	}
}

// Whichever request of a run fails, and however, another run finds everything that was done.
func TestEveryRequestMayFail(t *testing.T) {
	kinds := drivertest.FaultKinds
	if testing.Short() {
		kinds = []string{"without an answer", "late", "500 and done"}
	}
	drivertest.EveryRequest(t, kinds, func(t *testing.T, f drivertest.Faults) (remote.Driver, func() int,
		remote.Driver) {
		there := start()
		net := &drivertest.Net{Next: there, Fate: f}
		return open(t, drivertest.Serve(t, net), nil), net.Requests, open(t, drivertest.Serve(t, there), nil)
	})
}

func TestRequestsOfARunAreCounted(t *testing.T) {
	net := &drivertest.Net{Next: start(), Fate: drivertest.Calm}
	want := drivertest.Counts{Plan: 5, Idle: 5, One: 11, More: 2}
	if got := drivertest.Requests(t, open(t, drivertest.Serve(t, net), nil), net.Requests); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// State and journal are encrypted with the keys of the block, but the lock is not. Objects have Terraform's names, and
// the journal is not listed as a workspace.
func TestObjectsHaveTerraformsNames(t *testing.T) {
	for name, more := range map[string]map[string]cty.Value{
		"plain":    nil,
		"customer": {"sse_customer_key": cty.StringVal(customerKey)},
		"kms":      {"kms_key_id": cty.StringVal("ocid1.key.oc1.iad.x")},
	} {
		s := start()
		d := open(t, drivertest.Serve(t, s), more)
		for workspace, at := range map[string][3]string{
			"default": {"some/state", "some/state.lock", "some/state.tombolo/journal"},
			"blue": {"tf-state-env/blue/some/state", "tf-state-env/blue/some/state.lock",
				"tf-state-env.tombolo/blue/some/state/journal"},
		} {
			p, err := d.Place(workspace)
			must(t, err)
			h, err := p.Lock(t.Context(), drivertest.Info(lockID))
			must(t, err)
			_, err = h.StartJournal(t.Context(), "", []byte("first"))
			must(t, err)
			_, err = h.Write(t.Context(), remote.Write{Data: []byte("state")})
			must(t, err)
			for i, object := range at {
				o, there := s.Objects()[object]
				sealed := i != 1 // the lock is not encrypted
				if !there || (o.Key != "") != (name == "customer" && sealed) ||
					(o.KMS != "") != (name == "kms" && sealed) {
					t.Errorf("%s: %s: there %t, customer's key %q, key %q", name, object, there, o.Key, o.KMS)
				}
			}
		}
		if n := len(s.Objects()); n != 6 {
			t.Errorf("%s: %d objects", name, n)
		}
	}
}

// Profiles of a file supply settings that the block omits. Sessions have a token instead of a user.
func TestProfilesSign(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"key.pem": key().PEM(),
		"token":   "session-token-canary",
		".oci/config": fmt.Sprintf("[DEFAULT]\nuser=%s\nfingerprint=%s\ntenancy=%s\nregion=us-ashburn-1\n"+
			"key_file=%s/key.pem\n[session]\nfingerprint=%[2]s\ntenancy=%[3]s\nregion=us-ashburn-1\n"+
			"key_file=%[4]s/key.pem\n"+
			"security_token_file=%[4]s/token\n", oraclecloudtest.User, oraclecloudtest.Fingerprint,
			oraclecloudtest.Tenancy, dir),
	} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	none := map[string]cty.Value{}
	for _, name := range []string{"tenancy_ocid", "user_ocid", "fingerprint", "private_key", "region"} {
		none[name] = cty.NullVal(cty.String)
	}
	for name, c := range map[string]struct {
		more  map[string]cty.Value
		token string
	}{
		"default profile": {none, ""},
		"a session": {map[string]cty.Value{"auth": cty.StringVal("SecurityToken"),
			"config_file_profile": cty.StringVal("session")}, "session-token-canary"},
	} {
		s := start()
		s.Token = c.token
		address := drivertest.Serve(t, s)
		env := map[string]string{"HOME": dir,
			"CLIENT_HOST_OVERRIDES": "oci_object_storage.ObjectStorageClient=" + address}
		d, diags := oraclecloud.Kind().Open(t.Context(), settings(c.more), remote.Surroundings{
			Getenv: func(name string) string { return env[name] }})
		must(t, diags.Err())
		p, err := d.Place(state.DefaultWorkspace)
		must(t, err)
		h, err := p.Lock(t.Context(), drivertest.Info(lockID))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		must(t, h.Unlock(t.Context()))
	}
}

// No secret of a block appears in an error or in the log, even if the service repeats the request.
func TestSecretsAreNeverShown(t *testing.T) {
	block, _ := pem.Decode([]byte(key().PEM()))
	if block == nil {
		t.Fatal("no key")
	}
	lines := strings.Split(key().PEM(), "\n")
	drivertest.Secrets(t, []string{customerKey, lines[3], "password-canary"}, func(address string,
		log func(string, ...any)) (remote.Driver, error) {
		return oraclecloud.Hasty(t.Context(), settings(map[string]cty.Value{
			"sse_customer_key":     cty.StringVal(customerKey),
			"private_key_password": cty.StringVal("password-canary")}), address, log)
	}, func(w http.ResponseWriter, text string) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"code":"Gossip","message":%q}`, text)
	})
}

func TestArgumentsAreChecked(t *testing.T) {
	drivertest.Refused(t, oraclecloud.Kind(), settings, map[string]string{
		"bucket: It must be set":              "bucket=null",
		"is not a region, such as":            "region=x.stranger.example/",
		"namespace: It must be set":           "namespace=",
		"auth: \"x\" is not a way":            "auth=x",
		"config_file_profile: It must be set": "auth=SecurityToken",
		"The key must have 256 bits":          "sse_customer_key=eHk=",
		"kms_key_id is set, too":              "kms_key_id=k sse_customer_key=" + customerKey,
		"It is not the digest":                "sse_customer_key_sha256=x sse_customer_key=" + customerKey,
		"Terraform ignores the key":           "sse_customer_key_sha256= sse_customer_key=" + customerKey,
		"workspace_key_prefix: \"/x\"":        "workspace_key_prefix=/x",
		"or have two in a row":                "key=a//b",
		"is not AES256":                       "sse_customer_algorithm=DES sse_customer_key=" + customerKey,
		"must not begin or end with a slash":  "key=/x",
		"private_key_path: stat no-such-file": "private_key=null private_key_path=no-such-file",
	})
}

// Every call ends, whatever a server responds, and no invalid response is taken for a state.
func TestHostileServers(t *testing.T) {
	drivertest.Hostility(t, drivertest.Hostile{
		New: func(*testing.T) http.Handler { return start() },
		Open: func(t *testing.T, h http.Handler, silence time.Duration, most int64) remote.Driver {
			d := open(t, drivertest.Serve(t, h), nil)
			oraclecloud.Impatient(d, silence, most)
			return d
		},
		Page: func(n int) string { return fmt.Sprintf(`{"objects":[],"nextStartWith":"m%09d"}`, n) },
	})
}
