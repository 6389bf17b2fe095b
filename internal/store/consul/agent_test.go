package consul_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/store/consul/consultest"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
)

// real returns a function that returns settings for Consul itself, with a new state at each call.
func real(t *testing.T) func() map[string]cty.Value {
	t.Helper()
	address := consultest.Agent(t)
	n := 0
	return func() map[string]cty.Value {
		n++
		return settings(address, map[string]cty.Value{"path": cty.StringVal(fmt.Sprintf("team%d/network", n))})
	}
}

func TestDriverOverConsulItself(t *testing.T) {
	next := real(t)
	drivertest.Run(t, drivertest.Options{}, func(t *testing.T) (a, b remote.Driver) {
		s := next()
		return open(t, s), open(t, s)
	})
}

func TestStoreOverConsulItself(t *testing.T) {
	next := real(t)
	drivertest.Stores(t, func(t *testing.T) func() remote.Driver {
		s := next()
		return func() remote.Driver { return open(t, s) }
	})
}

// twin is a server with its indices and sessions under labels, so that two servers get the same requests.
type twin struct {
	address  string
	indices  map[string]uint64 // by the label of the time when they were seen
	sessions map[string]string // by label
}

// The test server responds to random requests like Consul itself: conditions, holders of locks, errors and the content
// of responses are equal.
func TestTheTestServerRespondsLikeConsul(t *testing.T) {
	there := &twin{address: "http://" + consultest.Agent(t)}
	here := &twin{address: "http://" + serve(t, &consultest.Server{})}
	for seed := range 40 {
		for _, one := range []*twin{there, here} {
			one.indices, one.sessions = map[string]uint64{}, map[string]string{}
		}
		r := rand.New(rand.NewPCG(uint64(seed), 31))
		for n := range 60 {
			a := random(r, fmt.Sprintf("s%d", seed))
			if got, want := here.ask(t, a), there.ask(t, a); got != want {
				t.Fatalf("seed %d, request %d, %.2000s: the small server says\n%s\nthe real one\n%s", seed, n,
					fmt.Sprintf("%+v", a), got, want)
			}
		}
	}
}

// asked is a request.
type asked struct {
	what      string // the action; for a key, the method
	key       string
	condition string // name of the condition in the query
	label     string
	value     string
	flags     string
	ops       []asked // of a transaction
	when      string  // the label of this time
}

func random(r *rand.Rand, folder string) asked {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	a := asked{what: pick("GET", "GET", "LIST", "TREE", "PUT", "PUT", "PUT", "DELETE", "TXN", "TXN", "TXN", "CREATE",
		"DESTROY", "RENEW"), key: folder + pick("/a", "/a", "/b", "/a/b"), value: pick("one", "two", ""),
		flags: pick("", "7"), when: pick("x", "y")}
	switch a.what {
	case "PUT":
		a.condition = pick("", "", "cas", "acquire", "acquire", "release")
	case "DELETE":
		a.condition = pick("", "cas", "cas", "recurse")
	case "CREATE":
		a.condition = pick("10s", "15s", "15s", "5s", "100h", "x")
		a.value = pick("0s", "0s", "60s", "5m")
	case "LIST":
		a.key, a.value = folder+pick("", "/", "/a", "/c"), pick("", "/")
	case "TREE":
		a.key = folder + pick("", "/", "/a", "/c")
	case "TXN":
		for range 1 + r.IntN(4) {
			o := asked{what: pick("set", "cas", "lock", "unlock", "get", "check-index", "check-session",
				"delete", "delete-tree", "delete-cas"), key: folder + pick("/a", "/a", "/b", "/a/b"),
				value: pick("one", "two", ""), label: label(r)}
			a.ops = append(a.ops, o)
		}
		if r.IntN(15) == 0 {
			a.ops = append(a.ops, asked{what: pick("rename", "set"), key: pick("", "/x"), value: "x"})
		}
	}
	a.label = label(r)
	switch n := r.IntN(40); {
	case n == 0 && a.what == "PUT":
		a.value = strings.Repeat("v", 512<<10+r.IntN(2))
	case n == 1:
		a.key = "/" + a.key
	}
	return a
}

// label returns the label of a time or of a session.
func label(r *rand.Rand) string { return []string{"x", "y", "never"}[r.IntN(3)] }

// nobody is the ID of a session that never existed.
const nobody = "11111111-2222-3333-4444-555555555555"

func (s *twin) session(label string) string {
	if id := s.sessions[label]; id != "" {
		return id
	}
	return nobody
}

// ask sends a request, and returns the digest of the response.
func (s *twin) ask(t *testing.T, a asked) string {
	t.Helper()
	method, path, query, body := a.what, "/v1/kv/"+a.key, url.Values{}, []byte(a.value)
	switch a.what {
	case "GET":
		query.Set("consistent", "")
	case "LIST":
		method, query = "GET", url.Values{"keys": {""}, "separator": {a.value}}
	case "TREE":
		method, query = "GET", url.Values{"recurse": {""}}
	case "CREATE":
		method, path = "PUT", "/v1/session/create"
		body = fmt.Appendf(nil, `{"Name":"x","TTL":%q,"LockDelay":%q}`, a.condition, a.value)
	case "DESTROY":
		method, path = "PUT", "/v1/session/destroy/"+s.session(a.label)
	case "RENEW":
		method, path = "PUT", "/v1/session/renew/"+s.session(a.label)
	case "TXN":
		method, path, body = "PUT", "/v1/txn", s.operations(t, a.ops)
	}
	if a.what == "PUT" && a.flags != "" {
		query.Set("flags", a.flags)
	}
	if a.what == "PUT" || a.what == "DELETE" {
		switch a.condition {
		case "cas":
			query.Set("cas", fmt.Sprint(s.indices[a.label]))
		case "acquire", "release":
			query.Set(a.condition, s.session(a.label))
		case "recurse":
			query.Set("recurse", "")
		}
	}
	r, err := http.NewRequest(method, s.address+path+"?"+query.Encode(), bytes.NewReader(body))
	must(t, err)
	answer, err := http.DefaultClient.Do(r)
	must(t, err)
	defer answer.Body.Close()
	output, err := io.ReadAll(answer.Body)
	must(t, err)
	return s.digest(answer.StatusCode, output, a)
}

func (s *twin) operations(t *testing.T, ops []asked) []byte {
	t.Helper()
	var all []map[string]any
	for _, o := range ops {
		kv := map[string]any{"Verb": o.what, "Key": o.key}
		switch o.what {
		case "set", "cas", "lock", "unlock":
			kv["Value"] = []byte(o.value)
		}
		switch o.what {
		case "cas", "delete-cas", "check-index":
			kv["Index"] = s.indices[o.label]
		case "lock", "unlock", "check-session":
			kv["Session"] = s.session(o.label)
		}
		all = append(all, map[string]any{"KV": kv})
	}
	text, err := json.Marshal(all)
	must(t, err)
	return text
}

var changing = regexp.MustCompile(`index [0-9]+ != [0-9]+|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}`)

// digest returns the parts of a response that must be equal, and records indices and sessions for later requests.
func (s *twin) digest(code int, output []byte, a asked) string {
	text := fmt.Sprintf("%d ", code)
	var made struct{ ID string }
	var txn struct {
		Results []struct{ KV kept }
		Errors  []struct {
			OpIndex int
			What    string
		}
	}
	var pairs []kept
	switch {
	case a.what == "CREATE" && json.Unmarshal(output, &made) == nil && made.ID != "":
		s.sessions[a.when] = made.ID
		return text + "a session"
	case a.what == "RENEW" && code == http.StatusOK:
		return text
	case a.what == "TXN" && json.Unmarshal(output, &txn) == nil:
		for _, r := range txn.Results {
			text += s.kept(r.KV, a.when)
		}
		for _, e := range txn.Errors {
			text += fmt.Sprintf("\n%d: %s", e.OpIndex, changing.ReplaceAllString(e.What, "#"))
		}
		return text
	case (a.what == "GET" || a.what == "TREE") && json.Unmarshal(output, &pairs) == nil:
		slices.SortFunc(pairs, func(a, b kept) int { return strings.Compare(a.Key, b.Key) })
		for _, p := range pairs {
			text += s.kept(p, a.when)
		}
		return text
	}
	var names []string
	if a.what == "LIST" && json.Unmarshal(output, &names) == nil {
		return text + fmt.Sprintf("%q", names)
	}
	words, _, _ := strings.Cut(string(output), " See http") // followed by a web page
	return text + strings.TrimSpace(changing.ReplaceAllString(words, "#"))
}

// kept is a key in a response.
type kept struct {
	LockIndex, Flags         uint64
	Key, Session             string
	Value                    []byte
	CreateIndex, ModifyIndex uint64
}

// kept returns the digest of a key, and records its index.
func (s *twin) kept(k kept, when string) string {
	s.indices[when] = k.ModifyIndex
	holder := "nobody"
	for label, id := range s.sessions {
		if id == k.Session {
			holder = label
		} else if k.Session != "" && holder == "nobody" {
			holder = "somebody"
		}
	}
	value := "null"
	if k.Value != nil {
		value = fmt.Sprintf("%.20q of %d", k.Value, len(k.Value))
	}
	return fmt.Sprintf("\n%s %s, flags %d, locked %d times, by %s, changed %t", k.Key, value, k.Flags, k.LockIndex,
		holder, k.ModifyIndex > k.CreateIndex)
}
