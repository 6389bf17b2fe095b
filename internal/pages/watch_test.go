package pages

import (
	"bufio"
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/state"
)

// Values are read once for all who ask at the same time, again when they are old, and errors are not kept for long.
func TestReadersShareReads(t *testing.T) {
	now := &clock{now: time.Unix(1e9, 0)}
	c := newCache[int](now.Now)
	var reads atomic.Int32
	fails := errors.New("failed")
	var problem error
	read := func(context.Context) (int, error) { return int(reads.Add(1)), problem }
	ask := func(want int, wantErr error) {
		t.Helper()
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				if got, err := c.get(t.Context(), "a", time.Minute, read); got != want || !errors.Is(err, wantErr) {
					t.Errorf("got %d and %v, want %d and %v", got, err, want, wantErr)
				}
			})
		}
		wg.Wait()
	}
	ask(1, nil)
	now.add(time.Minute)
	ask(1, nil)
	now.add(time.Second)
	problem = fails
	ask(2, fails)
	problem = nil
	ask(2, fails)
	now.add(errorAge + time.Second)
	ask(3, nil)
	if _, err := c.get(t.Context(), "b", 0, read); err != nil || reads.Load() != 4 {
		t.Errorf("another value: %d reads (%v)", reads.Load(), err)
	}
	for i := range 3 * mostCached {
		_, _ = c.get(t.Context(), strings.Repeat("x", i), time.Minute, read)
	}
	if len(c.slots) > mostCached {
		t.Errorf("the cache has %d values", len(c.slots))
	}
}

// Who asks and goes away does not spoil the read for others.
func TestReadsOutliveWhoAsks(t *testing.T) {
	c := newCache[int](time.Now)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := c.get(gone, "a", time.Minute, func(ctx context.Context) (int, error) {
		return 7,
			ctx.Err()
	}); got != 7 ||
		err != nil {
		t.Errorf("got %d and %v", got, err)
	}
}

// stream opens the stream of a page, and returns its lines with data.
func (c *client) stream(query string) <-chan string {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, c.server.URL+"/p/events?"+query, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	resp, err := c.http.Do(r)
	if err != nil || resp.StatusCode != http.StatusOK {
		c.t.Fatal(resp, err)
	}
	lines := make(chan string, 100)
	go func() {
		defer close(lines)
		defer resp.Body.Close()
		s := bufio.NewScanner(resp.Body)
		for s.Scan() {
			if data, ok := strings.CutPrefix(s.Text(), "data: "); ok {
				lines <- data
			}
		}
	}()
	return lines
}

// Everybody who watches a page learns of a change, with reads for one, and streams end with the server.
func TestWatchersShareReadsAndLearnOfChanges(t *testing.T) {
	o := everything("x", "s3cret")
	p := o.Places[0].(*fakePlace)
	s, c := serving(t, o)
	c.login()
	page := c.get("/p/state")
	var streams []<-chan string
	for range 40 {
		streams = append(streams, c.stream("page=state&unit=&workspace=default"))
	}
	first := <-streams[0]
	if !strings.Contains(page, `data-print="`+first+`"`) {
		t.Errorf("the page has another fingerprint than the stream, which begins with %s", first)
	}
	for _, stream := range streams[1:] {
		if got := <-stream; got != first {
			t.Errorf("a stream begins with %s, the first one with %s", got, first)
		}
	}
	s.watches.mu.Lock()
	if len(s.watches.topics) != 1 || s.watches.streams != len(streams) {
		t.Errorf("%d topics with %d streams", len(s.watches.topics), s.watches.streams)
	}
	s.watches.mu.Unlock()
	p.set("default", &state.Snapshot{State: stateOf(4, "l", "new", "s3cret", "k")})
	second := ""
	for _, stream := range streams {
		got := <-stream
		if second == "" {
			second = got
		}
		if got != second || got == first {
			t.Errorf("after the change, a stream has %s, another one %s", got, second)
		}
	}
	if page := c.get("/p/state"); !strings.Contains(page, `data-print="`+second+`"`) || !strings.Contains(page, "new") {
		t.Errorf("the new page is\n%s", page)
	}
	s.Stop()
	for _, stream := range streams {
		for range stream { // until it ends
		}
	}
}

// However many watch, a state is read at most once for each interval, and nobody reads when nobody watches.
func TestReadsDoNotGrowWithWatchers(t *testing.T) {
	o := everything("x", "s3cret")
	now := &clock{now: time.Unix(1e9, 0)}
	o.Now, o.Every = now.Now, 2*time.Millisecond
	p := o.Places[0].(*fakePlace)
	s, c := serving(t, o)
	c.login()
	for range 20 {
		<-c.stream("page=state&unit=&workspace=default")
		<-c.stream("page=overview")
	}
	before := p.count()
	for range 10 { // the clock stands still, so that all reads come from the cache, however often pages are loaded
		c.get("/p/state")
		c.get("/p/")
	}
	if n := p.count(); n != before {
		t.Errorf("the state was read %d times in no time", n-before)
	}
	s.Stop()
}

// There is a limit for open streams.
func TestStreamsAreLimited(t *testing.T) {
	s, c := serving(t, everything("x", "s3cret"))
	c.login()
	for range mostStreams {
		<-c.stream("page=plans")
	}
	if status, page := c.do(http.MethodGet, "/p/events?page=plans", nil); status != http.StatusServiceUnavailable {
		t.Errorf("status %d\n%s", status, page)
	}
	if status, _ := c.do(http.MethodGet, "/p/events?page=secrets", nil); status != http.StatusNotFound {
		t.Errorf("an unknown page: status %d", status)
	}
	s.Stop()
}

// A run is watched until it has ended.
func TestRunsAreWatched(t *testing.T) {
	o := everything("x", "s3cret")
	runs := o.Runs.(*fakeRuns)
	runs.runs = append(runs.runs, Run{ID: "r1", Title: "Apply", Started: time.Unix(1e9, 0), Log: "begins"})
	s, c := serving(t, o)
	c.login()
	if page := c.get("/p/run?id=r0"); strings.Contains(page, "data-events") {
		t.Error("a run that has ended is watched")
	}
	stream := c.stream("page=run&id=r1")
	first := <-stream
	if page := c.get("/p/run?id=r1"); !strings.Contains(page, `data-print="`+first+`"`) {
		t.Errorf("the page is\n%s", page)
	}
	runs.change(func() { runs.runs[1].Log += " and goes on" })
	if second := <-stream; second == first {
		t.Error("the change is not told")
	}
	s.Stop()
}
