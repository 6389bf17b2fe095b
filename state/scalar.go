package state

import (
	"errors"
	"fmt"
	"strconv"
)

// The methods for scalars treat null as absent, as everywhere in the state format.

func (d *decoder) text() (string, error) {
	if null, err := d.null(); null || err != nil {
		return "", err
	}
	b, err := d.string()
	return string(b), err
}

func (d *decoder) texts() (out []string, err error) {
	if null, err := d.null(); null || err != nil {
		return nil, err
	}
	err = d.array(func(int) error {
		t, err := d.text()
		out = append(out, t)
		return err
	})
	return out, err
}

// word decodes a text that is likely to be repeated.
func (d *decoder) word() (string, error) {
	return intern(d, &d.words, func(s string) (string, error) { return s, nil })
}

// intern decodes a text and returns its parsed form, which is computed once for each text.
func intern[T any](d *decoder, known *map[string]T, parse func(string) (T, error)) (T, error) {
	var none T
	if null, err := d.null(); null || err != nil {
		return none, err
	}
	at := d.offset()
	b, err := d.string()
	if err != nil {
		return none, err
	}
	if v, ok := (*known)[string(b)]; ok {
		return v, nil
	}
	if len(b) == 0 {
		return none, nil
	}
	text := string(b)
	v, err := parse(text)
	if err != nil {
		return none, &scanError{at, err.Error()}
	}
	if *known == nil {
		*known = map[string]T{}
	}
	(*known)[text] = v
	return v, nil
}

func (d *decoder) bool() (bool, error) {
	c, err := d.next()
	if err != nil {
		return false, err
	}
	switch c {
	case 'n':
		_, err = d.null()
		return false, err
	case 't':
		return true, d.literal("true")
	case 'f':
		return false, d.literal("false")
	}
	return false, d.errorf("expected true or false, found %s", describe(c))
}

// uint decodes a whole number that is not negative; null is 0.
func (d *decoder) uint(most uint64) (uint64, error) {
	c, err := d.next()
	if err != nil {
		return 0, err
	}
	if c == 'n' {
		_, err := d.null()
		return 0, err
	}
	at := d.offset()
	if c != '-' && (c < '0' || c > '9') {
		return 0, d.errorf("expected a whole number that is not negative, found %s", describe(c))
	}
	b, err := d.number(d.scratch[:0])
	if err != nil {
		return 0, err
	}
	d.scratch = b
	n, err := strconv.ParseUint(string(b), 10, 64)
	if errors.Is(err, strconv.ErrSyntax) {
		return 0, &scanError{at, fmt.Sprintf("expected a whole number that is not negative, found %s", b)}
	}
	if err != nil || n > most {
		return 0, &scanError{at, fmt.Sprintf("the number %s is too large", b)}
	}
	return n, nil
}
