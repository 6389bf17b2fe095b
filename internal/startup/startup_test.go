package startup

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
)

func TestTheDefaultSettingAppliesAfterTheFirstCollection(t *testing.T) {
	usual := debug.SetGCPercent(70)
	defer debug.SetGCPercent(usual)
	wait()
	if now := debug.SetGCPercent(percent); now != percent {
		t.Fatalf("the setting is %d until the first collection, want %d", now, percent)
	}
	runtime.GC()
	setting := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	for metrics.Read(setting); setting[0].Value.Uint64() != 70; metrics.Read(setting) {
		runtime.Gosched() // a goroutine of the runtime runs the cleanup
	}
}
