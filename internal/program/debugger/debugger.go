// Package debugger decides whether a program is started under a debugger, and with which command line, or connects to a
// program that its author has started. A user asks for it with a variable of the environment, which names one provider:
//
//	TOMBOLO_PROGRAM_DEBUG="notes=node --inspect-brk=127.0.0.1:9229"
//	TOMBOLO_PROGRAM_DEBUG="notes=unix:/home/me/notes/.debug.sock"
package debugger

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo/internal/regex"
)

// Variable is the variable of the environment.
const Variable = "TOMBOLO_PROGRAM_DEBUG"

// placeholder stands for the first word of the program's own command.
const placeholder = "{}"

// Asked reports whether the environment asks for a debugger for a provider, by its name in the manifest.
func Asked(env []string, provider string) bool {
	name, _, _ := strings.Cut(value(env), "=")
	return name == provider
}

// Command returns the command line for a program under the debugger that the environment names: its words replace the
// first word of the program, or contain {} in its place. Without a debugger for this provider it returns argv.
//
// Errors are about the variable: it has another form, or the debugger would listen on all interfaces, where other
// machines could run code with it. For a program that is already running, see Socket.
func Command(env []string, provider string, argv []string) ([]string, error) {
	text := value(env)
	if text == "" {
		return argv, nil
	}
	name, command, _ := strings.Cut(text, "=")
	words := strings.Fields(command)
	if name == "" || len(words) == 0 {
		return nil, fmt.Errorf(`%s is %q, which is not of the form "NAME=COMMAND", such as `+
			`"notes=node --inspect-brk=127.0.0.1:9229"`, Variable, text)
	}
	if name != provider {
		return argv, nil
	}
	if strings.HasPrefix(words[0], socketPrefix) {
		return nil, fmt.Errorf("%s is %q, which names no socket. Write the path of the socket on which the program "+
			"listens, such as \"%s=%s/tmp/%[3]s.sock\"", Variable, text, name, socketPrefix)
	}
	placed := false
	for i, word := range words {
		if everywhere().MatchString(word) {
			return nil, fmt.Errorf("%s has the word %q, with which other machines could reach the debugger and run "+
				"code on this one. Use 127.0.0.1 instead", Variable, word)
		}
		if strings.Contains(word, placeholder) {
			placed = true
			words[i] = strings.ReplaceAll(word, placeholder, argv[0])
		}
	}
	if !placed && len(words) == 1 && len(argv) == 1 {
		return nil, fmt.Errorf("%s has to say where the program is: its command is the single word %q, so write %s "+
			"where it belongs", Variable, argv[0], placeholder)
	}
	return slices.Concat(words, argv[1:]), nil
}

// everywhere matches words for addresses of all interfaces: "0.0.0.0:80", "[::]:80", and ":80" in any place.
var everywhere = regex.Lazy(`(^|[^0-9.])0\.0\.0\.0([^0-9.]|$)|\[::\]|(^|[=*]):[0-9]+$`)

func value(env []string) string {
	for _, pair := range slices.Backward(env) {
		if text, ok := strings.CutPrefix(pair, Variable+"="); ok {
			return text
		}
	}
	return ""
}
