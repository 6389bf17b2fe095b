package wire

import (
	"context"
	"errors"

	plugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
)

// The magic cookie tells a plugin that a host, and not a person, started it. It is a part of the protocol.
const (
	CookieKey   = "TF_PLUGIN_MAGIC_COOKIE"
	CookieValue = "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2"
)

// Handshake is what go-plugin has to know of the agreement between host and plugin.
var Handshake = plugin.HandshakeConfig{MagicCookieKey: CookieKey, MagicCookieValue: CookieValue}

// served is what a plugin of this protocol calls the one thing that it serves.
const served = "provider"

// Serving is what a plugin serves, by version of the protocol.
func Serving(servers map[int]*Server) map[int]plugin.PluginSet {
	sets := make(map[int]plugin.PluginSet, len(servers))
	for version, server := range servers {
		sets[version] = plugin.PluginSet{served: pluginEnd{server: server}}
	}
	return sets
}

// Calling is what a host asks for, in versions of the protocol that it speaks. Connect returns the connection.
func Calling(versions ...int) map[int]plugin.PluginSet {
	sets := make(map[int]plugin.PluginSet, len(versions))
	for _, version := range versions {
		sets[version] = plugin.PluginSet{served: pluginEnd{}}
	}
	return sets
}

// Connect starts the plugin of a client that was made with Calling, unless it runs, and returns the connection to it.
func Connect(client *plugin.Client) (*grpc.ClientConn, error) {
	protocol, err := client.Client()
	if err != nil {
		return nil, err
	}
	conn, err := protocol.Dispense(served)
	if err != nil {
		return nil, err
	}
	return conn.(*grpc.ClientConn), nil
}

// pluginEnd implements plugin.GRPCPlugin for either side.
type pluginEnd struct {
	plugin.NetRPCUnsupportedPlugin
	server *Server // nil for a host
}

// GRPCServer implements plugin.GRPCPlugin: it is called when the version has been agreed on.
func (e pluginEnd) GRPCServer(_ *plugin.GRPCBroker, g *grpc.Server) error {
	if e.server == nil {
		return errors.New("a host serves nothing")
	}
	e.server.Register(g)
	return nil
}

// GRPCClient implements plugin.GRPCPlugin.
func (e pluginEnd) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	if e.server != nil {
		return nil, errors.New("a plugin calls nobody")
	}
	return conn, nil
}
