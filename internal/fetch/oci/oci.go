// Package oci fetches packages from registries of OCI artifacts, such as those of container images.
//
//	repository, err := oci.New(client).Repository("example.com/corp/network")
//	err = repository.Package(ctx, "1.0.0", oci.Module, file, nil)
//
// The formats are OpenTofu's: a module is an image manifest with one layer, a zip archive; a version of a provider is
// an index of such manifests, one for each platform. Content must have the digest and the size that the manifest states
// or, for a digest, that the caller states; its size is limited. Registries are only accessed over TLS; the user and
// the tokens of a repository are only sent to its registry, and to the token server that the registry names.
package oci

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/tombolo-iac/tombolo/internal/fetch/web"
)

// Types of artifacts.
const (
	Module   = "application/vnd.opentofu.modulepkg"
	Provider = "application/vnd.opentofu.provider"        // a version for all platforms
	Target   = "application/vnd.opentofu.provider-target" // for one platform
)

const archive = "archive/zip"

// Limits of a registry's responses.
const (
	maxManifest = 4 << 20
	maxTags     = 100_000
	maxArchive  = 2 << 30
	maxSays     = 300
)

// Client accesses registries. It is safe for concurrent use.
type Client struct {
	web    *web.Client
	tokens auth.Cache
}

// New returns a client that shares the connections of a web.Client.
func New(client *web.Client) *Client { return &Client{client, auth.NewCache()} }

// Repository is one repository of a registry.
type Repository struct {
	client *Client
	remote *remote.Repository
	at     *url.URL // for messages, and for the pauses between tries
}

// Repository returns the repository with a name, HOST/NAME. It sends no requests.
func (c *Client) Repository(name string) (*Repository, error) {
	ref, err := registry.ParseReference(name)
	if err != nil || ref.Reference != "" {
		return nil, fmt.Errorf("%.200q is not a repository: expected a host and a name in lower case, such as "+
			"example.com/corp/network", name)
	}
	login := func(ctx context.Context, host string) (auth.Credential, error) {
		if host != ref.Host() || c.web.Logins == nil {
			return auth.EmptyCredential, nil
		}
		l, err := c.web.Logins(ctx, ref.Registry, ref.Repository)
		if err != nil {
			return auth.EmptyCredential, fmt.Errorf("the credentials of %s could not be read: %w", name, err)
		}
		return auth.Credential{Username: l.Username, Password: l.Password, AccessToken: l.AccessToken,
			RefreshToken: l.RefreshToken}, nil
	}
	return &Repository{
		client: c, at: &url.URL{Scheme: "https", Host: ref.Registry, Path: "/" + ref.Repository},
		remote: &remote.Repository{
			Reference: ref, MaxMetadataBytes: maxManifest,
			Client: &auth.Client{Client: c.web.HTTP(), Cache: c.tokens, ClientID: "tombolo", Credential: login},
		},
	}, nil
}

// String returns HOST/NAME.
func (r *Repository) String() string { return r.at.Host + r.at.Path }

// ask calls try, and retries it if that may help.
func (r *Repository) ask(ctx context.Context, try func(ctx context.Context) error) error {
	return r.client.web.Repeat(ctx, r.at, func() error {
		err := try(ctx)
		var response *errcode.ErrorResponse
		switch {
		case errors.As(err, &response):
			return &web.StatusError{Code: response.StatusCode, Says: messageOf(response.Errors)}
		case errors.Is(err, errdef.ErrNotFound):
			return &web.StatusError{Code: http.StatusNotFound}
		case errors.Is(err, auth.ErrBasicCredentialNotFound):
			return &web.StatusError{Code: http.StatusUnauthorized}
		}
		return err
	})
}

// messageOf returns the message of a registry, truncated for messages.
func messageOf(errs errcode.Errors) string {
	text := ""
	if len(errs) > 0 {
		text = errs[0].Message
	}
	if len(text) > maxSays {
		text = text[:maxSays] + "…"
	}
	return strings.ToValidUTF8(strings.Join(strings.Fields(text), " "), "?")
}

// Tags lists the tags of the repository.
func (r *Repository) Tags(ctx context.Context) (tags []string, err error) {
	err = r.ask(ctx, func(ctx context.Context) error {
		tags = nil
		return r.remote.Tags(ctx, "", func(page []string) error {
			if tags = append(tags, page...); len(tags) > maxTags {
				return fmt.Errorf("the repository has more than %d tags", maxTags)
			}
			if len(page) == 0 {
				return errors.New("the registry sends empty pages of the list of tags")
			}
			return nil
		})
	})
	return tags, err
}

// document reads the document with a tag or digest.
func (r *Repository) document(ctx context.Context, reference, media string, into any) error {
	return r.ask(ctx, func(ctx context.Context) error {
		desc, body, err := r.remote.Manifests().FetchReference(ctx, reference)
		if err != nil {
			return err
		}
		defer body.Close()
		if desc.Size > maxManifest {
			return fmt.Errorf("the manifest of %s has more than %d bytes", reference, maxManifest)
		}
		text, err := content.ReadAll(body, desc) // verifies the digest
		if err != nil {
			return err
		}
		if desc.MediaType != media {
			return &UnsuitableError{fmt.Sprintf("%s is of the type %.100q, not %s", reference, desc.MediaType, media)}
		}
		if err := web.Decode(text, into); err != nil {
			return &UnsuitableError{fmt.Sprintf("the manifest of %s: %s", reference, err)}
		}
		return nil
	})
}

// UnsuitableError means that an artifact has another type than the requested one.
type UnsuitableError struct{ Reason string }

func (e *UnsuitableError) Error() string { return e.Reason }

// check compares types of artifacts, because container images and Helm charts are in the same registries.
func check(reference, is, wanted string) error {
	if is == wanted {
		return nil
	}
	if is == "" {
		is = "none"
	}
	return &UnsuitableError{fmt.Sprintf("%s has the artifact type %.100q, not %s", reference, is, wanted)}
}

// Index returns the manifests of a version of a provider, with their platforms.
func (r *Repository) Index(ctx context.Context, tag string) ([]ocispec.Descriptor, error) {
	var index ocispec.Index
	if err := r.document(ctx, tag, ocispec.MediaTypeImageIndex, &index); err != nil {
		return nil, err
	}
	if err := check(tag, index.ArtifactType, Provider); err != nil {
		return nil, err
	}
	var targets []ocispec.Descriptor
	for _, d := range index.Manifests {
		if d.ArtifactType == Target && d.Platform != nil {
			targets = append(targets, d)
		}
	}
	return targets, nil
}

// Package writes the archive of an artifact, with a tag or digest, to an empty file. progress is called with the number
// of bytes so far; it may be nil. After an error the content of the file is undefined.
func (r *Repository) Package(ctx context.Context, reference, artifact string, to web.File,
	progress func(done, total int64)) error {
	if strings.Contains(reference, ":") {
		if _, err := digest.Parse(reference); err != nil {
			return fmt.Errorf("%.200q is not a digest: expected sha256: with 64 hexadecimal digits", reference)
		}
	}
	var manifest ocispec.Manifest
	if err := r.document(ctx, reference, ocispec.MediaTypeImageManifest, &manifest); err != nil {
		return err
	}
	if err := check(reference, manifest.ArtifactType, artifact); err != nil {
		return err
	}
	var layers []ocispec.Descriptor
	for _, l := range manifest.Layers {
		if l.MediaType == archive {
			layers = append(layers, l)
		}
	}
	if len(layers) != 1 {
		return &UnsuitableError{fmt.Sprintf("%s has %d layers of the type %s, but must have one", reference,
			len(layers), archive)}
	}
	layer := layers[0]
	if layer.Size > maxArchive {
		return fmt.Errorf("the archive of %s has %d bytes, more than %d", reference, layer.Size, maxArchive)
	}
	return r.ask(ctx, func(ctx context.Context) error { return r.blob(ctx, layer, to, progress) })
}

func (r *Repository) blob(ctx context.Context, layer ocispec.Descriptor, to web.File,
	progress func(done, total int64)) error {
	if err := to.Truncate(0); err != nil {
		return err
	}
	if _, err := to.Seek(0, io.SeekStart); err != nil {
		return err
	}
	body, err := r.remote.Blobs().Fetch(ctx, layer)
	if err != nil {
		return err
	}
	defer body.Close()
	verified := content.NewVerifyReader(body, layer)
	if _, err := io.Copy(&counter{File: to, total: layer.Size, progress: progress}, verified); err != nil {
		return err
	}
	return verified.Verify()
}

// counter counts the bytes that are written.
type counter struct {
	web.File
	done, total int64
	progress    func(done, total int64)
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.File.Write(p)
	if c.done += int64(n); c.progress != nil {
		c.progress(c.done, c.total)
	}
	return n, err
}
