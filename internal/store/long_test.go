package store_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/store/journal"
	"github.com/tombolo-iac/tombolo/internal/store/mem"
	"github.com/tombolo-iac/tombolo/state/storetest"
)

// TestJournalsStayWithinTheReadLimit begins operations until no more are allowed, ends those in flight with
// results beyond the limit, and reads everything again.
func TestJournalsStayWithinTheReadLimit(t *testing.T) {
	const limit = 1 << 20
	before := journal.MaxSize
	defer func() { journal.MaxSize = before }()
	journal.MaxSize = limit
	for _, size := range []int{1 << 10, 1 << 16, 1 << 18} {
		fs := mem.NewFS()
		ws, err := storeOn(fs).Workspace("default")
		must(t, err)
		s := lockOn(t, ws)
		j := beginOn(t, s, "r")
		large := strings.Repeat("x", size)
		var want []string
		var problem error
		inFlight := 0
		for n := 0; problem == nil && n < 4000; n++ {
			if problem = j.Intent(storetest.Create(fmt.Sprint(n), fmt.Sprintf("t.x%04d", n))); problem != nil {
				break
			}
			want = append(want, fmt.Sprintf("t.x%04d=%s", n, large))
			if inFlight++; inFlight == 3 { // the others end later
				for k := n - 2; k <= n; k++ {
					must(t, j.Result(fmt.Sprint(k), put(fmt.Sprintf("t.x%04d", k), large)))
				}
				inFlight = 0
			}
		}
		if problem == nil || !strings.Contains(problem.Error(), "maximum length") {
			t.Fatalf("size %d: after %d operations: %v", size, len(want), problem)
		}
		for k := len(want) - inFlight; k < len(want); k++ {
			must(t, j.Result(fmt.Sprint(k), put(fmt.Sprintf("t.x%04d", k), large)))
		}
		for name, text := range fs.Contents() {
			if strings.Contains(name, ".journal") && len(text) > limit {
				t.Errorf("size %d: %s has %d bytes", size, name, len(text))
			}
		}
		_ = s.Unlock()
		fs.DropLocks()
		again, err := storeOn(fs).Workspace("default")
		must(t, err)
		s = lockOn(t, again)
		same(t, "objects", storetest.IDs(s.Snapshot().State), want)
		must(t, s.Unlock())
	}
}
