package oss

import (
	"cmp"
	"context"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/tombolo-iac/tombolo/internal/store/oss/tablestore"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/bucket"
	"github.com/tombolo-iac/tombolo/internal/store/remote/objects"
	"github.com/tombolo-iac/tombolo/internal/store/remote/web"
)

// Columns of rows. Only Tombolo uses the last one: the digest of the previous state, which stays there until the new
// state is written.
const (
	rowKey      = "LockID"
	rowInfo     = "Info"
	rowDigest   = "Digest"
	rowReplaced = "TomboloReplaced"
	none        = "none" // there was no state
)

// capacity is the number of the field with the cost of the request, which every valid response has.
const capacity = 1

// digestSuffix ends the ID of the row with a digest; the rest is the ID of the lock's row.
const digestSuffix = "-md5"

// table is a table of Tablestore, with a row for each held lock and one for the digest of each state.
type table struct {
	s *settings
	*web.Client
}

// ask sends a request for a row.
func (t *table) ask(ctx context.Context, what, call, id string, body []byte) (*web.Answer, error) {
	r := web.Request{What: what, Name: "the row " + id + " of the table " + t.s.table, Method: http.MethodPost,
		Address: t.s.tables.String() + "/" + call, Header: http.Header{}, Body: body}
	a, err := t.Send(ctx, r)
	if err != nil {
		return nil, err
	}
	if a.OK() {
		if m, err := tablestore.Parse(a.Body); err != nil || m.Bytes(capacity) == nil {
			return nil, &web.Problem{Text: fmt.Sprintf("%s %s: the answer is not from the service. The server is "+
				"not Tablestore, or a proxy changes its answers", what, r.Name)}
		}
		return a, nil
	}
	code, text := tablestore.DecodeError(a.Body)
	hint := ""
	switch code {
	case "OTSConditionCheckFail":
		return a, objects.ErrUnmet
	case "OTSObjectNotExist":
		hint = "The backend does not create tables: create it with the string LockID as its only key, or check " +
			"tablestore_table and tablestore_endpoint"
	case "OTSAuthFailed", "OTSNoPermissionAccess":
		hint = "Allow ots:GetRow, ots:PutRow and ots:DeleteRow to these credentials"
	case "OTSInvalidPK", "OTSParameterInvalid":
		hint = "The table must have the string LockID as its only key"
	}
	return nil, t.Failed(r, a, strings.TrimPrefix(code+": "+text, ": "), hint)
}

// row returns the columns of a row, or nil if it does not exist.
func (t *table) row(ctx context.Context, id string) (map[string]string, error) {
	a, err := t.ask(ctx, "read", "GetRow", id, tablestore.Get{Table: t.s.table, Key: rowKey, ID: id}.Encode())
	if err != nil {
		return nil, err
	}
	row, err := tablestore.DecodeGot(a.Body)
	if err != nil {
		return nil, &web.Problem{Text: fmt.Sprintf("read the row %s of the table %s: %v. The server is not "+
			"Tablestore, or another program wrote the row", id, t.s.table, err)}
	}
	if row == nil {
		return nil, nil
	}
	return row.Columns, nil
}

// put writes a row, if the condition holds.
func (t *table) put(ctx context.Context, id string, columns map[string]string, c tablestore.Condition) (*web.Answer,
	error) {
	return t.ask(ctx, "write", "PutRow", id, tablestore.Put{Table: t.s.table,
		Row: tablestore.Row{Key: rowKey, ID: id, Columns: columns}, Condition: c}.Encode())
}

// remove removes a row.
func (t *table) remove(ctx context.Context, id string, c tablestore.Condition) (*web.Answer, error) {
	return t.ask(ctx, "delete", "DeleteRow", id, tablestore.Delete{Table: t.s.table, Key: rowKey, ID: id,
		Condition: c}.Encode())
}

// id returns the ID of the row of an object.
func (t *table) id(name string) string { return t.s.bucket + "/" + name }

// digest returns the digest of a state as the row stores it, or "" if there is no state.
func digest(data []byte) string {
	if data == nil {
		return ""
	}
	sum := md5.Sum(data)
	return hex.EncodeToString(sum[:])
}

// note replaces the digest of the previous state, or none for "", with that of the state to be written, on the
// condition that the row has the digest of the state that was read. A missing row, or one whose state was never
// written, does not prevent that.
func (t *table) note(ctx context.Context, name, next, was string) error {
	id := t.id(name) + digestSuffix
	there, err := t.row(ctx, id)
	if err != nil {
		return err
	}
	before, known := there[rowDigest]
	was = cmp.Or(was, none)
	switch {
	case known && before == next:
		return nil // the first try has written it
	case known && before != was && there[rowReplaced] != was:
		return objects.ErrUnmet
	}
	c := tablestore.Condition{Row: tablestore.Missing}
	if known {
		c = tablestore.Condition{Row: tablestore.There, Column: rowDigest, Value: before}
	}
	_, err = t.put(ctx, id, map[string]string{rowDigest: next, rowReplaced: was}, c)
	return err
}

// forget removes the digest of a state.
func (t *table) forget(ctx context.Context, name string) error {
	_, err := t.remove(ctx, t.id(name)+digestSuffix, tablestore.Condition{})
	return err
}

// slot is the row with the lock of a state.
type slot struct {
	*table
	id string
}

// Look implements bucket.Slot.
func (s slot) Look(ctx context.Context) (*bucket.Found, error) {
	row, err := s.row(ctx, s.id)
	if err != nil || row == nil {
		return nil, err
	}
	return bucket.ParseLock(row[rowInfo], ""), nil
}

// Put implements bucket.Slot.
func (s slot) Put(ctx context.Context, raw string) error {
	_, err := s.put(ctx, s.id, map[string]string{rowInfo: raw}, tablestore.Condition{Row: tablestore.Missing})
	if err == nil || !isUnmet(err) {
		return err
	}
	if row, other := s.row(ctx, s.id); other != nil || row[rowInfo] == raw {
		return other
	}
	return err
}

// Remove implements bucket.Slot.
func (s slot) Remove(ctx context.Context, f *bucket.Found) error {
	a, err := s.remove(ctx, s.id, tablestore.Condition{Row: tablestore.There, Column: rowInfo, Value: f.Raw})
	if isUnmet(err) && a.Again {
		if row, other := s.row(ctx, s.id); other != nil || row == nil {
			return other // the first try has removed it
		}
	}
	return err
}

// While a run writes, a state may briefly differ from its digest. Other programs wait as long.
const (
	digestWait  = 10 * time.Second
	digestPause = time.Second
)

// Read implements bucket.Store. A state must have the digest in its row; while it is being replaced, it may still have
// the previous one.
func (s store) Read(ctx context.Context, name string) (remote.Content, error) {
	for began := time.Now(); ; {
		o, row, err := s.both(ctx, name)
		if err != nil {
			return remote.Content{}, err
		}
		var c remote.Content
		if o != nil {
			c = remote.Content{Data: o.data, Version: o.etag}
			s.seen.Store(o.etag, digest(o.data))
		}
		want, known := row[rowDigest]
		got := digest(c.Data)
		if !known || got == want || cmp.Or(got, none) == row[rowReplaced] {
			return c, nil
		}
		if time.Since(began) > s.patience {
			return remote.Content{}, s.badDigest(name, got, want)
		}
		select {
		case <-ctx.Done():
			return remote.Content{}, ctx.Err()
		case <-time.After(min(digestPause, s.patience/4)):
		}
	}
}

// both returns a state and the row with its digest.
func (s store) both(ctx context.Context, name string) (o *stored, row map[string]string, err error) {
	if s.table == nil {
		o, err = s.get(ctx, name)
		return o, nil, err
	}
	var wg sync.WaitGroup
	wg.Go(func() { o, err = s.get(ctx, name) })
	row, unread := s.table.row(ctx, s.table.id(name)+digestSuffix)
	if unread != nil { // a user who may read states may lack permission for the table
		s.Log("oss: the digest of %s cannot be read, so it is not checked: %v", s.Name(name), unread)
	}
	wg.Wait()
	return o, row, err
}

func (s store) badDigest(name, got, want string) error {
	found := "it has the digest " + got
	if got == "" {
		found = "it does not exist"
	}
	return &web.Problem{Text: fmt.Sprintf("%s is not the last state that was written: %s, but the row %s of the "+
		"table %s has %s. Either another program wrote the state, or a run ended between two writes. Check the state "+
		"and its older versions. If it is the right one, delete that row", s.Name(name), found,
		s.table.id(name)+digestSuffix, s.s.table, want)}
}
