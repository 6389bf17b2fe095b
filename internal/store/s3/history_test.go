package s3_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/tombolo-iac/tombolo/internal/store/history"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
	"github.com/tombolo-iac/tombolo/state"
)

// ticking is a clock that advances by one second at each reading.
type ticking struct {
	mu  sync.Mutex
	now time.Time
}

func (t *ticking) Now() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now = t.now.Add(time.Second)
	return t.now
}

func (t *ticking) Since(then time.Time) time.Duration { return t.Now().Sub(then) }

// A bucket with versions has all former states, with descriptions of the runs that wrote them.
func TestVersionsAreTheHistory(t *testing.T) {
	backend := s3mem.New(s3mem.WithTimeSource(&ticking{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}))
	must(t, backend.CreateBucket("b"))
	must(t, backend.SetVersioningConfiguration("b", gofakes3.VersioningConfiguration{
		Status: gofakes3.VersioningEnabled}))
	server := httptest.NewServer(gofakes3.New(backend).Server()) // it returns the newest version for each HEAD request
	t.Cleanup(server.Close)
	_, err := backend.PutObject("b", "some/state", map[string]string{}, strings.NewReader("foreign"), 7, nil)
	must(t, err)
	ctx := t.Context()
	p, err := open(t, settings(server.URL, nil)).Place(state.DefaultWorkspace)
	must(t, err)
	h, err := p.Lock(ctx, drivertest.Info(lockID))
	must(t, err)
	revisions := []history.Revision{{Who: "me@häus 😀", Version: "1", Created: 1, Addresses: []string{"a.b"},
		Run: state.RunInfo{ID: "one", Command: "apply", Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}},
		{Who: "b"}}
	for n := range 500 {
		revisions[1].Addresses = append(revisions[1].Addresses, fmt.Sprintf("thing.with_a_long_name[%q]",
			fmt.Sprint(n)))
	}
	content, err := p.Read(ctx)
	must(t, err)
	version := content.Version
	for n, r := range revisions {
		version, err = h.Write(ctx, remote.Write{Data: fmt.Appendf(nil, "state %d", n), Was: version, Lineage: "l",
			Serial: uint64(n + 1), Revision: r})
		must(t, err)
	}
	kept := p.(history.Historian)
	all, err := kept.List(ctx)
	must(t, err)
	if len(all) != 3 {
		t.Fatalf("%d former states: %+v", len(all), all)
	}
	for i, want := range []string{"state 1", "state 0", "foreign"} {
		f := all[i]
		data, err := kept.Snapshot(ctx, f.ID)
		if err != nil || string(data) != want || f.Size != int64(len(want)) || f.Written.IsZero() {
			t.Errorf("%+v: %q, %v, want %q", f, data, err, want)
		}
		if f.Foreign != (i == 2) || i < 2 && (f.Serial != uint64(2-i) || f.Lineage != "l") {
			t.Errorf("%d: %+v", i, f)
		}
	}
	if !reflect.DeepEqual(all[1].Revision, revisions[0]) {
		t.Errorf("revision %+v, want %+v", all[1].Revision, revisions[0])
	}
	if n := len(all[0].Revision.Addresses); n == 0 || n == 500 {
		t.Errorf("%d addresses are kept", n)
	}
	if _, err := kept.Snapshot(ctx, "0123456789"); !errors.Is(err, history.ErrNoRevision) {
		t.Errorf("a state that is not kept: %v", err)
	}
}

// A bucket without versions has one state, even if the service lists it under an ID that it does not accept.
func TestABucketWithoutVersionsHasOneState(t *testing.T) {
	service := serve(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("versionId") != "" {
			fail(w, http.StatusBadRequest, "InvalidArgument")
			return
		}
		service.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	p, err := open(t, settings(server.URL, nil)).Place(state.DefaultWorkspace)
	must(t, err)
	h, err := p.Lock(t.Context(), drivertest.Info(lockID))
	must(t, err)
	version := ""
	for n := range 2 {
		version, err = h.Write(t.Context(), remote.Write{Data: fmt.Appendf(nil, "state %d", n), Was: version,
			Serial: uint64(n + 1), Revision: history.Revision{Who: "me"}})
		must(t, err)
	}
	kept := p.(history.Historian)
	all, err := kept.List(t.Context())
	must(t, err)
	if len(all) != 1 || all[0].Serial != 2 || all[0].Revision.Who != "me" {
		t.Fatalf("former states %+v", all)
	}
	if data, err := kept.Snapshot(t.Context(), all[0].ID); err != nil || string(data) != "state 1" {
		t.Errorf("%q, %v", data, err)
	}
}
