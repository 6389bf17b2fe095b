package credentials

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tombolo-iac/tombolo/internal/program"
	"github.com/tombolo-iac/tombolo/internal/regular"
	"github.com/tombolo-iac/tombolo/internal/replace"
)

// Keeper saves tokens where Source and Terraform find them: with the credentials helper if there is one, and otherwise
// in a file of the user.
type Keeper struct {
	*Source
	// File is the path of credentials.tfrc.json in the user's settings.
	File string
	// MakeDir creates the folder of the file.
	MakeDir func(dir string) error
}

// Place returns where tokens are saved, for messages.
func (k Keeper) Place() string {
	if h := k.Settings.Helper; h != nil {
		return fmt.Sprintf("the credentials helper %q", h.Name)
	}
	return k.File
}

// Elsewhere returns the source of a host's token that Save and Forget cannot change, or "".
func (k Keeper) Elsewhere(host string) (string, error) {
	name, err := normal(host)
	if err != nil {
		return "", err
	}
	if k.fromEnvironment(name) != "" {
		return "an environment variable " + envPrefix + "...", nil
	}
	all, err := k.file()
	if err != nil {
		return "", err
	}
	stored := all.find(name)
	for known := range k.Settings.Credentials {
		if other, err := normal(known); err == nil && other == name && len(stored) == 0 {
			return "a credentials block of the CLI configuration", nil
		}
	}
	return "", nil
}

// Save saves the token of a host.
func (k Keeper) Save(ctx context.Context, host, token string) error {
	name, err := normal(host)
	if err == nil {
		err = check(token)
	}
	if err != nil {
		return err
	}
	if k.Settings.Helper != nil {
		body, err := json.Marshal(map[string]string{"token": token})
		if err != nil {
			return err
		}
		return k.tell(ctx, "store", name, body)
	}
	return k.change(name, token)
}

// Forget removes the saved token of a host, and reports whether there may have been one.
func (k Keeper) Forget(ctx context.Context, host string) (bool, error) {
	name, err := normal(host)
	if err != nil {
		return false, err
	}
	if k.Settings.Helper != nil {
		return true, k.tell(ctx, "forget", name, nil)
	}
	all, err := k.file()
	if err != nil || len(all.find(name)) == 0 {
		return false, err
	}
	return true, k.change(name, "")
}

// tell makes the helper perform an action with the token of a host.
func (k Keeper) tell(ctx context.Context, verb string, name svchost.Hostname, input []byte) error {
	helper := k.Settings.Helper
	path, err := k.find(helper.Name)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, helperTime, fmt.Errorf("it did not end within %s", helperTime))
	defer cancel()
	argv := append(append([]string{path}, helper.Args...), verb, string(name))
	result, err := program.Run(ctx, program.Command{Argv: argv, Env: k.Environ, Stdin: input, MaxStdout: maxAnswer,
		Grace: time.Second, Final: true})
	if err == nil && result.ExitCode != 0 {
		err = fmt.Errorf("it failed (%s): %s", result.State, strings.TrimSpace(string(result.Stderr)))
	}
	if err != nil {
		return fmt.Errorf("credentials helper %q: %w", helper.Name, err)
	}
	return nil
}

// document is the content of the file. Members other than credentials are preserved.
type document map[string]json.RawMessage

// maxFile limits the file, in bytes.
const maxFile = 4 << 20

func (k Keeper) file() (document, error) {
	text, err := regular.Read(k.File, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return document{}, nil
	}
	var all document
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err == nil && all["credentials"] != nil {
		var hosts document
		err = json.Unmarshal(all["credentials"], &hosts)
	}
	if err != nil { // its content may be secret
		return nil, fmt.Errorf("the file %s cannot be read: it must be a JSON object with the member \"credentials\". "+
			"Repair it, or move it away", k.File)
	}
	return all, nil
}

// hosts returns the tokens in the file by host.
func (d document) hosts() document {
	hosts := document{}
	_ = json.Unmarshal(d["credentials"], &hosts) // file has already validated it
	return hosts
}

// find returns the spellings of a host in the file.
func (d document) find(name svchost.Hostname) (spellings []string) {
	for known := range d.hosts() {
		if other, err := normal(known); err == nil && other == name {
			spellings = append(spellings, known)
		}
	}
	return spellings
}

// change sets or removes the token of a host in the file. Only the owner can read the file.
func (k Keeper) change(name svchost.Hostname, token string) error {
	if k.File == "" {
		return errors.New("there is no home directory to save tokens in")
	}
	all, err := k.file()
	if err != nil {
		return err
	}
	hosts := all.hosts()
	for _, known := range all.find(name) {
		delete(hosts, known)
	}
	if token != "" {
		if hosts[name.ForDisplay()], err = json.Marshal(map[string]string{"token": token}); err != nil {
			return err
		}
	}
	if all["credentials"], err = json.Marshal(hosts); err != nil {
		return err
	}
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	if err := k.MakeDir(filepath.Dir(k.File)); err != nil {
		return err
	}
	return replace.Exact(k.File, 0o600, func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
}
