package live

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden screens")

// golden compares the recorded screens with a file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("other screens than in %s (-want +got):\n%s", path, diff)
	}
}

// film runs a scripted sequence of moments in fake time and records the screen after each.
type film struct {
	*screen
	*Display
	seen strings.Builder
}

func (f *film) wait(d time.Duration, what string) {
	time.Sleep(d)
	synctest.Wait()
	fmt.Fprintf(&f.seen, "== %s\n%s\n", what, f.screen)
}

func shoot(t *testing.T, columns, rows int, script func(f *film)) string {
	t.Helper()
	f := &film{screen: newScreen(columns, rows)}
	synctest.Test(t, func(t *testing.T) {
		f.Display = New(Options{Out: f.screen, Size: f.screen.size})
		script(f)
		f.Close()
		fmt.Fprintf(&f.seen, "== the end, with what has scrolled away\n%s\n", f.screen.all())
	})
	if f.problem != nil {
		t.Error(f.problem)
	}
	return f.seen.String()
}

// anApply is a run with everything that can occur: quick and slow tasks, names of all lengths, output, and more tasks
// than fit.
func anApply(f *film) {
	f.Print("Plan: 30 to add, 0 to change, 0 to destroy.\n")
	f.Total(30)
	f.Start("quick", Task{Sign: "+", Name: "demo_thing.quick", Verb: "creating"})
	f.wait(200*time.Millisecond, "a task of a moment is not shown")
	f.End("quick", "demo_thing.quick: Creation complete after 0s [id=1]\n")
	f.Start("a", Task{Sign: "+", Name: "demo_thing.a", Verb: "creating"})
	f.Start("b", Task{Sign: "-", Name: `module.a_module_with_a_long_name["and a key"].demo_thing.another_long_name[12]`,
		Verb: "destroying"})
	f.Start("c", Task{Sign: "~", Name: "demo_thing.日本語", Verb: "modifying"})
	f.Say("a", "step 1 of 9: a line that a program has printed, which goes on for longer than any terminal is wide, "+
		"and then some more of it")
	f.wait(time.Second, "three tasks")
	f.Print("demo_thing.a (local-exec): step 1\n")
	f.wait(75*time.Second, "a minute later, with a line of output above")
	for i := range 25 {
		f.Start(fmt.Sprint(i), Task{Sign: "<", Name: fmt.Sprintf("data.demo_thing.many[%d]", i), Verb: "reading"})
	}
	f.wait(time.Second, "more than there is room for")
	for i := range 25 {
		f.End(fmt.Sprint(i), fmt.Sprintf("data.demo_thing.many[%d]: Read complete after 1s\n", i))
	}
	f.wait(time.Second, "25 have ended")
	f.SetStatus("stopping")
	f.Aside(func() { fmt.Fprint(f.screen, "\nInterrupt received.\n\n") })
	f.wait(time.Second, "interrupted")
	f.End("a", "demo_thing.a: Creation complete after 1m19s [id=2]\n")
	f.End("b", "demo_thing.b: Destruction complete after 1m19s\n")
	f.End("c", "demo_thing.c: Modifications complete after 1m19s [id=3]\n")
	f.wait(0, "nothing is in flight")
}

func TestScreens(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {200, 24}, {80, 10}, {40, 10}, {20, 4}} {
		name := fmt.Sprintf("%dx%d", size[0], size[1])
		t.Run(name, func(t *testing.T) { golden(t, name, shoot(t, size[0], size[1], anApply)) })
	}
}

func TestATerminalThatBecomesNarrowerLosesNothing(t *testing.T) {
	golden(t, "narrower", shoot(t, 100, 16, func(f *film) {
		f.Print("Plan: 2 to add.\n")
		f.Start("a", Task{Sign: "+", Name: "demo_thing.a", Verb: "creating"})
		f.Start("b", Task{Sign: "+", Name: "demo_thing.with_a_rather_long_name", Verb: "creating"})
		f.Say("b", "what it says is long enough to be broken")
		f.wait(time.Second, "100 columns")
		f.narrow(50)
		f.wait(0, "50 columns, before the next frame")
		f.wait(time.Second, "50 columns")
		f.End("a", "demo_thing.a: Creation complete after 2s\n")
		f.wait(time.Second, "one has ended")
	}))
}

// Random runs on terminals of random sizes, some of which become narrower by up to a half while tasks are shown, leave
// only the log, with each line once, and nothing of the display.
func TestClosedDisplayLeavesOnlyTheLog(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 0))
		columns, rows := 20+r.IntN(100), 8+r.IntN(30)
		s := newScreen(columns, rows)
		var want []string
		synctest.Test(t, func(t *testing.T) {
			d := New(Options{Out: s, Size: s.size})
			d.Total(r.IntN(20))
			running := map[string]bool{}
			for i := range 40 {
				key := fmt.Sprintf("t%d", r.IntN(12))
				switch r.IntN(6) {
				case 0, 1:
					d.Start(key, Task{Sign: "+", Name: strings.Repeat(key+".", 1+r.IntN(8)), Verb: "creating"})
					running[key] = true
				case 2:
					text := fmt.Sprintf("line %d", i)
					want = append(want, text)
					d.Print(text + "\n")
				case 3:
					d.Say(key, strings.Repeat("words ", r.IntN(20)))
				case 4:
					if running[key] {
						text := fmt.Sprintf("end %d", i)
						want = append(want, text)
						[]func(key, text string){d.End, d.EndPart, d.EndFailed}[r.IntN(3)](key, text+"\n")
						delete(running, key)
					}
				case 5:
					if now, _ := s.size(); r.IntN(4) == 0 && now >= 30 {
						s.narrow(now - r.IntN(now/2-9))
						time.Sleep(1100 * time.Millisecond) // a frame: this screen does not rejoin wrapped lines
					}
				}
				time.Sleep(time.Duration(r.IntN(500)) * time.Millisecond)
				synctest.Wait()
			}
			d.Close()
		})
		if got, all := s.all(), strings.Join(want, "\n"); strings.TrimSpace(got) != all || s.problem != nil {
			t.Fatalf("seed %d, %dx%d: %v, left is\n%s\nwant\n%s", seed, columns, rows, s.problem, got, all)
		}
	}
}

func TestFramesAreDrawnOnlyAfterChanges(t *testing.T) {
	s := newScreen(80, 24)
	synctest.Test(t, func(t *testing.T) {
		d := New(Options{Out: s, Size: s.size})
		defer d.Close()
		d.Total(10001)
		d.Start("slow", Task{Name: "slow", Verb: "creating"})
		for i := range 10000 {
			key := fmt.Sprint(i)
			d.Start(key, Task{Name: key, Verb: "creating"})
			d.End(key, key+" complete\n")
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		// One frame for the 10 000 lines, one when the slow task first appears, one for each second.
		if s.writes > 13 {
			t.Errorf("%d writes in 10 seconds", s.writes)
		}
		if got := strings.Count(s.all(), "complete"); got != 10000 {
			t.Errorf("%d lines of 10 000 are left", got)
		}
	})
}

func TestCloseRemovesTheDisplayWithRunningTasks(t *testing.T) {
	s := newScreen(80, 24)
	synctest.Test(t, func(t *testing.T) {
		d := New(Options{Out: s, Size: s.size})
		d.Start("a", Task{Name: "a", Verb: "creating"})
		time.Sleep(time.Second)
		d.Print("last words\n")
		d.Close()
		d.Close()
	})
	if got := s.String(); got != "last words" {
		t.Errorf("left behind:\n%s", got)
	}
}

func TestWidths(t *testing.T) {
	for _, c := range []struct {
		in               string
		width            int
		truncated, split string // to 8 columns
	}{
		{"short", 5, "short", "short"},
		{"exactly8", 8, "exactly8", "exactly8"},
		{"a longer text", 13, "a longe…", "a l…text"},
		{"日本語日本語", 12, "日本語…", "日…本語"},
		{"e\u0301e\u0301e\u0301", 3, "e\u0301e\u0301e\u0301", "e\u0301e\u0301e\u0301"},
		{"\x1b[1mbold\x1b[0m", 4, "\x1b[1mbold\x1b[0m", "\x1b[1mbold\x1b[0m"},
	} {
		if got := Width(c.in); got != c.width {
			t.Errorf("Width(%q) = %d, want %d", c.in, got, c.width)
		}
		if got := Truncate(c.in, 8); got != c.truncated || Width(got) > 8 {
			t.Errorf("Truncate(%q) = %q, want %q", c.in, got, c.truncated)
		}
		if got := Middle(c.in, 8); got != c.split || Width(got) > 8 {
			t.Errorf("Middle(%q) = %q, want %q", c.in, got, c.split)
		}
	}
}
