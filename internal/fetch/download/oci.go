package download

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/tombolo-iac/tombolo/internal/fetch/oci"
	"github.com/tombolo-iac/tombolo/internal/fetch/unpack"
)

// oci fetches a package from a registry of OCI artifacts: oci://HOST/REPOSITORY, with ?tag= or ?digest=.
func (g *Getter) oci(ctx context.Context, u *url.URL, dir string, o order) error {
	if !o.named {
		return fmt.Errorf("%.200q is an OCI artifact, and a server may not choose one", Shown(u.String()))
	}
	reference, err := referenceOf(u)
	if err != nil {
		return err
	}
	if len(o.sums) > 0 {
		return errors.New(noChecksum("an OCI artifact") + ": name its manifest with ?digest= instead")
	}
	repository, err := oci.New(g.Web).Repository(u.Host + u.Path)
	if err != nil {
		return err
	}
	archive := dir + ".archive"
	file, err := os.OpenFile(archive, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = repository.Package(ctx, reference, oci.Module, file, nil)
	if err = errors.Join(err, file.Close()); err == nil {
		err = unpack.Zip(ctx, archive, plain(u), dir, g.limits())
	}
	return errors.Join(err, os.Remove(archive))
}

// referenceOf returns the tag or digest in an address.
func referenceOf(u *url.URL) (string, error) {
	switch {
	case u.Scheme != "oci":
		return "", fmt.Errorf("the scheme %.50q cannot be used: expected oci", u.Scheme)
	case u.User != nil:
		return "", errors.New("the address contains a user. Log in to the registry with a container tool, or add an " +
			"oci_credentials block to the CLI configuration")
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return "", fmt.Errorf("the part after the ? cannot be read: %w", err)
	}
	for name, values := range query {
		if name != "tag" && name != "digest" && name != "checksum" {
			return "", fmt.Errorf("OCI artifacts have no argument %.50q: expected tag or digest", name)
		}
		if len(values) > 1 {
			return "", fmt.Errorf("the argument %q is given %d times", name, len(values))
		}
	}
	tag, digest := query.Get("tag"), query.Get("digest")
	switch {
	case query.Has("tag") && query.Has("digest"):
		return "", errors.New("expected one of the arguments tag and digest, but both are given")
	case query.Has("digest") && !strings.Contains(digest, ":"):
		return "", fmt.Errorf("%.200q is not a digest: expected sha256: with 64 hexadecimal digits", digest)
	case query.Has("digest"):
		return digest, nil
	case query.Has("tag") && (tag == "" || strings.ContainsAny(tag, ":/@ ")):
		return "", fmt.Errorf("%.200q is not a tag", tag)
	case query.Has("tag"):
		return tag, nil
	}
	return "latest", nil
}
