package program

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/contract"
	"github.com/tombolo-iac/tombolo/internal/store/remote/progress"
	"github.com/tombolo-iac/tombolo/state"
)

// object holds the params of a call. Bytes are encoded as base64.
type object = map[string]any

// Driver stores states with a program. It implements remote.Driver.
type Driver struct{ c *client }

// Limits returns the features that the store declares to lack, for checks of its conformance.
func (d *Driver) Limits(ctx context.Context) (contract.Options, error) {
	can, err := d.c.can(ctx)
	return contract.Options{NoJournal: !can.journal, NoWorkspaces: !can.workspaces}, err
}

// Workspaces implements remote.Driver.
func (d *Driver) Workspaces(ctx context.Context) ([]string, error) {
	can, err := d.c.can(ctx)
	if err != nil {
		return nil, err
	}
	if !can.workspaces {
		return nil, remote.ErrNoWorkspaces
	}
	var response struct {
		Workspaces *[]string `json:"workspaces"`
	}
	if err := d.c.call(ctx, "workspaces", object{}, &response); err != nil {
		return nil, err
	}
	if response.Workspaces == nil {
		return nil, d.c.problem("its answer to workspaces has no member \"workspaces\", a list of names")
	}
	return *response.Workspaces, nil
}

// Place implements remote.Driver.
func (d *Driver) Place(workspace string) (remote.Place, error) {
	return &place{c: d.c, workspace: workspace}, nil
}

// Close implements remote.Driver.
func (d *Driver) Close() error { return d.c.close() }

// place is one state.
type place struct {
	c         *client
	workspace string
}

// String implements remote.Place.
func (p *place) String() string {
	text := "program:" + p.c.shown
	if p.workspace != state.DefaultWorkspace {
		text += " (workspace " + p.workspace + ")"
	}
	return text
}

// Distinct implements remote.Distinct. Its result contains the program's config, which determines the place of states,
// and the entire command, which messages shorten. It does not contain secrets: they change while the state stays the
// same.
func (p *place) Distinct() string {
	if len(p.c.o.Config) == 0 && p.c.shown == fmt.Sprintf("%q", strings.Join(p.c.o.Command, " ")) {
		return p.String()
	}
	text, _ := json.Marshal([]any{p.c.o.Command, p.c.o.Config, p.workspace}) // only texts
	return "program:" + string(text)
}

// call performs a call about this state.
func (p *place) call(ctx context.Context, verb string, params object, result any) (features, error) {
	can, err := p.c.can(ctx)
	if err != nil {
		return can, err
	}
	if !can.workspaces && p.workspace != state.DefaultWorkspace {
		return can, remote.ErrNoWorkspaces
	}
	params["workspace"] = p.workspace
	return can, p.c.call(ctx, verb, params, result)
}

// nothing is an empty result.
type nothing struct{}

// versionOf returns a version of a content, for programs without versions.
func versionOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Read implements remote.Place.
func (p *place) Read(ctx context.Context) (remote.Content, error) {
	var response struct {
		Data    []byte `json:"data"`
		Version string `json:"version"`
	}
	_, err := p.call(ctx, "read", object{}, &response)
	switch {
	case err != nil:
		return remote.Content{}, err
	case response.Data == nil:
		return remote.Content{}, nil
	case response.Version == "":
		response.Version = versionOf(response.Data)
	}
	return remote.Content{Data: response.Data, Version: response.Version}, nil
}

// ReadJournal implements remote.Place.
func (p *place) ReadJournal(ctx context.Context) (remote.Journal, error) {
	can, err := p.c.can(ctx)
	if err != nil {
		return remote.Journal{}, err
	}
	if !can.journal {
		return remote.Journal{}, remote.ErrNoJournal
	}
	var response struct {
		Version string   `json:"version"`
		Chunks  [][]byte `json:"chunks"`
	}
	_, err = p.call(ctx, "read_journal", object{}, &response)
	if err == nil && response.Version == "" && len(response.Chunks) > 0 {
		err = p.c.problem("its answer to read_journal has no member \"version\"")
	}
	return remote.Journal{Version: response.Version, Chunks: response.Chunks}, err
}

// releaseTimeout limits the check whether a lock without a response was acquired.
const releaseTimeout = 10 * time.Second

// Lock implements remote.Place. If the response is lost, it checks whether the lock was acquired. If the call is
// cancelled, it releases the lock.
func (p *place) Lock(ctx context.Context, info state.LockInfo) (remote.Hold, error) {
	h := &hold{p: p, id: info.ID}
	_, err := p.call(ctx, "lock", object{"lock": info.ID, "info": info}, &nothing{})
	var later *temporaryError
	var notStarted *startError
	switch {
	case err == nil:
		return h, nil
	case definite(err), errors.Is(err, remote.ErrNoWorkspaces), errors.As(err, &later), errors.As(err, &notStarted):
		return nil, err
	}
	look, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	if holder, lookErr := p.Holder(look); lookErr != nil || holder == nil || holder.ID != info.ID {
		return nil, err
	}
	if ctx.Err() == nil {
		return h, nil
	}
	return nil, errors.Join(err, h.Unlock(look))
}

// Unlocked implements remote.Place.
func (p *place) Unlocked(context.Context) (remote.Hold, error) { return &hold{p: p}, nil }

// Holder implements remote.Place.
func (p *place) Holder(ctx context.Context) (*state.LockInfo, error) {
	var response struct {
		Holder json.RawMessage `json:"holder"`
	}
	if _, err := p.call(ctx, "holder", object{}, &response); err != nil {
		return nil, err
	}
	return readHolder(response.Holder), nil
}

// readHolder decodes the holder of a lock, or returns nil if it is free. Fields that cannot be read are empty.
func readHolder(text json.RawMessage) *state.LockInfo {
	if text == nil || bytes.Equal(text, []byte("null")) {
		return nil
	}
	var info state.LockInfo
	if json.Unmarshal(text, &info) != nil {
		return &state.LockInfo{}
	}
	return &info
}

// ForceUnlock implements remote.Place.
func (p *place) ForceUnlock(ctx context.Context, id string) error {
	holder, err := p.Holder(ctx)
	switch {
	case err != nil:
		return err
	case holder == nil:
		return remote.ErrNotLocked
	case holder.ID != id:
		return remote.AnotherLock(id, holder.ID)
	}
	err = (&hold{p: p, id: id}).Unlock(ctx)
	if errors.Is(err, remote.ErrLost) {
		return remote.ErrTaken
	}
	return err
}

// hold is a held lock. Without an id, the state is not locked.
type hold struct {
	p  *place
	id string
}

// call performs a call under the lock.
func (h *hold) call(ctx context.Context, verb string, params object, result any) error {
	params["lock"] = h.id
	_, err := h.p.call(ctx, verb, params, result)
	return err
}

// Write implements remote.Hold. If the program has no conditional writes, it first checks the stored state.
func (h *hold) Write(ctx context.Context, w remote.Write) (string, error) {
	progress.Expect(ctx, len(w.Data))
	can, err := h.p.c.can(ctx)
	if err != nil {
		return "", err
	}
	if !can.conditions {
		there, err := h.p.Read(ctx)
		if err != nil {
			return "", err
		}
		if there.Version != w.Was {
			return "", remote.ErrChanged
		}
	}
	var response struct {
		Version string `json:"version"`
	}
	err = h.call(ctx, "write", object{"data": w.Data, "was": w.Was, "lineage": w.Lineage, "serial": w.Serial,
		"revision": toldRevision(w.Revision)}, &response)
	if response.Version == "" {
		response.Version = versionOf(w.Data)
	}
	return response.Version, err
}

// StartJournal implements remote.Hold.
func (h *hold) StartJournal(ctx context.Context, was string, first []byte) (string, error) {
	var response struct {
		Version string `json:"version"`
	}
	err := h.call(ctx, "start_journal", object{"was": was, "chunk": first}, &response)
	if err == nil && response.Version == "" {
		err = h.p.c.problem("its answer to start_journal has no member \"version\"")
	}
	return response.Version, err
}

// Append implements remote.Hold.
func (h *hold) Append(ctx context.Context, version string, n int, chunk []byte) error {
	return h.call(ctx, "append_journal", object{"version": version, "number": n, "chunk": chunk}, &nothing{})
}

// Check implements remote.Hold.
func (h *hold) Check(ctx context.Context) error {
	if h.id == "" {
		return ctx.Err()
	}
	can, err := h.p.c.can(ctx)
	if err != nil {
		return err
	}
	if can.renew {
		return h.call(ctx, "renew", object{}, &nothing{})
	}
	holder, err := h.p.Holder(ctx)
	if err == nil && (holder == nil || holder.ID != h.id) {
		err = remote.ErrLost
	}
	return err
}

// Delete implements remote.Hold.
func (h *hold) Delete(ctx context.Context) error { return h.call(ctx, "delete", object{}, &nothing{}) }

// Unlock implements remote.Hold.
func (h *hold) Unlock(ctx context.Context) error {
	if h.id == "" {
		return ctx.Err()
	}
	return h.call(ctx, "unlock", object{}, &nothing{})
}
