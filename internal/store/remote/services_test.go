package remote_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/backend/backendtest"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/contract"
	"github.com/tombolo-iac/tombolo/state"
)

// The same test for the drivers of services: whatever happens to calls, nothing is lost, and nothing is created twice.
// PostgreSQL has its own tests, with connections that are cut. The journal of the backend "http" is on the machine of
// the run, where this test does not look for it.
func TestNothingIsLostOverAnyService(t *testing.T) {
	seeds := uint64(12)
	if testing.Short() {
		seeds = 3
	}
	first, last := asked(t, 1, seeds)
	for _, kind := range backendtest.Kinds() {
		if kind == "http" {
			continue
		}
		t.Run(kind, func(t *testing.T) {
			s := backendtest.Start(t, kind)
			for seed := first; seed <= last; seed++ {
				play(t, seed, s.Open(t, fmt.Sprintf("place%dx", seed)))
			}
		})
	}
}

// A state of 100,000 objects is stored in every service and read back unchanged.
func TestLargeStatesGoThroughEveryService(t *testing.T) {
	if testing.Short() {
		t.Skip("runs without -short: it writes and reads large states")
	}
	const objects = 100_000
	var text strings.Builder
	text.WriteString(`{"version":4,"terraform_version":"1.11.4","serial":1,"lineage":"l","outputs":{},"resources":[` +
		`{"mode":"managed","type":"terraform_data","name":"a",` +
		`"provider":"provider[\"terraform.io/builtin/terraform\"]","instances":[`)
	for n := range objects {
		if n > 0 {
			text.WriteByte(',')
		}
		fmt.Fprintf(&text, `{"index_key":%d,"schema_version":0,"attributes":{"id":"8f2c1d7e-0b5c-4e6a-9d3f-%012x",`+
			`"input":null,"output":null,"triggers_replace":null,"note":"object number %[1]d of many"}}`, n, n*7919)
	}
	text.WriteString(`]}],"check_results":null}`)
	data := []byte(text.String())
	for _, kind := range backendtest.Kinds() {
		t.Run(kind, func(t *testing.T) {
			d := backendtest.Start(t, kind).Open(t, "large")
			p, err := d.Place(state.DefaultWorkspace)
			if err != nil {
				t.Fatal(err)
			}
			h, err := p.Lock(t.Context(), contract.Info("0b5c8e7e-6c1f-4d9e-9d6d-000000000001"))
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			if _, err := h.Write(t.Context(), remote.Write{Data: data, Lineage: "l", Serial: 1}); err != nil {
				t.Fatal(err)
			}
			wrote := time.Since(began)
			if err := h.Unlock(t.Context()); err != nil {
				t.Fatal(err)
			}
			began = time.Now()
			snapshot, err := workspaceOf(remote.New(remote.Options{Driver: d, Rescue: []string{t.TempDir()},
				Journals: t.TempDir()})).Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			count := 0
			for _, r := range snapshot.State.Resources() {
				count += len(r.Instances)
			}
			if count != objects {
				t.Errorf("%d objects came back", count)
			}
			t.Logf("%d MB written in %s, read in %s", len(data)>>20, wrote.Round(time.Millisecond),
				time.Since(began).Round(time.Millisecond))
		})
	}
}
