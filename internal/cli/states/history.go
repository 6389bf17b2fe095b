package states

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/store/history"
	"github.com/tombolo-iac/tombolo/internal/view"
	"github.com/tombolo-iac/tombolo/state"
)

func cmdStateHistory() *command.Command {
	return &command.Command{
		Name: "history", Short: "List former states and what changed", Args: "[ID]",
		Long: `List the former states of the selected workspace, newest first, with the author and the operation of
each. With the ID of a former state, list its changes compared with the one before.

If the backend does not keep former states, the command says so.`,
		Example: `~ state history 12`,
		Setup: func(c *command.Call) command.Run {
			c.ConstantFlags()
			var asJSON, pull bool
			c.Flags.BoolVar(&asJSON, "json", false, "Print a JSON document instead of text.")
			c.Flags.BoolVar(&pull, "pull", false, "Print the former state itself, for example for \"state push "+
				"-force\".")
			return func(ctx context.Context) command.Outcome {
				switch {
				case len(c.Args) > 1:
					return c.TooMany(1)
				case pull && len(c.Args) == 0:
					return c.WrongNumber("Expected the ID of a former state with -pull")
				}
				h, diags := historian(ctx, c)
				switch {
				case diags.HasErrors():
					return c.End(diags)
				case pull:
					return pullFormer(ctx, c, h, c.Args[0])
				case len(c.Args) == 1:
					return showFormer(ctx, c, h, c.Args[0], asJSON)
				}
				return listFormer(ctx, c, h, asJSON)
			}
		},
	}
}

func historian(ctx context.Context, c *command.Call) (history.Historian, diag.List) {
	st, diags := c.Open(ctx, command.StateFiles{})
	if diags.HasErrors() {
		return nil, diags
	}
	ws, diags := c.Selected(st)
	if diags.HasErrors() {
		return nil, diags
	}
	if h, ok := ws.(history.Historian); ok {
		return h, nil
	}
	return nil, historyProblem(history.ErrNoHistory)
}

func historyProblem(err error) diag.List {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, history.ErrNoHistory):
		return diag.List{}.Errorf(nil, "No former states", "This workspace has no stored former states. For states "+
			"in files, set the environment variable %s to the number to keep for each workspace. The backend \"pg\" "+
			"always keeps some; \"s3\" keeps them if the bucket has versioning.", history.Variable)
	case errors.Is(err, history.ErrNoRevision):
		return diag.List{}.Errorf(nil, "No such former state", "There is no former state with this ID, or it is no "+
			"longer stored. \"state history\" lists the stored ones.")
	}
	return diag.FromError("Failed to read the history", err)
}

// former is the JSON form of a former state.
type former struct {
	ID      string    `json:"id"`
	Written time.Time `json:"written"`
	Serial  uint64    `json:"serial"`
	Lineage string    `json:"lineage,omitempty"`
	Size    int64     `json:"size"`
	Foreign bool      `json:"foreign"`

	Run       string   `json:"run,omitempty"`
	Command   string   `json:"command,omitempty"`
	Who       string   `json:"who,omitempty"`
	Program   string   `json:"program,omitempty"`
	Commit    string   `json:"commit,omitempty"`
	Created   int      `json:"created"`
	Updated   int      `json:"updated"`
	Deleted   int      `json:"deleted"`
	Addresses []string `json:"addresses,omitempty"`

	Changes []change `json:"changes,omitempty"`
}

type change struct {
	Address string       `json:"address"`
	Action  state.Action `json:"action"`
}

func formerOf(f history.Former) former {
	r := f.Revision
	return former{ID: f.ID, Written: f.Written, Serial: f.Serial, Lineage: f.Lineage, Size: f.Size, Foreign: f.Foreign,
		Run: r.Run.ID, Command: r.Run.Command, Who: r.Who, Program: r.Version, Commit: r.Commit, Created: r.Created,
		Updated: r.Updated, Deleted: r.Deleted, Addresses: r.Addresses}
}

func listFormer(ctx context.Context, c *command.Call, h history.Historian, asJSON bool) command.Outcome {
	all, err := h.List(ctx)
	if err != nil {
		return c.End(historyProblem(err))
	}
	list := make([]former, 0, len(all))
	for _, f := range all {
		list = append(list, formerOf(f))
	}
	if asJSON {
		return printJSON(c, list)
	}
	if len(list) == 0 {
		fmt.Fprintln(c.Out, "There are no former states of this workspace yet.")
		return c.End(nil)
	}
	w := tabwriter.NewWriter(c.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tWRITTEN\tSERIAL\tCOMMAND\tCHANGES\tWHO\tCOMMIT")
	for _, f := range list {
		if f.Foreign {
			fmt.Fprintf(w, "%s\t%s\t-\t-\t-\tanother program\t-\n", f.ID, f.Written.Format(time.RFC3339))
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t+%d ~%d -%d\t%s\t%s\n", f.ID, f.Written.Format(time.RFC3339), f.Serial,
			word(f.Command), f.Created, f.Updated, f.Deleted, word(f.Who), word(short(f.Commit)))
	}
	return c.Finish("Failed to print the history", w.Flush())
}

// short returns a prefix of a commit's hash that is long enough to identify it.
func short(commit string) string { return commit[:min(len(commit), 12)] }

// word returns a text of the history for a column.
func word(text string) string { return cmp.Or(view.CleanLine(text), "-") }

func printJSON(c *command.Call, value any) command.Outcome {
	e := json.NewEncoder(c.Out)
	e.SetIndent("", "  ")
	return c.Finish("Failed to print the history", e.Encode(value))
}

func pullFormer(ctx context.Context, c *command.Call, h history.Historian, id string) command.Outcome {
	data, err := h.Snapshot(ctx, id)
	if err != nil {
		return c.End(historyProblem(err))
	}
	_, err = c.Out.Write(data)
	return c.Finish("Failed to print the state", err)
}

// showFormer compares a former state with the stored one before it.
func showFormer(ctx context.Context, c *command.Call, h history.Historian, id string, asJSON bool) command.Outcome {
	all, err := h.List(ctx)
	at := slices.IndexFunc(all, func(f history.Former) bool { return f.ID == id })
	if err == nil && at < 0 {
		err = history.ErrNoRevision
	}
	var now, before *state.State
	if err == nil {
		now, err = formerState(ctx, h, id)
	}
	first := at == len(all)-1
	if err == nil && !first {
		before, err = formerState(ctx, h, all[at+1].ID)
	}
	if err != nil {
		return c.End(historyProblem(err))
	}
	f := formerOf(all[at])
	for _, one := range state.Changes(before, now) {
		f.Changes = append(f.Changes, change{one.Addr.String(), one.Action})
	}
	if asJSON {
		return printJSON(c, f)
	}
	by := "another program"
	if !f.Foreign {
		by = fmt.Sprintf("%s, command %s", word(f.Who), word(f.Command))
	}
	fmt.Fprintf(c.Out, "State %s, serial %d, written at %s by %s.\n", f.ID, now.Serial, f.Written.Format(time.RFC3339),
		by)
	switch {
	case first:
		fmt.Fprintln(c.Out, "The state before it is not stored. It has:")
	case len(f.Changes) == 0:
		fmt.Fprintf(c.Out, "Its objects are the same as in state %s.\n", all[at+1].ID)
	default:
		fmt.Fprintf(c.Out, "What changed since state %s:\n", all[at+1].ID)
	}
	signs := map[state.Action]string{state.ActionCreate: "+", state.ActionUpdate: "~", state.ActionDelete: "-"}
	for _, one := range f.Changes {
		fmt.Fprintf(c.Out, "  %s %s\n", signs[one.Action], one.Address)
	}
	return command.Done
}

func formerState(ctx context.Context, h history.Historian, id string) (*state.State, error) {
	data, err := h.Snapshot(ctx, id)
	if err != nil {
		return nil, err
	}
	st, err := state.Read(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("the former state %s cannot be read: %w", id, err)
	}
	return st, nil
}
