package objects

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Once is where an object can be made on the condition that there is none, and where no other condition is kept.
// Methods may be called concurrently.
type Once interface {
	// Get returns an object; nil where there is none.
	Get(ctx context.Context, name string) ([]byte, error)
	// Create makes an object. ErrUnmet: one is there.
	Create(ctx context.Context, name string, data []byte) error
	// First lists the first objects with a prefix, in the order of their names.
	First(ctx context.Context, prefix string, most int) ([]Entry, error)
	// Remove removes an object. That it is not there is no error.
	Remove(ctx context.Context, name string) error
	// Name is how messages call an object.
	Name(name string) string
}

// Entry is an object in a list. No other content of that name has its tag.
type Entry struct{ Name, Tag string }

// Chained makes a Space of a store that can create objects, but not replace them: what replaces an object is another
// one behind it. Such a link has the next number in its name, so only one of those who saw the same last link can make
// the next one. Names are such that the last link is the first of a list.
//
// Links that were followed are removed. Who has seen one of them long ago could make the next one again: that one then
// has no predecessor, or is not the last, and does not count.
//
// A part of a journal is never replaced: it is an object under its own name.
func Chained(o Once) Space { return chain{o} }

type chain struct{ Once }

// link is one in a list.
type link struct {
	number uint64
	tag    string
}

const (
	// keptLinks is how many links are there before old ones are removed.
	keptLinks = 8
	// chainTries bounds how often a chain is looked at again, because it grows.
	chainTries = 8
	// newest is the number that a last link can have at most.
	newest = 1 << 62
)

// linkName is the name of a link: the higher the number, the earlier in a list.
func linkName(name string, number uint64) string { return fmt.Sprintf("%s/%019d", name, newest-number) }

func numberOf(name, link string) (uint64, bool) {
	text, ok := strings.CutPrefix(link, name+"/")
	n, err := strconv.ParseUint(text, 10, 64)
	return newest - n, ok && err == nil && n < newest
}

// chained reports whether an object is replaced: the head of a journal.
func chained(name string) bool { return strings.HasSuffix(name, "journal") }

// links lists the last links, the newest first. Such as have no predecessor, although there is an older one, do not
// count: who made them had seen a link that is gone.
func (c chain) links(ctx context.Context, name string) (all []link, _ error) {
	entries, err := c.First(ctx, name+"/", 2*keptLinks)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if n, ok := numberOf(name, e.Name); ok {
			all = append(all, link{n, fmt.Sprintf("%d-%s", n, e.Tag)})
		}
	}
	for len(all) > 1 && all[0].number != all[1].number+1 {
		all = all[1:]
	}
	return all, nil
}

// read returns what a link holds, and the tag of the one that it replaced; nil when it is gone.
func (c chain) read(ctx context.Context, name string, number uint64) (was string, data []byte, _ error) {
	data, err := c.Once.Get(ctx, linkName(name, number))
	if err != nil || data == nil {
		return "", nil, err
	}
	before, rest, ok := bytes.Cut(data, []byte("\n"))
	if !ok {
		return "", nil, fmt.Errorf("%s was changed after it was written: restore an older version",
			c.Name(linkName(name, number)))
	}
	return string(before), rest, nil
}

// Get implements Space.
func (c chain) Get(ctx context.Context, name string) (data []byte, tag string, err error) {
	if !chained(name) {
		data, err := c.Once.Get(ctx, name)
		if err != nil || data == nil {
			return nil, "", err
		}
		return data, "1", nil
	}
	for range chainTries {
		all, err := c.links(ctx, name)
		if err != nil || len(all) == 0 {
			return nil, "", err
		}
		if _, data, err := c.read(ctx, name, all[0].number); err != nil || data != nil {
			return data, all[0].tag, err
		}
	}
	return nil, "", fmt.Errorf("%s was replaced repeatedly while it was read. Try again", c.Name(name))
}

// Put implements Space.
func (c chain) Put(ctx context.Context, name string, data []byte, tag string) (string, error) {
	if !chained(name) {
		return "1", c.make(ctx, name, data)
	}
	number := uint64(1)
	if tag == "" {
		all, err := c.links(ctx, name)
		if err != nil {
			return "", err
		}
		if len(all) > 0 {
			return c.mine(ctx, name, data, all[0])
		}
	} else {
		before, _, _ := strings.Cut(tag, "-")
		n, err := strconv.ParseUint(before, 10, 64)
		if err != nil {
			return "", err
		}
		number = n + 1
	}
	err := c.make(ctx, linkName(name, number), slices.Concat([]byte(tag), []byte("\n"), data))
	if err != nil {
		return "", err
	}
	return c.settled(ctx, name, number, tag)
}

// mine answers a write over nothing where there is a link: it may be that write itself, whose answer was lost.
func (c chain) mine(ctx context.Context, name string, data []byte, l link) (string, error) {
	was, there, err := c.read(ctx, name, l.number)
	switch {
	case err != nil:
		return "", err
	case there == nil || was != "" || !bytes.Equal(there, data):
		return "", ErrUnmet
	}
	return l.tag, nil
}

// make creates an object. One with the same data is that one: the answer to a first try was lost.
func (c chain) make(ctx context.Context, name string, data []byte) error {
	err := c.Create(ctx, name, data)
	if !errors.Is(err, ErrUnmet) {
		return err
	}
	there, err := c.Once.Get(ctx, name)
	if err == nil && !bytes.Equal(there, data) {
		err = ErrUnmet
	}
	return err
}

// settled ensures that a link that was made is the last, behind the one that it replaces. Then it removes old
// ones.
func (c chain) settled(ctx context.Context, name string, number uint64, was string) (string, error) {
	all, err := c.links(ctx, name)
	if err != nil {
		return "", err
	}
	last := len(all) > 0 && all[0].number == number
	if !last || was == "" && len(all) > 1 || was != "" && (len(all) == 1 || all[1].tag != was) {
		return "", errors.Join(ErrUnmet, c.Once.Remove(ctx, linkName(name, number)))
	}
	if len(all) > keptLinks {
		old := all[2:]
		Each(len(old), func(i int) { _ = c.Once.Remove(ctx, linkName(name, old[i].number)) }) // else the next time
	}
	return all[0].tag, nil
}

// Remove implements Space.
func (c chain) Remove(ctx context.Context, name string) error { return c.Once.Remove(ctx, name) }
