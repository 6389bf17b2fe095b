package startup

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
)

func TestEachCollectionAdaptsTheSetting(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	watch()
	for range 3 {
		debug.SetGCPercent(most + 1) // no result of percent
		runtime.GC()
		setting := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		for metrics.Read(setting); setting[0].Value.Uint64() == most+1; metrics.Read(setting) {
			runtime.Gosched() // a goroutine of the runtime runs the cleanup
		}
		if now := setting[0].Value.Uint64(); now != most { // the heap of this test is small
			t.Fatalf("the setting is %d after a collection, want %d", now, most)
		}
	}
}

func TestLargeHeapsGrowByLess(t *testing.T) {
	for live, want := range map[uint64]int{0: most, 1 << 20: most, 16 << 20: 200, 32 << 20: 100, 64 << 20: 50,
		96 << 20: least, 1 << 40: least} {
		if now := percent(live); now != want {
			t.Errorf("the setting is %d for %d bytes, want %d", now, live, want)
		}
	}
}
