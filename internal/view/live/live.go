// Package live keeps a few lines at the bottom of a terminal up to date: what is in flight, for how long, and what it
// last said. What is printed meanwhile goes above them and stays, so that a clean log is left behind.
//
//	d := live.New(live.Options{Out: os.Stdout, Size: size})
//	d.Start("a", live.Task{Sign: "+", Name: "demo_thing.a", Verb: "creating"})
//	d.Say("a", "downloading")
//	d.End("a", "demo_thing.a: Creation complete\n")
//	d.Close()
//
// The package knows no events and filters nothing: callers bring clean text. A task shows after it has run for a
// moment, so that a thousand quick ones do not flicker by; the lines are drawn ten times a second at most, each time in
// one write, and never take more than half of the terminal.
//
// A Display owns one goroutine, which runs while there are tasks; Close ends it and waits for it.
package live

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tombolo-iac/tombolo/internal/view/ticker"
)

// The pace of the display.
const (
	frameEvery = 100 * time.Millisecond
	// showAfter is how long a task has to run before it is worth a line.
	showAfter = 300 * time.Millisecond
)

// Options configures the display.
type Options struct {
	Out io.Writer
	// Size returns the columns and rows of the terminal; it is asked again for each frame, because terminals change.
	Size func() (columns, rows int)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Style decorates parts of a line; nil leaves them as they are.
	Style func(part Part, text string) string
}

// Part is a part of a task's line that may have a style of its own.
type Part uint8

// The parts.
const (
	Sign Part = iota
	Name
	Elapsed
	Said
	Status
)

// Task is an operation in flight.
type Task struct {
	Sign, Name, Verb string
	// Started may be zero: then it is now.
	Started time.Time
}

type task struct {
	Task
	key   string
	order int
	said  string
}

// Display draws tasks. Its methods may be called concurrently.
type Display struct {
	o     Options
	ticks *ticker.Ticker

	mu     sync.Mutex // guards what follows, and Out
	tasks  map[string]*task
	order  int
	done   int
	failed int
	total  int
	began  time.Time
	status string
	log    strings.Builder // text to print above with the next frame
	shown  []string        // the lines of the last frame
}

// New returns a display, which draws nothing yet.
func New(o Options) *Display {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Style == nil {
		o.Style = func(_ Part, text string) string { return text }
	}
	d := &Display{o: o, tasks: map[string]*task{}}
	d.ticks = ticker.New(frameEvery, d.tick)
	return d
}

// Total returns how many tasks there will be in all, and begins to count them.
func (d *Display) Total(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.total, d.done, d.failed, d.began = n, 0, 0, d.o.Now()
}

// SetStatus sets the word before the counts, such as "stopping".
func (d *Display) SetStatus(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.status = text
}

// Start adds a task.
func (d *Display) Start(key string, t Task) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if t.Started.IsZero() {
		t.Started = d.o.Now()
	}
	if d.began.IsZero() {
		d.began = t.Started
	}
	d.order++
	d.tasks[key] = &task{Task: t, key: key, order: d.order}
	d.ticks.Start()
}

// Say notes the last thing that a task said; unknown tasks say nothing.
func (d *Display) Say(key, line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if t := d.tasks[key]; t != nil {
		t.said = line
	}
}

// End removes a task and prints a text, which may be empty, above the others.
func (d *Display) End(key, text string) { d.end(key, text, func() { d.done++ }) }

// EndPart is End for a task after which another one does the rest, so that it is not counted.
func (d *Display) EndPart(key, text string) { d.end(key, text, func() {}) }

// EndFailed is End for a task that has failed.
func (d *Display) EndFailed(key, text string) { d.end(key, text, func() { d.failed++ }) }

func (d *Display) end(key, text string, count func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.tasks[key] != nil {
		delete(d.tasks, key)
		count()
	}
	d.log.WriteString(text)
	if len(d.tasks) == 0 {
		d.frame()
	}
}

// Print writes a text, which has to end with a line end, above the lines of the display. While there are tasks it shows
// with the next frame, otherwise at once.
func (d *Display) Print(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.log.WriteString(text)
	if len(d.tasks) == 0 {
		d.frame()
	}
}

// Aside removes the display from the screen and runs write, which may write to the terminal in its own ways. The next
// frame draws the display again.
func (d *Display) Aside(write func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.draw(nil)
	write()
}

// Close takes the display from the screen and ends its goroutine. What was printed stays.
func (d *Display) Close() {
	d.mu.Lock()
	clear(d.tasks)
	d.frame()
	d.mu.Unlock()
	d.ticks.Stop()
}

func (d *Display) tick() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.frame()
}

// frame draws the current display. The caller holds the mutex.
func (d *Display) frame() { d.draw(d.lines()) }

// lines returns the lines to show: the tasks that have run longest, how many more there are, and the counts.
func (d *Display) lines() []string {
	now := d.o.Now()
	var list []*task
	for _, t := range d.tasks {
		if now.Sub(t.Started) >= showAfter {
			list = append(list, t)
		}
	}
	if len(list) == 0 {
		return nil
	}
	slices.SortFunc(list, func(a, b *task) int {
		if c := a.Started.Compare(b.Started); c != 0 {
			return c
		}
		return a.order - b.order
	})
	columns, rows := d.size()
	room := max(1, min(rows-2, rows/2)-1)
	shown := list
	if len(list) > room {
		shown = list[:max(0, room-1)]
	}
	width := 0
	for _, t := range shown {
		width = max(width, Width(t.Name))
	}
	width = min(width, max(20, columns/2))
	var out []string
	for _, t := range shown {
		out = append(out, d.line(t, now, width, columns-1))
	}
	if n := len(list) - len(shown); n > 0 {
		out = append(out, Truncate(fmt.Sprintf("    and %d more", n), columns-1))
	}
	return append(out, d.counts(now, columns-1))
}

// line returns the line of one task: sign, name, verb, how long, and what fits of the last thing it said.
func (d *Display) line(t *task, now time.Time, width, columns int) string {
	name := Middle(t.Name, width)
	pad := strings.Repeat(" ", max(0, width-Width(name)))
	elapsed := duration(now.Sub(t.Started))
	left := columns - 2 - Width(t.Sign) - 1 - width - 2
	verb := fmt.Sprintf("%-10s", t.Verb)
	if left < len(verb)+1+max(6, len(elapsed)) {
		return Truncate("  "+t.Sign+" "+name+pad+"  "+elapsed, columns)
	}
	left -= len(verb) + 1 + max(6, len(elapsed))
	line := "  " + d.o.Style(Sign, t.Sign) + " " + d.o.Style(Name, name) + pad + "  " + verb + " " +
		d.o.Style(Elapsed, fmt.Sprintf("%6s", elapsed))
	// no space at the end: a terminal that becomes narrower breaks the line by what can be seen
	if said := strings.TrimRight(Truncate(t.said, left-2), " "); said != "" && left > 10 {
		line += "  " + d.o.Style(Said, said)
	}
	return line
}

// counts is the last line: how many of how many.
func (d *Display) counts(now time.Time, columns int) string {
	var parts []string
	if d.status != "" {
		parts = append(parts, d.status)
	}
	switch {
	case d.total > 0:
		parts = append(parts, fmt.Sprintf("%d of %d done", min(d.done, d.total), d.total))
	case d.done > 0:
		parts = append(parts, fmt.Sprintf("%d done", d.done))
	}
	if d.failed > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", d.failed))
	}
	parts = append(parts, fmt.Sprintf("%d in flight", len(d.tasks)), duration(now.Sub(d.began)))
	return d.o.Style(Status, Truncate(strings.Join(parts, ", "), columns))
}

// duration is a time as people read it while it passes: whole seconds, no zero units.
func duration(t time.Duration) string {
	s := int(t / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	}
	return fmt.Sprintf("%dh%02dm", s/3600, s%3600/60)
}

func (d *Display) size() (columns, rows int) {
	if columns, rows = d.o.Size(); columns <= 0 || rows <= 0 {
		return 80, 24
	}
	return columns, rows
}
