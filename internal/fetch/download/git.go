package download

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tombolo-iac/tombolo/internal/fetch/unpack"
	"github.com/tombolo-iac/tombolo/internal/host/process"
	"github.com/tombolo-iac/tombolo/internal/program"
)

// A repository is fetched with the git program, which uses the user's keys, proxies and mirrors. It is first fetched,
// then checked, and only then checked out, so that files beyond the limits or outside of the folder are never written.
//
//   - Addresses and names of commits that look like options are refused, and in any case follow "--".
//   - Only the transports https, http, ssh, git and file can be used, whatever the user's configuration allows
//     (ext runs programs).
//   - Secrets in an address are passed to git in its environment, never in arguments, which every user of the
//     machine can read.
//   - No hooks run: neither those of templates nor those of the user.
//   - Submodules are only fetched by https or ssh, or like the repository itself if that is http.
//   - It has no terminal and never prompts for a password.

// cloning is one fetch of a repository.
type cloning struct {
	*Getter
	url   *url.URL // without user and password, except for the user of ssh
	user  *url.Userinfo
	ref   string // tag, branch or commit; "" for the default branch
	depth int    // 0 for the complete history
	dir   string
	env   []string
}

// transports are the transports that a source may use.
var transports = []string{"https", "http", "ssh", "git", "file"}

const (
	maxRef = 256
	// cloneTime limits the time for one package.
	cloneTime = 30 * time.Minute
	// maxTree limits the list of a commit's files, in bytes.
	maxTree = 64 << 20
	// attempts is how often a fetch is tried if the network fails.
	attempts = 3
)

func (g *Getter) git(ctx context.Context, u *url.URL, dir string) error {
	c := &cloning{Getter: g, dir: dir}
	key, err := c.understand(u)
	if err != nil {
		return err
	}
	c.env = c.environment()
	if key != nil {
		name := dir + ".key"
		watch := process.NewWatch()
		defer watch.End()
		watch.File(name)
		if err := os.WriteFile(name, key, 0o600); err != nil {
			return err
		}
		defer os.Remove(name)
		c.useKey(name)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, cloneTime, fmt.Errorf("the repository was not fetched within %s",
		cloneTime))
	defer cancel()
	ctx, stop := c.watch(ctx)
	defer stop()
	commit, err := c.fetchCommit(ctx)
	if err != nil {
		return err
	}
	submodules, err := c.check(ctx, commit)
	if err != nil {
		return err
	}
	if _, err := c.run(ctx, "-C", dir, "checkout", "--quiet", "--detach", commit); err != nil {
		return err
	}
	if submodules {
		if err := c.submodules(ctx); err != nil {
			return err
		}
	}
	return unpack.CheckTree(ctx, dir, ".git", g.limits())
}

// understand parses a source, and refuses values that git could misunderstand.
func (c *cloning) understand(u *url.URL) (key []byte, err error) {
	q := u.Query()
	password, _ := u.User.Password()
	own := *u
	own.User = nil
	if user := u.User.Username(); u.Scheme == "ssh" && user != "" {
		own.User = url.User(user) // part of the address, and not secret; ssh URLs have no passwords
	}
	own.RawQuery = without(u.RawQuery, "ref", "depth", "sshkey", "checksum")
	c.url, c.user, c.ref = &own, u.User, q.Get("ref")
	switch {
	case !slices.Contains(transports, u.Scheme):
		return nil, fmt.Errorf("git over %.50q is not supported: expected https or ssh", u.Scheme)
	case strings.HasPrefix(u.Host, "-") || strings.HasPrefix(u.User.Username(), "-") || hasControl(own.String()) ||
		hasControl(u.User.Username()+password):
		return nil, fmt.Errorf("the address %.200q could be taken for an option of git or ssh", Shown(own.String()))
	case u.Scheme != "file" && u.Host == "":
		return nil, fmt.Errorf("the address %.200q has no host", Shown(own.String()))
	case strings.HasPrefix(c.ref, "-") || hasControl(c.ref) || len(c.ref) > maxRef:
		return nil, fmt.Errorf("%.300q is not the name of a tag, branch or commit", c.ref)
	}
	if text := q.Get("depth"); text != "" {
		if c.depth, err = strconv.Atoi(text); err != nil || c.depth < 0 {
			return nil, fmt.Errorf("the depth %.50q is not a number of commits", text)
		}
	}
	if text := q.Get("sshkey"); text != "" {
		// A plus sign in the query was decoded as a space.
		if key, err = base64.StdEncoding.DecodeString(strings.ReplaceAll(text, " ", "+")); err != nil {
			return nil, errors.New("the sshkey of the source is not encoded in base64")
		}
	}
	return key, nil
}

func hasControl(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// fetchCommit fetches the repository and returns the ID of the requested commit.
func (c *cloning) fetchCommit(ctx context.Context) (string, error) {
	if c.depth > 0 {
		ref := c.ref
		if ref == "" {
			ref = "HEAD"
		}
		if _, err := c.run(ctx, "init", "--quiet", "--template=", "--", c.dir); err != nil {
			return "", err
		}
		if err := c.transport(ctx, func() error { return nil }, "-C", c.dir, "fetch", "--quiet", "--depth",
			strconv.Itoa(c.depth), "--", c.url.String(), ref); err != nil {
			return "", err
		}
		return c.resolve(ctx, "FETCH_HEAD")
	}
	clean := func() error { return os.RemoveAll(c.dir) }
	if err := c.transport(ctx, clean, "clone", "--quiet", "--no-checkout", "--template=", "--origin", "origin", "--",
		c.url.String(), c.dir); err != nil {
		return "", err
	}
	if c.ref == "" {
		commit, err := c.resolve(ctx, "HEAD")
		if err != nil {
			return "",
				errors.New(
					"the repository has no commit on its default branch: name a tag, branch or commit with ?ref=")
		}
		return commit, nil
	}
	for _, name := range []string{c.ref, "refs/remotes/origin/" + c.ref} {
		if commit, err := c.resolve(ctx, name); err == nil {
			return commit, nil
		}
	}
	return "", fmt.Errorf("the repository has no tag, branch or commit %q", c.ref)
}

func (c *cloning) resolve(ctx context.Context, name string) (string, error) {
	out, err := c.run(ctx, "-C", c.dir, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
	return strings.TrimSpace(string(out)), err
}

// check checks the files of a commit before they are written, and reports whether they include submodules.
func (c *cloning) check(ctx context.Context, commit string) (submodules bool, err error) {
	out, err := c.run(ctx, "-C", c.dir, "ls-tree", "-r", "-t", "-z", "-l", "--full-tree", commit)
	limits := c.limits()
	var limit *program.LimitError
	if errors.As(err, &limit) {
		return false, fmt.Errorf("the repository has more than %d files", limits.Files)
	}
	if err != nil {
		return false, err
	}
	files, size := 0, int64(0)
	for entry := range bytes.SplitSeq(out, []byte{0}) {
		fields := strings.Fields(string(entry)) // mode, type, object, size, name
		if len(fields) < 4 {
			continue
		}
		files++
		submodules = submodules || fields[1] == "commit"
		if n, err := strconv.ParseInt(fields[3], 10, 64); err == nil {
			size += n
		}
		if files > limits.Files {
			return false, fmt.Errorf("the repository has more than %d files", limits.Files)
		}
		if size > limits.Bytes {
			return false, fmt.Errorf("the files of the repository have more than %d bytes", limits.Bytes)
		}
	}
	return submodules, nil
}

func (c *cloning) submodules(ctx context.Context) error {
	allowed := "https:ssh"
	if c.url.Scheme == "http" {
		allowed += ":http"
	}
	part := *c
	part.env = append(slices.Clone(c.env), "GIT_ALLOW_PROTOCOL="+allowed)
	args := []string{"-C", c.dir, "submodule", "--quiet", "update", "--init", "--recursive"}
	if c.depth > 0 {
		args = append(args, "--depth", strconv.Itoa(c.depth))
	}
	if err := part.transport(ctx, func() error { return nil }, args...); err != nil {
		return fmt.Errorf("its submodules cannot be fetched: %w", err)
	}
	return nil
}

// watch stops git if it uses more than twice the size limit of a package: for the repository and its files.
func (c *cloning) watch(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	most := 2 * c.limits().Bytes
	done := make(chan struct{})
	go func() {
		defer close(done)
		for wait := 200 * time.Millisecond; ; {
			select {
			case <-ctx.Done():
				return
			case <-time.After(wait):
			}
			begun := time.Now()
			if size(c.dir) > most {
				cancel(fmt.Errorf("the repository has more than %d bytes", most))
			}
			wait = max(200*time.Millisecond, 20*time.Since(begun)) // measuring large trees takes time
		}
	}()
	return ctx, func() {
		cancel(nil)
		<-done
	}
}

// size returns the size of a folder that is being written, in bytes; it ignores unreadable entries.
func size(dir string) (total int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			total += info.Size()
		}
		return nil
	})
	return total
}
