package s3

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"sync"
)

// conditions records whether a service supports conditional requests. AWS does. Some services refuse them, and some
// accept and ignore them, which would only be noticed when two runs have the same lock.
type conditions struct {
	trusted bool // the service is AWS

	mu    sync.Mutex
	asked bool
	noAbsent,
	noEtag bool // conditions on tags are ignored or refused
}

// ignored reports whether this service ignores a condition.
func (c *conditions) ignored(cond condition) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.noAbsent && cond.absent || c.noEtag && cond.etag != ""
}

// never is a tag that no object has.
const never = `"00000000000000000000000000000000"`

// probe determines once whether the service supports conditions. It uses its own object, so that no other object is
// written with a condition that is ignored.
func (b *bucket) probe(ctx context.Context, key string) error {
	c := &b.conditions
	if c.trusted {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked {
		return nil
	}
	var errs [2]error
	var wg sync.WaitGroup
	wg.Go(func() { c.noAbsent, errs[0] = b.ignoresCondition(ctx, key, condition{absent: true}) })
	wg.Go(func() { c.noEtag, errs[1] = b.ignoresCondition(ctx, key, condition{etag: never}) })
	wg.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	c.asked = true
	if c.noAbsent || c.noEtag {
		b.log("s3: %s does not keep conditions: If-None-Match ignored %t, If-Match ignored %t", b.s.bucket, c.noAbsent,
			c.noEtag)
	}
	return nil
}

// ignoresCondition writes with a condition that does not hold, and reports whether the service writes nevertheless. The
// first write with the condition that the object is absent creates the object.
func (b *bucket) ignoresCondition(ctx context.Context, key string, c condition) (bool, error) {
	for range 2 {
		data := []byte(`{"about":"Tombolo checks here whether conditional requests work.","try":"` + rand.Text() +
			`"}`)
		_, err := b.putOnce(ctx, key, data, about{}, c)
		var answer *problem
		switch {
		case errors.Is(err, errUnmet):
			return false, nil
		case errors.As(err, &answer) && status(answer.err) == http.StatusNotImplemented:
			return true, nil
		case err != nil:
			return false, err
		case c.etag != "":
			return true, nil
		}
	}
	return true, nil
}
