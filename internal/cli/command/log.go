package command

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"unicode"

	"github.com/tombolo-iac/tombolo/internal/host"
)

// log makes the log that the environment asks for: TF_LOG is its level (trace, debug, info, warn, error, json for all in JSON, off), which a more
// special variable replaces for a part of the program; TF_LOG_PATH is a file to append to instead of the standard error output.
func (a *App) log(special string) *slog.Logger {
	wish := strings.ToLower(a.Getenv(special))
	if wish == "" {
		wish = strings.ToLower(a.Getenv("TF_LOG"))
	}
	level, ok := map[string]slog.Level{
		"trace": host.LevelTrace, "debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError, "json": host.LevelTrace,
	}[wish]
	switch {
	case wish == "" || wish == "off":
		return slog.New(slog.DiscardHandler)
	case !ok:
		level = host.LevelTrace // as in Terraform, a wish that is not understood gets everything
	}
	to := a.logFile()
	if strings.EqualFold(a.Getenv("TF_LOG"), "json") {
		return slog.New(slog.NewJSONHandler(to, &slog.HandlerOptions{Level: level, ReplaceAttr: jsonNames}))
	}
	return slog.New(&lineHandler{to: to, level: level, mu: new(sync.Mutex)})
}

// logFile opens the file of the log; the standard error output when there is none.
func (a *App) logFile() io.Writer {
	path := a.Getenv("TF_LOG_PATH")
	if path == "" {
		return a.Err
	}
	f, err := OpenAppend(path)
	if err != nil {
		fmt.Fprintf(a.Err, "The log file %s, which TF_LOG_PATH names, cannot be opened: %s\n", path, err)
		return io.Discard
	}
	return f // open until the process ends
}

func levelName(l slog.Level) string {
	if l < slog.LevelDebug {
		return "TRACE"
	}
	return l.String()
}

// jsonNames gives the fields of a record the names that the field's logs have.
func jsonNames(groups []string, a slog.Attr) slog.Attr {
	if len(groups) > 0 {
		return a
	}
	switch a.Key {
	case slog.TimeKey:
		return slog.String("@timestamp", a.Value.Time().Format("2006-01-02T15:04:05.000000Z07:00"))
	case slog.LevelKey:
		return slog.String("@level", strings.ToLower(levelName(a.Value.Any().(slog.Level))))
	case slog.MessageKey:
		a.Key = "@message"
	}
	return a
}

// lineHandler writes a record a line: time, level, message, attributes.
type lineHandler struct {
	to    io.Writer
	level slog.Level
	attrs []slog.Attr
	mu    *sync.Mutex // one line at a time
}

// Enabled implements slog.Handler.
func (h *lineHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= h.level }

// Handle implements slog.Handler.
func (h *lineHandler) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %-7s %s", r.Time.Format("2006-01-02T15:04:05.000Z0700"), "["+levelName(r.Level)+"]", oneLine(r.Message))
	separator := ": "
	add := func(a slog.Attr) bool {
		text := a.Value.String()
		if strings.ContainsAny(text, " \"") || strings.ContainsFunc(text, unprintable) {
			text = fmt.Sprintf("%q", text)
		}
		b.WriteString(separator + a.Key + "=" + text)
		separator = " "
		return true
	}
	for _, a := range h.attrs {
		add(a)
	}
	r.Attrs(add)
	b.WriteByte('\n')
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := io.WriteString(h.to, b.String())
	return err
}

// unprintable finds controls, old and new, and what changes the direction of writing.
func unprintable(r rune) bool { return !unicode.IsPrint(r) }

// oneLine keeps what comes from outside from making lines or controls of its own.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unprintable(r) {
			return ' '
		}
		return r
	}, text)
}

// WithAttrs implements slog.Handler.
func (h *lineHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &lineHandler{to: h.to, level: h.level, attrs: append(append([]slog.Attr{}, h.attrs...), attrs...), mu: h.mu}
}

// WithGroup implements slog.Handler; no group is ever opened here.
func (h *lineHandler) WithGroup(string) slog.Handler { return h }
