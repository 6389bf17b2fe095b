// Package live keeps a few lines at the bottom of a terminal up to date: the operations in progress, their durations
// and their last messages. Text printed meanwhile is placed above them and stays, so that a clean log remains.
//
//	d := live.New(live.Options{Out: os.Stdout, Size: size})
//	d.Start("a", live.Task{Sign: "+", Name: "demo_thing.a", Verb: "creating"})
//	d.Say("a", "downloading")
//	d.End("a", "demo_thing.a: Creation complete\n")
//	d.Close()
//
// The package does not depend on events and does not sanitize: callers pass clean text. A task only appears after a
// moment, so that a thousand quick ones do not flicker. The lines are drawn at most ten times a second, each time in
// one write, and never take more than half of the terminal.
//
// A Display owns one goroutine, which runs while there are tasks; Close stops it and waits for it.
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

// The timing of the display.
const (
	frameEvery = 100 * time.Millisecond
	// showAfter is how long a task runs before it is shown.
	showAfter = 300 * time.Millisecond
)

// Options configures the display.
type Options struct {
	Out io.Writer
	// Size returns the columns and rows of the terminal. It is called for each frame, because the size may change.
	Size func() (columns, rows int)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Style decorates parts of a line; nil leaves them as they are.
	Style func(part Part, text string) string
}

// Part is a part of a task's line that may have its own style.
type Part uint8

// The parts.
const (
	Sign Part = iota
	Name
	Elapsed
	Message
	Status
)

// Task is an operation in progress.
type Task struct {
	Sign, Name, Verb string
	// Started is the start time; zero means now.
	Started time.Time
	// Waits means that the task has not begun: it comes after those in progress, without a duration.
	Waits bool
}

type task struct {
	Task
	key     string
	order   int
	message string
}

// Display draws tasks. Its methods may be called concurrently.
type Display struct {
	o     Options
	ticks *ticker.Ticker

	mu     sync.Mutex // guards the fields below, and Out
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

// New returns a display without tasks.
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

// Total sets the total number of tasks, and starts counting completed ones.
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

// Say sets the last message of a task. An unknown key is ignored.
func (d *Display) Say(key, line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if t := d.tasks[key]; t != nil {
		t.message = line
	}
}

// End removes a task and prints a text, which may be empty, above the others.
func (d *Display) End(key, text string) { d.end(key, text, func() { d.done++ }) }

// EndPart is End for a task that another one continues, so that it is not counted.
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

// Print writes a text, which must end with a newline, above the lines of the display. While there are tasks it appears
// with the next frame, otherwise immediately.
func (d *Display) Print(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.log.WriteString(text)
	if len(d.tasks) == 0 {
		d.frame()
	}
}

// Aside removes the display from the screen and runs write, which may write to the terminal itself. The next frame
// draws the display again.
func (d *Display) Aside(write func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.draw(nil)
	write()
}

// Close removes the display from the screen and stops its goroutine. Printed text remains.
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

// frame draws the display. The caller holds the mutex.
func (d *Display) frame() { d.draw(d.lines()) }

// lines returns the lines to show: the longest-running tasks, how many more there are, and the counts.
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
		if a.Waits != b.Waits {
			if a.Waits {
				return 1
			}
			return -1
		}
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
	width, elapsed := 0, 0
	for _, t := range shown {
		width, elapsed = max(width, Width(t.Name)), max(elapsed, len(duration(now.Sub(t.Started))))
	}
	width = min(width, max(20, columns/2), max(4, columns-len("  + ")-len("  ")-elapsed-1))
	var out []string
	for _, t := range shown {
		out = append(out, d.line(t, now, width, columns-1))
	}
	if n := len(list) - len(shown); n > 0 {
		out = append(out, Truncate(fmt.Sprintf("    and %d more", n), columns-1))
	}
	return append(out, d.counts(now, columns-1))
}

// line returns the line of one task: sign, name, verb, duration, and as much of the last message as fits.
func (d *Display) line(t *task, now time.Time, width, columns int) string {
	name := shortened(t.Name, width)
	pad := strings.Repeat(" ", max(0, width-Width(name)))
	elapsed := duration(now.Sub(t.Started))
	if t.Waits {
		elapsed = ""
	}
	left := columns - 2 - Width(t.Sign) - 1 - width - 2
	verb := fmt.Sprintf("%-10s", t.Verb)
	if left < len(verb)+1+max(6, len(elapsed)) {
		return Truncate("  "+t.Sign+" "+name+pad+"  "+elapsed, columns)
	}
	left -= len(verb) + 1 + max(6, len(elapsed))
	line := "  " + d.o.Style(Sign, t.Sign) + " " + d.o.Style(Name, name) + pad + "  " + verb + " " +
		d.o.Style(Elapsed, fmt.Sprintf("%6s", elapsed))
	// no trailing space: a terminal that becomes narrower wraps the line by its visible text
	if message := strings.TrimRight(Truncate(t.message, left-2), " "); message != "" && left > 10 {
		line += "  " + d.o.Style(Message, message)
	}
	return line
}

// counts returns the last line: how many tasks are done, failed, in flight and waiting, and the time. On a narrow
// terminal, what matters least is left out.
func (d *Display) counts(now time.Time, columns int) string {
	var done, short, number, failed, waiting string
	switch {
	case d.total > 0:
		ended := min(d.done, d.total)
		number = fmt.Sprintf("%d/%d", ended, d.total)
		done, short = fmt.Sprintf("%d of %d done", ended, d.total), number+" done"
	case d.done > 0:
		number = fmt.Sprintf("%d done", d.done)
		done, short = number, number
	}
	if d.failed > 0 {
		failed = fmt.Sprintf("%d failed", d.failed)
	}
	working := 0
	for _, t := range d.tasks {
		if !t.Waits {
			working++
		}
	}
	inFlight := fmt.Sprintf("%d in flight", working)
	if n := max(d.total-d.done-d.failed, len(d.tasks)) - working; n > 0 {
		waiting = fmt.Sprintf("%d waiting", n)
	}
	elapsed, text := duration(now.Sub(d.began)), ""
	for _, parts := range [][]string{
		{d.status, done, failed, inFlight, waiting, elapsed},
		{d.status, done, failed, inFlight, elapsed},
		{d.status, short, failed, inFlight, elapsed},
		{d.status, short, failed, elapsed},
		{d.status, number, failed, elapsed},
		{d.status, number, failed},
		{d.status, number},
	} {
		text = strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), ", ")
		if Width(text) <= columns {
			break
		}
	}
	return d.o.Style(Status, Truncate(text, columns))
}

// duration formats a time for the display: whole seconds, no zero units.
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
