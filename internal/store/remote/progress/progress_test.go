package progress_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tombolo-iac/tombolo/internal/store/remote/progress"
)

// slow is a service that transfers a few bytes at a time.
type slow struct {
	pause        time.Duration
	step, gives  int
	stops, taken int // number of bytes of a request after which it stalls; -1 means never
}

// RoundTrip implements http.RoundTripper.
func (s *slow) RoundTrip(r *http.Request) (*http.Response, error) {
	b := make([]byte, s.step)
	for r.Body != nil {
		n, err := r.Body.Read(b)
		if s.taken += n; s.stops >= 0 && s.taken >= s.stops {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}
		if err != nil {
			break
		}
		select {
		case <-r.Context().Done():
			return nil, r.Context().Err()
		case <-time.After(s.pause):
		}
	}
	return &http.Response{StatusCode: 200, Body: &answer{s, r.Context(), s.gives}}, nil
}

type answer struct {
	s    *slow
	ctx  context.Context
	left int
}

func (a *answer) Close() error { return nil }
func (a *answer) Read(p []byte) (int, error) {
	if a.left == 0 {
		return 0, io.EOF
	}
	select {
	case <-a.ctx.Done():
		return 0, a.ctx.Err()
	case <-time.After(a.s.pause):
	}
	n := min(len(p), a.s.step, a.left)
	a.left -= n
	return n, nil
}

// A call continues while bytes move, however slowly, and ends when they stop.
func TestCallsEndWithoutProgress(t *testing.T) {
	for name, c := range map[string]struct {
		sends        int
		service      slow
		ends, before time.Duration // time of the expected error; 0 means success
	}{
		"a large state is sent":   {sends: 100 << 20, service: slow{time.Second, 64 << 10, 0, -1, 0}},
		"a large state is read":   {service: slow{time.Second, 64 << 10, 100 << 20, -1, 0}},
		"nothing is heard":        {sends: 1, service: slow{stops: 0, step: 10}, ends: 2 * time.Minute},
		"it stops in the middle":  {100 << 20, slow{time.Second, 1 << 20, 0, 50 << 20, 0}, 169 * time.Second, 0},
		"a byte now and then":     {service: slow{30 * time.Second, 1, 1000, -1, 0}, ends: 2 * time.Minute},
		"some bytes now and then": {service: slow{30 * time.Second, 16 << 10, 100 << 20, -1, 0}, ends: 2 * time.Minute},
		"it is interrupted":       {100 << 20, slow{time.Second, 1 << 20, 0, -1, 0}, time.Minute, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				parent, stop := context.WithCancel(t.Context())
				defer stop()
				if c.before > 0 {
					time.AfterFunc(c.before, stop)
				}
				ctx, cancel := progress.Within(parent, 2*time.Minute)
				defer cancel()
				inner, end := context.WithCancel(ctx)
				defer end()
				r, err := http.NewRequestWithContext(inner, http.MethodPut, "http://service.example",
					bytes.NewReader(make([]byte, c.sends)))
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				a, err := progress.Over(&c.service).RoundTrip(r)
				if err == nil {
					_, err = io.CopyBuffer(struct{ io.Writer }{io.Discard}, a.Body, make([]byte, 64<<10))
				}
				took := time.Since(began)
				want := context.DeadlineExceeded
				if c.before > 0 {
					want = context.Canceled
				}
				switch {
				case c.ends == 0 && err != nil:
					t.Errorf("after %s: %v", took, err)
				case c.ends > 0 && (!errors.Is(err, want) || !errors.Is(inner.Err(), want) || took < c.ends ||
					took > c.ends+3*time.Second):
					t.Errorf("after %s: %v, %v", took, err, inner.Err())
				}
			})
		})
	}
}

// Time is granted for bytes that are not visible, and for pauses.
func TestTimeIsGranted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := progress.Within(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		progress.Expect(ctx, 32<<10*60)
		progress.Pause(ctx, 30*time.Second)
		<-ctx.Done()
		if took := time.Since(began); took < 90*time.Second || took > 151*time.Second {
			t.Errorf("it ended after %s", took)
		}
		progress.Expect(t.Context(), 1) // a context without a limit ignores grants
	})
}
