// Package download downloads module packages into folders: from Git repositories, from archives over HTTP, from
// registries of OCI artifacts, and from archives and folders on this machine.
//
//	g := &download.Getter{Web: client, Environ: os.Environ()}
//	err := g.Fetch(ctx, catalog.Package{Source: "git::https://example.com/net.git?ref=v1.2.0"}, dir)
//
// Packages are untrusted: their content is checked and limited before it is kept (see package unpack), and git is
// called so that neither the source nor the repository can make it do more than fetch: see git.go. After an error the
// folder does not exist.
//
// Tokens of hosts are never sent to sources, except for archives in a registry that package catalog has checked. A
// password in a source, or one for its host in the netrc file, is only sent to that host.
package download

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/fetch/catalog"
	"github.com/tombolo-iac/tombolo/internal/fetch/unpack"
	"github.com/tombolo-iac/tombolo/internal/fetch/web"
)

// Getter fetches packages. It is safe for concurrent use.
type Getter struct {
	Web *web.Client
	// Environ is the environment of git, and determines the location of the netrc file.
	Environ []string
	// Limits limits a package; the zero value means 100 000 files and 2 GiB.
	Limits unpack.Limits
}

// standard holds the default limits of a package.
var standard = unpack.Limits{Files: 100_000, Bytes: 2 << 30}

func (g *Getter) limits() unpack.Limits {
	l := g.Limits
	if l.Files == 0 {
		l = standard
	}
	l.Links = true
	return l
}

// AtCommit returns the source of a repository's package at a commit, whichever tag or branch pkg names.
func AtCommit(pkg, commit string) string {
	address, query, _ := strings.Cut(pkg, "?")
	ref := "ref=" + commit
	if rest := without(query, "ref"); rest != "" {
		ref = rest + "&" + ref
	}
	return address + "?" + ref
}

// Fetch downloads a package into a folder that does not exist yet. The source of pkg has no folder. For a folder on
// this machine, Fetch creates a link.
func (g *Getter) Fetch(ctx context.Context, pkg catalog.Package, dir string) error {
	var err error
	if pkg.Archive {
		err = g.own(ctx, pkg, dir)
	} else {
		err = g.fetch(ctx, pkg.Source, dir, order{hops: maxHops, named: true})
	}
	if err != nil {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return err
}

// maxHops is the maximum number of redirections by web pages.
const maxHops = 10

// order holds the details of a fetch other than its address.
type order struct {
	hops  int        // remaining redirections by web pages
	named bool       // the address comes from the source and not from a server
	sums  []checksum // required checksums, from the source and from pages
}

func (g *Getter) fetch(ctx context.Context, pkg, dir string, o order) error {
	getter, address := config.SplitForced(pkg)
	u, err := url.Parse(address)
	if err != nil {
		return fmt.Errorf("%.200q is not a URL", Shown(address))
	}
	if getter == "" {
		getter = u.Scheme
	}
	if u.Opaque != "" || u.Scheme == "" {
		return fmt.Errorf("packages cannot be fetched from %.200q: expected an address like "+
			"https://example.com/package.zip or git::https://example.com/repository.git", Shown(pkg))
	}
	if err := readable(u.RawQuery); err != nil {
		return err
	}
	if o.sums, err = addChecksum(o.sums, u); err != nil {
		return err
	}
	switch getter {
	case "git":
		if len(o.sums) > 0 {
			return errors.New(noChecksum("a Git repository") + ": name a commit with ?ref= instead")
		}
		return g.git(ctx, u, dir)
	case "http", "https":
		return g.http(ctx, u, dir, o)
	case "file":
		if !o.named {
			return fmt.Errorf("%.200q is on this machine, and servers may not refer to it", Shown(address))
		}
		return g.local(ctx, u, dir, o)
	case "oci":
		return g.oci(ctx, u, dir, o)
	case "hg", "s3", "gcs":
		return fmt.Errorf("packages are not fetched from %s. Put the module into a Git repository or into an "+
			"archive behind a web server, or copy it into the project", services[getter])
	case "ssh":
		return fmt.Errorf("the source has no type. For a Git repository, write %q", "git::"+Shown(address))
	}
	return fmt.Errorf("packages cannot be fetched with %.50q: expected git, https, http, oci or file",
		getter)
}

// parameters are the query parameters of a source that we handle.
var parameters = []string{"archive", "checksum", "depth", "digest", "filename", "ref", "sshkey", "tag"}

// readable returns an error for a query with a malformed parameter of ours: parsers omit such parts, and with them a
// checksum or a commit. Errors in other parameters are left to the server.
func readable(query string) error {
	for part := range strings.SplitSeq(query, "&") {
		if _, err := url.ParseQuery(part); err == nil {
			continue
		}
		for _, name := range parameters {
			if strings.Contains(part, name+"=") {
				return fmt.Errorf("the parameter %s of the source is not encoded as in a URL: write a semicolon as "+
					"%%3B and a percent sign as %%25", name)
			}
		}
	}
	return nil
}

var services = map[string]string{"hg": "Mercurial", "s3": "Amazon S3", "gcs": "Google Cloud Storage"}

// noChecksum returns the error for a checksum on a package that is not an archive.
func noChecksum(what string) string {
	return "the source has a checksum, but only archives have checksums, and the package is " + what
}

// local uses files on this machine: it unpacks an archive, or creates a link to a folder.
func (g *Getter) local(ctx context.Context, u *url.URL, dir string, o order) error {
	from := filepath.FromSlash(u.Path)
	if runtime.GOOS == "windows" {
		from = strings.TrimPrefix(from, `\`)
	}
	if u.Host != "" || !filepath.IsAbs(from) {
		return fmt.Errorf("%.200q is not an absolute path on this machine", u.Host+u.Path)
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if info.IsDir() {
		if len(o.sums) > 0 {
			return errors.New(noChecksum("a folder") + ": remove it from the source")
		}
		return os.Symlink(from, dir)
	}
	kind, err := archiveKind(u)
	if err != nil {
		return err
	}
	if kind == "" {
		return fmt.Errorf("%s is a file, but not an archive: expected a folder, or a name that ends in %s", from,
			archiveNames)
	}
	if err := verify(ctx, from, o.sums); err != nil {
		return err
	}
	return g.unpack(ctx, kind, from, from, dir)
}

// Shown returns a source for messages: without passwords, keys and tokens.
func Shown(source string) string { return config.ShownSource(source) }
