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

// Keeper saves tokens where Source, and Terraform, find them again: with the credentials helper where there is one, and
// in a file of the user's otherwise.
type Keeper struct {
	*Source
	// File is credentials.tfrc.json among the user's settings.
	File string
	// MakeDir makes the folder of the file.
	MakeDir func(dir string) error
}

// Place returns where tokens are saved, for people.
func (k Keeper) Place() string {
	if h := k.Settings.Helper; h != nil {
		return fmt.Sprintf("the credentials helper %q", h.Name)
	}
	return k.File
}

// Elsewhere returns where the token of a host comes from that Save and Forget do not reach; "" for nowhere.
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

// tell has the helper do something with the token of a host.
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

// document is the file. What it has beside credentials stays.
type document map[string]json.RawMessage

// maxFile bounds the file.
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
	if err != nil { // what is in it may be secret
		return nil, fmt.Errorf("the file %s cannot be read: it must be a JSON object with the member \"credentials\". "+
			"Repair it, or move it away", k.File)
	}
	return all, nil
}

// hosts are the tokens in the file.
func (d document) hosts() document {
	hosts := document{}
	_ = json.Unmarshal(d["credentials"], &hosts) // file has read it once
	return hosts
}

// find returns the spellings under which a host stands in the file.
func (d document) find(name svchost.Hostname) (spellings []string) {
	for known := range d.hosts() {
		if other, err := normal(known); err == nil && other == name {
			spellings = append(spellings, known)
		}
	}
	return spellings
}

// change sets the token of a host in the file, or removes it. Only its owner can read the file.
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
