package gcs

import (
	"cmp"
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"

	"github.com/tombolo-iac/tombolo/internal/store/history"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
)

// A bucket with versions keeps former states by itself. The run that wrote a state is described in the object's
// metadata, which customers' keys do not encrypt and whose size is limited.

// Metadata of a state.
const (
	metaSerial   = "tombolo-serial"
	metaLineage  = "tombolo-lineage"
	metaRevision = "tombolo-revision"
)

// maxRevision bounds the description of a run, in bytes: the metadata of an object is limited to 8 KiB in total.
const maxRevision = 4 << 10

// revision returns the metadata of a state to be written.
func revision(w remote.Write) map[string]string {
	r := w.Revision
	text, err := json.Marshal(r)
	for err == nil && len(text) > maxRevision && len(r.Addresses) > 0 {
		r.Addresses = r.Addresses[:len(r.Addresses)/2]
		text, err = json.Marshal(r)
	}
	meta := map[string]string{metaSerial: strconv.FormatUint(w.Serial, 10), metaLineage: w.Lineage}
	if err == nil && len(text) <= maxRevision {
		meta[metaRevision] = string(text)
	}
	return meta
}

// maxFormer bounds how many former states are shown.
const maxFormer = 200

// List implements history.Historian. The ID of a former state is its generation, as in gcloud.
func (p *place) List(ctx context.Context) (all []history.Former, err error) {
	more := url.Values{"versions": {"true"},
		"fields": {"nextPageToken,items(name,generation,size,timeCreated,metadata)"}}
	numbers := map[string]int64{}
	err = p.bucket.list(ctx, p.state, more, func(o described) {
		if o.Name != p.state {
			return
		}
		f := history.Former{ID: o.Generation, Written: o.Created, Lineage: o.Metadata[metaLineage]}
		f.Size, _ = strconv.ParseInt(o.Size, 10, 64)
		serial, known := o.Metadata[metaSerial]
		f.Serial, _ = strconv.ParseUint(serial, 10, 64)
		f.Foreign = !known
		_ = json.Unmarshal([]byte(o.Metadata[metaRevision]), &f.Revision) // ignore metadata that cannot be read
		numbers[f.ID], _ = strconv.ParseInt(f.ID, 10, 64)
		all = append(all, f)
	})
	slices.SortStableFunc(all, func(a, b history.Former) int { return cmp.Compare(numbers[b.ID], numbers[a.ID]) })
	return all[:min(len(all), maxFormer)], err
}

// Snapshot implements history.Historian.
func (p *place) Snapshot(ctx context.Context, id string) ([]byte, error) {
	if n, err := strconv.ParseInt(id, 10, 64); err != nil || n <= 0 {
		return nil, history.ErrNoRevision
	}
	o, err := p.bucket.get(ctx, p.state, id, sealed)
	if err == nil && o == nil {
		err = history.ErrNoRevision
	}
	if err != nil {
		return nil, err
	}
	return o.data, nil
}
