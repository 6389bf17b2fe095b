package credentials

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/tombolo-iac/tombolo/internal/fetch/web"
	"github.com/tombolo-iac/tombolo/internal/program"
	"github.com/tombolo-iac/tombolo/internal/regular"
	"github.com/tombolo-iac/tombolo/internal/settings"
)

// dockerHelper is the prefix of programs that store passwords for registries.
const dockerHelper = "docker-credential-"

// maxLogins limits a file with logins, in bytes.
const maxLogins = 4 << 20

// Login returns the login for a repository of a registry of OCI artifacts, or the zero value if there is none. The most
// specific match for the repository is used. Among equally specific ones, an oci_credentials block of the CLI
// configuration precedes the files of other tools, such as ~/.docker/config.json, which are in OpenTofu's order.
// Helpers for all repositories come last.
func (s *Source) Login(ctx context.Context, host, repository string) (web.Login, error) {
	best := known{length: -1}
	for _, c := range s.Settings.OCICredentials {
		best.offer(host, repository, known{prefix: c.Prefix, helper: c.Helper, login: web.Login{Username: c.Username,
			Password: c.Password, AccessToken: c.AccessToken, RefreshToken: c.RefreshToken}})
	}
	defaults := settings.OCIDefaults{}
	if s.Settings.OCIDefaults != nil {
		defaults = *s.Settings.OCIDefaults
	}
	last := defaults.Helper
	for _, name := range s.loginFiles(defaults) {
		file, err := readLogins(name)
		if err != nil {
			return web.Login{}, err
		}
		for _, k := range file.known() {
			best.offer(host, repository, k)
		}
		if last == "" {
			last = file.Helper
		}
	}
	if best.length < 0 && last != "" && !defaults.Nowhere {
		best = known{helper: last}
	}
	if best.helper == "" {
		return best.login, nil
	}
	login, err := s.fromDockerHelper(ctx, best.helper, host)
	if err != nil {
		err = fmt.Errorf("credentials helper %q: %w", best.helper, err)
	}
	return login, err
}

// known is the entry of one source: a login, or the helper that stores it.
type known struct {
	prefix string
	login  web.Login
	helper string
	length int
}

// offer replaces k with o if o is a more specific match for a repository.
func (k *known) offer(host, repository string, o known) {
	name := host + "/" + repository
	rest, ok := strings.CutPrefix(name, o.prefix)
	if !ok || rest != "" && rest[0] != '/' || len(o.prefix) <= k.length {
		return
	}
	o.length = len(o.prefix)
	*k = o
}

// loginFiles returns the names of other tools' files with logins.
func (s *Source) loginFiles(d settings.OCIDefaults) []string {
	if d.Nowhere || d.Files != nil {
		return d.Files
	}
	env := map[string]string{}
	for _, entry := range s.Environ {
		name, value, _ := strings.Cut(entry, "=")
		env[name] = value
	}
	home := env["HOME"]
	if runtime.GOOS == "windows" {
		home = env["USERPROFILE"]
	}
	var list []string
	add := func(folder string, below ...string) {
		if folder != "" {
			list = append(list, filepath.Join(append([]string{folder}, below...)...))
		}
	}
	switch runtime.GOOS {
	case "windows", "darwin":
		add(home, ".config", "containers", "auth.json")
	case "linux":
		add(env["XDG_RUNTIME_DIR"], "containers", "auth.json")
	}
	if config := env["XDG_CONFIG_HOME"]; config != "" {
		add(config, "containers", "auth.json")
	} else {
		add(home, ".config", "containers", "auth.json")
	}
	add(home, ".docker", "config.json")
	add(home, ".dockercfg")
	return list
}

// logins is the content of such a file.
type logins struct {
	name    string
	Auths   map[string]auth   `json:"auths"`
	Helpers map[string]string `json:"credHelpers"`
	Helper  string            `json:"credsStore"`
}

type auth struct {
	Auth          string `json:"auth"` // USER:PASSWORD in base64
	IdentityToken string `json:"identitytoken"`
	RegistryToken string `json:"registrytoken"`
}

// readLogins decodes a file; a missing one has no logins. Errors do not contain its content, which is secret.
func readLogins(name string) (logins, error) {
	file := logins{name: name}
	text, err := regular.Read(name, maxLogins)
	if errors.Is(err, fs.ErrNotExist) {
		return file, nil
	}
	if err != nil {
		return file, fmt.Errorf("the logins of registries in %s cannot be read: %w", name, err)
	}
	if filepath.Base(name) == ".dockercfg" { // it has the logins at the top level
		err = json.Unmarshal(text, &file.Auths)
	} else {
		err = json.Unmarshal(text, &file)
	}
	if err != nil {
		return file, fmt.Errorf("the logins of registries in %s are not JSON in the form of docker and podman", name)
	}
	return file, nil
}

// known returns the logins of a file.
func (l logins) known() (list []known) {
	for at, helper := range l.Helpers {
		list = append(list, known{prefix: registryOf(at), helper: helper})
	}
	for at, a := range l.Auths {
		k := known{prefix: registryOf(at), login: web.Login{RefreshToken: a.IdentityToken,
			AccessToken: a.RegistryToken}}
		if raw, err := base64.StdEncoding.DecodeString(a.Auth); err == nil {
			k.login.Username, k.login.Password, _ = strings.Cut(strings.TrimRight(string(raw), "\x00"), ":")
		}
		if k.login != (web.Login{}) { // docker leaves an empty entry if a helper stores the password
			list = append(list, k)
		}
	}
	return list
}

// registryOf returns the host, and the prefix of repository names, to which an entry applies. docker's oldest form is
// an address: https://index.docker.io/v1/.
func registryOf(at string) string {
	for _, scheme := range []string{"https://", "http://"} {
		if rest, ok := strings.CutPrefix(at, scheme); ok {
			host, _, _ := strings.Cut(rest, "/")
			return host
		}
	}
	return strings.TrimSuffix(at, "/")
}

// fromDockerHelper calls a helper program. Errors do not contain its output, which may be secret.
func (s *Source) fromDockerHelper(ctx context.Context, name, host string) (web.Login, error) {
	if strings.ContainsAny(name, `/\:`) {
		return web.Login{}, fmt.Errorf("%q is not the name of a helper", name)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, helperTime, fmt.Errorf("it did not answer within %s", helperTime))
	defer cancel()
	result, err := program.Run(ctx, program.Command{Argv: []string{dockerHelper + name, "get"},
		Installed: true, Env: s.Environ,
		Stdin: []byte(host + "\n"), MaxStdout: maxAnswer, Grace: time.Second, Final: true})
	switch {
	case err != nil:
		return web.Login{}, err
	case result.ExitCode != 0 && strings.Contains(string(result.Stdout), "credentials not found"):
		return web.Login{}, nil
	case result.ExitCode != 0:
		return web.Login{}, fmt.Errorf("it failed (%s)", result.State)
	}
	var credentials struct{ Username, Secret string }
	if json.Unmarshal(result.Stdout, &credentials) != nil {
		return web.Login{}, errors.New("it did not print a JSON object with Username and Secret")
	}
	if credentials.Username == "<token>" {
		return web.Login{RefreshToken: credentials.Secret}, nil
	}
	return web.Login{Username: credentials.Username, Password: credentials.Secret}, nil
}
