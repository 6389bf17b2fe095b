package s3

import (
	"context"
	"errors"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/objects"
)

// hold is a held lock. Without an id, the state is not locked.
type hold struct {
	p  *place
	id string
}

// changed translates an unmet condition to the contract's error.
func changed(err error) error {
	if errors.Is(err, errUnmet) {
		return remote.ErrChanged
	}
	return err
}

// Write implements remote.Hold. With a table, the digest is written after the state.
func (h *hold) Write(ctx context.Context, w remote.Write) (string, error) {
	if err := h.p.ready(ctx); err != nil {
		return "", err
	}
	t := h.p.d.table
	meta := describe(w)
	if t != nil {
		was, err := t.text(ctx, h.p.item()+digestSuffix, itemDigest)
		if err != nil {
			return "", err
		}
		if was != "" {
			meta[replacedDigest] = was
		}
	}
	etag, err := h.p.d.bucket.put(ctx, h.p.key, w.Data, about{meta, h.p.d.bucket.s.stateTags},
		condition{absent: w.Was == "", etag: w.Was})
	if err == nil && t != nil {
		err = t.note(ctx, h.p.item(), w.Data)
	}
	if err != nil && t != nil && !errors.Is(err, errUnmet) {
		err = &remote.UnfinishedError{Err: err} // others would take a state that differs from its digest for damaged
	}
	return etag, changed(err)
}

// StartJournal implements remote.Hold.
func (h *hold) StartJournal(ctx context.Context, was string, first []byte) (string, error) {
	if err := h.p.ready(ctx); err != nil {
		return "", err
	}
	version, err := h.p.journal.Start(ctx, was, first)
	return version, changed(err)
}

// Append implements remote.Hold.
func (h *hold) Append(ctx context.Context, version string, n int, chunk []byte) error {
	if err := h.p.ready(ctx); err != nil {
		return err
	}
	return changed(h.p.journal.Add(ctx, version, n, chunk))
}

// Check implements remote.Hold.
func (h *hold) Check(ctx context.Context) error {
	if h.id == "" {
		return ctx.Err()
	}
	file, entry, err := h.p.holders(ctx)
	switch {
	case err != nil:
		return err
	case h.p.d.s.lockFile && (file == nil || file.info.ID != h.id),
		h.p.d.table != nil && (entry == nil || entry.info.ID != h.id):
		return remote.ErrLost
	}
	return nil
}

// Unlock implements remote.Hold. Of two locks, it releases each one that is still held.
func (h *hold) Unlock(ctx context.Context) error {
	if h.id == "" {
		return ctx.Err()
	}
	file, entry, err := h.p.holders(ctx)
	if err != nil {
		return err
	}
	var errs [2]error
	if h.p.d.table != nil {
		errs[0] = remote.ErrLost
		if entry != nil && entry.info.ID == h.id {
			errs[0] = lost(h.p.d.table.unlock(ctx, h.p.item(), entry.raw))
		}
	}
	if h.p.d.s.lockFile {
		errs[1] = remote.ErrLost
		if file != nil && file.info.ID == h.id {
			errs[1] = lost(h.p.d.bucket.remove(ctx, h.p.lockKey(), file.etag))
		}
	}
	return errors.Join(errs[:]...)
}

func lost(err error) error {
	if errors.Is(err, errUnmet) {
		return remote.ErrLost
	}
	return err
}

// Delete implements remote.Hold. The journal is removed last: while it exists, the state can still be recovered.
func (h *hold) Delete(ctx context.Context) error {
	b := h.p.d.bucket
	if err := b.remove(ctx, h.p.key, ""); err != nil {
		return err
	}
	if h.p.d.table != nil {
		if err := h.p.d.table.forget(ctx, h.p.item()); err != nil {
			return err
		}
	}
	var keys []string
	if err := b.list(ctx, h.p.folder(), func(key string) { keys = append(keys, key) }); err != nil {
		return err
	}
	h.p.journal.Forget()
	errs := make([]error, len(keys))
	objects.Each(len(keys), func(i int) { errs[i] = b.remove(ctx, keys[i], "") })
	return errors.Join(errs...)
}
