//go:build unix

package pg

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/claims"
	"github.com/tombolo-iac/tombolo/internal/pgtest"
)

// TestLoadOfAGranularState prints how long it takes to read and change a state of 100,000 objects, also by 50 runs at
// the same time.
func TestLoadOfAGranularState(t *testing.T) {
	if os.Getenv("TOMBOLO_GRANULAR_LOAD") == "" {
		t.Skip("runs with TOMBOLO_GRANULAR_LOAD=1")
	}
	const objects, clients = 100_000, 50
	dsn := pgtest.Database(t)
	w := shelfWorld(t, dsn)
	var doc strings.Builder
	doc.WriteString(`{"version":4,"serial":1,"lineage":"x","outputs":{},"resources":[`)
	for i := range objects {
		if i > 0 {
			doc.WriteByte(',')
		}
		row := rowOf(fmt.Sprint("t.o", i), strings.Repeat("v", 300))
		fmt.Fprintf(&doc, `%s,"instances":[%s]}`, row.Block, row.Content)
	}
	doc.WriteString("]}")
	if _, err := w.world.Exec(t.Context(), "UPDATE terraform_remote_state.states SET data = $1",
		doc.String()); err != nil {
		t.Fatal(err)
	}
	timed := func(what string, f func()) {
		began := time.Now()
		f()
		t.Logf("%s: %s", what, time.Since(began).Round(time.Millisecond))
	}
	h, err := w.place.shelf(t.Context(), "load")
	if err != nil {
		t.Fatal(err)
	}
	defer h.close()
	var v *shelfView
	timed(fmt.Sprintf("import of %d objects, %d MB", objects, doc.Len()>>20), func() { v = imported(t, h) })
	timed("read", func() {
		if v, err = h.view(t.Context()); err != nil || len(v.rows) != objects {
			t.Fatal(err, len(v.rows))
		}
	})
	change := func(h *shelf, run string, from, n int) error {
		put := map[string]shelfRow{}
		var list []claims.Claim
		for i := range n {
			name := fmt.Sprint("t.o", from+i)
			put[name] = rowOf(name, run)
			list = append(list, claims.Claim{Scope: scopeOf(name), Mode: claims.Write})
		}
		for {
			v, err := h.ledger(t.Context())
			if err != nil {
				return err
			}
			next, conflicts, err := v.ledger.Take(claims.Entry{Run: run, Claims: claims.Of(list...)})
			if err != nil || conflicts != nil {
				return fmt.Errorf("%v %w", conflicts, err)
			}
			switch err := h.commit(t.Context(), shelfChange{seen: v.version, was: v.ledger, is: next}); err {
			case nil:
			case errOutdated:
				continue
			default:
				return err
			}
			released, err := next.Release(run, next.Epoch)
			if err != nil {
				return err
			}
			return h.commit(t.Context(), shelfChange{seen: -1, run: run, epoch: next.Epoch, was: next, is: released,
				put: put, export: true})
		}
	}
	timed("change of 1 %", func() { err = change(h, "load", 0, objects/100) })
	if err != nil {
		t.Fatal(err)
	}
	timed(fmt.Sprintf("%d clients change 20 objects each", clients), func() {
		var wg sync.WaitGroup
		for i := range clients {
			wg.Go(func() {
				run := fmt.Sprint("client", i)
				h, err := w.place.shelf(t.Context(), run)
				if err == nil {
					defer h.close()
					err = change(h, run, 1000+20*i, 20)
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	})
}
