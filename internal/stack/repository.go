package stack

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/tombolo-iac/tombolo/diag"
)

// The repository of git that a stack is in.

// comparing is the title of errors of -changed-since.
const comparing = "Failed to find changed units"

// repository runs git in the repository of a stack.
type repository struct {
	top string // its directory, without links
}

// openRepository finds the repository that a directory is in.
func openRepository(ctx context.Context, dir string) (*repository, diag.List) {
	var diags diag.List
	if _, err := exec.LookPath("git"); err != nil {
		return nil, diags.Errorf(nil, comparing, "The program git was not found on the PATH. The option "+
			"-changed-since needs it: install git, or leave the option out.")
	}
	out, err := (&repository{top: dir}).git(ctx, "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, diags.Errorf(nil, comparing, "git finds no repository with files in this directory: %s. The "+
			"option -changed-since compares with a commit: run it in a clone of the repository, or leave the option "+
			"out.", strings.TrimPrefix(err.Error(), "fatal: "))
	}
	top, err := realPath(filepath.FromSlash(strings.TrimSuffix(string(out), "\n")))
	if err != nil {
		return nil, diags.AppendError(comparing, err)
	}
	return &repository{top: top}, nil
}

// find returns an error if the repository does not have a commit.
func (r *repository) find(ctx context.Context, commit string) (diags diag.List) {
	_, err := r.git(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", commit+"^{commit}")
	if err == nil {
		return nil
	}
	shallow, err := r.git(ctx, "rev-parse", "--is-shallow-repository")
	if err == nil && strings.TrimSpace(string(shallow)) == "true" {
		return diags.Errorf(nil, comparing, "There is no such commit as %q in this repository, which is a shallow "+
			"clone: it has only the newest commits. Fetch the others with \"git fetch --unshallow\", or clone with a "+
			"greater depth.", commit)
	}
	return diags.Errorf(nil, comparing, "There is no such commit as %q in this repository. Expected the name of a "+
		"branch or a tag, or the hash of a commit. If it is one of another clone, run \"git fetch\" first.", commit)
}

// git returns the output of a command of git.
func (r *repository) git(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", r.top}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil && stderr.Len() > 0 {
		err = errors.New(strings.TrimSpace(stderr.String()))
	}
	return out, err
}

// realPath returns an absolute path without links.
func realPath(name string) (string, error) {
	full, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(full)
}
