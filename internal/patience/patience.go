// Package patience throttles the calls of providers: it limits how many run concurrently and how many begin in a
// second, slows down a provider whose service has too many requests, and decides which failed calls are repeated, and
// when.
//
//	gate := patience.New(policy)
//	leave, err := gate.Enter(ctx, call, func(why string) { ... })
//	problems := make the call
//	leave(problems)
//	verdict := gate.Decide(call, attempt, problems)
//
// The package makes no calls and does not use journals: the caller decides whether a call may be repeated. The zero
// policy has no limits, and only repeats calls that a service has refused because of too many requests. A Gate owns no
// goroutines; its methods may be called concurrently.
package patience

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
)

// Policy holds the rules of providers. Other providers have the defaults.
type Policy map[addr.Provider]Rules

// Rules holds the rules of one provider. The limits of a type apply in addition to those of the provider; its retry
// rules replace them.
type Rules struct {
	Limit Limit
	Retry *Retry
	Types map[string]Rules // their own Types are ignored
}

// Limit limits calls; fields that are 0 do not.
type Limit struct {
	AtOnce    int
	PerSecond float64
}

// Retry holds the rules for repeating failed calls. The zero value is the default.
type Retry struct {
	// Errors match errors after which reads, updates and deletions are repeated. Refusals match errors which mean that
	// the service did nothing: after these, creations are repeated as well.
	Errors, Refusals []*regexp.Regexp
	// Attempts is the maximum number of attempts, including the first; 0 means DefaultAttempts.
	Attempts int
	// Wait is the pause before the second attempt. It doubles each time, up to MaxWait. 0 means the default.
	Wait, MaxWait time.Duration
}

// The defaults of Retry.
const (
	DefaultAttempts = 10
	DefaultWait     = time.Second
	DefaultMaxWait  = time.Minute
)

// longest is the longest pause that a service may request: a run that would wait longer fails instead.
const longest = 15 * time.Minute

// Call is the provider and the type of a call.
type Call struct {
	Provider addr.Provider
	Type     string
}

// Verdict is the decision about a failed call.
type Verdict struct {
	// Again reports that the call may be repeated after Wait. Refused reports that the call certainly had no effect.
	Again, Refused bool
	Wait           time.Duration
	// Why is the reason for the wait in a few words.
	Why string
}

// Gate throttles the calls of one project.
type Gate struct {
	policy Policy

	mu      sync.Mutex // guards the fields below
	lanes   map[Call]*lane
	changed chan struct{} // closed and replaced whenever a lane may have room
}

// New returns a gate.
func New(p Policy) *Gate {
	return &Gate{policy: p, lanes: map[Call]*lane{}, changed: make(chan struct{})}
}

// lane is the state of a provider, or of one of its types.
type lane struct {
	limit  Limit
	name   string
	active int
	next   time.Time // when the next call may begin, if calls per second are limited
	// A service with too many requests narrows the lane, and closes it until then if it requests a pause. narrow is the
	// number of calls for which the lane has room, or 0 for no limit; good counts successful calls since it changed.
	// Until settled, refusals concern calls that were in progress at the last change, and are ignored.
	until   time.Time
	narrow  int
	good    int
	settled time.Time
}

// room reports whether a call may begin. If not, it returns the reason, and the time after which it may, if known.
func (l *lane) room(now time.Time) (why string, wait time.Duration, ok bool) {
	switch {
	case now.Before(l.until):
		return fmt.Sprintf("%s reported too many requests", l.name), l.until.Sub(now), false
	case l.narrow > 0 && l.active >= l.narrow:
		return fmt.Sprintf("%s reported too many requests: %d at a time", l.name, l.narrow), 0, false
	case l.limit.AtOnce > 0 && l.active >= l.limit.AtOnce:
		return fmt.Sprintf("%d calls of %s at once", l.limit.AtOnce, l.name), 0, false
	case l.limit.PerSecond > 0 && now.Before(l.next):
		return fmt.Sprintf("%v calls of %s a second", l.limit.PerSecond, l.name), l.next.Sub(now), false
	}
	return "", 0, true
}

// enter counts a call.
func (l *lane) enter(now time.Time) {
	l.active++
	if l.limit.PerSecond > 0 {
		if l.next.Before(now) {
			l.next = now
		}
		l.next = l.next.Add(time.Duration(float64(time.Second) / l.limit.PerSecond))
	}
}

// A lane is narrowed to half of the calls in progress, then repeatedly to three quarters. It gets room for one more
// call after widening successful calls for each call for which it has room.
const widening = 20

// narrowed narrows the lane after a refusal. pause is the pause that the service requested, or 0.
func (l *lane) narrowed(now time.Time, pause, wait time.Duration) {
	if until := now.Add(pause); until.After(l.until) {
		l.until = until
	}
	if now.Before(l.settled) {
		return
	}
	room := (l.active + 1) / 2 // including the call that was refused
	if l.narrow > 0 {
		room = l.narrow * 3 / 4
	}
	l.narrow, l.good, l.settled = max(1, room), 0, now.Add(wait)
}

// wentWell counts a successful call, which may widen the lane.
func (l *lane) wentWell() {
	if l.narrow == 0 {
		return
	}
	if l.good++; l.good >= widening*l.narrow {
		l.narrow, l.good = l.narrow+1, 0
	}
}

// lanesOf returns the lanes of a call: that of its provider, and that of its type if the type has limits. The caller
// holds the lock.
func (g *Gate) lanesOf(c Call) []*lane {
	rules := g.policy[c.Provider]
	lanes := []*lane{g.lane(Call{Provider: c.Provider}, c.Provider.ForDisplay(), rules.Limit)}
	if of, ok := rules.Types[c.Type]; ok && of.Limit != (Limit{}) {
		lanes = append(lanes, g.lane(c, c.Type, of.Limit))
	}
	return lanes
}

func (g *Gate) lane(c Call, name string, limit Limit) *lane {
	l := g.lanes[c]
	if l == nil {
		l = &lane{name: name, limit: limit}
		g.lanes[c] = l
	}
	return l
}

// Enter waits until a call may begin. If ctx ends first, it returns the cause. When the call has ended, the caller must
// call leave with its problems. Enter calls waiting, which may be nil, once for each reason why the call has to wait.
func (g *Gate) Enter(ctx context.Context, c Call, waiting func(why string)) (leave func(diag.List), err error) {
	reported := ""
	for {
		why, wait, changed, ok := g.tryEnter(c)
		if ok {
			return func(problems diag.List) { g.leave(c, problems) }, nil
		}
		if why != reported && waiting != nil {
			waiting(why)
			reported = why
		}
		var later <-chan time.Time
		if wait > 0 {
			timer := time.NewTimer(wait)
			defer timer.Stop()
			later = timer.C
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-changed:
		case <-later:
		}
	}
}

// tryEnter counts a call in all of its lanes or in none.
func (g *Gate) tryEnter(c Call) (why string, wait time.Duration, changed <-chan struct{}, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now, lanes := time.Now(), g.lanesOf(c)
	for _, l := range lanes {
		if why, wait, ok := l.room(now); !ok {
			return why, wait, g.changed, false
		}
	}
	for _, l := range lanes {
		l.enter(now)
	}
	return "", 0, nil, true
}

// leave ends a call.
func (g *Gate) leave(c Call, problems diag.List) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, l := range g.lanesOf(c) {
		l.active--
		if !problems.HasErrors() {
			l.wentWell()
		}
	}
	close(g.changed)
	g.changed = make(chan struct{})
}

// retryOf returns the rules for repeating a call.
func (g *Gate) retryOf(c Call) Retry {
	rules := g.policy[c.Provider]
	r := Retry{}
	if rules.Retry != nil {
		r = *rules.Retry
	}
	if of, ok := rules.Types[c.Type]; ok && of.Retry != nil {
		r = *of.Retry
	}
	r.Attempts = cmp.Or(r.Attempts, DefaultAttempts)
	r.Wait, r.MaxWait = cmp.Or(r.Wait, DefaultWait), cmp.Or(r.MaxWait, DefaultMaxWait)
	r.MaxWait = max(r.Wait, r.MaxWait)
	return r
}

// Decide decides whether to repeat a call that failed with problems. attempt is 1 for the first attempt. If a service
// has too many requests, all calls of its provider slow down, whether this one is repeated or not.
func (g *Gate) Decide(c Call, attempt int, problems diag.List) Verdict {
	if !problems.HasErrors() {
		return Verdict{}
	}
	r := g.retryOf(c)
	wait := r.Wait
	for range min(attempt-1, 30) {
		wait = min(2*wait, r.MaxWait)
	}
	wait += rand.N(wait/4 + 1) // calls that failed together should not be repeated together
	text := textOf(problems)
	if asked, ok := tooMany(text, time.Now()); ok {
		wait = max(wait, asked)
		pause := asked
		if attempt > 2 { // the service refused it again although there were fewer calls
			pause = wait
		}
		g.mu.Lock()
		g.lane(Call{Provider: c.Provider}, c.Provider.ForDisplay(), g.policy[c.Provider].Limit).narrowed(time.Now(),
			min(pause, longest), r.Wait)
		g.mu.Unlock()
		return Verdict{Again: attempt < r.Attempts && asked <= longest, Refused: true, Wait: wait,
			Why: fmt.Sprintf("%s reported too many requests", c.Provider.ForDisplay())}
	}
	v := Verdict{Refused: matches(r.Refusals, text), Wait: wait,
		Why: "it failed with " + strconv.Quote(firstOf(problems))}
	v.Again = attempt < r.Attempts && (v.Refused || matches(r.Errors, text))
	return v
}

// Attempts returns the maximum number of attempts.
func (g *Gate) Attempts(c Call) int { return g.retryOf(c).Attempts }

func matches(list []*regexp.Regexp, text string) bool {
	for _, re := range list {
		if re.MatchString(text) {
			return true
		}
	}
	return false
}
