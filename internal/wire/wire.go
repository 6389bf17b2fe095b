// Package wire connects provider.Provider with the plugin protocol of the Terraform language, versions 5 and 6, in both
// directions.
//
// NewClient returns a provider for a gRPC connection; NewServer serves a provider on a gRPC server. Both share the
// conversion of values, schemas and problems to messages, and the messages: only the table versions contains the
// differences between the versions. Package handshake implements both ends of a go-plugin connection. This package does
// not handle processes and certificates: package host starts plugins, and package provider/serve is one.
//
// Every message of a peer results in values that conform to the schema, or in diagnostics that name provider, call and
// field; never in a panic, in unbounded recursion or in an allocation that is out of proportion to the message.
//
//	p, err := wire.NewClient(conn, 6, wire.Options{Name: "registry.terraform.io/hashicorp/random"})
//	schema, diags := p.Schema(ctx)
//
// The package starts no goroutines. The protocol cannot transport some data, which is lost: ApplyRequest.Intent and
// Partial, Schema.StateOnly, and paths beyond an element of a set.
package wire

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/tombolo-iac/tombolo/internal/wire/plugin5"
	"github.com/tombolo-iac/tombolo/internal/wire/plugin6"
	"github.com/tombolo-iac/tombolo/provider"
)

//go:generate protoc -I . --go_out=. --go_opt=paths=source_relative plugin6/tombolo_plugin6.proto plugin5/tombolo_plugin5.proto

// MaxMessage is the maximum size of a plugin's response, and of a request to most plugins, in bytes. Requests to a
// plugin are not limited here: they contain an object several times, and an object in a response must fit into later
// requests.
const MaxMessage = 256 << 20

// Limits of nesting. Real schemas have less than ten levels; values of dynamic types are as deep as the JSON in them.
const (
	maxSchemaDepth = 100
	maxValueDepth  = 1000
)

// Methods of provider.Provider, with their names in version 6.
const (
	methodMetadata          = "GetMetadata"
	methodSchema            = "GetProviderSchema"
	methodIdentities        = "GetResourceIdentitySchemas"
	methodFunctions         = "GetFunctions"
	methodValidateConfig    = "ValidateProviderConfig"
	methodValidateResource  = "ValidateResourceConfig"
	methodValidateData      = "ValidateDataResourceConfig"
	methodValidateEphemeral = "ValidateEphemeralResourceConfig"
	methodConfigure         = "ConfigureProvider"
	methodStop              = "StopProvider"
	methodUpgradeState      = "UpgradeResourceState"
	methodUpgradeIdentity   = "UpgradeResourceIdentity"
	methodRead              = "ReadResource"
	methodPlan              = "PlanResourceChange"
	methodApply             = "ApplyResourceChange"
	methodImport            = "ImportResourceState"
	methodMove              = "MoveResourceState"
	methodReadData          = "ReadDataSource"
	methodOpen              = "OpenEphemeralResource"
	methodRenew             = "RenewEphemeralResource"
	methodClose             = "CloseEphemeralResource"
	methodCall              = "CallFunction"
	methodGenerate          = "GenerateResourceConfig"
	methodValidateList      = "ValidateListResourceConfig"
	methodList              = "ListResource"
	methodValidateAction    = "ValidateActionConfig"
	methodPlanAction        = "PlanAction"
	methodInvoke            = "InvokeAction"
)

// version holds all differences between the versions of the protocol.
type version struct {
	number  int
	service string
	// renamed maps names of methods in version 6 to different names in this version.
	renamed map[string]string
	// prepares means that the provider returns its validated block with defaults.
	prepares bool
	// nestedAttributes means that attributes may have nested attributes.
	nestedAttributes bool
	// newSchema returns an empty response of methodSchema; sixOf and ofSix convert it to that of version 6 and back.
	newSchema func() proto.Message
	sixOf     func(proto.Message) *plugin6.SchemaResponse
	ofSix     func(*plugin6.SchemaResponse) proto.Message
}

var versions = map[int]*version{
	5: {
		number:  5,
		service: "tfplugin5.Provider",
		renamed: map[string]string{
			methodSchema:           "GetSchema",
			methodValidateConfig:   "PrepareProviderConfig",
			methodValidateResource: "ValidateResourceTypeConfig",
			methodValidateData:     "ValidateDataSourceConfig",
			methodConfigure:        "Configure",
			methodStop:             "Stop",
		},
		prepares:  true,
		newSchema: func() proto.Message { return new(plugin5.SchemaResponse) },
		sixOf:     func(m proto.Message) *plugin6.SchemaResponse { return schemaFromFive(m.(*plugin5.SchemaResponse)) },
		ofSix:     func(m *plugin6.SchemaResponse) proto.Message { return schemaToFive(m) },
	},
	6: {
		number:           6,
		service:          "tfplugin6.Provider",
		nestedAttributes: true,
		newSchema:        func() proto.Message { return new(plugin6.SchemaResponse) },
		sixOf:            func(m proto.Message) *plugin6.SchemaResponse { return m.(*plugin6.SchemaResponse) },
		ofSix:            func(m *plugin6.SchemaResponse) proto.Message { return m },
	},
}

// Versions returns the supported versions of the protocol, the best one last.
func Versions() []int { return []int{5, 6} }

// Serves returns an error if a version of the protocol cannot express a schema.
func Serves(protocol int, s *provider.Schema) error {
	v, err := versionOf(protocol)
	if err != nil {
		return err
	}
	_, err = encodeSchema(s, v)
	return err
}

func versionOf(protocol int) (*version, error) {
	v := versions[protocol]
	if v == nil {
		return nil, fmt.Errorf("version %d of the plugin protocol is not supported, only 5 and 6 are", protocol)
	}
	return v, nil
}

// method returns the name of a method in this version.
func (v *version) method(name string) string {
	if other, ok := v.renamed[name]; ok {
		return other
	}
	return name
}

// path returns the path of a method in gRPC.
func (v *version) path(name string) string { return "/" + v.service + "/" + v.method(name) }
