package pages

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tombolo-iac/tombolo/internal/view"
	"github.com/tombolo-iac/tombolo/state"
)

// atOnce is how many states are read at the same time.
const atOnce = 8

// mostRows limits how many states the first page shows.
const mostRows = 2000

// row is a state on the first page.
type row struct {
	place     Place
	workspace string
	reading   Reading
	err       error
}

// place returns the place with a name.
func (s *Server) place(name string) (Place, error) {
	for _, p := range s.o.Places {
		if p.Name() == name {
			return p, nil
		}
	}
	return nil, missing(fmt.Sprintf("There is no unit with the name %q.", name))
}

// workspaces returns the workspaces of a place, sorted.
func (s *Server) workspaces(ctx context.Context, p Place, age time.Duration) ([]string, error) {
	return s.names.get(ctx, p.Name(), age, func(ctx context.Context) ([]string, error) {
		all, err := p.Workspaces(ctx)
		slices.Sort(all)
		return all, err
	})
}

// read returns what was read of a workspace, which is at most age old.
func (s *Server) read(ctx context.Context, p Place, workspace string, age time.Duration) (Reading, error) {
	return s.readings.get(ctx, p.Name()+"\n"+workspace, age, func(ctx context.Context) (Reading, error) {
		r, err := p.Read(ctx, workspace)
		if err == nil && r.Snapshot == nil {
			r.Snapshot = &state.Snapshot{}
		}
		return r, err
	})
}

// rows reads all states.
func (s *Server) rows(ctx context.Context, age time.Duration) []*row {
	var all []*row
	for _, p := range s.o.Places {
		names, err := s.workspaces(ctx, p, age)
		if err != nil {
			all = append(all, &row{place: p, err: err})
		}
		for _, name := range names {
			all = append(all, &row{place: p, workspace: name})
		}
	}
	all = all[:min(len(all), mostRows)]
	free := make(chan struct{}, atOnce)
	var wg sync.WaitGroup
	for _, r := range all {
		if r.err != nil {
			continue
		}
		free <- struct{}{}
		wg.Go(func() {
			defer func() { <-free }()
			r.reading, r.err = s.read(ctx, r.place, r.workspace, age)
		})
	}
	wg.Wait()
	return all
}

// overview is the first page.
func (s *Server) overview(r *request) page {
	var rows []list
	intro := "The units of the stack."
	if s.o.Places[0].Name() == "" {
		intro = "The working directory and the units of the stack."
	}
	stack := len(s.o.Places) > 1 || s.o.Places[0].Name() != ""
	for _, one := range s.rows(r.Context(), s.o.Every) {
		rows = append(rows, s.cells(one))
	}
	body := list{}
	if stack {
		body = append(body, el("p", class("intro"), intro))
	}
	if len(rows) == mostRows {
		body = append(body, note("warning", el("p", fmt.Sprintf("Only the first %d states are shown.", mostRows))))
	}
	body = append(body, table("States", []string{"State", "Objects", "Serial", "Lock", "Runs"}, rows))
	return page{title: "States", topic: topic("page", "overview"), body: body}
}

// stateName returns the name of a state for people.
func stateName(p Place, workspace string) string {
	name := p.Name()
	if name == "" {
		name = "Working directory"
	}
	if workspace != "" && (workspace != state.DefaultWorkspace || p.Selected() != workspace) {
		name += ", workspace " + workspace
	}
	return name
}

func (s *Server) cells(one *row) list {
	name := text(stateName(one.place, one.workspace))
	if one.err != nil {
		return list{list{name, el("p", class("why"), one.place.Where())}, text("-"), text("-"), text("-"),
			el("span", class("flag"), view.Clean(one.err.Error()))}
	}
	address := s.link("/state", "unit", one.place.Name(), "workspace", one.workspace)
	snapshot := one.reading.Snapshot
	count, serial := text("-"), text("-")
	if snapshot.State != nil {
		count, serial = text(fmt.Sprint(objects(snapshot.State))), text(fmt.Sprint(snapshot.State.Serial))
	}
	return list{list{anchor(address, name), el("p", class("why"), one.place.Where())}, count, serial,
		lock(one.reading), activity(snapshot)}
}

// lock returns the holder of the lock.
func lock(r Reading) node {
	switch {
	case r.Unknown != "":
		return el("span", class("why"), r.Unknown)
	case r.Holder == nil:
		return text("free")
	}
	return el("span", class("flag"), holder(r.Holder))
}

// holder describes the holder of a lock, as the error about a lock does.
func holder(info *state.LockInfo) string {
	who := info.Who
	if who == "" {
		who = "an unknown program"
	}
	if info.Operation != "" {
		who += ", " + strings.TrimPrefix(string(info.Operation), "OperationType")
	}
	return view.CleanLine(who)
}

// activity returns what is under way or unfinished.
func activity(s *state.Snapshot) node {
	switch n := len(s.InFlight); {
	case s.Running != nil:
		return el("span", class("outcome half"), fmt.Sprintf("%s is running, %s in flight",
			view.CleanLine(s.Running.Command), count(n, "operation")))
	case n > 0:
		return el("span", class("flag"), count(n, "operation")+" without a result")
	case len(s.Unfolded) > 0:
		return el("span", class("flag"), count(len(s.Unfolded), "result")+" to resolve")
	}
	return text("none")
}

// count returns a number with its noun.
func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
