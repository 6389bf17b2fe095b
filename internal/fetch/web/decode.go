package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

const mediaJSON = "application/json"

// maxDepth limits the nesting of a document; those of the protocols have five levels.
const maxDepth = 64

// maxMembers limits one list or object; a name and its value count as one each. The largest ones are lists of versions.
const maxMembers = 100_000

// JSON decodes a document into a value.
func (c *Client) JSON(ctx context.Context, r Request, into any) (Document, error) {
	r.Accept = mediaJSON
	doc, err := c.Get(ctx, r)
	if err != nil {
		return doc, err
	}
	if err := Decode(doc.Body, into); err != nil {
		return doc, fmt.Errorf("%s: %w", bare(doc.URL), err)
	}
	return doc, nil
}

// Decode decodes JSON strictly: it must be UTF-8, a single value, and have no duplicate names in an object, even in
// different case, because parsers differ in which one they use. It ignores unknown members.
func Decode(text []byte, into any) error {
	if !utf8.Valid(text) {
		return errors.New("the answer is not JSON: it is not UTF-8")
	}
	if err := checkJSON(text); err != nil {
		return fmt.Errorf("the answer is not JSON of the expected form: %w", err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) {
			return fmt.Errorf("the answer has %s where %s is expected (%q)", found(kind.Value), expected(kind),
				kind.Field)
		}
		return fmt.Errorf("the answer is not JSON of the expected form: %w", err)
	}
	return nil
}

func found(value string) string {
	kind, literal, _ := strings.Cut(value, " ") // for a number, its text may follow
	switch kind {
	case "object":
		return "an object"
	case "array":
		return "a list"
	case "bool":
		return "a boolean"
	}
	return strings.TrimSpace("a " + kind + " " + literal)
}

func expected(e *json.UnmarshalTypeError) string {
	switch kind := e.Type.Kind().String(); kind {
	case "struct", "map":
		return "an object"
	case "slice", "array":
		return "a list"
	default:
		return "a " + kind
	}
}

// checkJSON checks a text without recursion.
func checkJSON(text []byte) error {
	type level struct {
		names map[string]bool // of an object; nil for a list
		value bool            // a name was read, and its value is next
		count int             // number of its members
	}
	var open []level
	reader := json.NewDecoder(bytes.NewReader(text))
	reader.UseNumber()
	for {
		token, err := reader.Token()
		if errors.Is(err, io.EOF) {
			return nil // the decoder detects a premature end
		}
		if err != nil {
			return err
		}
		if top := len(open) - 1; top >= 0 {
			if open[top].count++; open[top].count > maxMembers {
				return fmt.Errorf("a list or object in it has more than %d members", maxMembers)
			}
		}
		if top := len(open) - 1; top >= 0 && open[top].names != nil && token != json.Delim('}') {
			if name, ok := token.(string); ok && !open[top].value {
				folded := strings.ToLower(strings.ToUpper(name)) // as parsers do, for example with the long s
				if open[top].names[folded] {
					return fmt.Errorf("an object has the member %.100q twice", name)
				}
				open[top].names[folded], open[top].value = true, true
				continue
			}
			open[top].value = false
		}
		switch token {
		case json.Delim('{'):
			open = append(open, level{names: map[string]bool{}})
		case json.Delim('['):
			open = append(open, level{})
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
		}
		if len(open) > maxDepth {
			return fmt.Errorf("it is nested more than %d levels deep", maxDepth)
		}
	}
}
