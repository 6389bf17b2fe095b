package pg

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/tombolo-iac/tombolo/internal/store/history"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/web"
)

// A history has a row for each run that wrote the state, with the compressed state after that run. A state that another
// program wrote gets a row when it is replaced; that row names no run, and the database compresses it.

// keeping returns an additional part of a statement that writes a state: it adds rows to the history and removes the
// oldest ones. The statement has args arguments, of which $2 is the previous version, and a part "up" with the row that
// was written. Of a run that writes more than once, the last state is kept.
func (o *options) keeping(id int64, w remote.Write, version string, args int) (string, []arg, error) {
	note, err := json.Marshal(w.Revision)
	if err != nil {
		return "", nil, err
	}
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	if err == nil {
		_, err = z.Write(w.Data)
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		return "", nil, err
	}
	at := func(n int) string { return "$" + strconv.Itoa(args+n) }
	sql := fmt.Sprintf(`,
next AS (UPDATE %[2]s t SET revisions = t.revisions + 2 FROM up WHERE t.id = up.id RETURNING t.id, t.revisions AS n),
foreigner AS (INSERT INTO %[3]s (id, n, digest, size, run, gzip, data)
	SELECT s.id, next.n - 1, %[4]s, octet_length(s.data), '', false, convert_to(s.data, 'UTF8')
	FROM %[1]s s JOIN next ON next.id = s.id WHERE NOT %[5]s AND $2 IS DISTINCT FROM
	(SELECT x.digest FROM %[3]s x WHERE x.id = next.id ORDER BY x.n DESC LIMIT 1)),
kept AS (INSERT INTO %[3]s (id, n, serial, lineage, digest, size, run, revision, gzip, data)
	SELECT next.id, next.n, %[6]s, %[7]s, %[8]s, %[9]s, %[10]s, %[11]s, true, %[12]s FROM next),
pruned AS (DELETE FROM %[3]s x USING next WHERE x.id = next.id AND (x.run <> '' AND x.run = %[10]s OR x.n IN
	(SELECT y.n FROM (SELECT z.n, row_number() OVER (ORDER BY z.n DESC) AS place,
	sum(octet_length(z.data)) OVER (ORDER BY z.n DESC) AS bytes FROM %[3]s z WHERE z.id = %[13]s) y
	WHERE y.place >= %[14]d OR y.bytes > %[15]d)))`,
		o.states(), o.about(), o.history(), sqlDigest, isNothing, at(1), at(2), at(3), at(4), at(5), at(6), at(7),
		at(8),
		o.keep, o.keepBytes)
	return sql, []arg{number(int64(w.Serial)), text(w.Lineage), text(version), number(int64(len(w.Data))),
		text(w.Revision.Run.ID), text(string(note)), binary(packed.Bytes()), number(id)}, nil
}

// List implements history.Historian.
func (p *place) List(ctx context.Context) (all []history.Former, _ error) {
	r, err := p.d.ask(ctx, "SELECT x.n::text, extract(epoch FROM x.written)::text, coalesce(x.serial::text, ''), "+
		"coalesce(x.lineage, ''), x.size::text, coalesce(x.revision, '') FROM "+p.o.history()+" x JOIN "+p.o.states()+
		" s ON s.id = x.id WHERE s.name = $1 ORDER BY x.n DESC", text(p.name))
	if missing(err) {
		return nil, nil
	}
	for i := range r {
		f := history.Former{ID: r.text(i, 0), Written: moment(r.text(i, 1)), Lineage: r.text(i, 3),
			Size: atoi(r.text(i, 4))}
		f.Serial, _ = strconv.ParseUint(r.text(i, 2), 10, 64)
		if note := r.text(i, 5); note == "" {
			f.Foreign = true
		} else if err := json.Unmarshal([]byte(note), &f.Revision); err != nil {
			return nil, fmt.Errorf("revision %s in %s: %s", web.Short(f.ID), p, web.Short(err.Error()))
		}
		all = append(all, f)
	}
	return all, err
}

// maxRevision limits the decompressed size of a revision, in bytes. A revision that is cut off does not have its
// digest.
const maxRevision = 1 << 30

// Snapshot implements history.Historian.
func (p *place) Snapshot(ctx context.Context, id string) ([]byte, error) {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return nil, history.ErrNoRevision
	}
	r, err := p.d.ask(ctx, "SELECT x.gzip::text, x.digest, x.data FROM "+p.o.history()+" x JOIN "+p.o.states()+
		" s ON s.id = x.id WHERE s.name = $1 AND x.n = $2", text(p.name), number(n))
	switch {
	case missing(err) || err == nil && len(r) == 0:
		return nil, history.ErrNoRevision
	case err != nil:
		return nil, err
	}
	if err := r.wide(3); err != nil {
		return nil, err
	}
	data := r[0][2]
	if r.true(0, 0) {
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err == nil {
			data, err = io.ReadAll(io.LimitReader(z, maxRevision))
		}
		if err != nil {
			return nil, fmt.Errorf("revision %s in %s is damaged: %w", id, p, err)
		}
	}
	if digest(data) != r.text(0, 1) {
		return nil, fmt.Errorf("revision %s in %s is damaged: its digest differs", id, p)
	}
	return data, nil
}
