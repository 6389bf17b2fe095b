package command

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/internal/host"
)

// log returns the log that the environment configures. TF_LOG is its level (trace, debug, info, warn, error, off, or
// json for everything as JSON), which the more specific variable overrides for a part of the program. TF_LOG_PATH is a
// file to append to instead of standard error.
func (a *App) log(special string) *slog.Logger {
	wish := strings.ToLower(a.Getenv(special))
	if wish == "" {
		wish = strings.ToLower(a.Getenv("TF_LOG"))
	}
	level, ok := map[string]slog.Level{
		"trace": host.LevelTrace, "debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn,
		"error": slog.LevelError, "json": host.LevelTrace,
	}[wish]
	switch {
	case wish == "" || wish == "off":
		return slog.New(slog.DiscardHandler)
	case !ok: // as in Terraform, an invalid level logs everything
		level = host.LevelTrace
		a.logWarning("[WARN] Invalid log level: %q. Defaulting to level: TRACE. Valid levels are: TRACE, DEBUG, "+
			"INFO, WARN, ERROR, OFF and, for TF_LOG, JSON.", strings.ToUpper(wish))
	}
	to := a.logFile()
	if strings.EqualFold(a.Getenv("TF_LOG"), "json") {
		return slog.New(slog.NewJSONHandler(to, &slog.HandlerOptions{Level: level, ReplaceAttr: jsonNames}))
	}
	return slog.New(&lineHandler{to: to, level: level, mu: new(sync.Mutex)})
}

// logFile opens the file of the log, or returns standard error if none is configured.
func (a *App) logFile() io.Writer {
	path := a.Getenv("TF_LOG_PATH")
	if path == "" {
		return a.Err
	}
	f, err := OpenAppend(path)
	if err != nil {
		a.logWarning("Error opening log file: %s. The log is written to standard error instead.", err)
		return a.Err
	}
	return f // it stays open until the process ends
}

// logWarning reports a problem of the log once.
func (a *App) logWarning(format string, args ...any) {
	if !a.logWarned {
		fmt.Fprintf(a.Err, format+"\n", args...)
	}
	a.logWarned = true
}

// LogStart logs the program's version and arguments.
func (a *App) LogStart(args []string) {
	a.CoreLog, a.ProviderLog = a.log("TF_LOG_CORE"), a.log("TF_LOG_PROVIDER")
	log := a.CoreLog
	log.Info(a.Title + " version: " + strings.TrimPrefix(a.StateVersion(), a.Title+" "))
	log.Info("Go runtime version: " + runtime.Version())
	log.Info(fmt.Sprintf("CLI args: %q", withoutValues(args)))
	if a.StartDir != "" {
		log.Info("Working directory: " + a.StartDir)
	}
}

// withoutValues removes possible secrets from arguments: the values of variables and of backend settings.
func withoutValues(args []string) []string {
	out := slices.Clone(args)
	for i, arg := range out {
		name, value, joined := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		switch {
		case !strings.HasPrefix(arg, "-") || name != "var" && name != "backend-config":
		case joined:
			out[i] = "-" + name + "=" + withoutValue(value)
		case i+1 < len(out):
			out[i+1] = withoutValue(out[i+1])
		}
	}
	return out
}

func withoutValue(setting string) string {
	if name, _, ok := strings.Cut(setting, "="); ok {
		return name + "=..."
	}
	return setting
}

// logged is an event sink that also logs the kind and the object of events, without values.
type logged struct {
	event.Sink
	log *slog.Logger
}

// Send implements event.Sink.
func (l logged) Send(e event.Event) {
	kind := strings.TrimPrefix(fmt.Sprintf("%T", e), "event.")
	switch e := e.(type) {
	case event.RefreshStart:
		l.log.Debug(kind, "object", e.Object.String())
	case event.RefreshDone:
		l.log.Debug(kind, "object", e.Object.String())
	case event.OperationStart:
		l.log.Debug(kind, "object", e.Object.String())
	case event.OperationDone:
		l.log.Debug(kind, "object", e.Object.String())
	default:
		l.log.Log(context.Background(), host.LevelTrace, kind)
	}
	l.Sink.Send(e)
}

func levelName(l slog.Level) string {
	if l < slog.LevelDebug {
		return "TRACE"
	}
	return l.String()
}

// jsonNames renames the fields of a record to the usual names in plugin logs.
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

// lineHandler writes a record as a line: time, level, message, attributes.
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
	fmt.Fprintf(&b, "%s %-7s %s", r.Time.Format("2006-01-02T15:04:05.000Z0700"), "["+levelName(r.Level)+"]",
		oneLine(r.Message))
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

// unprintable reports control characters and characters that change the direction of text.
func unprintable(r rune) bool { return !unicode.IsPrint(r) }

// oneLine escapes newlines and control characters in external text.
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

// WithGroup implements slog.Handler. No group is ever opened here.
func (h *lineHandler) WithGroup(string) slog.Handler { return h }
