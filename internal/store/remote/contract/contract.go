// Package contract checks the guarantees that package remote makes about places, locks and conditional writes, with one
// check for each guarantee. Package drivertest runs them as tests, and a command runs them for a user's own store.
//
//	for r := range contract.Results(ctx, contract.Options{}, open) {
//		fmt.Println(r.Name, r.Problems)
//	}
//
// The checks leave the storage as they found it if open returns drivers of Within and the drivers can delete.
package contract

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"unicode"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
)

// Options lists what a backend does not support.
type Options struct {
	NoJournal    bool // it cannot store a journal
	NoWorkspaces bool // it has one state
	PlainNames   bool // names of workspaces consist of lower-case letters, digits and hyphens
	// LastWriterWins means that writes without a lock of the service are not conditional.
	LastWriterWins bool
	// NoForce means that only ending the holder's connection releases a lock, and that ForceUnlock returns an error.
	NoForce bool
}

// T is the part of testing.T that a check needs.
type T interface {
	Helper()
	Context() context.Context
	Error(args ...any)
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Skip(args ...any)
}

// Check checks one guarantee. Run gets two drivers, standing for two machines, over the same empty storage.
type Check struct {
	Name    string
	Skipped bool // the backend does not make this guarantee
	Run     func(t T, o Options, a, b remote.Driver)
}

// Checks returns all checks.
func Checks(o Options) []Check {
	return []Check{
		{"NothingIsThereAtFirst", false, nothing},
		{"WritesAreRead", false, writes},
		{"WritesNameWhatTheyReplace", o.LastWriterWins, conditional},
		{"OneHolder", false, oneHolder},
		{"HoldersAreNamed", false, named},
		{"TimesFreeNoLocks", false, times},
		{"ForcedLocksAreLost", o.NoForce, forced},
		{"JournalsGrowInOrder", o.NoJournal, journals},
		{"JournalsNameWhatTheyReplace", o.NoJournal, replaced},
		{"OneOfManyAppends", o.NoJournal, race},
		{"LargeAndEmptyOfAllBytes", false, large},
		{"WorkspacesAreApart", o.NoWorkspaces, workspaces},
		{"DeleteRemovesAll", o.NoWorkspaces, deletes},
		{"EndedContextsEndCalls", false, ended},
	}
}

// Sentence returns the name of a check as a sentence.
func (c Check) Sentence() string { return Sentence(c.Name) }

// Sentence splits a name into words: "Writes name what they replace" of "WritesNameWhatTheyReplace".
func Sentence(name string) string {
	var b strings.Builder
	runes := []rune(name)
	upper := func(i int) bool { return i < len(runes) && unicode.IsUpper(runes[i]) }
	for i, r := range runes {
		if i > 0 && upper(i) && !upper(i-1) {
			b.WriteByte(' ')
			if !upper(i + 1) { // keep IDs together
				r = unicode.ToLower(r)
			}
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Result is the result of a check.
type Result struct {
	Check
	Problems []string // empty if the guarantee holds
}

// Results runs the selected checks outside of tests, one after the other, until the context ends. For each of them it
// calls open, and afterwards done.
func Results(ctx context.Context, o Options, only func(Check) bool,
	open func() (a, b remote.Driver, done func() error, err error)) iter.Seq[Result] {
	return func(yield func(Result) bool) {
		for _, c := range Checks(o) {
			if ctx.Err() != nil {
				return
			}
			if only != nil && !only(c) {
				continue
			}
			r := Result{Check: c}
			if !c.Skipped {
				r.Problems = problems(ctx, o, c, open)
			}
			if !yield(r) {
				return
			}
		}
	}
}

func problems(ctx context.Context, o Options, c Check,
	open func() (a, b remote.Driver, done func() error, err error)) []string {
	a, b, done, err := open()
	if err != nil {
		return []string{err.Error()}
	}
	failures, _ := Try(ctx, func(t T) { c.Run(t, o, a, b) })
	if err := errors.Join(done(), a.Close(), b.Close()); err != nil {
		failures = append(failures, fmt.Sprintf("cleaning up: %v", err))
	}
	return failures
}

// Try runs a test outside of testing. It returns the problems that the test reports, and whether it was skipped.
func Try(ctx context.Context, run func(T)) (problems []string, skipped bool) {
	n := &notes{ctx: ctx}
	ended := make(chan struct{})
	go func() { // a failing check ends its goroutine
		defer close(ended)
		defer func() {
			if p := recover(); p != nil {
				n.Errorf("the check crashed: %v\n%s", p, debug.Stack())
			}
		}()
		run(n)
	}()
	<-ended
	return n.messages, n.skipped
}

// notes implements T and records the messages of a check.
type notes struct {
	ctx      context.Context
	skipped  bool       // set by the goroutine of the check
	mu       sync.Mutex // guards messages
	messages []string
}

// Helper implements T.
func (n *notes) Helper() {}

// Context implements T.
func (n *notes) Context() context.Context { return n.ctx }

// Error implements T.
func (n *notes) Error(args ...any) { n.Errorf("%s", fmt.Sprint(args...)) }

// Errorf implements T.
func (n *notes) Errorf(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.messages = append(n.messages, fmt.Sprintf(format, args...))
}

// Fatal implements T.
func (n *notes) Fatal(args ...any) { n.Fatalf("%s", fmt.Sprint(args...)) }

// Fatalf implements T.
func (n *notes) Fatalf(format string, args ...any) {
	n.Errorf(format, args...)
	runtime.Goexit()
}

// Skip implements T.
func (n *notes) Skip(...any) {
	n.skipped = true
	runtime.Goexit()
}
