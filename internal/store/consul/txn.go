package consul

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/objects"
)

// Default limits of a server, in bytes: of a value, and of a value in a transaction, where it is in base64 and the
// whole request has that limit.
const (
	maxValue = 512 << 10
	inOne    = 360 << 10
)

// operation is one operation of a transaction.
type operation struct {
	Verb    string
	Key     string
	Value   []byte `json:",omitempty"`
	Flags   uint64 `json:",omitempty"`
	Index   uint64 `json:",omitempty"`
	Session string `json:",omitempty"`
}

// refused is a transaction that was not performed because a condition does not hold.
type refused struct {
	ops     []operation // operations whose conditions do not hold
	message string
}

// Error implements error.
func (r *refused) Error() string { return r.message }

// Is maps the refusal to the contract's errors: without the session the lock is lost, otherwise something has changed.
func (r *refused) Is(target error) bool {
	lost := slices.ContainsFunc(r.ops, func(o operation) bool { return o.Verb == "check-session" })
	return target == remote.ErrLost && lost || (target == remote.ErrChanged || target == objects.ErrUnmet) && !lost
}

// prepare returns the body of a transaction.
func prepare(ops []operation) ([]byte, error) {
	type kv struct{ KV operation }
	all := make([]kv, len(ops))
	for i, o := range ops {
		all[i].KV = o
	}
	return json.Marshal(all)
}

// commit performs all operations or none. The effect of the first try may make the server refuse a retry.
func (c *client) commit(ctx context.Context, what, key string, ops ...operation) ([]pair, error) {
	body, err := prepare(ops)
	if err != nil {
		return nil, err
	}
	a, err := c.send(ctx, http.MethodPut, "/v1/txn", nil, body)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", what, key, err)
	}
	return c.committed(what, key, ops, a)
}

// committed reads the response to a transaction.
func (c *client) committed(what, key string, ops []operation, a *answer) (pairs []pair, _ error) {
	var response struct {
		Results []struct{ KV *pair }
		Errors  []struct {
			OpIndex int
			What    string
		}
	}
	isTxn := json.Unmarshal(a.body, &response) == nil
	switch {
	case a.status == http.StatusConflict && isTxn && len(response.Errors) > 0:
		r := &refused{message: fmt.Sprintf("%s %s: %s", what, key, c.s.clean(response.Errors[0].What))}
		for _, e := range response.Errors {
			if e.OpIndex >= 0 && e.OpIndex < len(ops) {
				r.ops = append(r.ops, ops[e.OpIndex])
			}
		}
		return nil, r
	case a.status != http.StatusOK:
		return nil, c.failed(what, key, a)
	case !isTxn:
		return nil, fmt.Errorf("%s %s: the server at %s is not Consul. Check the address", what, key,
			c.s.address.Host)
	}
	for _, r := range response.Results {
		if r.KV != nil {
			pairs = append(pairs, *r.KV)
		}
	}
	return pairs, nil
}

// index returns the index that a key has after a transaction.
func index(pairs []pair, key string) (string, error) {
	var last uint64
	for _, p := range pairs {
		if p.Key == key {
			last = max(last, p.ModifyIndex)
		}
	}
	if last == 0 {
		return "", fmt.Errorf("write %s: the server does not report the index of the key. Consul 0.7 or newer is "+
			"required", key)
	}
	return strconv.FormatUint(last, 10), nil
}

// number returns the index of a version.
func number(version string) (uint64, error) {
	if version == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(version, 10, 64)
	if err != nil || n == 0 {
		return 0, remote.ErrChanged
	}
	return n, nil
}

// space stores the journal. With a session, it writes under the session's lock.
type space struct {
	client *client
	guard  []operation
}

// Get implements objects.Space.
func (s space) Get(ctx context.Context, name string) (data []byte, tag string, err error) {
	p, err := s.client.get(ctx, name)
	if err != nil || p == nil {
		return nil, "", err
	}
	return p.Value, strconv.FormatUint(p.ModifyIndex, 10), nil
}

// Put implements objects.Space.
func (s space) Put(ctx context.Context, name string, data []byte, tag string) (string, error) {
	at, err := number(tag)
	if err != nil {
		return "", objects.ErrUnmet
	}
	if len(data) > inOne {
		return s.putLarge(ctx, name, data, at)
	}
	pairs, err := s.client.commit(ctx, "write", name,
		append(slices.Clip(s.guard), operation{Verb: "cas", Key: name, Value: data, Index: at})...)
	if err == nil {
		return index(pairs, name)
	}
	if r := (*refused)(nil); !errors.As(err, &r) {
		return "", err
	}
	return s.look(ctx, name, data, err)
}

// look returns the tag of an object that already has the data to write, and otherwise why the write was refused.
func (s space) look(ctx context.Context, name string, data []byte, refusal error) (string, error) {
	there, tag, err := s.Get(ctx, name)
	if err != nil {
		return "", err
	}
	if tag != "" && bytes.Equal(there, data) {
		return tag, nil
	}
	return "", refusal
}

// putLarge writes an object that is too large for a transaction, as pieces that a head lists. The head is written under
// the lock.
func (s space) putLarge(ctx context.Context, name string, data []byte, at uint64) (string, error) {
	a, err := s.client.send(ctx, http.MethodPut, "/v1/kv/"+name,
		url.Values{"cas": {strconv.FormatUint(at, 10)}}, data)
	if err != nil {
		return "", fmt.Errorf("write %s: %w", name, err)
	}
	if a.status != http.StatusOK {
		return "", s.client.failed("write", name, a)
	}
	return s.look(ctx, name, data, objects.ErrUnmet)
}

// Remove implements objects.Space.
func (s space) Remove(ctx context.Context, name string) error { return s.client.remove(ctx, name) }

// Name implements objects.Space.
func (s space) Name(name string) string { return "consul:" + name }
