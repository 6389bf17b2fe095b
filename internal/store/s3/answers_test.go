package s3_test

import (
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
	"github.com/tombolo-iac/tombolo/internal/store/s3"
	"github.com/tombolo-iac/tombolo/state"
)

// planned returns a place behind a network whose faults a test chooses.
func planned(t *testing.T, plan func(*wire) fault) (*faulty, remote.Place) {
	t.Helper()
	f := &faulty{t: t, next: serve(t), plan: plan}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	d, err := s3.Hasty(t.Context(), cty.ObjectVal(settings(server.URL, nil)))
	must(t, err)
	p, err := d.Place(state.DefaultWorkspace)
	must(t, err)
	return f, p
}

// once injects a fault into the first request of a kind.
func once(method, path string, what fault) func(*wire) fault {
	return func(w *wire) fault {
		if what == none || w.request.Method != method || !strings.HasSuffix(w.request.URL.Path, path) {
			return none
		}
		was := what
		what = none
		return was
	}
}

// If a request is retried because its response was lost, its own effect is not taken for a conflict.
func TestLostResponsesAreNotConflicts(t *testing.T) {
	for _, what := range []fault{answerLost, twice, failedLate, requestLost, slowDown, conflict, cutShort} {
		for _, object := range []string{"/state.tflock", "/journal", "/state"} {
			_, p := planned(t, once("PUT", object, what))
			life(t, p)
		}
	}
}

// life returns the steps of a run.
func life(t *testing.T, p remote.Place) {
	t.Helper()
	ctx := t.Context()
	h, err := p.Lock(ctx, drivertest.Info(lockID))
	must(t, err)
	version, err := h.StartJournal(ctx, "", []byte("first"))
	must(t, err)
	must(t, h.Append(ctx, version, 1, []byte("second")))
	_, err = h.Write(ctx, remote.Write{Data: []byte("state")})
	must(t, err)
	_, err = h.StartJournal(ctx, version, nil)
	must(t, err)
	must(t, h.Unlock(ctx))
}

// If it is unknown whether a lock was acquired, it is released, and so is one of two locks.
func TestPartlyAcquiredLocksAreReleased(t *testing.T) {
	for _, what := range []fault{answerLost, failedLate} {
		tries := 0
		_, p := planned(t, func(w *wire) fault {
			if w.request.Method == "PUT" && strings.HasSuffix(w.request.URL.Path, ".tflock") && tries < 6 {
				tries++
				return what
			}
			if tries > 0 && tries < 7 && w.request.Method == "GET" {
				tries++
				return slowDown
			}
			return none
		})
		_, err := p.Lock(t.Context(), drivertest.Info(lockID))
		if err == nil || errors.As(err, new(*state.LockedError)) {
			t.Errorf("lock: %v", err)
		}
		if info, err := p.Holder(t.Context()); info != nil || err != nil {
			t.Errorf("holder %+v, %v", info, err)
		}
	}
	server := httptest.NewServer(serve(t))
	t.Cleanup(server.Close)
	table, items := serveTable(t)
	table.set("b/some/state", "Info", `{"ID":"another"}`)
	p, err := open(t, withTable(server.URL, items, true)).Place(state.DefaultWorkspace)
	must(t, err)
	var locked *state.LockedError
	if _, err := p.Lock(t.Context(), drivertest.Info(lockID)); !errors.As(err, &locked) || locked.Info.ID != "another" {
		t.Errorf("lock: %v", err)
	}
	if info, err := p.Holder(t.Context()); err != nil || info == nil || info.ID != "another" {
		t.Errorf("holder %+v, %v", info, err)
	}
}

// A deletion that arrives late does not release the lock of another run.
func TestLateDeletionsDoNotReleaseOtherLocks(t *testing.T) {
	f, p := planned(t, once("DELETE", ".tflock", later))
	h, err := p.Lock(t.Context(), drivertest.Info(lockID))
	must(t, err)
	must(t, h.Unlock(t.Context()))
	h, err = p.Lock(t.Context(), drivertest.Info("another"))
	must(t, err)
	if len(f.late) != 1 {
		t.Fatalf("%d requests are late", len(f.late))
	}
	f.apply(f.late[0])
	must(t, h.Check(t.Context()))
}

func TestErrorsOfTheServiceAreShown(t *testing.T) {
	for code, want := range map[string][]string{
		"403 AccessDenied":               {"AccessDenied", "s3:PutObject"},
		"400 ExpiredToken":               {"ExpiredToken", "have expired"},
		"404 NoSuchBucket":               {"NoSuchBucket", "does not create buckets"},
		"403 SignatureDoesNotMatch":      {"SignatureDoesNotMatch", "are wrong"},
		"301 PermanentRedirect":          {"PermanentRedirect", "another region"},
		"503 SlowDown":                   {"SlowDown", "status 503"},
		"409 ConditionalRequestConflict": {"ConditionalRequestConflict"},
	} {
		server := httptest.NewServer(answering(code))
		t.Cleanup(server.Close)
		d, err := s3.Hasty(t.Context(), cty.ObjectVal(settings(server.URL, nil)))
		must(t, err)
		p, err := d.Place(state.DefaultWorkspace)
		must(t, err)
		_, err = p.Lock(t.Context(), drivertest.Info(lockID))
		if err == nil || errors.As(err, new(*state.LockedError)) {
			t.Errorf("%s: %v", code, err)
			continue
		}
		for _, word := range append(want, "s3://b/some/state.tflock") {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%s: the error does not say %q: %v", code, word, err)
			}
		}
	}
}

func TestMissingServices(t *testing.T) {
	server := httptest.NewServer(serve(t))
	server.Close()
	d, err := s3.Hasty(t.Context(), cty.ObjectVal(settings(server.URL, nil)))
	must(t, err)
	p, err := d.Place(state.DefaultWorkspace)
	must(t, err)
	_, err = p.Read(t.Context())
	if err == nil || !strings.HasPrefix(err.Error(),
		"read s3://b/some/state: the service cannot be reached, or does not answer: ") {
		t.Errorf("read: %v", err)
	}
}

// A service that accepts conditions and ignores them cannot hold a lock object. The lock in a table works.
func TestServicesThatIgnoreConditions(t *testing.T) {
	server := httptest.NewServer(ignoring{serve(t)})
	t.Cleanup(server.Close)
	p, err := open(t, settings(server.URL, nil)).Place(state.DefaultWorkspace)
	must(t, err)
	_, err = p.Lock(t.Context(), drivertest.Info(lockID))
	if err == nil || !strings.Contains(err.Error(), "If-None-Match") ||
		!strings.Contains(err.Error(), "dynamodb_table") {
		t.Errorf("lock: %v", err)
	}
	if info, err := p.Holder(t.Context()); info != nil || err != nil {
		t.Errorf("somebody holds a lock that is none: %v, %v", info, err)
	}
	_, items := serveTable(t)
	p, err = open(t, withTable(server.URL, items, false)).Place(state.DefaultWorkspace)
	must(t, err)
	life(t, p)
	free, err := p.Unlocked(t.Context())
	must(t, err)
	if _, err := free.Write(t.Context(), remote.Write{Data: []byte("x")}); !errors.Is(err, remote.ErrChanged) {
		t.Errorf("a first state where one is: %v", err)
	}
}

// A response without end is not taken for a state.
func TestObjectsHaveASizeLimit(t *testing.T) {
	server := httptest.NewServer(serve(t))
	t.Cleanup(server.Close)
	d := open(t, settings(server.URL, nil))
	p, err := d.Place(state.DefaultWorkspace)
	must(t, err)
	h, err := p.Unlocked(t.Context())
	must(t, err)
	_, err = h.Write(t.Context(), remote.Write{Data: []byte("12345678")})
	must(t, err)
	for most, fits := range map[int64]bool{8: true, 7: false} {
		s3.Bounded(d, most)
		if _, err := p.Read(t.Context()); (err == nil) != fits {
			t.Errorf("8 bytes where %d are read: %v", most, err)
		}
	}
}
