package world

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/provider"
)

// TestMain runs the test binary as a second process in the same world, if the environment says so.
func TestMain(m *testing.M) {
	if dir := os.Getenv("WORLD_TEST_CREATE"); dir != "" {
		w, err := Open(dir)
		for range 20 {
			if err == nil {
				_, err = w.Create(Object{Name: "x", Size: "1"})
			}
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func open(t *testing.T, dir string) *World {
	t.Helper()
	w, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

// client is a configured provider and its world.
type client struct {
	t *testing.T
	p provider.Provider
	w *World
	// partial, if set, is called when the provider reports an object before its response.
	partial func()
}

func newClient(t *testing.T, config map[string]cty.Value) *client {
	t.Helper()
	dir := t.TempDir()
	vals := schema.Provider.EmptyValue().AsValueMap()
	vals["dir"] = cty.StringVal(dir)
	for k, v := range config {
		vals[k] = v
	}
	p := New(Options{})
	if diags := p.Configure(t.Context(), provider.ConfigureRequest{
		Config: cty.ObjectVal(vals)}).Diagnostics; diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	t.Cleanup(func() { p.Close() })
	return &client{t: t, p: p, w: open(t, dir)}
}

// create plans and applies a new object.
func (c *client) create(ctx context.Context, name, token string, directives ...string) provider.ApplyResponse {
	c.t.Helper()
	vals := schema.Resources[typeName].Block.EmptyValue().AsValueMap()
	vals["name"] = cty.StringVal(name)
	if len(directives) > 0 {
		d := map[string]string{}
		for i := 0; i < len(directives); i += 2 {
			d[directives[i]] = directives[i+1]
		}
		vals["behave"] = mapValue(d)
	}
	return c.apply(ctx, cty.NullVal(Type()), cty.ObjectVal(vals), token)
}

func (c *client) apply(ctx context.Context, prior, config cty.Value, token string) provider.ApplyResponse {
	c.t.Helper()
	planned := config
	if !config.IsNull() {
		vals := config.AsValueMap()
		if !prior.IsNull() {
			vals["id"] = prior.GetAttr("id")
		}
		plan := c.p.Plan(ctx, provider.PlanRequest{Type: typeName, Prior: prior, Proposed: cty.ObjectVal(vals),
			Config: config})
		if plan.Diagnostics.HasErrors() {
			c.t.Fatal(plan.Diagnostics.Err())
		}
		planned = plan.Planned
	}
	return c.p.Apply(ctx, provider.ApplyRequest{Type: typeName, Prior: prior, Planned: planned, Config: config,
		Intent: token, Partial: func(cty.Value, []byte) {
			if c.partial != nil {
				c.partial()
			}
		}})
}

func (c *client) names() string {
	c.t.Helper()
	all, err := c.w.Exists()
	if err != nil {
		c.t.Fatal(err)
	}
	var ids []string
	for _, o := range all {
		ids = append(ids, o.ID)
	}
	return strings.Join(ids, " ")
}

func (c *client) history() string {
	c.t.Helper()
	all, err := c.w.Events()
	if err != nil {
		c.t.Fatal(err)
	}
	var out []string
	for _, e := range all {
		out = append(out, fmt.Sprintf("%s %s %s %s", e.Kind, e.Op, e.Name, e.Token))
	}
	return strings.Join(out, "\n")
}

func TestLedgerRecordsEvents(t *testing.T) {
	c := newClient(t, nil)
	one := c.create(t.Context(), "a", "run/1")
	c.create(t.Context(), "a", "run/2")
	changed := one.State.AsValueMap()
	changed["value"] = cty.StringVal("new")
	if resp := c.apply(t.Context(), one.State, cty.ObjectVal(changed), "run/3"); resp.Diagnostics.HasErrors() {
		t.Fatal(resp.Diagnostics.Err())
	}
	c.apply(t.Context(), one.State, cty.NullVal(Type()), "run/4")
	want := `BEGIN create a run/1
CREATED create a run/1
BEGIN create a run/2
CREATED create a run/2
BEGIN update a run/3
UPDATED update a run/3
BEGIN delete a run/4
DELETED delete a run/4`
	if got := c.history(); got != want {
		t.Errorf("ledger:\n%s\nwant:\n%s", got, want)
	}
	if got := c.names(); got != "a-2" {
		t.Errorf("exists: %s", got)
	}
	if n, err := c.w.Creations("a"); n != 2 || err != nil {
		t.Errorf("creations: %d, %v", n, err)
	}
}

func TestPartialLinesAreNotEvents(t *testing.T) {
	c := newClient(t, nil)
	c.create(t.Context(), "a", "1")
	f, err := os.OpenFile(filepath.Join(c.w.dir, "ledger"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("\nCREATED {\"op\":\"create\",\"id\":\"b-1\",\"object\":{\"id\""); err != nil {
		t.Fatal(err)
	}
	if got := c.names(); got != "a-1" {
		t.Errorf("exists with a half-written line at the end: %s", got)
	}
	c.create(t.Context(), "c", "2")
	if got := c.names(); got != "a-1 c-1" {
		t.Errorf("exists with a half-written line in the middle: %s", got)
	}
	if got, err := open(t, c.w.dir).Exists(); len(got) != 2 || err != nil {
		t.Errorf("read anew: %v, %v", got, err)
	}
}

func TestManyProcessesShareAWorld(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "WORLD_TEST_CREATE="+dir)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	wg.Wait()
	all, err := open(t, dir).Exists()
	if err != nil || len(all) != 80 {
		t.Fatalf("%d objects with ids of their own, want 80 (%v)", len(all), err)
	}
}

func TestDirectivesCauseFaults(t *testing.T) {
	for _, tc := range []struct {
		directives []string
		err        string
		exists     string
		known      bool // the response contains the object
	}{
		{[]string{"fail", "create"}, "told to fail", "", false},
		{[]string{"fail", "update,delete"}, "", "a-1", true},
		{[]string{"half", "error"}, "created, but not finished", "a-1", true},
		{[]string{"half", "lost"}, "was lost", "a-1", false},
		{[]string{"half", "early"}, "", "a-1", true},
	} {
		t.Run(strings.Join(tc.directives, " "), func(t *testing.T) {
			c := newClient(t, nil)
			resp := c.create(t.Context(), "a", "", tc.directives...)
			if got := fmt.Sprint(resp.Diagnostics.Err()); (tc.err == "") != (resp.Diagnostics.Err() == nil) ||
				!strings.Contains(got, tc.err) {
				t.Errorf("error %v, want %q", got, tc.err)
			}
			if got := c.names(); got != tc.exists || (resp.State != cty.NilVal && !resp.State.IsNull()) != tc.known {
				t.Errorf("exists %q (want %q), answer %#v", got, tc.exists, resp.State)
			}
		})
	}
}

func TestFailuresCanBeCounted(t *testing.T) {
	c := newClient(t, nil)
	for i, fails := range []bool{true, true, false} {
		if got := c.create(t.Context(), "a", "", "fail", "create:2").Diagnostics.HasErrors(); got != fails {
			t.Errorf("try %d fails: %t, want %t", i+1, got, fails)
		}
	}
}

func TestInterruptedCreationsReportExistingObjects(t *testing.T) {
	c := newClient(t, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if resp := c.create(ctx, "early", "", "delay", "20s"); !resp.State.IsNull() || !resp.Diagnostics.HasErrors() {
		t.Errorf("interrupted before the effect: %+v", resp)
	}
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	c.partial = cancel
	if resp := c.create(ctx, "late", "", "delay", "50ms", "half", "early"); resp.State.IsNull() ||
		!resp.Diagnostics.HasErrors() {
		t.Errorf("interrupted after the effect: %+v", resp)
	}
	if resp := c.create(ctx, "deaf", "", "delay", "10ms", "deaf", "yes"); resp.Diagnostics.HasErrors() {
		t.Errorf("deaf: %+v", resp)
	}
	if got := c.names(); got != "deaf-1 late-1" {
		t.Errorf("exists: %s", got)
	}
}

func TestObjectsDriftOnce(t *testing.T) {
	c := newClient(t, nil)
	read := func(v cty.Value) cty.Value {
		return c.p.Read(t.Context(), provider.ReadRequest{Type: typeName, Prior: v}).State
	}
	first := c.create(t.Context(), "a", "", "drift", "value").State
	now := read(first)
	if text(now.GetAttr("value")) != "drifted" {
		t.Fatalf("read: %#v", now)
	}
	repaired := c.apply(t.Context(), now, first, "").State
	if got := read(repaired); !got.RawEquals(repaired) {
		t.Errorf("drifted a second time: %#v", got)
	}
	if gone := c.create(t.Context(), "b", "", "drift", "removed").State; !read(gone).IsNull() {
		t.Error("the object was not removed")
	}
}

func TestSeedDecidesWhatFails(t *testing.T) {
	outcome := func(seed int64) string {
		c := newClient(t, map[string]cty.Value{"seed": cty.NumberIntVal(seed), "fail_rate": cty.NumberFloatVal(0.3),
			"half_rate": cty.NumberFloatVal(0.3)})
		var out strings.Builder
		for i := range 40 {
			resp := c.create(t.Context(), fmt.Sprint("o", i), "")
			switch {
			case !resp.Diagnostics.HasErrors():
				out.WriteByte('.')
			case resp.State.IsNull():
				out.WriteByte('f')
			default:
				out.WriteByte('h')
			}
		}
		return out.String()
	}
	one, again, other := outcome(1), outcome(1), outcome(2)
	if one != again {
		t.Errorf("the same seed:\n%s\n%s", one, again)
	}
	if one == other || strings.Count(one, "f") < 4 || strings.Count(one, "h") < 3 || strings.Count(one, ".") < 8 {
		t.Errorf("two seeds:\n%s\n%s", one, other)
	}
}
