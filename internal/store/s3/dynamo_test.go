package s3_test

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
	"github.com/tombolo-iac/tombolo/internal/store/s3"
	"github.com/tombolo-iac/tombolo/state"
)

// dynamo serves the DynamoDB requests of the driver, terraform and tofu, with one table "locks".
type dynamo struct {
	mu    sync.Mutex
	items map[string]map[string]string
}

type attribute struct{ S string }

// ServeHTTP implements http.Handler.
func (d *dynamo) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct {
		TableName                 string
		Item, Key                 map[string]attribute
		ConditionExpression       string
		ExpressionAttributeValues map[string]attribute
	}
	fail := func(code, text string) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"__type":"com.amazonaws.dynamodb.v20120810#%s","message":%q}`, code, text)
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.TableName != "locks" {
		fail("ResourceNotFoundException", "Requested resource not found")
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	id := in.Item["LockID"].S + in.Key["LockID"].S
	there := d.items[id]
	switch c := in.ConditionExpression; {
	case c == "attribute_not_exists(LockID)" && there != nil,
		c == "Info = :info" && (there == nil || there["Info"] != in.ExpressionAttributeValues[":info"].S):
		fail("ConditionalCheckFailedException", "The conditional request failed")
		return
	}
	_, verb, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	switch verb {
	case "PutItem":
		there = map[string]string{}
		for name, v := range in.Item {
			there[name] = v.S
		}
		d.items[id] = there
		w.Header().Set("X-Amz-Crc32", fmt.Sprint(crc32.ChecksumIEEE([]byte("{}"))))
		fmt.Fprint(w, "{}")
	case "DeleteItem":
		delete(d.items, id)
		w.Header().Set("X-Amz-Crc32", fmt.Sprint(crc32.ChecksumIEEE([]byte("{}"))))
		fmt.Fprint(w, "{}")
	case "GetItem":
		out := map[string]map[string]attribute{}
		if there != nil {
			out["Item"] = map[string]attribute{}
			for name, s := range there {
				out["Item"][name] = attribute{s}
			}
		}
		text, _ := json.Marshal(out)
		w.Header().Set("X-Amz-Crc32", fmt.Sprint(crc32.ChecksumIEEE(text)))
		w.Write(text)
	default:
		fail("UnknownOperationException", verb)
	}
}

// get returns an item.
func (d *dynamo) get(id string) map[string]string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.items[id]
}

func (d *dynamo) set(id, name, value string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.items[id] = map[string]string{"LockID": id, name: value}
}

func serveTable(t *testing.T) (*dynamo, string) {
	d := &dynamo{items: map[string]map[string]string{}}
	server := httptest.NewServer(d)
	t.Cleanup(server.Close)
	return d, server.URL
}

// withTable returns settings with a table, with or without the lock object.
func withTable(objects, items string, lockFile bool) map[string]cty.Value {
	return settings(objects, map[string]cty.Value{"dynamodb_table": cty.StringVal("locks"),
		"use_lockfile": cty.BoolVal(lockFile),
		"endpoints": cty.ObjectVal(map[string]cty.Value{"s3": cty.StringVal(objects),
			"dynamodb": cty.StringVal(items)})})
}

func TestDriverWithTable(t *testing.T) {
	for _, lockFile := range []bool{false, true} {
		t.Run(fmt.Sprintf("lockfile=%t", lockFile), func(t *testing.T) {
			drivertest.Run(t, drivertest.Options{}, func(t *testing.T) (a, b remote.Driver) {
				server := httptest.NewServer(serve(t))
				t.Cleanup(server.Close)
				_, items := serveTable(t)
				s := withTable(server.URL, items, lockFile)
				return open(t, s), open(t, s)
			})
		})
	}
}

func TestTerraformSharesTables(t *testing.T) {
	for _, lockFile := range []bool{false, true} {
		t.Run(fmt.Sprintf("lockfile=%t", lockFile), func(t *testing.T) {
			server := httptest.NewServer(serve(t))
			t.Cleanup(server.Close)
			_, items := serveTable(t)
			s := forTerraform(withTable(server.URL, items, lockFile))
			shareLife(t, open(t, s), terraform(t, block(s)))
		})
	}
}

// dynalite is a stricter server than the one above, used if it is installed.
func TestDriverWithDynalite(t *testing.T) {
	path, err := exec.LookPath("dynalite")
	if err != nil {
		t.Skip("needs dynalite on PATH")
	}
	address := startDynalite(t, path)
	n := 0
	drivertest.Run(t, drivertest.Options{}, func(t *testing.T) (a, b remote.Driver) {
		server := httptest.NewServer(serve(t))
		t.Cleanup(server.Close)
		s := withTable(server.URL, address, true)
		n++ // all tests use the same table
		s["key"] = cty.StringVal(fmt.Sprintf("state%d", n))
		return open(t, s), open(t, s)
	})
	server := httptest.NewServer(serve(t))
	t.Cleanup(server.Close)
	s := forTerraform(withTable(server.URL, address, false))
	shareLife(t, open(t, s), terraform(t, block(s)))
}

func TestLockInformationEqualsTerraforms(t *testing.T) {
	server := httptest.NewServer(serve(t))
	t.Cleanup(server.Close)
	table, items := serveTable(t)
	d := open(t, withTable(server.URL, items, true))
	p, err := d.Place("blue")
	must(t, err)
	info := drivertest.Info(lockID)
	info.Info = "<&>"
	h, err := p.Lock(t.Context(), info)
	must(t, err)
	const want = `{"ID":"` + lockID +
		`","Operation":"OperationTypeApply","Info":"\u003c\u0026\u003e","Who":"me@here",` +
		`"Version":"1.11.4","Created":"2026-01-02T03:04:05Z","Path":"some/path"}`
	if got := table.get("b/env:/blue/some/state")["Info"]; got != want {
		t.Errorf("item %s, want %s", got, want)
	}
	if got := string(fetch(t, server.URL+"/b/env:/blue/some/state.tflock")); got != want {
		t.Errorf("object %s, want %s", got, want)
	}
	must(t, h.Unlock(t.Context()))
}

// A state and its digest are written one after the other. A state in between is distinguished from a damaged one.
func TestDigests(t *testing.T) {
	server := httptest.NewServer(serve(t))
	t.Cleanup(server.Close)
	table, items := serveTable(t)
	d := open(t, withTable(server.URL, items, true))
	s3.Impatient(d)
	p, err := d.Place(state.DefaultWorkspace)
	must(t, err)
	h, err := p.Lock(t.Context(), drivertest.Info(lockID))
	must(t, err)
	const item = "b/some/state-md5"
	one, err := h.Write(t.Context(), remote.Write{Data: []byte("one")})
	must(t, err)
	first := table.get(item)["Digest"]
	if first != "f97c5d29941bfb1b2fdab0874906ab82" {
		t.Errorf("digest %q", first)
	}
	two, err := h.Write(t.Context(), remote.Write{Data: []byte("two"), Was: one})
	must(t, err)
	table.set(item, "Digest", first) // the writer ended in between
	c, err := p.Read(t.Context())
	if err != nil || string(c.Data) != "two" {
		t.Errorf("a state without its digest: %q, %v", c.Data, err)
	}
	_, err = h.Write(t.Context(), remote.Write{Data: []byte("three"), Was: two})
	must(t, err)
	table.set(item, "Digest", "0123456789abcdef0123456789abcdef") // written by another program
	if c, err := p.Read(t.Context()); err == nil {
		t.Errorf("a state with a foreign digest is read: %q", c.Data)
	} else if text := err.Error(); !strings.Contains(text, "0123456789abcdef0123456789abcdef") ||
		!strings.Contains(text, item) || !strings.Contains(text, "locks") {
		t.Errorf("the error does not say what to do: %v", err)
	}
	must(t, h.Unlock(t.Context()))
}

// A write either ends after the digest was written or returns an error, because Terraform refuses a state that differs
// from its digest.
func TestWritesEndWithTheDigest(t *testing.T) {
	const item = "b/some/state-md5"
	for name, fails := range map[string]func(r *http.Request) (state, table bool){
		"the digest is refused": func(r *http.Request) (bool, bool) {
			return false, strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".PutItem")
		},
		"the answer about the state is lost": func(r *http.Request) (bool, bool) {
			return r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/some/state"), false
		},
	} {
		t.Run(name, func(t *testing.T) {
			var broken atomic.Int32 // number of requests that fail from now on
			bucket, table := serve(t), &dynamo{items: map[string]map[string]string{}}
			objects := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if lost, _ := fails(r); lost && broken.Add(-1) >= 0 {
					bucket.ServeHTTP(httptest.NewRecorder(), r)
					http.Error(w, "gone", http.StatusForbidden)
					return
				}
				bucket.ServeHTTP(w, r)
			}))
			t.Cleanup(objects.Close)
			items := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				r.Body = io.NopCloser(bytes.NewReader(body))
				if _, refused := fails(r); refused && bytes.Contains(body, []byte("-md5")) && broken.Add(-1) >= 0 {
					w.WriteHeader(http.StatusBadRequest)
					fmt.Fprint(w, `{"__type":"x#AccessDeniedException","message":"not now"}`)
					return
				}
				table.ServeHTTP(w, r)
			}))
			t.Cleanup(items.Close)
			d := open(t, withTable(objects.URL, items.URL, true))
			s3.Impatient(d)
			ws, err := remote.New(remote.Options{Driver: d, Rescue: []string{t.TempDir()},
				Pause: time.Microsecond}).Workspace(state.DefaultWorkspace)
			must(t, err)
			for i, breaks := range []int32{0, 1, 2, 100} {
				session, err := ws.Lock(t.Context(), state.LockRequest{})
				must(t, err)
				broken.Store(breaks)
				b := session.Snapshot().State.Builder()
				b.Fold(state.Edit{Output: &state.SetOutput{Name: "o",
					Value: &state.Output{Value: cty.NumberIntVal(int64(i))}}})
				err = session.Write(t.Context(), b.State())
				broken.Store(0)
				must(t, session.Unlock())
				if failed := breaks == 100; (err != nil) != failed {
					t.Fatalf("write %d: %v", i, err)
				} else if failed {
					continue
				}
				sum := md5.Sum(fetch(t, objects.URL+"/b/some/state"))
				if got, want := table.get(item)["Digest"], hex.EncodeToString(sum[:]); got != want {
					t.Fatalf("write %d: the digest noted is %q, that of the state %q", i, got, want)
				}
			}
		})
	}
}
