package conformance

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// An Intended is an intended difference, an entry of intended.json. One that occurs in none of its cases fails the
// test, so the list stays current.
type Intended struct {
	Case   string `json:"case"` // name of a case; * matches any text
	At     string `json:"at"`   // path of the difference; * matches any text
	Step   int    `json:"step"` // line of the step in the steps section; 0 for every step
	Reason string `json:"reason"`
	// Command, Terraform and Tombolo restrict it to steps with such a text, and to differences with such values. ""
	// matches any text.
	Command   string `json:"command"`
	Terraform string `json:"terraform"`
	Tombolo   string `json:"tombolo"`
	// Ends is set if a run of terraform has failed by itself: the rest of the case cannot be compared.
	Ends bool `json:"ends"`
	// Sometimes is set if terraform's result varies: the difference may not occur.
	Sometimes bool `json:"sometimes"`

	shown bool
}

func loadIntended(path string) ([]*Intended, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var list []*Intended
	dec := json.NewDecoder(strings.NewReader(string(data)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&list); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if dec.More() {
		return nil, fmt.Errorf("%s: something follows the list", path)
	}
	for i, in := range list {
		if in.Case == "" || in.At == "" || in.Reason == "" {
			return nil, fmt.Errorf("%s: entry %d needs case, at and reason", path, i+1)
		}
	}
	return list, nil
}

// covers reports whether in matches the difference d of a step.
func (in *Intended) covers(d Difference, s Step) bool {
	like := func(pattern, text string) bool { return pattern == "" || wildcard(pattern, text) }
	return (in.Step == 0 || in.Step == s.Line) && wildcard(in.Case, d.Case) && wildcard(in.At, d.Path) &&
		like(in.Command, s.Text) && like(in.Terraform, d.Terraform) && like(in.Tombolo, d.Tombolo)
}

// wildcard matches text against a pattern in which * matches any text. Paths contain brackets and dots, which
// path.Match and regular expressions would interpret.
func wildcard(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == text
	}
	text, ok := strings.CutPrefix(text, parts[0])
	if !ok {
		return false
	}
	for _, part := range parts[1 : len(parts)-1] {
		_, after, found := strings.Cut(text, part)
		if !found {
			return false
		}
		text = after
	}
	return strings.HasSuffix(text, parts[len(parts)-1])
}
