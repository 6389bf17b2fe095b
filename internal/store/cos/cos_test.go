package cos_test

import (
	"crypto/md5"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/store/cos"
	"github.com/tombolo-iac/tombolo/internal/store/cos/costest"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
	"github.com/tombolo-iac/tombolo/state"
)

const (
	lockID = "0b5c8e7e-6c1f-4d9e-9d6d-000000000001"
	bucket = "states-1250000000"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// settings returns the settings of a block for a server.
func settings(address string, more map[string]cty.Value) cty.Value {
	s := map[string]cty.Value{"bucket": cty.StringVal(bucket), "prefix": cty.StringVal("some/where"),
		"region": cty.StringVal("ap-guangzhou"), "secret_id": cty.StringVal(costest.SecretID),
		"secret_key": cty.StringVal(costest.SecretKey), "endpoint": cty.StringVal(address)}
	for name, v := range more {
		s[name] = v
	}
	return cty.ObjectVal(s)
}

func open(t *testing.T, address string, more map[string]cty.Value) remote.Driver {
	t.Helper()
	d, err := cos.Hasty(t.Context(), settings(address, more), address, nil)
	must(t, err)
	return d
}

func TestDriver(t *testing.T) {
	for name, c := range map[string]struct {
		more              map[string]cty.Value
		versioned, silent bool
	}{
		"plain": {},
		"no prefix": {more: map[string]cty.Value{"prefix": cty.StringVal(""),
			"key": cty.StringVal("a/b c+d")}},
		"versions":           {versioned: true},
		"versions, unspoken": {versioned: true, silent: true},
		"silent":             {silent: true},
	} {
		t.Run(name, func(t *testing.T) {
			drivertest.Run(t, drivertest.Options{NoJournal: c.versioned}, func(t *testing.T) (a, b remote.Driver) {
				address := drivertest.Serve(t, &costest.Server{Bucket: bucket, PageSize: 2, Versioned: c.versioned,
					Silent: c.silent})
				return open(t, address, c.more), open(t, address, c.more)
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
		there := &costest.Server{Bucket: bucket}
		net := &drivertest.Net{Next: there, Fate: f}
		return open(t, drivertest.Serve(t, net), nil), net.Requests, open(t, drivertest.Serve(t, there), nil)
	})
}

func TestRequestsOfARunAreCounted(t *testing.T) {
	// Old links of the journal are removed occasionally, several at a time.
	old := func(r *http.Request) bool {
		return r.Method == http.MethodDelete && strings.Contains(r.URL.Path, "/journal/")
	}
	net := &drivertest.Net{Next: &costest.Server{Bucket: bucket}, Fate: drivertest.Calm, Aside: old}
	want := drivertest.Counts{Plan: 9, Idle: 9, One: 22, More: 4}
	if got := drivertest.Requests(t, open(t, drivertest.Serve(t, net), nil), net.Requests); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// Objects have Terraform's names and the digest that it reads, and the tag is released.
func TestObjectsHaveTerraformsNames(t *testing.T) {
	there := &costest.Server{Bucket: bucket}
	d := open(t, drivertest.Serve(t, there), nil)
	for workspace, at := range map[string]string{"default": "some/where/terraform.tfstate",
		"blue": "some/where/blue/terraform.tfstate"} {
		p, err := d.Place(workspace)
		must(t, err)
		h, err := p.Lock(t.Context(), drivertest.Info(lockID))
		must(t, err)
		_, err = h.StartJournal(t.Context(), "", []byte("first"))
		must(t, err)
		_, err = h.Write(t.Context(), remote.Write{Data: []byte("state")})
		must(t, err)
		all := there.Objects()
		for _, name := range []string{at, at + ".tflock"} {
			o := all[name]
			if o.Encrypted != "AES256" || o.ACL != "private" || o.Digest != fmt.Sprintf("%x", md5.Sum(o.Data)) {
				t.Errorf("%s: %+v", name, o)
			}
		}
		if !strings.Contains(string(all[at+".tflock"].Data), `"Path":"`+at+`.tflock"`) {
			t.Errorf("the lock is %s", all[at+".tflock"].Data)
		}
		if tags := there.Tags(); len(tags) > 0 {
			t.Errorf("tags %q", tags)
		}
		// Terraform uses the digest as the ID of the lock.
		must(t, p.ForceUnlock(t.Context(), fmt.Sprintf("%x", md5.Sum(all[at+".tflock"].Data))))
		if err := h.Unlock(t.Context()); !errors.Is(err, remote.ErrLost) {
			t.Errorf("%v", err)
		}
	}
	for name := range there.Objects() {
		if strings.Contains(name, "/journal/") && !strings.HasPrefix(name, "some/where.tombolo/") {
			t.Errorf("%s is where workspaces are", name)
		}
	}
}

// If a run ends while it creates the lock, its tag remains. The tag is reported as a lock and can be freed.
func TestLeftoverTagsAreFreed(t *testing.T) {
	there := &costest.Server{Bucket: bucket}
	lost := false
	net := &drivertest.Net{Next: there, Plan: func(r *http.Request) string {
		if lost = lost || r.Method == http.MethodPut; lost {
			return "lost"
		}
		return ""
	}}
	p, err := open(t, drivertest.Serve(t, net), nil).Place(state.DefaultWorkspace)
	must(t, err)
	if _, err := p.Lock(t.Context(), drivertest.Info(lockID)); err == nil {
		t.Fatal("locked")
	}
	p, err = open(t, drivertest.Serve(t, there), nil).Place(state.DefaultWorkspace)
	must(t, err)
	_, err = p.Lock(t.Context(), drivertest.Info(lockID))
	var locked *state.LockedError
	if !errors.As(err, &locked) || locked.Info == nil || !strings.HasPrefix(locked.Info.ID, cos.Unnamed) {
		t.Fatalf("%v", err)
	}
	must(t, p.ForceUnlock(t.Context(), locked.Info.ID))
	h, err := p.Lock(t.Context(), drivertest.Info(lockID))
	must(t, err)
	must(t, h.Unlock(t.Context()))
}

// No secret of a block appears in an error or in the log, even if the service repeats the request.
func TestSecretsAreNeverShown(t *testing.T) {
	for _, text := range []string{"<Error><Code>Gossip</Code><Message>%s</Message></Error>",
		`{"Response":{"Error":{"Code":"Gossip","Message":"%s"}}}`} {
		drivertest.Secrets(t, []string{costest.SecretKey, "token-canary"}, func(address string,
			log func(string, ...any)) (remote.Driver, error) {
			return cos.Hasty(t.Context(), settings(address, map[string]cty.Value{
				"security_token": cty.StringVal("token-canary")}), address, log)
		}, func(w http.ResponseWriter, output string) {
			if strings.HasPrefix(text, "<") {
				w.WriteHeader(http.StatusBadRequest)
			}
			_, _ = fmt.Fprintf(w, text, strings.ReplaceAll(output, `\`, ""))
		})
	}
}

func TestArgumentsAreChecked(t *testing.T) {
	dir := t.TempDir()
	drivertest.Refused(t, cos.Kind(), func(more map[string]cty.Value) cty.Value {
		return settings("http://127.0.0.1:1", more)
	}, map[string]string{
		"bucket: It must be set":                   "bucket=null",
		"environment variable TENCENTCLOUD_REGION": "region=null",
		"must not begin with / or ./":              "key=/x",
		"is not an access control list":            "acl=x",
		"must be an address with a scheme":         "endpoint=x",
		"secret_id and secret_key must be set":     "secret_key=null",
		"Name a profile that tccli has written":    "profile=x shared_credentials_dir=" + dir,
	})
}

// Profiles of the Tencent Cloud CLI supply the credentials and the region that the block omits.
func TestProfilesHaveCredentials(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "default.credential"), fmt.Appendf(nil,
		`{"secretId":%q,"secretKey":%q,"token":"token"}`, costest.SecretID, costest.SecretKey), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "default.configure"), []byte(`{"_sys_param":{"region":"ap-x"}}`), 0o600))
	null := cty.NullVal(cty.String)
	there := &costest.Server{Bucket: bucket, Token: "token"}
	p, err := open(t, drivertest.Serve(t, there), map[string]cty.Value{"secret_id": null, "secret_key": null,
		"region": null, "shared_credentials_dir": cty.StringVal(dir)}).Place("blue")
	must(t, err)
	h, err := p.Lock(t.Context(), drivertest.Info(lockID))
	must(t, err)
	must(t, h.Unlock(t.Context()))
}

// Every call ends, whatever a server responds, and no invalid response is taken for a state.
func TestHostileServers(t *testing.T) {
	drivertest.Hostility(t, drivertest.Hostile{
		New: func(*testing.T) http.Handler { return &costest.Server{Bucket: bucket} },
		Open: func(t *testing.T, h http.Handler, silence time.Duration, most int64) remote.Driver {
			d := open(t, drivertest.Serve(t, h), nil)
			cos.Impatient(d, silence, most)
			return d
		},
		Page: func(n int) string {
			return fmt.Sprintf("<ListBucketResult><IsTruncated>true</IsTruncated><NextMarker>m%09d</NextMarker>"+
				"</ListBucketResult>", n)
		},
	})
}
