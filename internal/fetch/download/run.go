package download

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tombolo-iac/tombolo/internal/program"
)

// settled are the options of every call of git: no hooks, neither the user's nor those of a template, and no file
// system monitor. Filters such as that of Git LFS run if the user has configured them: a repository can name one in
// .gitattributes, but cannot define its command.
var settled = []string{
	"-c", "core.hooksPath=" + os.DevNull, "-c", "core.fsmonitor=false", "-c", "submodule.recurse=false", "-c",
	"protocol.ext.allow=never", "-c", "advice.detachedHead=false",
	"-c", "gc.auto=0", "-c", "maintenance.auto=false",
}

// foreign are variables that redirect git to another repository, such as inside of a hook.
var foreign = []string{
	"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY",
	"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE",
	"GIT_TEMPLATE_DIR", "GIT_QUARANTINE_PATH",
}

// environment returns the environment of git.
func (c *cloning) environment() []string {
	env := slices.DeleteFunc(program.Environ(c.Environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(foreign, name)
	})
	if c.getenv("GIT_HTTP_LOW_SPEED_LIMIT") == "" {
		env = append(env, "GIT_HTTP_LOW_SPEED_LIMIT=100", "GIT_HTTP_LOW_SPEED_TIME=60")
	}
	env = append(env, "GIT_ALLOW_PROTOCOL="+strings.Join(transports, ":"), "GIT_TERMINAL_PROMPT=0",
		"GCM_INTERACTIVE=never")
	return c.configure(env)
}

const (
	userVariable, passwordVariable = "TOMBOLO_GIT_USER", "TOMBOLO_GIT_PASSWORD"
	// answers is a credential helper for git that prints the values of two variables. Git calls it if the server
	// requires a login, only for its host, and gets no password from other sources.
	answers = `!f() { test "$1" != get || printf 'username=%s\npassword=%s\n' "$` + userVariable + `" "$` +
		passwordVariable + `"; }; f`
)

// configure passes the user and password of an address to git as settings in the environment. If there is only a user,
// git asks the user's own credential helpers for the password.
func (c *cloning) configure(env []string) []string {
	if c.user == nil || c.url.Scheme != "https" && c.url.Scheme != "http" {
		return env
	}
	site := "credential." + (&url.URL{Scheme: c.url.Scheme, Host: c.url.Host}).String()
	user := c.user.Username()
	password, both := c.user.Password()
	settings := [][2]string{{site + ".username", user}}
	if both {
		settings = [][2]string{{site + ".helper", ""}, {site + ".helper", answers}}
		env = append(env, userVariable+"="+user, passwordVariable+"="+password)
	}
	have, _ := strconv.Atoi(lookup(env, "GIT_CONFIG_COUNT"))
	for i, s := range settings {
		n := strconv.Itoa(have + i)
		env = append(env, "GIT_CONFIG_KEY_"+n+"="+s[0], "GIT_CONFIG_VALUE_"+n+"="+s[1])
	}
	return append(env, "GIT_CONFIG_COUNT="+strconv.Itoa(have+len(settings)))
}

// lookup returns the last value of a variable.
func lookup(env []string, name string) (value string) {
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			value = v
		}
	}
	return value
}

// useKey configures ssh to use a key.
func (c *cloning) useKey(name string) {
	ssh := c.getenv("GIT_SSH_COMMAND")
	if ssh == "" {
		ssh = "ssh"
	}
	c.env = append(c.env, "GIT_SSH_COMMAND="+ssh+" -i '"+strings.ReplaceAll(filepath.ToSlash(name), "'", `'\''`)+"'")
}

// maxMemory limits the memory of each git process, in bytes, because a server determines the length of some of git's
// lists.
const maxMemory = 4 << 30

// gitError is the error message of git.
type gitError struct{ text string }

func (e *gitError) Error() string { return e.text }

// run calls git and returns its output.
func (c *cloning) run(ctx context.Context, args ...string) ([]byte, error) {
	result, err := program.Run(ctx, program.Command{
		Argv: slices.Concat([]string{"git"}, settled, args), Env: c.env, Installed: true, Detached: true,
		MaxMemory: maxMemory,
		Grace:     2 * time.Second, MaxStdout: maxTree, MaxStderr: 64 << 10,
		Whole: func([]byte) bool { return true },
	})
	var missing *program.LookupError
	var stopped *program.StoppedError
	switch {
	case errors.As(err, &missing):
		return nil, errors.New("the program git is not installed. Install it, or use an archive as the source")
	case errors.As(err, &stopped):
		return nil, stopped.Err
	case err != nil:
		return nil, err
	case result.ExitCode != 0:
		return nil, &gitError{fmt.Sprintf("git reported: %s", c.messageOf(result))}
	}
	return result.Stdout, nil
}

// messageOf returns the end of git's messages, without passwords.
func (c *cloning) messageOf(result *program.Result) string {
	text := strings.TrimSpace(string(result.Stderr))
	if text == "" {
		return result.State
	}
	if c.user != nil {
		password, _ := c.user.Password()
		secrets := []string{url.QueryEscape(password), url.PathEscape(password), password}
		if c.url.Scheme != "ssh" { // the user may be a token
			user := c.user.Username()
			secrets = append(secrets, url.QueryEscape(user), url.PathEscape(user), user)
		}
		for _, secret := range secrets {
			if secret != "" {
				text = strings.ReplaceAll(text, secret, "xxxxx")
			}
		}
	}
	lines := strings.Split(text, "\n")
	return strings.Join(lines[max(0, len(lines)-maxLines):], "\n")
}

// maxLines is the maximum number of lines of git's messages that are shown.
const maxLines = 12

// temporary are messages of git about failures that may be temporary.
var temporary = []string{
	"Could not resolve host", "onnection timed out", "onnection reset", "onnection refused", "early EOF", "RPC failed",
	"returned error: 5", "returned error: 429",
	"unexpected disconnect", "hung up unexpectedly", "Empty reply from server",
}

// transport calls git for a network operation, and retries it if the failure may be temporary. clean removes partial
// results.
func (c *cloning) transport(ctx context.Context, clean func() error, args ...string) error {
	for attempt := 1; ; attempt++ {
		_, err := c.run(ctx, args...)
		var failure *gitError
		if err == nil || !errors.As(err, &failure) {
			return err
		}
		if c.url.Scheme == "file" || !slices.ContainsFunc(temporary, func(p string) bool {
			return strings.Contains(failure.text, p)
		}) {
			return hint(err, failure)
		}
		if attempt == attempts {
			return fmt.Errorf("%w (after %d attempts)", err, attempt)
		}
		if err := errors.Join(clean(), c.Web.Pause(ctx, time.Second<<attempt)); err != nil {
			return err
		}
	}
}

// hint adds advice if git would have prompted for a password.
func hint(err error, failure *gitError) error {
	for _, sign := range []string{"could not read Username", "could not read Password", "Permission denied (publickey",
		"Host key verification failed", "terminal prompts disabled"} {
		if strings.Contains(failure.text, sign) {
			return fmt.Errorf("%w. Passwords and keys cannot be entered here: set up a Git credential helper, an SSH "+
				"agent or the known_hosts file, so that git does not ask", err)
		}
	}
	return err
}
