package handler

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"

	"github.com/tombolo-iac/tombolo/addr"
)

// Output is something that a program said while it worked, without what is secret in the call.
type Output struct {
	// Object is the object of the call; zero when the call is about the provider as a whole.
	Object addr.Object
	// Label names type and action.
	Label string
	Line  string
	Level slog.Level
	// IsProgress means that the line is about how far the call is: Fraction of 1, negative when that is unknown.
	IsProgress bool
	Fraction   float64
}

const (
	// maxLines and maxText limit the messages of one call. Messages of failures are also kept elsewhere.
	maxLines = 5000
	maxText  = 1 << 20
)

// output passes on the messages of the program of one call. Lines come from one goroutine at a time.
type output struct {
	request  *request
	expected string
	lines    int
	text     int
}

// line passes on a line of standard error. It may be one of the two forms that log lines of plugins have: `[WARN]
// text`, or a JSON object with @level and @message. Such an object with @progress, a number up to 1, reports progress.
func (o *output) line(line string) {
	if o.request.h.opts.Output == nil && o.request.progress == nil {
		return
	}
	if strings.HasPrefix(line, "{") {
		var entry struct {
			Level    string   `json:"@level"`
			Message  *string  `json:"@message"`
			Progress *float64 `json:"@progress"`
		}
		if json.Unmarshal([]byte(line), &entry) == nil && (entry.Message != nil || entry.Progress != nil) {
			text := ""
			if entry.Message != nil {
				text = *entry.Message
			}
			if entry.Progress != nil {
				o.progress(text, *entry.Progress)
			} else {
				o.send(Output{Line: text, Level: level(entry.Level)})
			}
			return
		}
	}
	if rest, ok := strings.CutPrefix(line, "["); ok {
		if word, text, ok := strings.Cut(rest, "]"); ok && levels[strings.ToLower(word)] != nil {
			o.send(Output{Line: strings.TrimPrefix(text, " "), Level: level(word)})
			return
		}
	}
	o.send(Output{Line: line})
}

func (o *output) progress(text string, fraction float64) {
	if fraction < 0 || fraction > 1 || fraction != fraction {
		fraction = -1
	}
	o.send(Output{Line: text, IsProgress: true, Fraction: fraction})
}

func (o *output) send(out Output) {
	tell := o.request.progress
	if !out.IsProgress || out.Line == "" && out.Fraction < 0 {
		tell = nil
	}
	if o.request.h.opts.Output == nil && tell == nil || o.lines > maxLines || o.text > maxText {
		return
	}
	o.lines++
	o.text += len(out.Line)
	if o.lines > maxLines || o.text > maxText {
		out = Output{Line: "(the output is too long; the rest is not shown)", Level: slog.LevelWarn}
	}
	out.Label, out.Line = o.request.label(), o.request.redact(out.Line)
	out.Object = o.request.about
	switch {
	case tell != nil:
		tell(out.message())
	default:
		o.request.h.opts.Output(out)
	}
}

// message is a line of progress in words.
func (o Output) message() string {
	if !o.IsProgress || o.Fraction < 0 {
		return o.Line
	}
	return strings.TrimSpace(fmt.Sprintf("%s [%.0f%%]", o.Line, 100*o.Fraction))
}

func ptr(l slog.Level) *slog.Level { return &l }

var levels = map[string]*slog.Level{
	"trace": ptr(slog.LevelDebug - 4), "debug": ptr(slog.LevelDebug), "info": ptr(slog.LevelInfo),
	"warn": ptr(slog.LevelWarn), "error": ptr(slog.LevelError),
}

func level(word string) slog.Level {
	if l := levels[strings.ToLower(word)]; l != nil {
		return *l
	}
	return slog.LevelInfo
}
