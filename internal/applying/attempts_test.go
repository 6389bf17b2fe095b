package applying_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/patience"
	"github.com/tombolo-iac/tombolo/provider"
)

// impatient repeats calls without pauses.
func impatient(attempts int) *patience.Gate {
	return patience.New(patience.Policy{addr.DefaultProvider("lab"): {Retry: &patience.Retry{
		Errors:   []*regexp.Regexp{regexp.MustCompile("connection reset")},
		Refusals: []*regexp.Regexp{regexp.MustCompile("not now")},
		Attempts: attempts, Wait: time.Microsecond, MaxWait: time.Microsecond}}})
}

// outcome is one way in which a call may fail.
type outcome struct {
	name  string
	text  string // error text; "" means success
	state func(provider.ApplyRequest) cty.Value
	// creates, updates, deletes report whether the operation may be repeated.
	creates, updates, deletes bool
}

func nothing(provider.ApplyRequest) cty.Value  { return cty.NullVal(labBlock.ImpliedType()) }
func silent(provider.ApplyRequest) cty.Value   { return cty.NilVal }
func before(r provider.ApplyRequest) cty.Value { return r.Prior }

// something returns an object: the new one, or the one to be deleted.
func something(r provider.ApplyRequest) cty.Value {
	if r.Planned.IsNull() {
		return r.Prior
	}
	return done(r)
}

var outcomes = []outcome{
	{"refused with nothing", "Error 429: Too Many Requests", nothing, true, true, true},
	{"refused by name", "The service says: not now", nothing, true, true, true},
	{"refused, as it was", "Too many requests", before, true, true, true},
	{"cut off with nothing", "connection reset by peer", nothing, false, true, true},
	{"cut off, as it was", "connection reset by peer", before, false, true, true},
	{"refused with an object", "status code: 429", something, false, true, true},
	{"cut off with an object", "connection reset by peer", something, false, false, true},
	{"no answer", "Too many requests", silent, false, false, true},
	{"wrong for good", "no such size", nothing, false, false, false},
}

// TestOnlyCallsWithoutEffectAreRepeated makes calls fail in random ways, and compares the engine with a model: how
// often each call is made, that each attempt is a separate operation with a result before the next one, and which
// objects exist in the end.
func TestOnlyCallsWithoutEffectAreRepeated(t *testing.T) {
	for seed := range uint64(120) {
		random := rand.New(rand.NewPCG(1, seed))
		s := newSite(t)
		s.gate = impatient(4)
		op := []string{"create", "update", "delete"}[random.IntN(3)]
		key, src, word := "a", `resource "lab_thing" "a" { name = "a" }`, "apply a"
		if op != "create" {
			if _, _, diags := s.run(src); diags.HasErrors() {
				t.Fatal(diags.Err())
			}
			src = `resource "lab_thing" "a" {
				name  = "a"
				value = "new"
			}`
			if op == "delete" {
				key, src, word = "delete a", "# nothing", "delete a"
			}
		}
		var script []outcome
		for range random.IntN(6) {
			script = append(script, outcomes[random.IntN(len(outcomes))])
		}
		want, failed := model(op, script, 4)
		calls := 0
		s.lab.answer[key] = func(r provider.ApplyRequest) provider.ApplyResponse {
			calls++
			if calls > len(script) {
				v := r.Planned
				if op != "delete" {
					v = done(r)
				}
				return provider.ApplyResponse{State: v}
			}
			o := script[calls-1]
			problems := diag.List{}.Errorf(nil, "Failed", "%s.", o.text)
			return provider.ApplyResponse{State: o.state(r), Diagnostics: problems}
		}
		_, _, diags := s.run(src)
		var names []string
		for _, o := range script {
			names = append(names, o.name)
		}
		what := fmt.Sprintf("seed %d, %s, %s", seed, op, strings.Join(names, "; "))
		if calls != want || diags.HasErrors() != failed {
			t.Errorf("%s: %d calls and %v, want %d calls, failure %t", what, calls, diags, want, failed)
		}
		if lines := s.h.lines; !framed(lines, op, word, want, script) {
			t.Errorf("%s: the journal and the calls: %v", what, lines)
		}
	}
}

// model returns how often a call is made if its first attempts have the outcomes in script, and whether it fails.
func model(op string, script []outcome, attempts int) (calls int, failed bool) {
	for _, o := range script {
		calls++
		again := map[string]bool{"create": o.creates, "update": o.updates, "delete": o.deletes}[op]
		if !again || calls == attempts {
			return calls, true
		}
	}
	return calls + 1, false
}

// framed reports whether each call comes after an intent and before a result, in turn. The last creation has no result
// if it got no response: it stays open.
func framed(lines []string, op, word string, calls int, script []outcome) bool {
	var want []string
	for i := range calls {
		want = append(want, "intent "+op+" lab_thing.a", word, "result lab_thing.a")
		if last := i == calls-1; last && op == "create" && i < len(script) && script[i].name == "no answer" {
			want = want[:len(want)-1]
		}
	}
	return slices.Equal(lines, want)
}

// If a service reports too many requests, it gets no requests at all until the time that it specifies has passed.
func TestTooManyRequestsDelaysAllCalls(t *testing.T) {
	s := newSite(t)
	s.gate = impatient(2)
	refused, early := time.Time{}, 0 // only the calls of one object, one after the other, use them
	s.lab.answer["c0"] = func(r provider.ApplyRequest) provider.ApplyResponse {
		if refused.IsZero() {
			refused = time.Now()
			return provider.ApplyResponse{State: nothing(r), Diagnostics: diag.List{}.Errorf(nil, "Failed",
				"HTTP status 429, Retry-After: 50 ms.")}
		}
		if time.Since(refused) < 50*time.Millisecond {
			early++
		}
		return provider.ApplyResponse{State: done(r)}
	}
	_, counts, diags := s.run(`resource "lab_thing" "c" {
		count = 6
		name  = "c${count.index}"
	}`)
	if diags.HasErrors() || counts.Added != 6 || early > 0 || s.h.count("apply c0") != 2 {
		t.Errorf("%v, %+v, %d calls came early: %v", diags, counts, early, s.h.lines)
	}
}

func (h *history) count(line string) (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range h.lines {
		if l == line {
			n++
		}
	}
	return n
}
