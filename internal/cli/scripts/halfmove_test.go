package scripts

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/store"
	"github.com/tombolo-iac/tombolo/internal/transfer"
	"github.com/tombolo-iac/tombolo/state"
)

// halfMove is "state mv -to-dir=TARGET ADDRESS" in SOURCE, for two directories with states in the usual place. It is
// killed when both states have recorded the move ("announced"), or when the target has the object ("arrived").
func halfMove() {
	if err := moveHalf(os.Args[1], os.Args[2], os.Args[3], os.Args[4]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(2) // not reached
}

func moveHalf(moment, source, target, address string) error {
	a, diags := addr.ParseInstance(address)
	if diags.HasErrors() {
		return diags.Err()
	}
	side := func(dir string, killed bool) (transfer.Side, error) {
		dir, err := filepath.Abs(dir)
		if err == nil {
			dir, err = filepath.EvalSymlinks(dir)
		}
		if err != nil {
			return transfer.Side{}, err
		}
		place := filepath.Join(dir, "terraform.tfstate")
		ws, err := store.New(store.Options{Path: place}).Workspace(state.DefaultWorkspace)
		if err != nil {
			return transfer.Side{}, err
		}
		session, err := ws.Lock(context.Background(), state.LockRequest{})
		return transfer.Side{Session: mortal{session, killed}, Place: place}, err
	}
	from, err := side(source, moment == "arrived")
	if err != nil {
		return err
	}
	to, err := side(target, moment == "announced")
	if err != nil {
		return err
	}
	t := transfer.Transfer{From: from, To: to, Moves: []state.MoveObject{{From: a, To: a}},
		Dir: filepath.Dir(from.Place), Args: []string{"state", "mv", "-to-dir=" + filepath.Dir(to.Place), address}}
	return t.Run(context.Background())
}

// mortal is a session that kills the process before the first result is written to the journal.
type mortal struct {
	state.Session
	killed bool
}

func (m mortal) Begin(ctx context.Context, run state.RunInfo) (state.Journal, error) {
	j, err := m.Session.Begin(ctx, run)
	return mortalJournal{j, m.killed}, err
}

type mortalJournal struct {
	state.Journal
	killed bool
}

func (m mortalJournal) Result(op string, edits ...state.Edit) error {
	if m.killed {
		p, err := os.FindProcess(os.Getpid())
		if err != nil || p.Kill() != nil {
			os.Exit(3)
		}
		select {}
	}
	return m.Journal.Result(op, edits...)
}
