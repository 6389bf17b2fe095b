package external

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/tombolo-iac/tombolo/internal/program"
)

// These functions return advice for errors: sentences with a leading space, or "" if there is none. They concern
// mistakes of users who expect a shell, but programs are run without one.

// lookupAdvice returns advice for a program that was not found or is not an executable file.
func (c *command) lookupAdvice(err *program.LookupError) string {
	name := err.Program
	slash := strings.ContainsAny(name, `/\`)
	switch {
	case errors.Is(err.Err, fs.ErrPermission) && c.exists(name):
		return fmt.Sprintf(" Make it executable (chmod +x), or run it with its interpreter: [\"sh\", %q].", name)
	case strings.HasPrefix(name, "~"):
		return fmt.Sprintf(" No shell is used that would replace ~. Write pathexpand(%q).", name)
	case strings.ContainsAny(name, "|&;<>`") || strings.Contains(name, "$("):
		return fmt.Sprintf(" No shell is used. To use one, write [\"sh\", \"-c\", %q].", name)
	case len(strings.Fields(name)) > 1:
		return fmt.Sprintf(" No shell is used that would split the words. Write each word as an element: %s.",
			literal(strings.Fields(name)))
	case strings.Contains(name, "$"):
		return " No shell is used that would replace variables."
	case !slash && c.exists(name):
		return fmt.Sprintf(
			" The current directory has a file of that name. Write \"./%s\", or in a module \"${path.module}/%s\".",
			name, name)
	case slash && c.dir != "" && !filepath.IsAbs(name) && c.exists(filepath.Join(c.dir, name)):
		return fmt.Sprintf(" The directory working_dir has a file of that name, but it is not searched. Write "+
			"abspath(%q).",
			filepath.Join(c.dir, name))
	}
	return ""
}

// exists reports whether a file exists, with a name resolved like names with a slash.
func (c *command) exists(name string) bool {
	if !filepath.IsAbs(name) {
		name = filepath.Join(c.base, name)
	}
	_, err := os.Stat(name)
	return err == nil
}

// literal returns a list of strings in configuration syntax.
func literal(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = fmt.Sprintf("%q", w)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// startAdvice returns advice for a file that the system cannot execute.
func startAdvice(err *program.StartError) string {
	advice := err.Advice()
	if advice == "" {
		return ""
	}
	if errors.Is(err.Err, syscall.ENOEXEC) {
		advice += fmt.Sprintf(" Or run it with its interpreter: [\"sh\", %q].", err.Path)
	}
	return " " + advice
}

// answerAdvice returns advice for invalid output, which must be a JSON object, with strings only if ofStrings is set.
// The error of encoding/json, which users search for, does not show the cause.
func answerAdvice(stdout []byte, ofStrings bool) string {
	if bytes.HasPrefix(bytes.TrimSpace(stdout), []byte("{'")) {
		return " This is a Python dictionary, not JSON. Write print(json.dumps(...))."
	}
	var object map[string]json.RawMessage
	if !ofStrings || json.Unmarshal(stdout, &object) != nil {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		switch kind := program.Kind(object[name]); kind {
		case "a string", "null":
		case "an object", "an array":
			return fmt.Sprintf(
				" The value of \"%s\" is %s. Print it as a string of JSON, and decode it with jsondecode.",
				program.Excerpt([]byte(name)), kind)
		default:
			return fmt.Sprintf(" The value of \"%s\" is %s. Print it as a string.", program.Excerpt([]byte(name)), kind)
		}
	}
	return ""
}
