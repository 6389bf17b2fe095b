package handler

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"

	"github.com/tombolo-iac/tombolo/addr"
)

// Output is a message of a program during a call, without the call's secrets.
type Output struct {
	// Object is the object of the call; it is zero for calls of the provider as a whole.
	Object addr.Object
	// Label contains type and action.
	Label string
	Line  string
	Level slog.Level
	// IsProgress means that the line reports the progress of the call: a fraction of 1, negative if unknown.
	IsProgress bool
	Fraction   float64
}

const (
	// maxLines and maxText limit the messages of one call. Messages of failures are also stored elsewhere.
	maxLines = 5000
	maxText  = 1 << 20
)

// output forwards the messages of the program during one call. Its methods are not called concurrently.
type output struct {
	request  *request
	expected string
	lines    int
	text     int
}

// line forwards a line of standard error. The line may have one of the two forms of plugins' log lines: `[WARN] text`,
// or a JSON object with @level and @message. An object with @progress, a number up to 1, reports progress.
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

// message returns a report of progress as text.
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
