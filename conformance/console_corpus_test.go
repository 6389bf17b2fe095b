package conformance

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// exchange is one entry of a console transcript: the input and terraform's answer. In the file, lines of input begin
// with "> " or, in continuations, ": "; lines of output with two spaces; an error is its summary after "! ". "~ " is
// followed by the reason for a different answer of tombolo, and then that answer. "#" begins a comment.
type exchange struct {
	input    []string
	answer   answer
	recorded bool
	reason   string // of an intended difference
	ours     answer // if there is a reason
	line     int
	comments []string // lines before it
}

type answer struct {
	text  string
	error string // the summary of the first error
}

func (a answer) String() string {
	if a.error != "" {
		return "! " + a.error
	}
	return "  " + strings.ReplaceAll(a.text, "\n", "\n  ")
}

func (e *exchange) expression() string { return strings.Join(e.input, "\n") }

// want returns the expected answer of tombolo.
func (e *exchange) want() answer {
	if e.reason != "" {
		return e.ours
	}
	return e.answer
}

// transcript is a file of the corpus.
type transcript struct {
	name      string // without directory and extension
	file      string
	exchanges []*exchange
	rest      []string // comments at the end
}

func loadTranscripts(dir string) ([]*transcript, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		return nil, err
	}
	var all []*transcript
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		t, err := parseTranscript(string(content))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		t.file, t.name = file, strings.TrimSuffix(filepath.Base(file), ".txt")
		all = append(all, t)
	}
	return all, nil
}

func parseTranscript(content string) (*transcript, error) {
	t := &transcript{}
	var current *exchange
	var to *answer
	var lines []string
	flush := func() {
		if to != nil && lines != nil {
			to.text = strings.Join(lines, "\n")
			if to == &current.answer {
				current.recorded = true
			}
		}
		lines = nil
	}
	for n, line := range strings.Split(strings.TrimRight(content, "\n"), "\n") {
		text := ""
		if len(line) > 2 {
			text = line[2:]
		}
		switch {
		case strings.HasPrefix(line, "> "):
			flush()
			current = &exchange{input: []string{text}, line: n + 1, comments: t.rest}
			to, t.rest = &current.answer, nil
			t.exchanges = append(t.exchanges, current)
		case strings.HasPrefix(line, "#") || line == "":
			flush()
			to = nil
			t.rest = append(t.rest, line)
		case current == nil:
			return nil, fmt.Errorf("line %d: nothing was typed yet", n+1)
		case strings.HasPrefix(line, ": ") || line == ":":
			current.input = append(current.input, text)
		case strings.HasPrefix(line, "  "):
			lines = append(lines, text)
		case strings.HasPrefix(line, "! "):
			to.error = text
			current.recorded = true
		case strings.HasPrefix(line, "~ "):
			flush()
			current.reason, to = text, &current.ours
		default:
			return nil, fmt.Errorf("line %d is none of a transcript: %s", n+1, line)
		}
	}
	flush()
	return t, nil
}

func (t *transcript) write() error {
	var b bytes.Buffer
	for _, e := range t.exchanges {
		for _, line := range e.comments {
			fmt.Fprintln(&b, line)
		}
		for i, line := range e.input {
			prefix := "> "
			if i > 0 {
				prefix = ": "
			}
			fmt.Fprintln(&b, prefix+line)
		}
		fmt.Fprintln(&b, e.answer)
		if e.reason != "" {
			fmt.Fprintln(&b, "~ "+e.reason)
			fmt.Fprintln(&b, e.ours)
		}
	}
	for _, line := range t.rest {
		fmt.Fprintln(&b, line)
	}
	return os.WriteFile(t.file, b.Bytes(), 0o644)
}
