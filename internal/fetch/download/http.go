package download

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/fetch/catalog"
	"github.com/tombolo-iac/tombolo/internal/fetch/unpack"
	"github.com/tombolo-iac/tombolo/internal/fetch/web"
	"github.com/tombolo-iac/tombolo/internal/regex"
)

const (
	maxArchive = 1 << 30
	maxPage    = 1 << 20
)

// http fetches an archive, or a page that refers to the package.
func (g *Getter) http(ctx context.Context, from *url.URL, dir string, o order) error {
	if from.Scheme != "https" && from.Scheme != "http" {
		return fmt.Errorf("the scheme %.50q cannot be used: expected https", from.Scheme)
	}
	kind, err := archiveKind(from)
	if err != nil {
		return err
	}
	u := *from
	u.RawQuery = without(from.RawQuery, "archive", "checksum", "filename")
	if u.User == nil {
		if u.User, err = g.netrc(u.Hostname()); err != nil {
			return err
		}
	}
	if kind == "" {
		return g.page(ctx, &u, dir, o)
	}
	return g.archive(ctx, web.Request{URL: &u}, kind, dir, o.sums)
}

// archive fetches an archive. If kind is "", it is derived from the content.
func (g *Getter) archive(ctx context.Context, r web.Request, kind, dir string, sums []checksum) error {
	archive := dir + ".archive"
	file, err := os.OpenFile(archive, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	r.Limit = maxArchive
	_, err = g.Web.Download(ctx, r, file, nil)
	if err == nil && kind == "" {
		kind, err = kindOf(file)
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = verify(ctx, archive, sums)
	}
	if err == nil {
		err = g.unpack(ctx, kind, archive, plain(r.URL), dir)
	}
	return errors.Join(err, os.Remove(archive))
}

// own fetches an archive that the registry itself serves.
func (g *Getter) own(ctx context.Context, pkg catalog.Package, dir string) error {
	u, err := url.Parse(pkg.Source)
	if err != nil {
		return fmt.Errorf("%.200q is not a URL", config.ShownAnswer(pkg.Source))
	}
	err = g.archive(ctx, web.Request{URL: u, Host: pkg.Host}, "", dir, nil)
	var status *web.StatusError
	if pkg.Withheld && errors.As(err, &status) && (status.Code == 401 || status.Code == 403) {
		return fmt.Errorf("%w. The registry requests that its own token is sent to this address. It was not sent: "+
			"a token goes only to the host that it is for, over TLS", err)
	}
	return err
}

// without removes our parameters from a query. It does not change the encoding of the others, because some queries are
// signed.
func without(query string, names ...string) string {
	var kept []string
	for _, part := range strings.Split(query, "&") {
		name, _, _ := strings.Cut(part, "=")
		ours := false
		for _, n := range names {
			ours = ours || n == name
		}
		if !ours && part != "" {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, "&")
}

// plain returns an address without parts that may be secret.
func plain(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// page reads the location of the package from a web page: from a header, or from a meta element in its head.
func (g *Getter) page(ctx context.Context, u *url.URL, dir string, o order) error {
	if o.hops == 0 {
		return fmt.Errorf("the package is redirected more than %d times", maxHops)
	}
	asked := *u
	if asked.RawQuery != "" {
		asked.RawQuery += "&"
	}
	asked.RawQuery += "terraform-get=1"
	doc, err := g.Web.Get(ctx, web.Request{URL: &asked, Limit: maxPage, Empty: true})
	if err != nil {
		return err
	}
	location := doc.Header.Get("X-Terraform-Get")
	if location == "" {
		location = meta(string(doc.Body))
	}
	if location == "" {
		return fmt.Errorf("%s is not an archive, whose name ends in %s, and does not refer to a package: it has no "+
			"X-Terraform-Get header and no terraform-get element", plain(u), archiveNames)
	}
	source, err := catalog.Follow(doc.URL, location)
	if err != nil {
		return fmt.Errorf("%s refers to a package that cannot be fetched: %w", plain(u), err)
	}
	pkg, sub := splitSource(source)
	next := order{hops: o.hops - 1, sums: o.sums}
	if sub == "" {
		return g.fetch(ctx, pkg, dir, next)
	}
	whole := dir + ".whole"
	err = g.fetch(ctx, pkg, whole, next)
	if err == nil {
		err = takeOut(whole, sub, dir)
	}
	if err == nil {
		err = unpack.CheckTree(ctx, dir, "", g.limits()) // links to another part of the package are broken now
	}
	return errors.Join(err, os.RemoveAll(whole))
}

// takeOut moves a folder out of a package. If it is a link, the target is moved, which must be in the package.
func takeOut(whole, sub, dir string) error {
	info, err := os.Lstat(whole)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return errors.New("the package is a part of another folder")
	}
	if sub, err = Subdir(whole, sub); err != nil {
		return err
	}
	top, err := filepath.EvalSymlinks(whole)
	if err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(filepath.Join(whole, filepath.FromSlash(sub)))
	if err != nil {
		return err
	}
	if in, err := filepath.Rel(top, real); err != nil || !filepath.IsLocal(in) {
		return fmt.Errorf("the folder %.200q is outside of the package", sub)
	}
	return os.Rename(real, dir)
}

func splitSource(source string) (pkg, sub string) {
	getter, rest := config.SplitForced(source)
	if pkg, sub = config.SplitSubdir(rest); getter != "" {
		pkg = getter + "::" + pkg
	}
	return pkg, sub
}

var (
	metaElement = regex.Lazy(`(?is)<meta\s([^>]*)>`)
	attribute   = regex.Lazy(`(?is)([a-z-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))`)
	headEnd     = regex.Lazy(`(?i)</head|<body`)
)

// meta returns the content of the meta element named terraform-get in the head of a page, or "".
func meta(page string) string {
	if end := headEnd().FindStringIndex(page); end != nil {
		page = page[:end[0]]
	}
	for _, m := range metaElement().FindAllStringSubmatch(page, -1) {
		has := map[string]string{}
		for _, a := range attribute().FindAllStringSubmatch(m[1], -1) {
			has[strings.ToLower(a[1])] = a[2] + a[3] + a[4]
		}
		if has["name"] == "terraform-get" && has["content"] != "" {
			return strings.ReplaceAll(has["content"], "&amp;", "&")
		}
	}
	return ""
}
