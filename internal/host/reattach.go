package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zclconf/go-cty/cty"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/wire"
	"github.com/tombolo-iac/tombolo/internal/wire/handshake"
	"github.com/tombolo-iac/tombolo/internal/wire/rpc"
	"github.com/tombolo-iac/tombolo/provider"
)

// ReattachVariable is the environment variable with the addresses of providers that are already running, for example in
// a debugger.
const ReattachVariable = "TF_REATTACH_PROVIDERS"

// Reattachment describes how to reach a running provider. The provider is not stopped when the run ends.
type Reattachment struct {
	Provider addr.Provider
	Protocol int
	Network  string // "unix" or "tcp"
	Address  string
}

// legacyNamespace is in addresses from before Terraform 0.13, which a configuration cannot require. Test frameworks for
// providers still list every provider under such an address as well.
const legacyNamespace = "/-/"

// ParseReattach decodes the value of ReattachVariable: a JSON object by provider address.
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
		if strings.Contains(name, legacyNamespace) {
			continue
		}
		given := parsed[name]
		p, err := addr.ParseProvider(name)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: %w", ReattachVariable, err)
		case given.Protocol != "grpc" && given.Protocol != "":
			return nil, fmt.Errorf("%s: provider %s uses the protocol %q, expected grpc",
				ReattachVariable, name, given.Protocol)
		case given.Addr.Network != "unix" && given.Addr.Network != "tcp" || given.Addr.String == "":
			return nil, fmt.Errorf("%s: provider %s is at %q %q, expected a network of unix or tcp and an address",
				ReattachVariable, name, given.Addr.Network, given.Addr.String)
		}
		if given.ProtocolVersion == 0 {
			given.ProtocolVersion = 5 // the default of providers that do not specify it
		}
		if !slices.Contains(protocols, given.ProtocolVersion) {
			return nil, fmt.Errorf("%s: provider %s uses version %d of the protocol, expected one of %v",
				ReattachVariable, name, given.ProtocolVersion, protocols)
		}
		out[p] = Reattachment{Provider: p, Protocol: given.ProtocolVersion, Network: given.Addr.Network,
			Address: given.Addr.String}
	}
	return out, nil
}

// dialTimeout limits the connection to a running provider.
const dialTimeout = 10 * time.Second

// Factory returns a factory that connects to the provider at each call.
func (r Reattachment) Factory() provider.Factory {
	holding := &holding{reattachment: r, configs: map[*attached]cty.Value{}}
	dial := func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, r.Network, r.Address)
	}
	return func(ctx context.Context) (provider.Provider, error) {
		ctx, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		conn, err := r.reach(ctx, dial)
		if err != nil {
			return nil, fmt.Errorf("according to %s, the provider is already running with version %d of the protocol "+
				"at %s %s, but it cannot be reached there: %w. Start it again and set the variable to the value it "+
				"prints, or unset the variable",
				ReattachVariable, r.Protocol, r.Network, r.Address, err)
		}
		client, err := wire.NewClient(conn, r.Protocol, wire.Options{
			Name: r.Provider.String(),
			Explain: func() string {
				return fmt.Sprintf("according to %s, the provider is already running at %s.",
					ReattachVariable, r.Address)
			},
			Close: conn.Close,
		})
		if err != nil {
			conn.Close()
			return nil, err
		}
		return &attached{Provider: client, holding: holding}, nil
	}
}

// reach connects without retries, because a provider that is not running will not be started.
func (r Reattachment) reach(ctx context.Context, dial func(context.Context) (net.Conn, error)) (*rpc.Conn, error) {
	conn, err := rpc.Dial(ctx, dial, nil)
	if err != nil {
		return nil, err
	}
	// Any response will do, even an error about an unknown method.
	_, err = conn.Invoke(ctx, handshake.Health, new(emptypb.Empty), new(emptypb.Empty), maxChunk)
	switch status.Code(err) {
	case codes.DeadlineExceeded:
		err = fmt.Errorf("the server there does not answer within %s", dialTimeout)
	case codes.Unavailable, codes.Internal, codes.Unknown:
		err = errors.New("the server there does not use gRPC")
	default:
		return conn, nil
	}
	_ = conn.Close()
	return nil, err
}

// holding remembers the configurations of a provider that another program has started. That is a single process, which
// only has the last configuration.
type holding struct {
	reattachment Reattachment

	mu      sync.Mutex // guards configs
	configs map[*attached]cty.Value
}

// attached is one connection to such a process.
type attached struct {
	provider.Provider
	holding *holding
}

// Configure implements provider.Provider.
func (a *attached) Configure(ctx context.Context, req provider.ConfigureRequest) provider.ConfigureResponse {
	h := a.holding
	h.mu.Lock()
	differs := false
	for _, other := range h.configs {
		differs = differs || !other.RawEquals(req.Config)
	}
	h.configs[a] = req.Config
	h.mu.Unlock()
	resp := a.Provider.Configure(ctx, req)
	if differs {
		resp.Diagnostics = resp.Diagnostics.Warnf(nil, "One process for several provider configurations",
			"The provider %s is already running, according to %s, so all its configurations use one process. That "+
				"process keeps only the last configuration, so it may look for objects of the others in the wrong "+
				"place.",
			h.reattachment.Provider.ForDisplay(), ReattachVariable)
	}
	return resp
}

// Close implements provider.Provider. It closes the connection.
func (a *attached) Close() error {
	a.holding.mu.Lock()
	delete(a.holding.configs, a)
	a.holding.mu.Unlock()
	return a.Provider.Close()
}
