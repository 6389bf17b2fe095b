package host

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/wire"
	"github.com/tombolo-iac/tombolo/provider"
)

// ReattachVariable names the environment variable by which providers are found that run already, in a debugger for example.
const ReattachVariable = "TF_REATTACH_PROVIDERS"

// Reattachment says how to reach a provider that runs already. It is not stopped when the run ends.
type Reattachment struct {
	Provider addr.Provider
	Protocol int
	Network  string // "unix" or "tcp"
	Address  string
}

// ParseReattach reads the value of ReattachVariable: a JSON object by provider address.
func ParseReattach(text string) (map[addr.Provider]Reattachment, error) {
	if text == "" {
		return nil, nil
	}
	var parsed map[string]struct {
		Protocol        string
		ProtocolVersion int
		Addr            struct{ Network, String string }
	}
	if err := json.Unmarshal([]byte(text), &parsed); err != nil {
		return nil, fmt.Errorf("%s is not the JSON that a provider in debug mode prints: %w", ReattachVariable, err)
	}
	out := map[addr.Provider]Reattachment{}
	for _, name := range slices.Sorted(maps.Keys(parsed)) {
		given := parsed[name]
		p, err := addr.ParseProvider(name)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: %w", ReattachVariable, err)
		case given.Protocol != "grpc" && given.Protocol != "":
			return nil, fmt.Errorf("%s: provider %s speaks %q, expected grpc", ReattachVariable, name, given.Protocol)
		case given.Addr.Network != "unix" && given.Addr.Network != "tcp" || given.Addr.String == "":
			return nil, fmt.Errorf("%s: provider %s is at %q %q, expected a network of unix or tcp and an address", ReattachVariable, name, given.Addr.Network, given.Addr.String)
		}
		if given.ProtocolVersion == 0 {
			given.ProtocolVersion = 5 // providers that do not say speak the older one
		}
		if !slices.Contains(protocols, given.ProtocolVersion) {
			return nil, fmt.Errorf("%s: provider %s speaks version %d of the protocol, expected one of %v", ReattachVariable, name, given.ProtocolVersion, protocols)
		}
		out[p] = Reattachment{Provider: p, Protocol: given.ProtocolVersion, Network: given.Addr.Network, Address: given.Addr.String}
	}
	return out, nil
}

// Factory connects to the provider at each call.
func (r Reattachment) Factory() provider.Factory {
	return func(context.Context) (provider.Provider, error) {
		dial := func(ctx context.Context, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, r.Network, r.Address)
		}
		conn, err := grpc.NewClient("passthrough:///provider", grpc.WithContextDialer(dial), grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return nil, err
		}
		return wire.NewClient(conn, r.Protocol, wire.Options{
			Name: r.Provider.String(),
			Explain: func() string {
				return fmt.Sprintf("%s says that the provider runs already, at %s.", ReattachVariable, r.Address)
			},
			Close: conn.Close,
		})
	}
}
