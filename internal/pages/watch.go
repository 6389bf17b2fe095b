package pages

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tombolo-iac/tombolo/state"
)

// How pages learn of changes: the script of a page opens a stream for its topic, the query of the stream's address. One
// goroutine for each topic computes a fingerprint of what the page shows, at intervals, and tells all streams if it has
// changed. What it reads comes from the same cache as the pages.

const (
	// readTime is how long one reading of a source may take.
	readTime = time.Minute
	// mostStreams is the maximum number of open streams.
	mostStreams = 100
	// beat is how often something is sent, so that ended connections are noticed.
	beat = 20 * time.Second
	// errorAge is how long an error is kept.
	errorAge = 2 * time.Second
	// mostCached is the maximum number of values in a cache.
	mostCached = 64
)

// cache keeps values of a source for a short time. Callers that ask for the same value at the same time share a read.
type cache[T any] struct {
	now func() time.Time

	mu    sync.Mutex // guards slots and the time of use in them
	slots map[string]*slot[T]
}

type slot[T any] struct {
	used time.Time

	mu    sync.Mutex // guards the fields below; held while the value is read
	read  time.Time
	value T
	err   error
}

func newCache[T any](now func() time.Time) *cache[T] {
	return &cache[T]{now: now, slots: map[string]*slot[T]{}}
}

// get returns a value that is at most age old. The read continues if the caller goes away: others may wait for it.
func (c *cache[T]) get(ctx context.Context, key string, age time.Duration, read func(context.Context) (T, error)) (T,
	error) {
	s := c.slot(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		age = min(age, errorAge)
	}
	if s.read.IsZero() || c.now().Sub(s.read) > age {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTime)
		defer cancel()
		s.value, s.err = read(ctx)
		s.read = c.now()
	}
	return s.value, s.err
}

func (c *cache[T]) slot(key string) *slot[T] {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.slots[key]
	if s == nil {
		if len(c.slots) >= mostCached {
			oldest := ""
			for k, other := range c.slots {
				if c.slots[oldest] == nil || other.used.Before(c.slots[oldest].used) {
					oldest = k
				}
			}
			delete(c.slots, oldest)
		}
		s = &slot[T]{}
		c.slots[key] = s
	}
	s.used = c.now()
	return s
}

// watches are the topics that are watched.
type watches struct {
	mu      sync.Mutex
	topics  map[string]*watch
	streams int
}

// watch is a topic with its streams.
type watch struct {
	streams map[chan string]bool
	cancel  context.CancelFunc // called when the last stream has gone
}

// join adds a stream to a topic, whose fingerprint is now the given one, or returns nil if there are too many. The
// stream receives new fingerprints. leave removes it.
func (s *Server) join(topic, now string, fingerprint func(context.Context) string, every time.Duration) (
	changed chan string, leave func()) {
	ws := &s.watches
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.streams >= mostStreams {
		return nil, nil
	}
	if ws.topics == nil {
		ws.topics = map[string]*watch{}
	}
	w := ws.topics[topic]
	if w == nil {
		w = &watch{streams: map[chan string]bool{}}
		ctx, cancel := context.WithCancel(s.ctx)
		w.cancel = cancel
		ws.topics[topic] = w
		go s.follows(ctx, w, now, fingerprint, every)
	}
	changed = make(chan string, 1)
	w.streams[changed] = true
	ws.streams++
	return changed, func() {
		ws.mu.Lock()
		defer ws.mu.Unlock()
		ws.streams--
		delete(w.streams, changed)
		if len(w.streams) == 0 {
			w.cancel()
			delete(ws.topics, topic)
		}
	}
}

// follows computes fingerprints until nobody watches.
func (s *Server) follows(ctx context.Context, w *watch, last string, fingerprint func(context.Context) string,
	every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := fingerprint(ctx)
		if now == last || ctx.Err() != nil {
			continue
		}
		last = now
		s.watches.mu.Lock()
		for stream := range w.streams {
			select {
			case <-stream: // it has not taken notice of the one before
			default:
			}
			stream <- now
		}
		s.watches.mu.Unlock()
	}
}

// events is the stream of a page. Its events are fingerprints, the first one immediately: the script compares it with
// that of the page, which may be older.
func (s *Server) events(w http.ResponseWriter, r *request) error {
	fingerprint, every := s.fingerprint(r.URL.Query())
	if fingerprint == nil {
		return missing("There is no such page to watch.")
	}
	now := fingerprint(r.Context())
	changed, leave := s.join(r.URL.Query().Encode(), now, fingerprint, every)
	if changed == nil {
		return &problem{http.StatusServiceUnavailable, "Too many open pages", fmt.Sprintf("%d pages are watching. "+
			"Close some, or reload this page by hand.", mostStreams)}
	}
	defer leave()
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	send := func(text string) bool {
		_ = control.SetWriteDeadline(time.Now().Add(2 * beat)) // not every writer has deadlines
		_, err := w.Write([]byte(text + "\n\n"))
		return err == nil && control.Flush() == nil
	}
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for text := "data: " + now; send(text); {
		select {
		case <-r.Context().Done():
			return nil
		case <-s.ctx.Done():
			return nil
		case <-tick.C:
			text = ": still here"
		case now = <-changed:
			text = "data: " + now
		}
	}
	return nil
}

// print returns the fingerprint of a topic.
func (s *Server) print(ctx context.Context, topic string) string {
	q, err := url.ParseQuery(topic)
	if err != nil {
		return ""
	}
	fingerprint, _ := s.fingerprint(q)
	if fingerprint == nil {
		return ""
	}
	return fingerprint(ctx)
}

// hashed returns a function whose result is a hash, which reveals nothing and fits into a line.
func hashed(f func(context.Context) string) func(context.Context) string {
	return func(ctx context.Context) string {
		sum := sha256.Sum256([]byte(f(ctx)))
		return hex.EncodeToString(sum[:12])
	}
}

// topic returns the query of a topic from names and values.
func topic(pairs ...string) string {
	q := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
	}
	return q.Encode()
}

// fingerprint returns the function that computes the fingerprint of a topic, or nil for an unknown one, and how often
// to call it.
func (s *Server) fingerprint(q url.Values) (func(context.Context) string, time.Duration) {
	switch q.Get("page") {
	case "overview":
		return hashed(func(ctx context.Context) string {
			var b strings.Builder
			for _, row := range s.rows(ctx, 4*s.o.Every) {
				fmt.Fprintf(&b, "%s %s %s\n", row.place.Name(), row.workspace, row.print())
			}
			return b.String()
		}), 4 * s.o.Every
	case "state":
		place, err := s.place(q.Get("unit"))
		if err != nil {
			return nil, 0
		}
		return hashed(func(ctx context.Context) string {
			r, err := s.read(ctx, place, q.Get("workspace"), s.o.Every/2)
			return (&row{reading: r, err: err}).print()
		}), s.o.Every
	case "runs", "run":
		if s.o.Runs == nil {
			return nil, 0
		}
		return hashed(func(ctx context.Context) string {
			v, err := s.o.Runs.Version(ctx, q.Get("id"))
			return fmt.Sprint(v, err)
		}), s.o.Every / 6
	case "plans":
		if s.o.Plans == nil {
			return nil, 0
		}
		return hashed(func(ctx context.Context) string {
			all, err := s.o.Plans.List(ctx)
			return fmt.Sprint(all, err)
		}), s.o.Every
	case "drift":
		if s.o.Drift == nil {
			return nil, 0
		}
		return hashed(func(ctx context.Context) string {
			_, made, err := s.o.Drift.Last(ctx)
			return fmt.Sprint(made, err)
		}), s.o.Every
	}
	return nil, 0
}

// print returns a text that changes when the page of the state would.
func (r *row) print() string {
	if r.err != nil {
		return "error " + r.err.Error()
	}
	var b strings.Builder
	snapshot := r.reading.Snapshot
	if s := snapshot.State; s != nil {
		fmt.Fprintf(&b, "%s %d %d ", s.Lineage, s.Serial, objects(s))
	}
	if snapshot.Running != nil {
		b.WriteString(snapshot.Running.ID)
	}
	if h := r.reading.Holder; h != nil {
		b.WriteString(" held " + h.ID)
	}
	tokens := make([]string, 0, len(snapshot.InFlight))
	for _, f := range snapshot.InFlight {
		tokens = append(tokens, f.Token())
	}
	slices.Sort(tokens)
	fmt.Fprint(&b, " ", tokens, len(snapshot.Unfolded), cmp.Or(r.reading.Unknown, "known"))
	return b.String()
}

// objects counts the objects of a state.
func objects(s *state.State) int {
	n := 0
	if s == nil {
		return 0
	}
	for _, r := range s.Resources() {
		for _, i := range r.Instances {
			if i.Current != nil {
				n++
			}
			n += len(i.Deposed)
		}
	}
	return n
}
