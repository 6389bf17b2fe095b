//go:build unix

package drivers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-version"
	"github.com/hashicorp/terraform-exec/tfexec"
	tfjson "github.com/hashicorp/terraform-json"
)

// A session is one program that runs one binary in one directory. Its transcript has the results.
type session struct {
	t          *testing.T
	tf         *tfexec.Terraform
	bin, dir   string
	real       bool
	names      map[string]string // of values that differ between runs
	transcript []string
	output     *output                    // all output of the binary
	called     map[string]map[string]bool // methods, and the types of the options passed to them
}

// newSession creates a directory with the files of a configuration and a mirror with the plugin.
func newSession(t *testing.T, bin string, files map[string]string) *session {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &session{t: t, bin: bin, dir: dir, names: map[string]string{}, output: &output{},
		called: map[string]map[string]bool{}}
	for name, text := range files {
		s.write(name, text)
	}
	s.must(installWorld(s.path(".home")))
	s.tf, err = tfexec.NewTerraform(dir, bin)
	s.must(err)
	s.must(s.tf.SetEnv(s.environ()))
	s.tf.SetStdout(s.output)
	s.tf.SetStderr(s.output)
	return s
}

// installWorld creates a mirror with the plugin, and a CLI configuration that uses it, in a home directory.
func installWorld(home string) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	// A script replaces the program itself, so that the hashed file is small, and the same in every build.
	mirror := filepath.Join(home, "mirror")
	folder := filepath.Join(mirror, "registry.terraform.io/tombolo/world/1.0.0", runtime.GOOS+"_"+runtime.GOARCH)
	return errors.Join(
		os.MkdirAll(filepath.Join(home, "bin"), 0o777), os.MkdirAll(folder, 0o777),
		os.Symlink(exe, filepath.Join(home, "bin", pluginName)),
		os.WriteFile(filepath.Join(folder, pluginName), []byte("#!/bin/sh\nexec \"$HOME/bin/"+pluginName+"\" \"$@\"\n"),
			0o755),
		os.WriteFile(filepath.Join(home, "rc"),
			fmt.Appendf(nil, "provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n", mirror), 0o666),
	)
}

// environ returns the environment of the binary, in the form that the library requires.
func (s *session) environ() map[string]string {
	return map[string]string{"HOME": s.path(".home"), "PATH": os.Getenv("PATH"),
		"TF_CLI_CONFIG_FILE": s.path(".home/rc"), "CHECKPOINT_DISABLE": "1"}
}

func (s *session) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *session) path(name string) string { return filepath.Join(s.dir, filepath.FromSlash(name)) }

func (s *session) write(name, text string) {
	s.t.Helper()
	s.must(os.MkdirAll(filepath.Dir(s.path(name)), 0o777))
	s.must(os.WriteFile(s.path(name), []byte(text), 0o666))
}

func (s *session) read(name string) string {
	s.t.Helper()
	text, err := os.ReadFile(s.path(name))
	s.must(err)
	return string(text)
}

// note adds a line to the transcript.
func (s *session) note(format string, args ...any) {
	s.transcript = append(s.transcript, s.normal(fmt.Sprintf(format, args...)))
}

var (
	uuids   = regexp.MustCompile(`\b[0-9a-f]{16}\b|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	serials = regexp.MustCompile(`("serial":) \d+`)
	times   = regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.0-9]*(Z|[+-]\d\d:?\d\d| [+-]\d{4} UTC)?`)
)

// normal replaces everything that differs between runs by stable names.
func (s *session) normal(text string) string {
	text = strings.ReplaceAll(text, s.dir, "<dir>")
	text = strings.ReplaceAll(text, "__generated__ by Tombolo", "__generated__ by Terraform")
	text = serials.ReplaceAllString(text, "$1 <n>") // the number of writes differs between engines
	text = times.ReplaceAllString(text, "<time>")
	return uuids.ReplaceAllStringFunc(text, func(id string) string {
		if s.names[id] == "" {
			s.names[id] = fmt.Sprintf("<id %d>", len(s.names))
		}
		return s.names[id]
	})
}

// call calls a method of the library by its name, with a context if it takes one, and records the result.
func (s *session) call(name string, args ...any) ([]any, error) {
	s.t.Helper()
	method := reflect.ValueOf(s.tf).MethodByName(name)
	if !method.IsValid() {
		s.t.Fatalf("the library has no method %s", name)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	if method.Type().NumIn() > 0 && method.Type().In(0) == reflect.TypeFor[context.Context]() {
		args = append([]any{ctx}, args...)
	}
	if s.called[name] == nil {
		s.called[name] = map[string]bool{}
	}
	var in []reflect.Value
	var lines []string
	stream := &bytes.Buffer{}
	for i, arg := range args {
		if arg == nil { // a destination for streamed output
			arg = io.Writer(stream)
		}
		v := reflect.ValueOf(arg)
		in = append(in, v)
		if v.Kind() == reflect.Pointer && strings.HasSuffix(v.Type().Elem().Name(), "Option") {
			s.called[name][v.Type().Elem().Name()] = true
			lines = append(lines, fmt.Sprintf("%s%+v", v.Type().Elem().Name(), v.Elem()))
		} else if i > 0 && v.Kind() == reflect.String {
			lines = append(lines, v.String())
		}
	}
	var out []any
	var err error
	for _, v := range method.Call(in) {
		if v.Type() == reflect.TypeFor[error]() {
			err, _ = v.Interface().(error)
		} else {
			out = append(out, v.Interface())
		}
	}
	s.note("%s %s", name, strings.Join(lines, " "))
	for _, v := range out {
		if err == nil {
			s.noteResult(v)
		}
	}
	if stream.Len() > 0 {
		s.noteStream(stream.Bytes())
		s.tf.SetStdout(s.output) // the library continues to write there
	}
	s.note("  %s", outcome(err))
	return out, err
}

// outcome returns the part of an error that a program can use: which of the library's errors it is, or the exit code.
func outcome(err error) string {
	var exit *exec.ExitError
	var mismatch *tfexec.ErrVersionMismatch
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &mismatch):
		return "version mismatch: " + mismatch.Error()
	case errors.As(err, &exit):
		return fmt.Sprintf("exit %d", exit.ExitCode())
	}
	return "error: " + err.Error()
}

// noteResult records a result, as data if possible.
func (s *session) noteResult(v any) {
	switch v := v.(type) {
	case string:
		s.note("  = %s", strings.TrimSpace(v))
	case *tfjson.MetadataFunctions:
		for _, name := range slices.Sorted(maps.Keys(v.Signatures)) {
			switch strings.TrimPrefix(name, "core::") {
			case "format", "formatlist", "templatestring":
				continue // 1.11.4 does not have their types either
			case "base64gunzip", "cidrcontains", "convert", "urldecode":
				continue // 1.11.4 does not have it
			}
			text, err := json.Marshal(v.Signatures[name])
			s.must(err)
			s.note("  %s = %s", name, descriptions.ReplaceAll(text, nil))
		}
	case iter.Seq[tfexec.NextMessage]:
	case *version.Version:
		s.note("  = %s", v)
	case *tfjson.Plan:
		slices.SortFunc(v.RelevantAttributes, func(a, b tfjson.ResourceAttribute) int {
			return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
		})
		s.noteJSON(v)
	case *tfjson.ProviderSchemas:
		for _, p := range v.Schemas {
			p.ResourceIdentitySchemas = nil // 1.11.4 does not have them yet
		}
		s.noteJSON(v)
	default:
		s.noteJSON(v)
	}
}

func (s *session) noteJSON(v any) {
	s.t.Helper()
	withoutIdentities(reflect.ValueOf(v))
	text, err := json.MarshalIndent(v, "", " ")
	s.must(err)
	s.note("  = %s", details.ReplaceAll(text, nil))
}

// withoutIdentities removes the identities of objects from documents: 1.11.4 does not have them yet.
func withoutIdentities(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			withoutIdentities(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			withoutIdentities(v.Index(i))
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			withoutIdentities(it.Value())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			switch {
			case !v.Field(i).CanSet():
			case strings.Contains(v.Type().Field(i).Name, "Identity"):
				v.Field(i).SetZero()
			default:
				withoutIdentities(v.Field(i))
			}
		}
	}
}

// details matches explanations, whose wording differs between the programs.
var details = regexp.MustCompile(`"detail": "(\\.|[^"\\])*",?`)

// descriptions matches texts for people, whose wording differs between the programs.
var descriptions = regexp.MustCompile(`"description":"(\\.|[^"\\])*",?`)

// noteStream records a stream of messages: their types and subjects, but neither their words nor their order, which is
// unspecified.
func (s *session) noteStream(stream []byte) {
	var list []string
	for line := range bytes.Lines(stream) {
		msg, err := tfjson.UnmarshalLogMessage(line)
		if err != nil {
			s.t.Errorf("no message: %s: %v", line, err)
			continue
		}
		var raw struct {
			Type       string          `json:"type"`
			Level      string          `json:"@level"`
			UI         string          `json:"ui"`
			Code       string          `json:"message_code"`
			Hook       json.RawMessage `json:"hook"`
			Change     json.RawMessage `json:"change"`
			Changes    json.RawMessage `json:"changes"`
			Outputs    json.RawMessage `json:"outputs"`
			Diagnostic *struct{ Summary, Address string }
		}
		s.must(json.Unmarshal(line, &raw))
		if onlySlowly.MatchString(raw.Type) {
			continue
		}
		text := fmt.Sprintf("  | %T %s %s %s %s %s%s%s%s", msg, raw.Level, raw.Type, raw.UI, raw.Code, raw.Hook,
			raw.Change, raw.Changes, raw.Outputs)
		if raw.Diagnostic != nil {
			text += " " + raw.Diagnostic.Summary + " " + raw.Diagnostic.Address
		}
		list = append(list, elapsed.ReplaceAllString(text, ""))
	}
	slices.Sort(list)
	for _, line := range list {
		s.note("%s", line)
	}
}

// onlySlowly matches the types of messages that are only sent on slow machines.
var onlySlowly = regexp.MustCompile(`^(state_lock_.*|apply_progress|ephemeral_op_progress)$`)

var elapsed = regexp.MustCompile(`"elapsed_seconds":[0-9.]+`)

// ok calls a method that must succeed.
func (s *session) ok(name string, args ...any) []any {
	s.t.Helper()
	out, err := s.call(name, args...)
	if err != nil {
		s.t.Errorf("%s: %v", name, err)
	}
	return out
}

// fails calls a method that must fail with a message that matches the expression.
func (s *session) fails(want, name string, args ...any) {
	s.t.Helper()
	_, err := s.call(name, args...)
	if err == nil {
		s.t.Errorf("%s gives no error", name)
	} else if !regexp.MustCompile(want).MatchString(err.Error()) {
		s.t.Errorf("%s: %v\nwhich is not %s", name, err, want)
	}
}

// is compares a result with the expected one.
func (s *session) is(what string, got, want any) {
	s.t.Helper()
	if !reflect.DeepEqual(got, want) {
		s.t.Errorf("%s is %v, want %v", what, got, want)
	}
}
