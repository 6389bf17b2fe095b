//go:build unix

package pg

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/claims"
	"github.com/tombolo-iac/tombolo/internal/pgtest"
	"github.com/tombolo-iac/tombolo/state"
	"github.com/zclconf/go-cty/cty"
)

// imported reads the state of another program into the rows, if there is one.
func imported(t *testing.T, h *shelf) *shelfView {
	t.Helper()
	for {
		v, err := h.view(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if v.foreign == nil {
			return v
		}
		theirs, err := rowsOf(v.foreign)
		if err != nil {
			t.Fatal(err)
		}
		c := shelfChange{seen: v.version, imported: theirs, put: theirs.rows}
		for name := range v.rows {
			if _, ok := theirs.rows[name]; !ok {
				c.drop = append(c.drop, name)
			}
		}
		if err := h.commit(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
}

// opensShelf opens a shelf, with a place in the same database.
func opensShelf(t *testing.T, dsn, run string) (*shelf, error) {
	t.Helper()
	p, err := opened(t, dsn).Place("default")
	if err != nil {
		t.Fatal(err)
	}
	return p.(*place).shelf(t.Context(), run)
}

// TestOtherProgramsShareAGranularState lets a run hold a shelf while another program wants the state.
func TestOtherProgramsShareAGranularState(t *testing.T) {
	peers(t, func(t *testing.T, other *peer) {
		other.config(`resource "terraform_data" "a" {
  count = 2
  input = count.index
}
output "all" { value = terraform_data.a[*].output }`)
		other.run("init", "-no-color")
		other.run("apply", "-auto-approve", "-no-color")
		h, err := opensShelf(t, other.dsn, "one")
		if err != nil {
			t.Fatal(err)
		}
		v := imported(t, h)
		if len(v.rows) != 3 || v.rows["terraform_data.a[1]"].Content == "" || v.rows["output.all"].Content == "" {
			t.Fatalf("rows: %v", v.rows)
		}
		other.refused("apply", "-auto-approve", "-no-color")
		second, err := opensShelf(t, other.dsn, "two")
		if err != nil {
			t.Fatalf("a second run cannot open the state: %s", err)
		}
		second.close()
		own, conflicts, err := v.ledger.Take(claims.Entry{Run: "one", Claims: claims.Whole()})
		if err != nil || conflicts != nil {
			t.Fatal(conflicts, err)
		}
		if err := h.commit(t.Context(), shelfChange{seen: v.version, was: v.ledger, is: own}); err != nil {
			t.Fatal(err)
		}
		released, err := own.Release("one", own.Epoch)
		if err != nil {
			t.Fatal(err)
		}
		other.run("output", "-no-color") // without a lock
		if err := h.commit(t.Context(), shelfChange{seen: -1, run: "one", epoch: own.Epoch, was: own, is: released,
			drop: []string{"terraform_data.a[1]"}, export: true}); err != nil {
			t.Fatal(err)
		}
		h.close()
		if list := other.run("state", "list", "-no-color"); strings.TrimSpace(list) != "terraform_data.a[0]" {
			t.Errorf("the other program sees %s", list)
		}
		other.run("apply", "-auto-approve", "-no-color") // it creates the missing object again
		end := other.busy()
		if _, err := opensShelf(t, other.dsn, "three"); !errors.As(err, new(*state.LockedError)) {
			t.Errorf("a run opened the state that another program holds: %v", err)
		}
		end()
		if h, err = opensShelf(t, other.dsn, "four"); err != nil {
			t.Fatal(err)
		}
		defer h.close()
		if v = imported(t, h); v.rows["terraform_data.busy"].Content == "" {
			t.Errorf("what the other program wrote was not read: %v", v.rows)
		}
	})
}

// randomState returns a state with modules, keys of all kinds, deposed objects and outputs.
func randomState(r *rand.Rand) *state.State {
	var none *state.State
	b := none.Builder()
	keys := []addr.Key{addr.NoKey, addr.IntKey(0), addr.IntKey(12), addr.StringKey("a"),
		addr.StringKey("\"]\\<\u2028é")}
	for range r.IntN(30) {
		m := addr.ModuleInstance{}
		for range r.IntN(3) {
			m = m.Child("m", keys[r.IntN(len(keys))])
		}
		mode := []addr.Mode{addr.Managed, addr.Data}[r.IntN(2)]
		at := addr.AbsResource{Module: m, Resource: addr.Resource{Mode: mode, Type: "t",
			Name: fmt.Sprint("n", r.IntN(3))}}
		o := addr.Object{Instance: at.Instance(keys[r.IntN(len(keys))])}
		if mode == addr.Managed && r.IntN(4) == 0 {
			o.Deposed = addr.DeposedKey(fmt.Sprintf("%08x", r.Uint32()))
		}
		b.Fold(state.Edit{Put: &state.PutObject{Addr: o,
			Provider: addr.AbsProviderConfig{Provider: addr.DefaultProvider("t")}, Object: &state.Object{
				Attributes: fmt.Appendf(nil, `{"id":"%d <\u0000> \\ é","list":[1.50,null]}`, r.IntN(100))}}})
	}
	for i := range r.IntN(4) {
		b.Fold(state.Edit{Output: &state.SetOutput{Name: fmt.Sprint("o", i), Value: &state.Output{
			Value: cty.StringVal("<v>"), Sensitive: r.IntN(2) == 0}}})
	}
	st := *b.State()
	st.Lineage, st.Serial = "line\"age", r.Uint64N(100)
	return &st
}

// TestExportsHaveTheContentOfTheState stores random states in rows and compares their exports.
func TestExportsHaveTheContentOfTheState(t *testing.T) {
	dsn := pgtest.Database(t)
	w := shelfWorld(t, dsn)
	h, err := w.place.shelf(t.Context(), "run")
	if err != nil {
		t.Fatal(err)
	}
	defer h.close()
	r := rand.New(rand.NewPCG(9, 9))
	for range 40 {
		st := randomState(r)
		var b bytes.Buffer
		if err := st.Encode(&b); err != nil {
			t.Fatal(err)
		}
		if _, err := w.world.Exec(context.Background(), "UPDATE terraform_remote_state.states SET data = $1",
			b.String()); err != nil {
			t.Fatal(err)
		}
		v := imported(t, h)
		if err := h.commit(t.Context(), shelfChange{seen: v.version, export: true}); err != nil {
			t.Fatal(err)
		}
		c, err := w.place.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		back, err := state.Decode(c.Data)
		if err != nil {
			t.Fatalf("%s\n%s", err, c.Data)
		}
		next := *st
		next.Serial++
		var want, got bytes.Buffer
		if err := errors.Join(next.Encode(&want), back.Encode(&got)); err != nil {
			t.Fatal(err)
		}
		if got.String() != want.String() {
			t.Fatalf("exported\n%s\nwant\n%s", got.String(), want.String())
		}
	}
}
