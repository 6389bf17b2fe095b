package program

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	programs "github.com/tombolo-iac/tombolo/internal/program"
	"github.com/tombolo-iac/tombolo/internal/program/talk"
	"github.com/tombolo-iac/tombolo/internal/regex"
)

// Text from the program is shown without secrets: without values of the argument secrets, and without contents of
// states and journals, which are encoded in base64.

// minSecret is the minimum length of a secret that is removed from texts. Shorter ones would match everywhere.
const minSecret = 4

// mostText is the maximum size of a text of the program that is shown, in bytes.
const mostText = 8 << 10

// content matches texts that may be a part of a state.
var content = regex.Lazy(`[A-Za-z0-9+/_-]{80,}={0,2}`)

// variants returns the encodings in which secrets may appear, longest first.
func variants(secrets map[string]string) (list []string) {
	add := func(text string) {
		if len(text) >= minSecret && !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	for _, whole := range secrets {
		for _, one := range append(strings.Split(whole, "\n"), whole) {
			one = strings.TrimSpace(one)
			add(one)
			if len(one) < minSecret {
				continue
			}
			quoted, _ := json.Marshal(one)
			add(string(bytes.Trim(quoted, `"`)))
			add(url.QueryEscape(one))
			add(url.PathEscape(one))
			add(base64.StdEncoding.EncodeToString([]byte(one)))
		}
	}
	slices.SortFunc(list, func(a, b string) int { return len(b) - len(a) })
	return list
}

// safe returns a text of the program without secrets.
func (c *client) safe(text string) string {
	for _, secret := range c.secrets {
		text = strings.ReplaceAll(text, secret, "(sensitive value)")
	}
	text = content().ReplaceAllStringFunc(text, func(found string) string {
		return fmt.Sprintf("(%d characters)", len(found))
	})
	if len(text) > mostText {
		text = "(...) " + strings.ToValidUTF8(text[len(text)-mostText:], "")
	}
	return text
}

// excerpt returns the beginning of a line that the program printed.
func (c *client) excerpt(line []byte) string { return programs.Excerpt([]byte(c.safe(string(line)))) }

// printed handles a line of standard error.
func (c *client) printed(line string) {
	line = c.safe(line)
	c.o.Log("program: %s", line)
	c.keepLine(&line)
}

// keepLine keeps a line for the error of the current call; nil discards all lines.
func (c *client) keepLine(line *string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if line == nil {
		c.stderrLines = nil
		return
	}
	if c.stderrLines = append(c.stderrLines, *line); len(c.stderrLines) > 2*heardLines {
		c.stderrLines = slices.Clone(c.stderrLines[heardLines:])
	}
}

// problem returns an error of the program, with its standard error during the call.
func (c *client) problem(format string, args ...any) error {
	c.mu.Lock()
	end := talk.Tail([]byte(strings.Join(c.stderrLines, "\n")))
	c.mu.Unlock()
	return fmt.Errorf("the program %s: %s%s", c.shown, c.safe(fmt.Sprintf(format, args...)), indented(end))
}

func indented(message string) string {
	if message == "" {
		return ""
	}
	return "\n\nIt printed:\n  " + strings.ReplaceAll(message, "\n", "\n  ")
}

// shown returns a command as messages show it.
func shown(words []string) string {
	text := strings.Join(words, " ")
	if len(text) > 200 {
		text = strings.ToValidUTF8(text[:200], "") + "..."
	}
	return fmt.Sprintf("%q", text)
}
