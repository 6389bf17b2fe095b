package hcp

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/state"
)

// hold is a held lock. Without an id, the state is not locked.
type hold struct {
	p  *place
	id string

	mu      sync.Mutex
	deleted bool // the workspace was deleted
}

// ID implements remote.Named. A server that does not return reasons has no IDs of locks.
func (h *hold) ID() string { return h.id }

// seen is a workspace and its state at the time of a write.
type seen struct {
	w *workspace
	v *version // nil if there is none
}

func (s seen) version() string {
	if s.v == nil {
		return ""
	}
	return s.v.ID
}

// Write implements remote.Hold. It first checks the current state and the lock; the server compares the serial once
// more.
func (h *hold) Write(ctx context.Context, w remote.Write) (string, error) {
	inline := len(w.Data) <= mostInline
	for try := 0; ; try++ {
		there, err := h.look(ctx)
		if err != nil {
			return "", err
		}
		if there.version() != w.Was {
			return h.other(ctx, there, w, try > 0)
		}
		undo, err := h.secure(ctx, there.w)
		if err != nil {
			return "", err
		}
		version, again, err := h.create(ctx, there, w, &inline)
		undo()
		switch {
		case err == nil:
			h.p.d.know(version, factsOf(w.Data, w.Serial))
			return version, nil
		case !again || try >= retries:
			return "", err
		}
		if err := h.p.client.pause(ctx, try, nil); err != nil {
			return "", err
		}
	}
}

// look reads the current state. It creates the workspace if it does not exist.
func (h *hold) look(ctx context.Context) (s seen, err error) {
	if s.w, err = h.p.show(ctx); err != nil {
		return s, err
	}
	if s.w == nil {
		s.w, err = h.p.make(ctx)
		return s, err
	}
	s.v, err = h.p.current(ctx, s.w)
	return s, err
}

// other handles a state version that is not the expected one. It may be the result of a request whose response was
// lost, or a duplicate, because a request may arrive twice.
func (h *hold) other(ctx context.Context, there seen, w remote.Write, sent bool) (string, error) {
	before := h.p.d.knows(w.Was)
	if there.v == nil || !sent && before == nil {
		return "", remote.ErrChanged
	}
	data, err := h.p.download(ctx, there.v)
	switch {
	case err != nil:
		return "", err
	case sent && bytes.Equal(data, w.Data):
		h.p.d.know(there.v.ID, factsOf(data, w.Serial))
		return there.v.ID, nil
	case before != nil && sha256.Sum256(data) == before.digest:
		h.p.d.know(there.v.ID, before)
		w.Was = there.v.ID
		return h.Write(ctx, w)
	}
	return "", remote.ErrChanged
}

// secure ensures that the lock is held during a write. If the run has no lock, secure acquires it for the write, unless
// the same user holds it: then the server decides.
func (h *hold) secure(ctx context.Context, w *workspace) (undo func(), err error) {
	none := func() {}
	there := h.p.holder(w)
	switch {
	case h.id != "" && (there == nil || there.ID != h.id):
		return nil, remote.ErrLost
	case h.id != "" || there != nil:
		return none, nil
	}
	info := state.LockInfo{ID: uuid.NewString(), Operation: state.OperationWrite, Who: "a run without a lock",
		Created: time.Now().UTC()}
	taken, err := h.p.take(ctx, w, info)
	if err != nil {
		return nil, err
	}
	return func() { h.p.leave(ctx, taken.id) }, nil
}

// mostInline is the maximum size of a state that is sent in the request, in bytes: such a state version is either
// stored with its content or not at all. Larger ones are uploaded, as the service requires.
const mostInline = 256 << 10

// create creates a state version with its content. The result again reports whether a retry may succeed, or may find
// that this attempt has.
func (h *hold) create(ctx context.Context, there seen, w remote.Write, inline *bool) (id string, again bool,
	err error) {
	shown := h.shown(w)
	body := h.document(there, w, shown, *inline)
	r := request{what: "write the state of " + h.p.title(), method: http.MethodPost, body: body,
		path: "workspaces/" + url.PathEscape(there.w.ID) + "/state-versions"}
	a, err := h.p.client.once(ctx, r)
	switch {
	case err != nil:
		return "", passing(a, err), err
	case a.status == http.StatusRequestEntityTooLarge && *inline:
		*inline = false
		return "", true, h.p.client.failed(r, a)
	case a.status == http.StatusUnprocessableEntity && !*inline: // an older server, without uploads
		*inline = true
		return "", true, h.p.client.failed(r, a)
	case a.status == http.StatusConflict, a.status == http.StatusPreconditionFailed:
		return h.conflict(ctx, r, a, w)
	case !a.ok():
		return "", passing(a, nil), h.p.client.failed(r, a)
	}
	var made struct{ Data version }
	if err := h.p.client.decode(r, a, &made); err != nil || made.Data.ID == "" {
		return "", true, fmt.Errorf("%s: the answer has no state version", r.what)
	}
	if *inline {
		return made.Data.ID, false, nil
	}
	if made.Data.Attributes.Upload == "" {
		*inline = true
		return "", true, fmt.Errorf("%s: the server sent no address for the state", r.what)
	}
	id, again, err = h.upload(ctx, &made.Data, w)
	if err == nil && shown != nil {
		h.uploadShown(ctx, &made.Data, shown)
	}
	return id, again, err
}

// shown returns the document with which the service displays a state. As in Terraform, cloud blocks send it and
// backends do not.
func (h *hold) shown(w remote.Write) []byte {
	if !h.p.d.s.cloud || w.Document == nil {
		return nil
	}
	return w.Document()
}

// uploadShown uploads the document that displays a state version. The state is stored without it, so errors are
// ignored.
func (h *hold) uploadShown(ctx context.Context, v *version, shown []byte) {
	if v.Attributes.Shown == "" {
		return
	}
	address, err := h.p.client.content(ctx, nil, v.Attributes.Shown)
	if err != nil {
		return
	}
	_, _ = h.p.client.send(ctx, request{what: "upload the document of the state of " + h.p.title(),
		method: http.MethodPut, address: address, body: shown})
}

// conflict interprets a refusal: the state or the lock has changed, or the server has another reason.
func (h *hold) conflict(ctx context.Context, r request, a *answer, w remote.Write) (string, bool, error) {
	there, err := h.look(ctx)
	if err != nil {
		return "", false, err
	}
	holder := h.p.holder(there.w)
	switch {
	case there.version() != w.Was:
		return "", true, h.p.client.failed(r, a) // the next look decides
	case h.id != "" && (holder == nil || holder.ID != h.id):
		return "", false, remote.ErrLost
	}
	return "", false, h.p.client.failed(r, a)
}

// document returns the request body for a new state version.
func (h *hold) document(there seen, w remote.Write, shown []byte, inline bool) []byte {
	f := factsOf(w.Data, w.Serial)
	sum := md5.Sum(w.Data)
	attributes := object{"serial": f.serial, "md5": hex.EncodeToString(sum[:]), "force": h.forces(there, f)}
	if f.lineage != "" {
		attributes["lineage"] = f.lineage
	}
	if outputs := outputsOf(w.Data); outputs != nil {
		attributes["json-state-outputs"] = base64.StdEncoding.EncodeToString(outputs)
	}
	if inline {
		attributes["state"] = base64.StdEncoding.EncodeToString(w.Data)
		if shown != nil {
			attributes["json-state"] = base64.StdEncoding.EncodeToString(shown)
		}
	}
	return resource("state-versions", attributes, nil)
}

// forces reports whether the server must accept a state that does not continue the current one, because a person wants
// another lineage or an earlier serial.
func (h *hold) forces(there seen, f *facts) bool {
	if there.v == nil {
		return false
	}
	before := h.p.d.knows(there.v.ID)
	return f.serial <= there.v.Attributes.Serial || before != nil && before.lineage != f.lineage
}

// outputsOf returns the outputs of a state as "show -json" prints them. It returns nil for an encrypted state, whose
// content must not be visible.
func outputsOf(data []byte) []byte {
	var st struct {
		Version int
		Outputs map[string]struct {
			Sensitive bool            `json:"sensitive"`
			Value     json.RawMessage `json:"value"`
			Type      json.RawMessage `json:"type"`
		}
	}
	if json.Unmarshal(data, &st) != nil || st.Version == 0 || st.Outputs == nil {
		return nil
	}
	out, err := json.Marshal(st.Outputs)
	if err != nil {
		return nil
	}
	return out
}

// upload uploads the content of a state version. Only the status of the version finally shows whether it arrived.
func (h *hold) upload(ctx context.Context, v *version, w remote.Write) (string, bool, error) {
	address, err := h.p.client.content(ctx, nil, v.Attributes.Upload)
	if err != nil {
		return "", false, err
	}
	r := request{what: "upload the state of " + h.p.title(), method: http.MethodPut, address: address, body: w.Data}
	look := request{what: r.what, method: http.MethodGet, path: "state-versions/" + url.PathEscape(v.ID)}
	for try := 0; ; try++ {
		a, err := h.p.client.once(ctx, r)
		if err != nil && ctx.Err() != nil {
			return "", false, err
		}
		now, lookErr := h.p.version(ctx, look)
		switch {
		case lookErr != nil:
			return "", false, lookErr
		case now == nil:
			return "", true, fmt.Errorf("%s: the state version %s no longer exists", r.what, v.ID)
		case now.Attributes.Status == discarded:
			return "", true, fmt.Errorf("%s: another state version replaced it", r.what)
		case now.Attributes.Status != pending && (now.Attributes.Status != "" || err == nil && a.ok()):
			return v.ID, false, nil
		case try >= retries:
			if err == nil && a.ok() {
				err = fmt.Errorf("%s: the server has not finished the state version %s", r.what, v.ID)
			}
			return "", passing(a, err), h.p.because(r, a, err)
		}
		if err := h.p.client.pause(ctx, try, a); err != nil {
			return "", false, err
		}
	}
}

// StartJournal implements remote.Hold.
func (h *hold) StartJournal(context.Context, string, []byte) (string, error) {
	return "", remote.ErrNoJournal
}

// Append implements remote.Hold.
func (h *hold) Append(context.Context, string, int, []byte) error { return remote.ErrNoJournal }

// Check implements remote.Hold.
func (h *hold) Check(ctx context.Context) error {
	if h.id == "" || ctx.Err() != nil {
		return ctx.Err()
	}
	there, err := h.p.Holder(ctx)
	if err == nil && (there == nil || there.ID != h.id) {
		err = remote.ErrLost
	}
	return err
}

// Delete implements remote.Hold. The service requires another permission if the workspace still has objects.
func (h *hold) Delete(ctx context.Context) error {
	path := h.p.client.organization("/workspaces/" + h.p.name)
	w, err := h.p.show(ctx)
	if err != nil || w == nil {
		return err
	}
	if err := h.Check(ctx); err != nil {
		return err
	}
	what := "delete the workspace " + h.p.title()
	r := request{what: what, method: http.MethodPost, path: path + "/actions/safe-delete"}
	if a, err := h.p.client.once(ctx, r); err != nil || !a.ok() {
		r = request{what: what, method: http.MethodDelete, path: path}
		a, err := h.p.client.send(ctx, r)
		if err == nil && !a.ok() && a.status != http.StatusNotFound {
			err = h.p.client.failed(r, a)
		}
		if err != nil {
			return err
		}
	}
	if w, err = h.p.show(ctx); err != nil {
		return err
	}
	if w != nil {
		return fmt.Errorf("%s: it still exists. The user or team of the token may not delete it", what)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.deleted = true
	return nil
}

// Unlock implements remote.Hold. If the workspace was deleted, so was its lock.
func (h *hold) Unlock(ctx context.Context) error {
	h.mu.Lock()
	deleted := h.deleted
	h.mu.Unlock()
	if h.id == "" || deleted || ctx.Err() != nil {
		return ctx.Err()
	}
	return h.p.free(ctx, h.id)
}
