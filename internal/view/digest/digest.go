// Package digest summarizes the progress of many operations in a few log lines: one per group every ten seconds, with
// the counts since the beginning and the operations in progress.
//
//	d := digest.New(digest.Options{Say: func(line string) { fmt.Println(line) }})
//	d.Start("demo_thing.web", `demo_thing.web["a"]`, digest.Verbs{Under: "creating", Done: "created"})
//	d.End("demo_thing.web", `demo_thing.web["a"]`, digest.Verbs{Under: "creating", Done: "created"}, false)
//	d.Close() // demo_thing.web: 1 created
//
// The package does not depend on events and does not sanitize: callers pass clean text. A Digest owns one goroutine,
// which runs from the first operation until Close has returned.
package digest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tombolo-iac/tombolo/internal/view/ticker"
)

// Every is the interval between two lines of a group.
const Every = 10 * time.Second

// Options configures a digest.
type Options struct {
	// Say prints a line. Calls are not concurrent, and the digest is locked during them.
	Say func(line string)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Verbs are the words for an operation in progress and one that has ended.
type Verbs struct{ Under, Done string }

// count holds the operations of one kind in a group.
type count struct {
	Verbs
	done, failed int
	under        map[string]time.Time // start times by object
}

type group struct {
	name   string
	counts []*count
	fresh  bool // an operation has ended since the last line
}

// Digest counts operations. Its methods may be called concurrently.
type Digest struct {
	o     Options
	ticks *ticker.Ticker

	mu     sync.Mutex // guards the fields below, and Say
	groups []*group   // in the order of their first operations
	byName map[string]*group
}

// New returns an empty digest.
func New(o Options) *Digest {
	if o.Now == nil {
		o.Now = time.Now
	}
	d := &Digest{o: o, byName: map[string]*group{}}
	d.ticks = ticker.New(Every, d.tick)
	return d
}

// Start records the start of an operation on an object of a group.
func (d *Digest) Start(name, object string, v Verbs) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.count(name, v).under[object] = d.o.Now()
	d.ticks.Start()
}

// End records the end of an operation, which need not have been started.
func (d *Digest) End(name, object string, v Verbs, failed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.count(name, v)
	delete(c.under, object)
	if failed {
		c.failed++
	} else {
		c.done++
	}
	d.byName[name].fresh = true
}

func (d *Digest) count(name string, v Verbs) *count {
	g := d.byName[name]
	if g == nil {
		g = &group{name: name}
		d.groups, d.byName[name] = append(d.groups, g), g
	}
	if i := slices.IndexFunc(g.counts, func(c *count) bool { return c.Verbs == v }); i >= 0 {
		return g.counts[i]
	}
	c := &count{Verbs: v, under: map[string]time.Time{}}
	g.counts = append(g.counts, c)
	return c
}

// Flush writes what has ended since the last lines, as at the end of a part of a run, and removes the groups without
// operations in progress: the next part is counted separately.
func (d *Digest) Flush() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.say(func(g *group) bool { return g.fresh })
	d.groups = slices.DeleteFunc(d.groups, func(g *group) bool { return !g.busy() })
	maps.DeleteFunc(d.byName, func(_ string, g *group) bool { return !g.busy() })
}

// Close writes what has ended and stops the goroutine.
func (d *Digest) Close() {
	d.Flush()
	d.ticks.Stop()
}

// tick writes the lines of the groups with operations in progress.
func (d *Digest) tick() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.say(func(g *group) bool { return g.fresh || g.busy() })
}

// say writes the lines of the groups for which wanted returns true. The caller holds the mutex.
func (d *Digest) say(wanted func(*group) bool) {
	now := d.o.Now()
	for _, g := range d.groups {
		if wanted(g) {
			d.o.Say(g.line(now))
			g.fresh = false
		}
	}
}

func (g *group) busy() bool {
	return slices.ContainsFunc(g.counts, func(c *count) bool { return len(c.under) > 0 })
}

// line returns the counts of a group, such as "a.b: 12 created, 3 creating (the longest for 41s)".
func (g *group) line(now time.Time) string {
	var parts []string
	for _, c := range g.counts {
		if c.done > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c.done, c.Done))
		}
		if c.failed > 0 {
			parts = append(parts, fmt.Sprintf("%d not %s", c.failed, c.Done))
		}
		if n := len(c.under); n > 0 {
			longest := time.Duration(0)
			for _, since := range c.under {
				longest = max(longest, now.Sub(since))
			}
			took := longest.Truncate(time.Second).String()
			if n > 1 {
				took = "the longest for " + took
			} else {
				took = "for " + took
			}
			parts = append(parts, fmt.Sprintf("%d %s (%s)", n, c.Under, took))
		}
	}
	return g.name + ": " + strings.Join(parts, ", ")
}
