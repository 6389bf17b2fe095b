package applying_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/state"
)

// TestProvisionersRunInTheTurnOfTheirObject creates objects with and without provisioners, some of them refused at
// first or for good, with few calls at once. From the last call for an object to the end of its provisioners, it takes
// part in that number; while it waits for another attempt, it does not. (If it kept its turn then, the last attempt
// would never begin.)
func TestProvisionersRunInTheTurnOfTheirObject(t *testing.T) {
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(2, seed))
		s := newSite(t)
		s.gate, s.slots = impatient(3), 1+random.IntN(3)
		var src strings.Builder
		provisioned, good := map[string]bool{}, 0
		for i := range 2 + random.IntN(5) {
			name := fmt.Sprintf("c%d", i)
			provisioned[name] = random.IntN(3) > 0
			fmt.Fprintf(&src, "resource \"lab_thing\" %q {\n  name = %q\n", name, name)
			if provisioned[name] {
				src.WriteString("  provisioner \"local-exec\" { command = \"exit 0\" }\n")
			}
			src.WriteString("}\n")
			refusals := max(0, random.IntN(6)-2)
			if refusals < 3 {
				good++
			}
			s.lab.answer[name] = func(r provider.ApplyRequest) provider.ApplyResponse {
				if refusals--; refusals >= 0 {
					return provider.ApplyResponse{State: cty.NullVal(labBlock.ImpliedType()),
						Diagnostics: diag.List{}.Errorf(nil, "Failed", "Too many requests.")}
				}
				s.h.add("created %s", name)
				return provider.ApplyResponse{State: done(r)}
			}
		}
		_, counts, _ := s.run(src.String())
		if counts.Added != good {
			t.Errorf("seed %d: %+v, want %d added\n%s", seed, counts, good, src.String())
		}
		open := map[string]int{} // results to come after the creation: its own, and that of its provisioners
		for _, line := range s.h.lines {
			word, name, _ := strings.Cut(line, " ")
			name = strings.TrimPrefix(name, "lab_thing.")
			switch {
			case word == "apply" && len(open) >= s.slots:
				t.Errorf("seed %d, %d calls at once: %s begins before these have ended: %v\n%q", seed, s.slots, name,
					open, s.h.lines)
			case word == "created" && provisioned[name]:
				open[name] = 2
			case word == "result" && open[name] > 1:
				open[name]--
			case word == "result":
				delete(open, name)
			}
		}
	}
}

// Provisioners of an object do not begin in a run that is being stopped. The object is tainted, so that the next run
// creates it again.
func TestProvisionersDoNotBeginAfterAnInterrupt(t *testing.T) {
	s := newSite(t)
	ctx, cancel := context.WithCancel(context.Background())
	s.until = ctx
	s.lab.answer["a"] = func(r provider.ApplyRequest) provider.ApplyResponse {
		cancel()
		return provider.ApplyResponse{State: done(r)}
	}
	_, counts, diags := s.run(`resource "lab_thing" "a" {
		name = "a"
		provisioner "local-exec" { command = "exit 0" }
	}`)
	o := s.object("lab_thing.a")
	if o == nil || o.Status != state.Tainted || counts.Added != 0 || !diags.HasErrors() ||
		s.h.index("intent provision lab_thing.a") >= 0 {
		t.Errorf("%+v, %+v, %v: %q", o, counts, diags, s.h.lines)
	}
}
