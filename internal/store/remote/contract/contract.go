// Package contract is what package remote promises of places, locks and conditional writes, one check for each promise.
// Package drivertest makes tests of them; a command runs them by itself, over a store that somebody wrote.
//
//	for r := range contract.Results(ctx, contract.Options{}, open) {
//		fmt.Println(r.Name, r.Problems)
//	}
//
// It leaves the storage as it finds it when open returns drivers of Within, and the drivers can delete.
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
	NoJournal    bool // it has no room for a journal
	NoWorkspaces bool // it has one state
	PlainNames   bool // workspaces have small letters, digits and hyphens in their names
	// LastWriterWins: without a lock of the service's, a state is written whatever stands there.
	LastWriterWins bool
	// NoForce: a lock is freed by ending the connection of its holder alone, and ForceUnlock says so.
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

// Check is one promise. Run gets two drivers over the same, empty storage: two machines.
type Check struct {
	Name    string
	Skipped bool // the backend does not promise this
	Run     func(t T, o Options, a, b remote.Driver)
}

// Checks are all of them.
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

// Sentence is the name of a check as people read it.
func (c Check) Sentence() string { return Sentence(c.Name) }

// Sentence splits a name into words: "Writes name what they replace" of "WritesNameWhatTheyReplace".
func Sentence(name string) string {
	var b strings.Builder
	runes := []rune(name)
	upper := func(i int) bool { return i < len(runes) && unicode.IsUpper(runes[i]) }
	for i, r := range runes {
		if i > 0 && upper(i) && !upper(i-1) {
			b.WriteByte(' ')
			if !upper(i + 1) { // an ID stays one
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
	Problems []string // none: the promise is kept
}

// Results runs the checks where there is no test, such as in a command, one after the other until the context ends.
// Open returns what each of them gets, and done is called behind it.
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
	said, _ := Try(ctx, func(t T) { c.Run(t, o, a, b) })
	if err := errors.Join(done(), a.Close(), b.Close()); err != nil {
		said = append(said, fmt.Sprintf("cleaning up: %v", err))
	}
	return said
}

// Try runs what is a test elsewhere, and returns what it finds wrong, or that it cannot be tried.
func Try(ctx context.Context, run func(T)) (problems []string, skipped bool) {
	n := &notes{ctx: ctx}
	ended := make(chan struct{})
	go func() { // a check that cannot continue ends its goroutine
		defer close(ended)
		defer func() {
			if p := recover(); p != nil {
				n.Errorf("the check crashed: %v\n%s", p, debug.Stack())
			}
		}()
		run(n)
	}()
	<-ended
	return n.said, n.skipped
}

// notes stands in for testing.T and keeps what a check says.
type notes struct {
	ctx     context.Context
	skipped bool       // by the goroutine of the check
	mu      sync.Mutex // guards said
	said    []string
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
	n.said = append(n.said, fmt.Sprintf(format, args...))
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
