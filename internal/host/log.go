package host

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// LevelTrace is the level below debug in logs of providers.
const LevelTrace = slog.LevelDebug - 4

// levels maps the names of levels in JSON logs of plugins; in upper case, they also begin lines of text.
var levels = map[string]slog.Level{"trace": LevelTrace, "debug": slog.LevelDebug, "info": slog.LevelInfo,
	"warn": slog.LevelWarn, "error": slog.LevelError}

// logStderr reads the plugin's standard error to its end, and logs it line by line.
func (r *running) logStderr(from io.Reader) {
	log := r.log.With("logger", filepath.Base(r.plugin.Program))
	in := bufio.NewReaderSize(from, 64<<10)
	crashed, goesOn := false, false
	for {
		line, isPrefix, err := in.ReadLine()
		if err != nil {
			return
		}
		text := string(line)
		if isPrefix || goesOn { // part of a long line
			log.Debug(text)
			goesOn = isPrefix
			continue
		}
		if logged(log, line) {
			continue
		}
		crashed = crashed || strings.HasPrefix(text, "panic: ") || strings.HasPrefix(text, "fatal error: ")
		log.Log(context.Background(), levelOf(text, crashed), text)
	}
}

// levelOf returns the level of a line of text. The lines after a panic belong to it.
func levelOf(line string, crashed bool) slog.Level {
	if name, _, ok := strings.Cut(strings.TrimPrefix(line, "["), "]"); ok && strings.HasPrefix(line, "[") {
		if level, ok := levels[strings.ToLower(name)]; ok && name == strings.ToUpper(name) {
			return level
		}
	}
	if crashed {
		return slog.LevelError
	}
	return slog.LevelDebug
}

// logged logs a line that is a JSON log record, and reports whether it is one.
func logged(log *slog.Logger, line []byte) bool {
	var record map[string]any
	if len(line) == 0 || line[0] != '{' || json.Unmarshal(line, &record) != nil {
		return false
	}
	message, _ := record["@message"].(string)
	name, _ := record["@level"].(string)
	level, ok := levels[strings.ToLower(name)]
	if !ok {
		level = slog.LevelDebug
	}
	if !log.Enabled(context.Background(), level) {
		return true
	}
	if at, ok := record["@timestamp"].(string); ok {
		if parsed, err := time.Parse("2006-01-02T15:04:05.000000Z07:00", at); err == nil {
			record["timestamp"] = parsed.Format("2006-01-02T15:04:05.000Z0700")
		}
	}
	var args []any
	for _, key := range slices.Sorted(maps.Keys(record)) {
		if key != "@message" && key != "@level" && key != "@timestamp" {
			args = append(args, key, record[key])
		}
	}
	log.Log(context.Background(), level, message, args...)
	return true
}
