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

// Once is a store in which an object can be created on the condition that it does not exist, and which supports no
// other condition. Its methods may be called concurrently.
type Once interface {
	// Get returns an object, or nil if it does not exist.
	Get(ctx context.Context, name string) ([]byte, error)
	// Create creates an object. It returns ErrUnmet if the object exists.
	Create(ctx context.Context, name string, data []byte) error
	// First lists the first objects with a prefix, ordered by name.
	First(ctx context.Context, prefix string, most int) ([]Entry, error)
	// Remove deletes an object. A missing object is not an error.
	Remove(ctx context.Context, name string) error
	// Name returns the name of an object in messages.
	Name(name string) string
}

// Entry is an object in a list. Its tag identifies its content among all objects of that name.
type Entry struct{ Name, Tag string }

// Chained returns a Space on a store that can create but not replace objects: an object is replaced by creating another
// one after it. The name of such a link contains the next number, so only one of the runs that saw the same last link
// can create the next one. Names are chosen so that the last link is the first in a list.
//
// Old links are removed. A run that read one of them long ago could create its successor again. Such a link has no
// predecessor or is not the last, and does not count.
//
// Parts of a journal are never replaced: each has its own name.
func Chained(o Once) Space { return chain{o} }

type chain struct{ Once }

// link is an object of a chain in a list.
type link struct {
	number uint64
	tag    string
}

const (
	// keptLinks is the number of links at which old ones are removed.
	keptLinks = 8
	// chainTries limits how often a chain is read again because it has grown.
	chainTries = 8
	// newest is the maximum number of a link.
	newest = 1 << 62
)

// linkName returns the name of a link: the higher the number, the earlier it is in a list.
func linkName(name string, number uint64) string { return fmt.Sprintf("%s/%019d", name, newest-number) }

func numberOf(name, link string) (uint64, bool) {
	text, ok := strings.CutPrefix(link, name+"/")
	n, err := strconv.ParseUint(text, 10, 64)
	return newest - n, ok && err == nil && n < newest
}

// chained reports whether an object is replaced, as the head of a journal is.
func chained(name string) bool { return strings.HasSuffix(name, "journal") }

// links lists the last links, newest first. It omits links without a predecessor if there is an older link: their
// writers had read a link that was removed since.
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

// read returns the data of a link and the tag that it replaced, or nil if it was removed.
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

// mine handles a link that exists although none was expected: it may be the result of this very write, whose response
// was lost.
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

// make creates an object. If one with the same data exists, the response to the first try was lost, and make succeeds.
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

// settled checks that a new link is the last and follows the link that it replaces. Then it removes old ones.
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
		Each(len(old), func(i int) { _ = c.Once.Remove(ctx, linkName(name, old[i].number)) }) // or by the next write
	}
	return all[0].tag, nil
}

// Remove implements Space.
func (c chain) Remove(ctx context.Context, name string) error { return c.Once.Remove(ctx, name) }
