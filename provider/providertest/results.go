package providertest

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
)

// Result is the result of a check.
type Result struct {
	Name     string
	Problems []string // empty if the provider passed
	Skipped  string   // the reason, if it was skipped
}

// Results runs the suite outside of a test, such as in a command: one check after the other, until the context ends.
func Results(ctx context.Context, o Options) iter.Seq[Result] {
	return func(yield func(Result) bool) {
		for i, c := range checks(&o) {
			if ctx.Err() != nil {
				return
			}
			if o.Only != nil && !o.Only(c.name) {
				continue
			}
			r := Result{Name: c.name, Skipped: o.Exempt[c.name]}
			if r.Skipped == "" {
				r.Problems, r.Skipped = problems(ctx, &o, c, i)
			}
			if !yield(r) {
				return
			}
		}
	}
}

// Names returns the names of the checks that apply to a provider.
func Names(o Options) (names []string) {
	for _, c := range checks(&o) {
		names = append(names, c.name)
	}
	return names
}

// problems runs a check, which ends its goroutine if it cannot continue.
func problems(ctx context.Context, o *Options, c check, number int) (messages []string, skipped string) {
	// Objects have the same numbers in each run, regardless of earlier checks.
	next := &counter{}
	next.n.Store(int64(number+1) * 1000)
	notes := &notes{}
	ctx, cancel := o.limit(ctx)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				notes.Errorf("the check crashed: %v\n%s", p, debug.Stack())
			}
		}()
		c.run(newSession(ctx, notes, o, next))
	}()
	<-done
	for _, f := range slices.Backward(notes.later) {
		f()
	}
	return notes.messages, notes.skipped
}

// limit returns a context that ends after the time limit of a check.
func (o *Options) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	if o.Limit <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, o.Limit, fmt.Errorf("the check has taken longer than %s", o.Limit))
}

// notes replaces testing.T and records the output of a check.
type notes struct {
	mu       sync.Mutex
	messages []string
	skipped  string
	later    []func()
}

func (n *notes) Helper() {}

func (n *notes) Cleanup(f func()) { n.later = append(n.later, f) }

func (n *notes) Errorf(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.messages = append(n.messages, fmt.Sprintf(format, args...))
}

func (n *notes) Fatalf(format string, args ...any) {
	n.Errorf(format, args...)
	runtime.Goexit()
}

func (n *notes) Skipf(format string, args ...any) {
	n.mu.Lock()
	n.skipped = fmt.Sprintf(format, args...)
	n.mu.Unlock()
	runtime.Goexit()
}
