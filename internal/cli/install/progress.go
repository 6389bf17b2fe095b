package install

import (
	"fmt"

	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/view"
	"github.com/tombolo-iac/tombolo/internal/view/live"
)

// progress shows the progress of an installation: a line for each step, and on a terminal the progress of downloads.
type progress struct {
	c       *command.Call
	display *live.Display // nil if nothing can be redrawn
	open    map[string]bool
}

func newProgress(c *command.Call) *progress {
	p := &progress{c: c, open: map[string]bool{}}
	if size := c.ViewOptions().Size; size != nil && !c.JSON {
		p.display = live.New(live.Options{Out: c.Out, Size: size})
	}
	return p
}

func (p *progress) close() {
	if p.display != nil {
		p.display.Close()
	}
}

// tell prints a line of the list.
func (p *progress) tell(line string) { p.show("- ", line, line) }

// tellAs prints a line of the list, with another text for programs.
func (p *progress) tellAs(line, forPrograms string) { p.show("- ", line, forPrograms) }

// detail prints a line that continues the one before.
func (p *progress) detail(line string) { p.show("  - ", line, line) }

func (p *progress) show(mark, line, forPrograms string) {
	notice := view.Notice{Text: mark + view.CleanLine(line) + "\n", Message: forPrograms}
	if p.display != nil {
		p.display.Print(notice.Text)
		notice.Text = ""
	}
	p.c.View().Tell(notice)
}

// downloads shows the progress of a download. total is below 1 if it is unknown.
func (p *progress) downloads(name string, done, total int64) {
	if p.display == nil {
		return
	}
	if !p.open[name] {
		p.open[name] = true
		p.display.Start(name, live.Task{Sign: " ", Name: view.CleanLine(name), Verb: "downloading"})
	}
	text := size(done)
	if total > 0 {
		text = fmt.Sprintf("%d%% of %s", done*100/total, size(total))
	}
	p.display.Say(name, text)
}

// ended removes a download from the display.
func (p *progress) ended(name string) {
	if p.display != nil && p.open[name] {
		delete(p.open, name)
		p.display.End(name, "")
	}
}

func size(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}
