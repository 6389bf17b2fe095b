package s3

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"time"
	"unicode/utf16"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/tombolo-iac/tombolo/internal/store/history"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	buckets "github.com/tombolo-iac/tombolo/internal/store/remote/bucket"
	"github.com/tombolo-iac/tombolo/internal/store/remote/objects"
)

// A bucket with versions keeps former states by itself. The run that wrote a state is described in the object's
// metadata, which are not encrypted and whose size is limited.

// Metadata of a state.
const (
	metaSerial   = "tombolo-serial"
	metaLineage  = "tombolo-lineage"
	metaRevision = "tombolo-revision"
)

// maxRevision bounds the description of a run, in bytes: the metadata of an object is limited to 2 KB in total.
const maxRevision = 1400

// describe returns the metadata of a state to be written.
func describe(w remote.Write) map[string]string {
	r := w.Revision
	text := ascii(r)
	for len(text) > maxRevision && len(r.Addresses) > 0 {
		r.Addresses = r.Addresses[:len(r.Addresses)/2]
		text = ascii(r)
	}
	meta := map[string]string{metaSerial: strconv.FormatUint(w.Serial, 10), metaLineage: w.Lineage}
	if len(text) <= maxRevision {
		meta[metaRevision] = text
	}
	return meta
}

// ascii returns the JSON of a revision in characters that are allowed in headers.
func ascii(r history.Revision) string {
	b, err := json.Marshal(r)
	if err != nil {
		return ""
	}
	var out []byte
	for _, c := range string(b) {
		switch {
		case c < 0x7f:
			out = append(out, byte(c))
		default:
			for _, unit := range utf16.Encode([]rune{c}) {
				out = append(out, `\u`...)
				out = append(out, hex.EncodeToString([]byte{byte(unit >> 8), byte(unit)})...)
			}
		}
	}
	return string(out)
}

// maxFormer bounds how many former states are listed.
const maxFormer = 200

// List implements history.Historian.
func (p *place) List(ctx context.Context) ([]history.Former, error) {
	versions, err := p.d.bucket.versions(ctx, p.key)
	if err != nil {
		return nil, err
	}
	versions = versions[:min(len(versions), maxFormer)]
	all, errs := make([]history.Former, len(versions)), make([]error, len(versions))
	objects.Each(len(versions), func(i int) {
		v := versions[i]
		f := &all[i]
		*f = history.Former{ID: shortID(aws.ToString(v.VersionId)), Written: aws.ToTime(v.LastModified),
			Size: aws.ToInt64(v.Size)}
		meta, err := p.d.bucket.meta(ctx, p.key, v)
		errs[i] = err
		serial, known := meta[metaSerial]
		if f.Foreign = !known; f.Foreign {
			return
		}
		f.Serial, _ = strconv.ParseUint(serial, 10, 64)
		f.Lineage = meta[metaLineage]
		json.Unmarshal([]byte(meta[metaRevision]), &f.Revision) // ignore metadata that cannot be read
	})
	return all, errors.Join(errs...)
}

// Snapshot implements history.Historian.
func (p *place) Snapshot(ctx context.Context, id string) ([]byte, error) {
	versions, err := p.d.bucket.versions(ctx, p.key)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(versions, func(v types.ObjectVersion) bool {
		return shortID(aws.ToString(v.VersionId)) == id || aws.ToString(v.VersionId) == id
	})
	if i < 0 {
		return nil, history.ErrNoRevision
	}
	o, err := p.d.bucket.version(ctx, p.key, asked(versions[i]))
	if err == nil && o == nil {
		err = history.ErrNoRevision
	}
	if err != nil {
		return nil, err
	}
	return o.data, nil
}

// shortID returns the short form of a version's ID.
func shortID(version string) string {
	sum := sha256.Sum256([]byte(version))
	return hex.EncodeToString(sum[:5])
}

// asked returns the ID with which to request a version. The only version in a bucket without versions has the ID
// "null", which not every service that lists it accepts in requests.
func asked(v types.ObjectVersion) *string {
	if aws.ToString(v.VersionId) == "null" && aws.ToBool(v.IsLatest) {
		return nil
	}
	return v.VersionId
}

// versions lists the versions of an object, newest first.
func (b *bucket) versions(ctx context.Context, key string) (all []types.ObjectVersion, err error) {
	defer b.trace("list versions", key, time.Now(), &err)
	pages := s3.NewListObjectVersionsPaginator(b.client, &s3.ListObjectVersionsInput{Bucket: &b.s.bucket, Prefix: &key})
	for n := 0; pages.HasMorePages(); n++ {
		page, err := pages.NextPage(ctx)
		if err == nil && n == buckets.MaxPages {
			err = errors.New("the list does not end")
		}
		if err != nil {
			return nil, b.failed(ctx, "list versions", key, err)
		}
		for _, v := range page.Versions {
			if aws.ToString(v.Key) == key {
				all = append(all, v)
			}
		}
		if n := len(page.Versions); n > 0 && aws.ToString(page.Versions[n-1].Key) != key {
			break // names are sorted
		}
	}
	slices.SortStableFunc(all, func(a, b types.ObjectVersion) int { // AWS sorts them, other services may not
		return aws.ToTime(b.LastModified).Compare(aws.ToTime(a.LastModified))
	})
	return all, nil
}

// meta returns the metadata of a version of an object. Some services return those of the newest version regardless of
// the request; then the version itself is read.
func (b *bucket) meta(ctx context.Context, key string, v types.ObjectVersion) (_ map[string]string, err error) {
	defer b.trace("head", key, time.Now(), &err)
	out, err := b.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &b.s.bucket, Key: &key, VersionId: asked(v),
		SSECustomerAlgorithm: b.algorithm(), SSECustomerKey: optional(b.s.customerKey),
		SSECustomerKeyMD5: b.keyDigest()})
	if missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, b.failed(ctx, "look for", key, err)
	}
	if v.ETag != nil && aws.ToString(out.ETag) != *v.ETag {
		o, err := b.version(ctx, key, asked(v))
		if err != nil || o == nil {
			return nil, err
		}
		return o.meta, nil
	}
	return out.Metadata, nil
}
