package host

import (
	"context"
	"io"
	"log"
	"log/slog"

	hclog "github.com/hashicorp/go-hclog"
)

// hcLogger lets go-plugin log to slog.
type hcLogger struct {
	log  *slog.Logger
	name string
	args []any
}

var levels = map[hclog.Level]slog.Level{
	hclog.NoLevel: slog.LevelInfo, hclog.Trace: LevelTrace, hclog.Debug: slog.LevelDebug,
	hclog.Info: slog.LevelInfo, hclog.Warn: slog.LevelWarn, hclog.Error: slog.LevelError,
}

// Log implements hclog.Logger.
func (l *hcLogger) Log(level hclog.Level, msg string, args ...any) {
	to, ok := levels[level]
	if !ok || !l.log.Enabled(context.Background(), to) {
		return
	}
	if l.name != "" {
		args = append([]any{"logger", l.name}, args...)
	}
	l.log.Log(context.Background(), to, msg, append(args, l.args...)...)
}

// Trace and the other levels implement hclog.Logger.
func (l *hcLogger) Trace(msg string, args ...any) { l.Log(hclog.Trace, msg, args...) }
func (l *hcLogger) Debug(msg string, args ...any) { l.Log(hclog.Debug, msg, args...) }
func (l *hcLogger) Info(msg string, args ...any)  { l.Log(hclog.Info, msg, args...) }
func (l *hcLogger) Warn(msg string, args ...any)  { l.Log(hclog.Warn, msg, args...) }
func (l *hcLogger) Error(msg string, args ...any) { l.Log(hclog.Error, msg, args...) }

func (l *hcLogger) enabled(level hclog.Level) bool {
	return l.log.Enabled(context.Background(), levels[level])
}

// IsTrace and the others implement hclog.Logger.
func (l *hcLogger) IsTrace() bool { return l.enabled(hclog.Trace) }
func (l *hcLogger) IsDebug() bool { return l.enabled(hclog.Debug) }
func (l *hcLogger) IsInfo() bool  { return l.enabled(hclog.Info) }
func (l *hcLogger) IsWarn() bool  { return l.enabled(hclog.Warn) }
func (l *hcLogger) IsError() bool { return l.enabled(hclog.Error) }

// ImpliedArgs implements hclog.Logger.
func (l *hcLogger) ImpliedArgs() []any { return l.args }

// With implements hclog.Logger.
func (l *hcLogger) With(args ...any) hclog.Logger {
	return &hcLogger{log: l.log, name: l.name, args: append(append([]any{}, l.args...), args...)}
}

// Name implements hclog.Logger.
func (l *hcLogger) Name() string { return l.name }

// Named implements hclog.Logger.
func (l *hcLogger) Named(name string) hclog.Logger {
	if l.name != "" {
		name = l.name + "." + name
	}
	return l.ResetNamed(name)
}

// ResetNamed implements hclog.Logger.
func (l *hcLogger) ResetNamed(name string) hclog.Logger {
	return &hcLogger{log: l.log, name: name, args: l.args}
}

// SetLevel implements hclog.Logger; the level is that of the log behind it.
func (l *hcLogger) SetLevel(hclog.Level) {}

// GetLevel implements hclog.Logger.
func (l *hcLogger) GetLevel() hclog.Level {
	for _, level := range []hclog.Level{hclog.Trace, hclog.Debug, hclog.Info, hclog.Warn} {
		if l.enabled(level) {
			return level
		}
	}
	return hclog.Error
}

// StandardLogger implements hclog.Logger.
func (l *hcLogger) StandardLogger(o *hclog.StandardLoggerOptions) *log.Logger {
	return log.New(l.StandardWriter(o), "", 0)
}

// StandardWriter implements hclog.Logger.
func (l *hcLogger) StandardWriter(*hclog.StandardLoggerOptions) io.Writer {
	return lineWriter(func(text string) { l.Info(text) })
}
