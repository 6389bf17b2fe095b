package hcp_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/store/hcp"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
	"github.com/tombolo-iac/tombolo/state"
)

// stateOf returns a state with outputs, at least n bytes long.
func stateOf(serial, n int) []byte {
	return fmt.Appendf(nil, `{"version":4,"terraform_version":"1.11.4","serial":%d,"lineage":"l","outputs":{"a":{"value":`+
		`"x","type":"string"},"secret":{"value":"y","type":"string","sensitive":true}},"resources":[],"pad":%q}`, serial,
		drivertest.Random(uint64(serial), n))
}

// Large states are uploaded to the service's object storage, which may be on another host. The token is not sent there.
func TestLargeStatesAreUploadedWithoutTheToken(t *testing.T) {
	for _, inline := range []bool{false, true} {
		for _, elsewhere := range []bool{false, true} {
			there := service()
			there.Inline = inline
			h := serve(t, there)
			if elsewhere { // another name of this machine, for which the certificate is valid, too
				there.Objects = strings.Replace(h.s.URL, "127.0.0.1", "[::1]", 1)
				second := httptest.NewUnstartedServer(there)
				second.StartTLS()
				t.Cleanup(second.Close)
				there.Objects = second.URL
			}
			p, hold := lock(t, h.one(t), "x")
			version := ""
			for serial, n := range []int{10, hcp.MostInline + 1, 4 << 20, 20} {
				data := stateOf(serial+1, n)
				var err error
				version, err = hold.Write(t.Context(), remote.Write{Data: data, Was: version, Lineage: "l",
					Serial: uint64(serial + 1)})
				must(t, err)
				got, err := place(t, h.one(t), state.DefaultWorkspace).Read(t.Context())
				must(t, err)
				if got.Version != version || !bytes.Equal(got.Data, data) {
					t.Fatalf("%d bytes: another state is read", len(data))
				}
			}
			must(t, hold.Unlock(t.Context()))
			if got := fmt.Sprint(there.Outputs("one")); got != "map[a:map[sensitive:false type:string value:x] "+
				"secret:map[sensitive:true type:string value:y]]" {
				t.Errorf("the service knows the outputs %s", got)
			}
			uploads := 0
			for _, r := range there.Seen() {
				if strings.HasPrefix(r, "PUT /_archivist/") {
					uploads++
				}
			}
			if want := map[bool]int{false: 2}[inline]; uploads != want || len(there.Foreign()) > 0 {
				t.Errorf("inline %t: %d uploads, want %d; tokens went to %q", inline, uploads, want, there.Foreign())
			}
			if p.String() != "tfe.example.com/acme/one" {
				t.Errorf("the place is %s", p)
			}
		}
	}
}

// A server that does not return the reasons of locks reports only users as holders. No state is lost there either.
func TestServersWithoutReasons(t *testing.T) {
	for _, plain := range []bool{false, true} {
		there := service()
		there.Forgetful, there.Plain = true, plain
		h := serve(t, there)
		p, hold := lock(t, h.one(t), "x")
		if id := hold.(remote.Named).ID(); id != "acme/one" {
			t.Errorf("the lock has the id %q", id)
		}
		_, err := place(t, h.one(t), state.DefaultWorkspace).Lock(t.Context(), drivertest.Info("y"))
		var locked *state.LockedError
		if !errors.As(err, &locked) || locked.Info.ID != "acme/one" || !plain && locked.Info.Who != "ann" {
			t.Errorf("plain %t: %v", plain, err)
		}
		one, err := hold.Write(t.Context(), remote.Write{Data: stateOf(1, 10), Lineage: "l", Serial: 1})
		must(t, err)
		must(t, hold.Check(t.Context()))
		must(t, p.ForceUnlock(t.Context(), "acme/one"))
		if _, err := hold.Write(t.Context(), remote.Write{Data: stateOf(2, 10), Was: one}); !isLost(err) {
			t.Errorf("a write without the lock: %v", err)
		}
		if err := hold.Unlock(t.Context()); !isLost(err) {
			t.Errorf("unlock: %v", err)
		}
	}
}

// A lock of Terraform has the name of its user, and the title of the workspace as its ID. Terraform also accepts that
// ID to free a lock of Tombolo.
func TestLocksOfOthersAreNamed(t *testing.T) {
	there := service()
	h := serve(t, there)
	there.Mode = "local"
	there.Make("one", nil)
	h.token = others
	bob := h.one(t)
	h.token = token
	ann := h.one(t)
	_, hold := lock(t, bob, "of-bob")
	p := place(t, ann, state.DefaultWorkspace)
	for _, id := range []string{"acme/one", "of-bob"} {
		if err := p.ForceUnlock(t.Context(), "other"); err == nil || !strings.Contains(err.Error(), `"of-bob"`) {
			t.Errorf("another id: %v", err)
		}
		must(t, p.ForceUnlock(t.Context(), id))
		if err := hold.Check(t.Context()); !isLost(err) {
			t.Errorf("after it was freed: %v", err)
		}
		var err error
		hold, err = place(t, bob, state.DefaultWorkspace).Lock(t.Context(), drivertest.Info("of-bob"))
		must(t, err)
	}
	if user, reason := there.Holder("one"); user != "bob" || !strings.Contains(reason, `"ID":"of-bob"`) {
		t.Errorf("%s holds the lock, for %q", user, reason)
	}
}

// The server only accepts a state whose serial follows the last one. If a person wants another serial, the request
// forces it.
func TestStatesOutOfSequenceAreForced(t *testing.T) {
	h := serve(t, service())
	d := h.one(t)
	p, hold := lock(t, d, "x")
	one, err := hold.Write(t.Context(), remote.Write{Data: stateOf(7, 10), Lineage: "l", Serial: 7})
	must(t, err)
	other := bytes.Replace(stateOf(3, 10), []byte(`"lineage":"l"`), []byte(`"lineage":"other"`), 1)
	two, err := hold.Write(t.Context(), remote.Write{Data: other, Was: one, Lineage: "other", Serial: 3})
	must(t, err)
	got, err := p.Read(t.Context())
	must(t, err)
	if got.Version != two || !bytes.Equal(got.Data, other) {
		t.Errorf("%s: %s", got.Version, got.Data)
	}
}

// Another run has written after our read: the serial shows it.
func TestSerialsPreventLateWrites(t *testing.T) {
	there := service()
	var between func()
	h := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if do := between; do != nil && r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/state-versions") {
			between = nil
			do()
		}
		there.ServeHTTP(w, r)
	}))
	_, hold := lock(t, h.one(t), "x")
	other, err := place(t, h.one(t), state.DefaultWorkspace).Unlocked(t.Context())
	must(t, err)
	one, err := hold.Write(t.Context(), remote.Write{Data: stateOf(1, 10), Lineage: "l", Serial: 1})
	must(t, err)
	between = func() {
		_, err := other.Write(t.Context(), remote.Write{Data: stateOf(2, 30), Was: one, Lineage: "l", Serial: 2})
		must(t, err)
	}
	_, err = hold.Write(t.Context(), remote.Write{Data: stateOf(2, 10), Was: one, Lineage: "l", Serial: 2})
	if !errors.Is(err, remote.ErrChanged) {
		t.Errorf("a late write: %v", err)
	}
	if data, n := there.State("one"); n != 2 || !bytes.Equal(data, stateOf(2, 30)) {
		t.Errorf("%d versions, %s", n, data)
	}
}

// Runs in a workspace whose runs belong to the service are refused unless the user overrides that. Its state can be
// edited.
func TestRemoteWorkspacesHaveNoLocalRuns(t *testing.T) {
	there := service()
	there.Mode = "agent"
	there.Make("one", nil)
	h := serve(t, there)
	p := place(t, h.one(t), state.DefaultWorkspace)
	_, err := p.Lock(t.Context(), drivertest.Info("x"))
	says(t, err, `"agent"`, "TF_FORCE_LOCAL_BACKEND=1", "execution mode", "acme/one")
	_, err = p.Unlocked(t.Context())
	says(t, err, `"agent"`)
	if user, _ := there.Holder("one"); user != "" {
		t.Errorf("%s holds the lock", user)
	}
	info := drivertest.Info("x")
	info.Operation = "state-push"
	hold, err := p.Lock(t.Context(), info)
	must(t, err)
	must(t, hold.Unlock(t.Context()))
	d, diags := hcp.Kind().Open(t.Context(), arguments(named("name", "one")), remote.Surroundings{Hosts: h,
		Getenv: func(name string) string { return map[string]string{"TF_FORCE_LOCAL_BACKEND": "1"}[name] }})
	must(t, diags.Err())
	hcp.Hasty(d, h.s.Certificate())
	_, hold = lock(t, d, "y")
	must(t, hold.Unlock(t.Context()))
	if mode := there.ModeOf("one"); mode != "agent" {
		t.Errorf("the mode became %q", mode)
	}
}

// A workspace created here has local execution, and the tags that select it.
func TestWorkspacesAreCreatedWithTheirTags(t *testing.T) {
	for name, c := range map[string]struct {
		workspaces map[string]cty.Value
		env        map[string]string
		tags       map[string]string
	}{
		"list": {map[string]cty.Value{"tags": cty.SetVal([]cty.Value{cty.StringVal("a"), cty.StringVal("b")})}, nil,
			map[string]string{"a": "", "b": ""}},
		"map": {map[string]cty.Value{"tags": cty.ObjectVal(map[string]cty.Value{"team": cty.StringVal("net"),
			"x": cty.StringVal("")})}, nil, map[string]string{"team": "net", "x": ""}},
		"project":  {map[string]cty.Value{"project": cty.StringVal("net")}, nil, map[string]string{}},
		"variable": {map[string]cty.Value{}, map[string]string{"TF_CLOUD_PROJECT": "net"}, map[string]string{}},
	} {
		there := service()
		there.Page = 1
		there.Make("foreign", map[string]string{"a": ""})
		h := serve(t, there)
		d, diags := hcp.Cloud().Open(t.Context(), arguments(c.workspaces), remote.Surroundings{Hosts: h,
			Getenv: func(name string) string { return c.env[name] }})
		must(t, diags.Err())
		hcp.Hasty(d, h.s.Certificate())
		if only, yes := d.(remote.Naming).Named(); only != "" || !yes {
			t.Errorf("%s: %q, %t", name, only, yes)
		}
		if _, err := d.Place(state.DefaultWorkspace); err == nil {
			t.Errorf("%s: there is a default workspace", name)
		}
		for _, w := range []string{"one", "two"} {
			hold, err := place(t, d, w).Lock(t.Context(), drivertest.Info("x"))
			must(t, err)
			must(t, hold.Unlock(t.Context()))
			if got := there.Tags(w); fmt.Sprint(got) != fmt.Sprint(c.tags) || there.ModeOf(w) != "local" {
				t.Errorf("%s: %s has the tags %v and the mode %s", name, w, got, there.ModeOf(w))
			}
		}
		names, err := d.Workspaces(t.Context())
		must(t, err)
		if slices.Sort(names); !slices.Equal(names, []string{"one", "two"}) {
			t.Errorf("%s: %q", name, names)
		}
	}
}

// Responses are bounded, and messages of the server are shown without control characters.
func TestInvalidResponses(t *testing.T) {
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		says   []string
	}{
		"page": {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>Sign in</html>") },
			[]string{"is not a document of the API"}},
		"token": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(401)
			fmt.Fprintf(w, `{"errors":[{"title":"no %s"}]}`, token)
		}, []string{"401", "login tfe.example.com", "(hidden)"}},
		"forbidden": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(403)
			fmt.Fprint(w, `{"errors":[{"title":"forbidden","detail":"you may\u0007 not"}]}`)
		}, []string{"403", "you may? not", "permissions"}},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://elsewhere.example.com"+r.URL.Path, http.StatusTemporaryRedirect)
		}, []string{"307", "the token was not sent"}},
		"nothing": {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"data":{}}`) },
			[]string{"has no workspace"}},
		"endless": {func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write(bytes.Repeat([]byte(" "), 1<<20)); err != nil {
					return
				}
			}
		}, []string{"larger than"}},
	} {
		if name == "endless" && testing.Short() {
			continue
		}
		h := serve(t, c.answer)
		_, err := place(t, h.one(t), state.DefaultWorkspace).Read(t.Context())
		says(t, err, c.says...)
	}
}

// A server that asks for a pause gets a retry, but it does not decide how long the pause is.
func TestServersMayRequestPauses(t *testing.T) {
	there, refused := service(), 0
	there.Make("one", nil)
	h := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refused++; refused < 3 {
			w.Header().Set("X-RateLimit-Reset", "0.01")
			w.Header().Set("Retry-After", map[bool]string{true: "0.01", false: "bad"}[refused == 1])
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		there.ServeHTTP(w, r)
	}))
	_, err := place(t, h.one(t), state.DefaultWorkspace).Read(t.Context())
	must(t, err)
	if refused != 4 { // two refusals, the workspace, its state
		t.Errorf("there were %d requests", refused)
	}
}

// An endless list of workspaces is cut off.
func TestEndlessListsOfWorkspaces(t *testing.T) {
	there := service()
	h := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/workspaces") {
			_, _ = io.WriteString(w, `{"data":[null],"meta":{"pagination":{"next-page":1}}}`)
			return
		}
		there.ServeHTTP(w, r)
	}))
	_, err := h.openAs(t, hcp.Kind(), arguments(named("prefix", "net-"))).Workspaces(t.Context())
	says(t, err, "the page 1 as the next page of the page 1")
}

// Contents are only read over TLS.
func TestContentsNeedTLS(t *testing.T) {
	there := service()
	h := serve(t, there)
	_, hold := lock(t, h.one(t), "x")
	_, err := hold.Write(t.Context(), remote.Write{Data: stateOf(1, 10), Lineage: "l", Serial: 1})
	must(t, err)
	there.Objects = "http://elsewhere.example.com"
	_, err = place(t, h.one(t), state.DefaultWorkspace).Read(t.Context())
	says(t, err, "elsewhere.example.com", "not protected by TLS")
}

// A server may store contents in a bucket, to which it redirects. The token is not sent there.
func TestContentsMayBeOnAnotherHost(t *testing.T) {
	there := service()
	bucket := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Errorf("%s came with a token", r.URL)
		}
		data, _ := there.State("one")
		_, _ = w.Write(data)
	}))
	bucket.StartTLS()
	t.Cleanup(bucket.Close)
	for to, want := range map[string]string{bucket.URL + "/object": "", "http://bucket.example.com/": "by TLS",
		"": "302"} {
		h := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/_archivist/") && r.Method == http.MethodGet {
				if to != "" {
					w.Header().Set("Location", to)
				}
				w.WriteHeader(http.StatusFound)
				return
			}
			there.ServeHTTP(w, r)
		}))
		if _, n := there.State("one"); n == 0 {
			_, hold := lock(t, h.one(t), "x")
			_, err := hold.Write(t.Context(), remote.Write{Data: stateOf(1, 10), Lineage: "l", Serial: 1})
			must(t, err)
			must(t, hold.Unlock(t.Context()))
		}
		c, err := place(t, h.one(t), state.DefaultWorkspace).Read(t.Context())
		if want != "" {
			says(t, err, want)
		} else if err != nil || !bytes.Equal(c.Data, stateOf(1, 10)) {
			t.Errorf("%s, %v", c.Data, err)
		}
	}
}

// A plan without a lock does not take a workspace that the token may not read for an empty one.
func TestHiddenWorkspacesAreNotTakenForEmptyOnes(t *testing.T) {
	there := service()
	h := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/workspaces") {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		there.ServeHTTP(w, r)
	}))
	p := place(t, h.one(t), state.DefaultWorkspace)
	_, err := p.Unlocked(t.Context())
	says(t, err, "404", "create the workspace acme/one", "permissions")
	_, err = p.Lock(t.Context(), drivertest.Info("x"))
	says(t, err, "404", "create the workspace acme/one")
}

// The discovery document of a host is requested when it is needed, and its error is passed on.
func TestUnreachableHosts(t *testing.T) {
	h := here{err: errors.New("the host does not offer the service"), token: token}
	d, diags := hcp.Kind().Open(t.Context(), arguments(named("name", "one")), remote.Surroundings{Hosts: h})
	must(t, diags.Err())
	_, err := place(t, d, state.DefaultWorkspace).Read(t.Context())
	says(t, err, "does not offer the service")
}

// Every call ends, whatever a server responds, and no invalid response is taken for a state.
func TestHostileServers(t *testing.T) {
	drivertest.Hostility(t, drivertest.Hostile{
		NoDigest: true, Wordless: true,
		New: func(*testing.T) http.Handler {
			s := service()
			s.Mode = "local"
			s.Make("one", nil)
			return s
		},
		Open: func(t *testing.T, h http.Handler, silence time.Duration, most int64) remote.Driver {
			d := serve(t, h).one(t)
			hcp.Impatient(d, silence, most)
			return d
		},
		Page: func(n int) string {
			return fmt.Sprintf(`{"data":[],"meta":{"pagination":{"next-page":%d}}}`, n+1)
		},
	})
}
