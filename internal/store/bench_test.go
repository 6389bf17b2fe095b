package store_test

import (
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/store"
	"github.com/tombolo-iac/tombolo/state"
	"github.com/tombolo-iac/tombolo/state/storetest"
)

// BenchmarkOperations measures operations (an intent and a result, each durable before the next step) by writers in
// parallel.
func BenchmarkOperations(b *testing.B) {
	for _, writers := range []int{1, 10, 50} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			ws, err := store.New(store.Options{Path: filepath.Join(b.TempDir(), "terraform.tfstate")}).Workspace(
				"default")
			must(b, err)
			s, err := ws.Lock(ctx, state.LockRequest{})
			must(b, err)
			j, err := s.Begin(ctx, state.RunInfo{ID: "r"})
			must(b, err)
			var next atomic.Int64
			var wg sync.WaitGroup
			b.ReportAllocs()
			b.ResetTimer()
			for range writers {
				wg.Go(func() {
					for {
						n := next.Add(1)
						if n > int64(b.N) {
							return
						}
						op, at := fmt.Sprint(n), fmt.Sprintf("t.a[%d]", n)
						if err := j.Intent(storetest.Create(op, at)); err != nil {
							b.Error(err)
						}
						if err := j.Result(op,
							storetest.Put(at, op, "a note of usual length, as attributes have")); err != nil {
							b.Error(err)
						}
					}
				})
			}
			wg.Wait()
			b.StopTimer()
			b.ReportMetric(2*float64(b.N)/b.Elapsed().Seconds(), "records/s")
			must(b, j.Close(ctx))
			must(b, s.Unlock())
		})
	}
}

// BenchmarkRecords measures records that need not be durable at once, including the checkpoints that they cause.
func BenchmarkRecords(b *testing.B) {
	ws, err := store.New(store.Options{Path: filepath.Join(b.TempDir(), "terraform.tfstate")}).Workspace("default")
	must(b, err)
	s, err := ws.Lock(ctx, state.LockRequest{})
	must(b, err)
	j, err := s.Begin(ctx, state.RunInfo{ID: "r"})
	must(b, err)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n++
		at := fmt.Sprintf("t.a[%d]", n)
		must(b, j.Record(storetest.Put(at, at, "a note of usual length, as attributes have")))
	}
	must(b, j.Close(ctx))
	must(b, s.Unlock())
}

// BenchmarkRecovery measures the next session after a run with 10 000 records was killed.
func BenchmarkRecovery(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		ws, err := store.New(store.Options{Path: filepath.Join(b.TempDir(), "terraform.tfstate")}).Workspace("default")
		must(b, err)
		s, err := ws.Lock(ctx, state.LockRequest{})
		must(b, err)
		j, err := s.Begin(ctx, state.RunInfo{ID: "r"})
		must(b, err)
		var wg sync.WaitGroup
		for w := range 50 {
			wg.Go(func() {
				for n := range 100 {
					op, at := fmt.Sprintf("%d-%d", w, n), fmt.Sprintf("t.a[%d]", w*100+n)
					j.Intent(storetest.Create(op, at))
					j.Result(op, storetest.Put(at, op, ""))
				}
			})
		}
		wg.Wait()
		s.Unlock()
		b.StartTimer()
		s, err = ws.Lock(ctx, state.LockRequest{})
		must(b, err)
		if n := len(storetest.IDs(s.Snapshot().State)); n != 5000 {
			b.Fatal(n)
		}
		b.StopTimer()
		must(b, s.Unlock())
		b.StartTimer()
	}
}
