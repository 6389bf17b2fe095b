package kubernetes_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/store/kubernetes/kubernetestest"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
)

// real returns settings for states on Kubernetes' own API server. Each call uses another state.
func real(t *testing.T) func() map[string]cty.Value {
	t.Helper()
	address, ca := kubernetestest.APIServer(t)
	n := 0
	return func() map[string]cty.Value {
		n++
		return settings(address, map[string]cty.Value{"token": cty.StringVal(kubernetestest.APIToken),
			"cluster_ca_certificate": cty.StringVal(ca), "secret_suffix": cty.StringVal(fmt.Sprintf("net%d", n))})
	}
}

func TestDriverOverAnAPIServer(t *testing.T) {
	next := real(t)
	drivertest.Run(t, drivertest.Options{PlainNames: true}, func(t *testing.T) (a, b remote.Driver) {
		s := next()
		return open(t, s), open(t, s)
	})
}

func TestStoreOverAnAPIServer(t *testing.T) {
	next := real(t)
	drivertest.Stores(t, func(t *testing.T) func() remote.Driver {
		s := next()
		return func() remote.Driver { return open(t, s) }
	})
}

// twin is a server with the versions and IDs that it assigned to objects, so that another server can get equivalent
// requests.
type twin struct {
	address string
	client  *http.Client
	seen    map[string]map[string][2]string // by path and label: version and ID
}

// The small server responds to random requests as Kubernetes' own does: whether objects exist, whether a version or an
// ID matches, which objects are too large or have an invalid name, and what lists contain.
func TestTheTestServerRespondsLikeAnAPIServer(t *testing.T) {
	address, ca := kubernetestest.APIServer(t)
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM([]byte(ca)) {
		t.Fatal("no certificate")
	}
	there := &twin{address: address, client: &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: trusted}}}}
	defer there.client.CloseIdleConnections()
	here := &twin{client: http.DefaultClient,
		address: serve(t, &kubernetestest.Server{Token: kubernetestest.APIToken})}
	for _, one := range []*twin{there, here} {
		one.seen = map[string]map[string][2]string{}
	}
	for seed := range 20 {
		r := rand.New(rand.NewPCG(uint64(seed), 30))
		for n := range 60 {
			a := random(r, seed)
			if got, want := here.ask(t, a), there.ask(t, a); got != want {
				t.Fatalf("seed %d, request %d, %+v: the small server says\n%s\nthe real one\n%s", seed, n, a, got,
					want)
			}
		}
	}
}

// asked is a request. Its versions and IDs are those that an object had at a labeled time.
type asked struct {
	method, resource, name string
	version, id            string // labels of times, or ""
	labels                 map[string]string
	size                   int
	selector               string
	when                   string // label of this time
}

func random(r *rand.Rand, seed int) asked {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	a := asked{method: pick("GET", "GET", "LIST", "POST", "POST", "PUT", "PUT", "DELETE"),
		resource: pick("secrets", "leases"), name: fmt.Sprintf("s%d-%s", seed, pick("a", "b")),
		version: pick("", "", "x", "y", "never"), id: pick("", "", "", "x", "y"), when: pick("x", "y"),
		labels: map[string]string{"app": fmt.Sprint("s", seed), "of": pick("one", "two")}, size: 1 + r.IntN(50)}
	switch r.IntN(25) {
	case 0:
		a.name = pick("Upper", "a_b", "", ".a", strings.Repeat("n", 254))
	case 1:
		a.labels["of"] = strings.Repeat("v", 64)
	case 2:
		a.size = pick2(r, 1<<20, 1<<20+1)
	}
	a.selector = pick(fmt.Sprintf("app=s%d", seed), fmt.Sprintf("app=s%d,of=one", seed))
	return a
}

func pick2(r *rand.Rand, one, two int) int { return []int{one, two}[r.IntN(2)] }

// ask sends a request, and returns the relevant parts of the response.
func (s *twin) ask(t *testing.T, a asked) string {
	t.Helper()
	folder := "/api/v1/namespaces/default/secrets"
	object := map[string]any{"apiVersion": "v1", "kind": "Secret", "data": map[string]any{
		"state": bytes.Repeat([]byte("x"), a.size)}}
	if a.resource == "leases" {
		folder = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
		object = map[string]any{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
			"spec": map[string]any{"holderIdentity": fmt.Sprint("holder", a.size)}}
	}
	path, known := folder+"/"+a.name, s.seen[folder+"/"+a.name]
	meta := map[string]any{"name": a.name, "labels": a.labels}
	object["metadata"] = meta
	if a.method == "PUT" || a.method == "POST" && a.version == "never" {
		if v := known[a.version][0]; v != "" {
			meta["resourceVersion"] = v
		}
		if id := known[a.id][1]; id != "" && a.method == "PUT" {
			meta["uid"] = id
		}
	}
	method, address := a.method, s.address+path
	var body any
	switch a.method {
	case "LIST":
		method, address = "GET", s.address+folder+"?labelSelector="+a.selector
	case "POST":
		address, body = s.address+folder, object
	case "PUT":
		body = object
	case "DELETE":
		conditions := map[string]any{}
		if v := known[a.version][0]; v != "" {
			conditions["resourceVersion"] = v
		}
		if id := known[a.id][1]; id != "" {
			conditions["uid"] = id
		}
		body = map[string]any{"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": conditions}
	}
	if a.name == "" && a.method != "POST" && a.method != "LIST" {
		return "" // delete all objects
	}
	code, answer := s.send(t, method, address, body)
	if code < 300 && a.method != "LIST" && a.method != "DELETE" {
		is, _ := answer["metadata"].(map[string]any)
		if known == nil {
			known = map[string][2]string{}
			s.seen[path] = known
		}
		version, _ := is["resourceVersion"].(string)
		id, _ := is["uid"].(string)
		known[a.when] = [2]string{version, id}
	}
	return digest(code, answer, a)
}

func (s *twin) send(t *testing.T, method, address string, body any) (int, map[string]any) {
	t.Helper()
	var text []byte
	if body != nil {
		var err error
		text, err = json.Marshal(body)
		must(t, err)
	}
	r, err := http.NewRequest(method, address, bytes.NewReader(text))
	must(t, err)
	r.Header.Set("Authorization", "Bearer "+kubernetestest.APIToken)
	r.Header.Set("Content-Type", "application/json")
	answer, err := s.client.Do(r)
	must(t, err)
	defer answer.Body.Close()
	output, err := io.ReadAll(answer.Body)
	must(t, err)
	var object map[string]any
	if err := json.Unmarshal(output, &object); err != nil {
		t.Fatalf("%s %s: %s", method, address, output)
	}
	return answer.StatusCode, object
}

// digest returns the relevant parts of a response: its code, and the error or the content.
func digest(code int, answer map[string]any, a asked) string {
	items, listed := answer["items"].([]any)
	switch {
	case code >= 300:
		return fmt.Sprint(code, " ", answer["reason"])
	case listed:
		var names []string
		for _, item := range items {
			object, _ := item.(map[string]any)
			meta, _ := object["metadata"].(map[string]any)
			names = append(names, fmt.Sprint(meta["name"], meta["labels"], object["data"]))
		}
		slices.Sort(names)
		return fmt.Sprintf("%d %q", code, names)
	case a.method == "DELETE":
		return fmt.Sprint(code)
	}
	meta, _ := answer["metadata"].(map[string]any)
	spec, _ := answer["spec"].(map[string]any)
	return fmt.Sprint(code, meta["name"], meta["labels"], answer["data"], spec["holderIdentity"])
}
