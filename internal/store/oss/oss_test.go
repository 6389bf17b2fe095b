package oss_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/store/oss"
	"github.com/tombolo-iac/tombolo/internal/store/oss/osstest"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
	"github.com/tombolo-iac/tombolo/state"
)

const lockID = "0b5c8e7e-6c1f-4d9e-9d6d-000000000001"

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// settings returns the settings of a block for a server, with a table.
func settings(address string, more map[string]cty.Value) cty.Value {
	s := map[string]cty.Value{"bucket": cty.StringVal("states"), "prefix": cty.StringVal("some/where"),
		"region": cty.StringVal("cn-beijing"), "access_key": cty.StringVal(osstest.AccessKey),
		"secret_key": cty.StringVal(osstest.Secret), "endpoint": cty.StringVal(address),
		"tablestore_endpoint": cty.StringVal(address), "tablestore_table": cty.StringVal("locks")}
	for name, v := range more {
		s[name] = v
	}
	return cty.ObjectVal(s)
}

func open(t *testing.T, config cty.Value) remote.Driver {
	t.Helper()
	d, err := oss.Hasty(t.Context(), config, nil)
	must(t, err)
	return d
}

func TestDriver(t *testing.T) {
	for name, more := range map[string]map[string]cty.Value{
		"plain":     nil,
		"no prefix": {"prefix": cty.StringVal("")},
		"encrypted": {"encrypt": cty.True, "acl": cty.StringVal("private"), "key": cty.StringVal("a/b c+d")},
	} {
		t.Run(name, func(t *testing.T) {
			drivertest.Run(t, drivertest.Options{}, func(t *testing.T) (a, b remote.Driver) {
				address := drivertest.Serve(t, &osstest.Server{Bucket: "states", PageSize: 2,
					Versioned: name != "plain"})
				return open(t, settings(address, more)), open(t, settings(address, more))
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
		there := &osstest.Server{Bucket: "states"}
		net := &drivertest.Net{Next: there, Fate: f}
		return open(t, settings(drivertest.Serve(t, net), nil)), net.Requests,
			open(t, settings(drivertest.Serve(t, there), nil))
	})
}

func TestRequestsOfARunAreCounted(t *testing.T) {
	// Old links of the journal are removed occasionally, several at a time.
	old := func(r *http.Request) bool {
		return r.Method == http.MethodDelete && strings.Contains(r.URL.Path, "/journal/")
	}
	net := &drivertest.Net{Next: &osstest.Server{Bucket: "states"}, Fate: drivertest.Calm, Aside: old}
	want := drivertest.Counts{Plan: 7, Idle: 7, One: 21, More: 4}
	if got := drivertest.Requests(t, open(t, settings(drivertest.Serve(t, net), nil)), net.Requests); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// Signatures equal those of the service's own libraries, whose tests have these values.
func TestSignaturesAreThoseOfTheService(t *testing.T) {
	query := "?param1=value1&%2Bparam1=value3&%7Cparam1=value4&%2Bparam2=&%7Cparam2=&param2="
	for want, c := range map[string]struct {
		token string
		at    int64
	}{
		"e21d18daa82167720f9b1047ae7e7f1ce7cb77a31e8203a7d5f4624fa0284afe": {"", 1702743657},
		"b94a3f999cf85bcdc00d332fbd3734ba03e48382c36fa4d5af5df817395bd9ea": {"token", 1702784856},
	} {
		r := httptest.NewRequest(http.MethodPut, "http://oss-cn-hangzhou.aliyuncs.com/1234%2B-/123/1.txt"+query, nil)
		r.Header = http.Header{"X-Oss-Head1": {"value"}, "Abc": {"value"}, "Content-Type": {"text/plain"}}
		got, err := oss.Signed("bucket", "cn-hangzhou", "ak", "sk", c.token, time.Unix(c.at, 0), r)
		if err != nil || !strings.HasSuffix(got, ", Signature="+want) ||
			!strings.HasPrefix(got, "OSS4-HMAC-SHA256 Credential=ak/2023121") {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	}
}

// Without a table, a state has no lock but can be written.
func TestWithoutATableThereIsNoLock(t *testing.T) {
	address := drivertest.Serve(t, &osstest.Server{Bucket: "states"})
	more := map[string]cty.Value{"tablestore_table": cty.NullVal(cty.String)}
	p, err := open(t, settings(address, more)).Place(state.DefaultWorkspace)
	must(t, err)
	h, err := p.Lock(t.Context(), drivertest.Info(lockID))
	must(t, err)
	version, err := h.Write(t.Context(), remote.Write{Data: []byte("state")})
	must(t, err)
	if _, err := h.Write(t.Context(), remote.Write{Data: []byte("other")}); !errors.Is(err, remote.ErrChanged) {
		t.Errorf("written over what was not read: %v", err)
	}
	_, err = h.Write(t.Context(), remote.Write{Data: []byte("next"), Was: version})
	must(t, err)
	must(t, h.Check(t.Context()))
	must(t, h.Unlock(t.Context()))
	if err := p.ForceUnlock(t.Context(), lockID); err == nil || !strings.Contains(err.Error(), "tablestore_table") {
		t.Errorf("a lock that is none is freed: %v", err)
	}
}

// The address of a private network may begin with something other than the name of the instance.
func TestInstancesOfTablesHaveNames(t *testing.T) {
	address := drivertest.Serve(t, &osstest.Server{Bucket: "states", Instance: "acme-locks"})
	for name, works := range map[string]bool{"acme-locks": true, "other": false, "": false} {
		more := map[string]cty.Value{"tablestore_instance_name": cty.StringVal(name)}
		p, err := open(t, settings(address, more)).Place(state.DefaultWorkspace)
		must(t, err)
		h, err := p.Lock(t.Context(), drivertest.Info(lockID))
		if works != (err == nil) {
			t.Errorf("with the name %q: %v", name, err)
		}
		if h != nil {
			must(t, h.Unlock(t.Context()))
		}
	}
}

// A state that differs from its digest in the table is refused, unless it is about to be replaced.
func TestStatesHaveTheirDigest(t *testing.T) {
	there := &osstest.Server{Bucket: "states"}
	fail := false
	net := &drivertest.Net{Next: there, Plan: func(r *http.Request) string {
		if fail && r.Method == http.MethodPut {
			return "lost"
		}
		return ""
	}}
	address := drivertest.Serve(t, net)
	p, err := open(t, settings(address, nil)).Place(state.DefaultWorkspace)
	must(t, err)
	h, err := p.Lock(t.Context(), drivertest.Info(lockID))
	must(t, err)
	version, err := h.Write(t.Context(), remote.Write{Data: []byte("one")})
	must(t, err)
	fail = true
	unfinished := &remote.UnfinishedError{}
	next := remote.Write{Data: []byte("two"), Was: version}
	if _, err := h.Write(t.Context(), next); !errors.As(err, &unfinished) {
		t.Fatalf("a write that ended between its two parts: %v", err)
	}
	fail = false
	if c, err := p.Read(t.Context()); err != nil || string(c.Data) != "one" {
		t.Errorf("what stands there after half a write: %q, %v", c.Data, err)
	}
	_, err = h.Write(t.Context(), next)
	must(t, err)
	plain, err := open(t, settings(address, map[string]cty.Value{"tablestore_table": cty.NullVal(cty.String)})).
		Place(state.DefaultWorkspace)
	must(t, err)
	c, err := plain.Read(t.Context())
	must(t, err)
	free, err := plain.Unlocked(t.Context())
	must(t, err)
	_, err = free.Write(t.Context(), remote.Write{Data: []byte("foreign"), Was: c.Version})
	must(t, err)
	if _, err := p.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "not the last state") {
		t.Errorf("a foreign state: %v", err)
	}
}

// No secret of a block appears in an error or in the log, even if the service repeats the request.
func TestSecretsAreNeverShown(t *testing.T) {
	drivertest.Secrets(t, []string{osstest.Secret, "token-canary"}, func(address string, log func(string, ...any)) (
		remote.Driver, error) {
		return oss.Hasty(t.Context(), settings(address, map[string]cty.Value{
			"security_token": cty.StringVal("token-canary")}), log)
	}, func(w http.ResponseWriter, text string) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprintf(w, "<Error><Code>Gossip</Code><Message>%s</Message></Error>", text)
	})
}

func TestArgumentsAreChecked(t *testing.T) {
	profiles := filepath.Join(t.TempDir(), "config.json")
	must(t, os.WriteFile(profiles, []byte(`{"profiles":[{"name":"x","mode":"External"}]}`), 0o600))
	drivertest.Refused(t, oss.Kind(), func(more map[string]cty.Value) cty.Value {
		return settings("http://127.0.0.1:1", more)
	}, map[string]string{
		"bucket: It must be set":                 "bucket=null",
		"environment variable ALICLOUD_REGION":   "region=null",
		"must not begin with / or ./":            "key=/x",
		"is not an access control list":          "acl=x",
		"must be an address with a host":         "endpoint=https://user:password@",
		"must be set with tablestore_table":      "tablestore_endpoint=null",
		"access_key and secret_key must be set":  "secret_key=null",
		"a whole number from 900 to 43200":       "assume_role_session_expiration=1",
		"has the mode \"External\". Expected AK": "profile=x shared_credentials_file=" + profiles,
		"has no profile \"y\"":                   "profile=y shared_credentials_file=" + profiles,
	})
}

// Profiles of the Alibaba Cloud CLI supply the credentials that the block omits.
func TestProfilesHaveCredentials(t *testing.T) {
	profiles := filepath.Join(t.TempDir(), "config.json")
	must(t, os.WriteFile(profiles, fmt.Appendf(nil, `{"profiles":[{"name":"other","mode":"AK","access_key_id":"x",
		"access_key_secret":"y"},{"name":"mine","mode":"StsToken","access_key_id":%q,"access_key_secret":%q,
		"sts_token":"token"}]}`, osstest.AccessKey, osstest.Secret), 0o600))
	address := drivertest.Serve(t, &osstest.Server{Bucket: "states", Token: "token"})
	p, err := open(t, settings(address, map[string]cty.Value{"access_key": cty.NullVal(cty.String),
		"secret_key": cty.NullVal(cty.String), "profile": cty.StringVal("mine"),
		"shared_credentials_file": cty.StringVal(profiles)})).Place("blue")
	must(t, err)
	h, err := p.Lock(t.Context(), drivertest.Info(lockID))
	must(t, err)
	_, err = h.Write(t.Context(), remote.Write{Data: []byte("state")})
	must(t, err)
	must(t, h.Unlock(t.Context()))
}

// The block's settings for objects apply to states. Those for encryption apply to the journal as well.
func TestObjectsAreStoredAsConfigured(t *testing.T) {
	there := &osstest.Server{Bucket: "states"}
	p, err := open(t, settings(drivertest.Serve(t, there), map[string]cty.Value{"encrypt": cty.True,
		"acl": cty.StringVal("private")})).Place("blue")
	must(t, err)
	h, err := p.Lock(t.Context(), drivertest.Info(lockID))
	must(t, err)
	_, err = h.StartJournal(t.Context(), "", []byte("first"))
	must(t, err)
	_, err = h.Write(t.Context(), remote.Write{Data: []byte("state")})
	must(t, err)
	names := there.Names()
	if len(names) != 2 || !strings.HasPrefix(names[0], "some/where.tombolo/blue/terraform.tfstate/journal/") ||
		names[1] != "some/where/blue/terraform.tfstate" {
		t.Errorf("objects %q", names)
	}
	for _, name := range names {
		if _, encrypted, acl := there.Stored(name); encrypted != "AES256" || (acl == "private") != !strings.Contains(
			name, ".tombolo/") {
			t.Errorf("%s: %q, %q", name, encrypted, acl)
		}
	}
	if rows := there.Rows(); len(rows) != 2 || rows["locks/states/"+names[1]].Columns["Info"] == "" {
		t.Errorf("rows %v", rows)
	}
}

// Every call ends, whatever a server responds, and no invalid response is taken for a state.
func TestHostileServers(t *testing.T) {
	for name, more := range map[string]map[string]cty.Value{"with a table": nil,
		"without": {"tablestore_table": cty.NullVal(cty.String)}} {
		t.Run(name, func(t *testing.T) {
			drivertest.Hostility(t, drivertest.Hostile{
				NoLock: more != nil,
				New:    func(*testing.T) http.Handler { return &osstest.Server{Bucket: "states"} },
				Open: func(t *testing.T, h http.Handler, silence time.Duration, most int64) remote.Driver {
					d := open(t, settings(drivertest.Serve(t, h), more))
					oss.Bounded(d, most)
					oss.Impatient(d, silence)
					return d
				},
				Page: func(n int) string {
					return fmt.Sprintf("<ListBucketResult><IsTruncated>true</IsTruncated><NextMarker>m%09d</NextMarker>"+
						"</ListBucketResult>", n)
				},
			})
		})
	}
}
