package view

import (
	"fmt"
	"strings"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/internal/view/digest"
	"github.com/tombolo-iac/tombolo/internal/view/live"
	"github.com/tombolo-iac/tombolo/plan"
)

// signs are drawn before the tasks of the live display, as in plans.
var signs = map[plan.Action]string{plan.Create: "+", plan.Update: "~", plan.Delete: "-", plan.Read: "<"}

// display shows an event on the live display. Starts are only visible there; ended operations leave a line, as does the
// output of programs.
func (t *text) display(e event.Event) {
	switch e := e.(type) {
	case event.Total:
		t.live.Total(e.Operations - t.replacements())
	case event.RefreshStart:
		t.live.Start(refreshKey(e.Object), live.Task{Sign: " ", Name: cleanLine(e.Object.String()), Verb: "refreshing"})
	case event.RefreshDone:
		t.mu.Lock()
		t.refreshed++
		t.mu.Unlock()
		t.live.End(refreshKey(e.Object), "")
	case event.OperationStart:
		t.live.Start(operationKey(e.Object, e.Action), live.Task{
			Sign: signs[e.Action], Name: cleanLine(e.Object.String()), Verb: verbsOf[e.Action].still,
			Started: e.Started,
		})
	case event.OperationDone:
		t.count(e)
		end := t.live.End
		if e.Failed {
			end = t.live.EndFailed
		} else if t.half(e.Object.Instance) {
			end = t.live.EndPart
		}
		end(operationKey(e.Object, e.Action), t.ended(e.Object, doneText(e), e.Failed))
	case event.EphemeralStart:
		t.live.Start(string(e.Op)+" "+e.Object.String(), live.Task{
			Sign: " ", Name: cleanLine(e.Object.String()), Verb: verbsOfOp[e.Op].still, Started: e.Started,
		})
	case event.EphemeralDone:
		t.live.EndPart(string(e.Op)+" "+e.Object.String(), t.ended(e.Object, ephemeralText(e), e.Failed))
	case event.ProvisionStart:
		t.say(e.Object, provisionText(e))
	case event.Progress:
		t.say(e.Object, progressText(e))
	case event.Waiting:
		t.live.Start(waitKey(e.Object), live.Task{Sign: " ", Name: cleanLine(e.Object.String()), Verb: "waiting"})
		t.live.Say(waitKey(e.Object), waitingText(e))
	case event.WaitingDone:
		t.live.EndPart(waitKey(e.Object), "")
	case event.ProvisionOutput:
		t.sayOutput(e.Object, e.Line)
		t.other(e)
	case event.ProgramOutput:
		t.sayOutput(e.Object, e.Line)
		t.other(e)
	case event.Stopping:
		t.live.SetStatus("stopping")
		t.other(e)
	default:
		t.other(e)
	}
}

func waitKey(o addr.Object) string { return "wait " + o.String() }

// expect records a plan, and which objects it replaces: a replacement is one change, and two operations.
func (t *text) expect(p *plan.Plan) {
	halves := map[addr.AbsResourceInstance]bool{}
	for _, c := range p.Changes {
		if c.Action.IsReplace() {
			halves[c.Object.Instance] = true
		}
	}
	t.mu.Lock()
	t.halves = halves
	t.mu.Unlock()
}

func (t *text) replacements() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.halves)
}

// half reports whether the ended operation is the first one of a replacement.
func (t *text) half(a addr.AbsResourceInstance) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	first := t.halves[a]
	delete(t.halves, a)
	return first
}

// digested counts the operations of an event for a digest, and shows all other events except for starts.
func (t *text) digested(e event.Event) {
	switch e := e.(type) {
	case event.RefreshStart:
		t.digest.Start(groupOf(e.Object), e.Object.String(), refreshing)
	case event.RefreshDone:
		t.digest.End(groupOf(e.Object), e.Object.String(), refreshing, false)
	case event.OperationStart:
		t.digest.Start(groupOf(e.Object), e.Object.String(), digestVerbs[e.Action])
	case event.OperationDone:
		t.count(e)
		t.digest.End(groupOf(e.Object), e.Object.String(), digestVerbs[e.Action], e.Failed)
	default:
		t.other(e)
	}
}

// groupOf returns the resource of an object, which groups its instances.
func groupOf(o addr.Object) string { return clean(o.Instance.AbsResource().String()) }

var refreshing = digest.Verbs{Under: "refreshing", Done: "refreshed"}

var digestVerbs = map[plan.Action]digest.Verbs{
	plan.Create: {Under: "creating", Done: "created"}, plan.Update: {Under: "modifying", Done: "modified"},
	plan.Delete: {Under: "destroying", Done: "destroyed"}, plan.Read: {Under: "reading", Done: "read"},
}

// sayOutput shows the end of a line of a program's output as the last message.
func (t *text) sayOutput(o addr.Object, line string) {
	lines := outputLines(line)
	t.say(o, strings.ReplaceAll(lines[len(lines)-1], "\t", " "))
}

// ended returns the line that an ended operation leaves.
func (t *text) ended(o addr.Object, what string, failed bool) string {
	code := bold
	if failed {
		code = red
	}
	return t.in(code, clean(o.String())+": "+what) + "\n"
}

// say stores the last message of an object's operation; an object has one operation at a time.
func (t *text) say(o addr.Object, line string) {
	for _, action := range [...]plan.Action{plan.Create, plan.Update, plan.Delete, plan.Read} {
		t.live.Say(operationKey(o, action), line)
	}
	t.live.Say(refreshKey(o), line)
}

func refreshKey(o addr.Object) string { return "refresh " + o.String() }

func operationKey(o addr.Object, a plan.Action) string { return a.String() + " " + o.String() }

func refreshedText(n int) string {
	if n == 1 {
		return "1 object refreshed."
	}
	return fmt.Sprintf("%d objects refreshed.", n)
}

func (t *text) liveStyle(part live.Part, text string) string {
	switch part {
	case live.Sign:
		return t.in(map[string]string{"+": green, "~": yellow, "-": red, "<": cyan}[text], text)
	case live.Name:
		return t.in(bold, text)
	case live.Message, live.Status:
		return t.in(gray, text)
	}
	return text
}
