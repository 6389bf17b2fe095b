package oraclecloud

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/oracle/oci-go-sdk/v65/common"
	"github.com/oracle/oci-go-sdk/v65/common/auth"

	"github.com/tombolo-iac/tombolo/internal/store/remote/web"
)

// access signs requests.
type access struct {
	s      *settings
	turn   chan struct{} // its holder may request keys
	source common.ConfigurationProvider
	clock  web.Clock
}

func newAccess(s *settings) *access { return &access{s: s, turn: make(chan struct{}, 1)} }

// provider returns the source of keys.
func (w *credentials) provider(region string) (common.ConfigurationProvider, error) {
	profile := w.profile
	if profile == "" {
		profile = "DEFAULT"
	}
	switch w.method {
	case securityToken:
		return common.ConfigurationProviderForSessionTokenWithProfile(w.file, profile, w.password)
	case instancePrincipal:
		return auth.InstancePrincipalConfigurationProvider()
	case resourcePrincipal:
		return auth.ResourcePrincipalConfigurationProvider()
	case workloadIdentity:
		return auth.OkeWorkloadIdentityConfigurationProvider()
	}
	given := common.NewRawConfigurationProvider(w.tenancy, w.user, region, w.fingerprint, w.key, &w.password)
	file, err := common.ConfigurationProviderFromFileWithProfile(w.file, profile, w.password)
	if err != nil {
		return given, nil // the file is in one of two locations
	}
	return common.ComposingConfigurationProvider([]common.ConfigurationProvider{given, file})
}

// prepare finds the keys, and the region if the block does not name it.
func (a *access) prepare() error {
	if a.source != nil {
		return nil
	}
	source, err := a.s.credentials.provider(a.s.region)
	if err == nil {
		_, err = source.KeyID()
	}
	if err == nil {
		_, err = source.PrivateRSAKey()
	}
	if err != nil {
		return fmt.Errorf("no usable credentials: %w. Set auth, or tenancy_ocid, user_ocid, fingerprint and "+
			"private_key_path, or a profile of ~/.oci/config", err)
	}
	a.source = source
	return nil
}

// whenReady calls a function that may use the source of keys. That source ignores the context; it ends later by itself.
func (a *access) whenReady(ctx context.Context, do func() error) error {
	select {
	case a.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	done := make(chan error, 1)
	go func() {
		defer func() { <-a.turn }()
		err := a.prepare()
		if err == nil {
			err = do()
		}
		done <- err
	}()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case err := <-done:
		if err != nil {
			return &web.NoAccess{Text: a.s.Clean(web.Short(err.Error()))}
		}
		return nil
	}
}

// base returns the address of the service.
func (a *access) base(ctx context.Context) (base string, err error) {
	if a.s.endpoint != "" || a.s.region != "" {
		return a.s.base(a.s.region), nil
	}
	err = a.whenReady(ctx, func() error {
		region, err := a.source.Region()
		if err == nil && region == "" {
			err = errors.New("there is no region. Set region")
		}
		base = a.s.base(region)
		return err
	})
	if err != nil {
		return "", err // the function may still write to base
	}
	return base, nil
}

// sign signs a request. The digest of an object's content is in a header that the signature does not cover, as in other
// programs, because objects may be large.
func (a *access) sign(ctx context.Context, r *http.Request, _ []byte) error {
	signed := r.Clone(ctx)
	signed.Body = nil
	err := a.whenReady(ctx, func() error {
		signed.Header.Set("Date", a.clock.Now().Format(http.TimeFormat))
		return common.RequestSignerExcludeBody(a.source).Sign(signed)
	})
	if err != nil {
		return err
	}
	r.Header = signed.Header
	return nil
}
