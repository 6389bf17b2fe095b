package program

import (
	"context"
	"time"

	"github.com/tombolo-iac/tombolo/internal/store/history"
	"github.com/tombolo-iac/tombolo/state"
)

// revision is history.Revision in the form that programs get and return unchanged.
type revision struct {
	Run       run      `json:"run"`
	Who       string   `json:"who"`
	Version   string   `json:"version"`
	Commit    string   `json:"commit"`
	Created   int      `json:"created"`
	Updated   int      `json:"updated"`
	Deleted   int      `json:"deleted"`
	Addresses []string `json:"addresses"`
}

type run struct {
	ID      string    `json:"id"`
	Command string    `json:"command"`
	Started time.Time `json:"started"`
}

func toldRevision(r history.Revision) revision {
	addresses := r.Addresses
	if addresses == nil {
		addresses = []string{}
	}
	return revision{Run: run{r.Run.ID, r.Run.Command, r.Run.Started}, Who: r.Who, Version: r.Version, Commit: r.Commit,
		Created: r.Created, Updated: r.Updated, Deleted: r.Deleted, Addresses: addresses}
}

func (r revision) read() history.Revision {
	return history.Revision{Run: state.RunInfo{ID: r.Run.ID, Command: r.Run.Command, Started: r.Run.Started},
		Who: r.Who, Version: r.Version, Commit: r.Commit, Created: r.Created, Updated: r.Updated, Deleted: r.Deleted,
		Addresses: r.Addresses}
}

// List implements history.Historian.
func (p *place) List(ctx context.Context) ([]history.Former, error) {
	if err := p.historian(ctx); err != nil {
		return nil, err
	}
	var response struct {
		States []struct {
			ID       string    `json:"id"`
			Written  time.Time `json:"written"`
			Serial   uint64    `json:"serial"`
			Lineage  string    `json:"lineage"`
			Size     int64     `json:"size"`
			Revision *revision `json:"revision"`
		} `json:"states"`
	}
	if _, err := p.call(ctx, "history", object{}, &response); err != nil {
		return nil, err
	}
	var all []history.Former
	for _, s := range response.States {
		f := history.Former{ID: s.ID, Written: s.Written, Serial: s.Serial, Lineage: s.Lineage, Size: s.Size,
			Foreign: s.Revision == nil}
		if s.Revision != nil {
			f.Revision = s.Revision.read()
		}
		all = append(all, f)
	}
	return all, nil
}

// Snapshot implements history.Historian.
func (p *place) Snapshot(ctx context.Context, id string) ([]byte, error) {
	if err := p.historian(ctx); err != nil {
		return nil, err
	}
	var response struct {
		Data []byte `json:"data"`
	}
	_, err := p.call(ctx, "snapshot", object{"id": id}, &response)
	if err == nil && response.Data == nil {
		err = history.ErrNoRevision
	}
	return response.Data, err
}

// historian returns an error if the program does not keep former states.
func (p *place) historian(ctx context.Context) error {
	can, err := p.c.can(ctx)
	if err == nil && !can.history {
		err = history.ErrNoHistory
	}
	return err
}
