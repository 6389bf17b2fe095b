package host_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/host"
	"github.com/tombolo-iac/tombolo/provider"
)

// stuck is a provider that never returns from one of its methods.
type stuck struct {
	provider.Base
	in      string
	release chan struct{}
}

func (s stuck) at(method string) {
	if s.in == method {
		<-s.release
	}
}

func (s stuck) Schema(context.Context) (*provider.Schema, diag.List) {
	s.at("Schema")
	return &provider.Schema{}, nil
}

func (s stuck) ValidateConfig(_ context.Context, r provider.ValidateConfigRequest) provider.ValidateConfigResponse {
	s.at("ValidateConfig")
	return provider.ValidateConfigResponse{Prepared: r.Config}
}

func (s stuck) Configure(context.Context, provider.ConfigureRequest) provider.ConfigureResponse {
	s.at("Configure")
	return provider.ConfigureResponse{}
}

func (s stuck) Close() error {
	s.at("Close")
	return nil
}

// A provider of the embedding program that hangs when it is started does not block a cancelled run.
func TestStartsThatDoNotReturnAreAbandoned(t *testing.T) {
	for _, in := range []string{"start", "Schema", "ValidateConfig", "Configure", "Close"} {
		synctest.Test(t, func(t *testing.T) {
			calls, cancel := context.WithCancel(context.Background())
			cancel()
			s := stuck{in: in, release: make(chan struct{})}
			name := addr.Provider{Host: addr.DefaultProviderHost, Namespace: "example", Type: "note"}
			r := host.NewRegistry(calls, map[addr.Provider]provider.Factory{name: host.Patient(name,
				func(context.Context) (provider.Provider, error) { s.at("start"); return s, nil }, calls)})
			pool := r.NewPool()
			_, diags := pool.Get(calls, addr.AbsProviderConfig{Provider: name})
			err := errors.Join(diags.Err(), pool.Close())
			want := "call " + in + " of the provider example/note did not return"
			if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, context.Canceled) {
				t.Errorf("%s: got %v", in, err)
			}
			close(s.release)
		})
	}
}
