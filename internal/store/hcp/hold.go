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
	deleted bool // the workspace is gone
}

// ID implements remote.Named: a server that does not show reasons knows no ids.
func (h *hold) ID() string { return h.id }

// seen is a workspace with its state, as a write finds it.
type seen struct {
	w *workspace
	v *version // nil where there is none
}

func (s seen) version() string {
	if s.v == nil {
		return ""
	}
	return s.v.ID
}

// Write implements remote.Hold. What stands there and the lock are looked at before; the server compares the serial
// once more.
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

// look reads what stands there. Where there is no workspace, it is made.
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

// other decides about a state version that is not the one that was expected. It may be what was written by a request
// whose answer was lost, or the same content twice: a request may arrive two times.
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

// secure ensures that the lock is held during a write. Without a lock of the run it is taken for a moment, unless the
// same user holds it: the server decides.
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

// mostInline is how large a state may be that goes with the request: then a state version is there with its content, or
// not at all. Larger ones are uploaded, as the service wants it.
const mostInline = 256 << 10

// create makes a state version with its content. again reports whether a later try may end well, or find out that this
// one did.
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
	case a.status == http.StatusUnprocessableEntity && !*inline: // an older server, which has no uploads
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

// shown returns the document with which the service shows a state to people. As with Terraform, cloud blocks send it,
// and backends do not.
func (h *hold) shown(w remote.Write) []byte {
	if !h.p.d.s.cloud || w.Document == nil {
		return nil
	}
	return w.Document()
}

// uploadShown sends the document of a state version. The state is stored without it: nobody has to know of a failure.
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

// conflict decides what a refusal means: the state or the lock is another one now, or the server has reasons of its
// own.
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

// document is what is sent for a new state version.
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

// forces reports whether the server has to take a state that does not continue the current one: a person wants another
// lineage, or a serial that was there already.
func (h *hold) forces(there seen, f *facts) bool {
	if there.v == nil {
		return false
	}
	before := h.p.d.knows(there.v.ID)
	return f.serial <= there.v.Attributes.Serial || before != nil && before.lineage != f.lineage
}

// outputsOf are the outputs of a state as "show -json" prints them; nil for an encrypted one, of which nothing else is
// to be known.
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

// upload sends the content of a state version. Only its status says in the end whether it has arrived.
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

// Delete implements remote.Hold. The service asks for another permission where a workspace still has objects.
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

// Unlock implements remote.Hold. With a workspace, its lock is gone.
func (h *hold) Unlock(ctx context.Context) error {
	h.mu.Lock()
	deleted := h.deleted
	h.mu.Unlock()
	if h.id == "" || deleted || ctx.Err() != nil {
		return ctx.Err()
	}
	return h.p.free(ctx, h.id)
}
