// Package wire carries provider.Provider over the plugin protocol of the Terraform language, versions 5 and 6, in both
// directions.
//
// NewClient turns a gRPC connection into a provider; NewServer offers a provider on a gRPC server. Both share one
// conversion between values, schemas, problems and their messages, and one set of messages: the versions differ in what
// the table versions says and nowhere else. Package handshake has the two ends of the connection
// that go-plugin makes. Processes and certificates are not known here: package host starts plugins, package
// provider/serve is one.
//
// Whatever a peer sends ends in values that conform to the schema, or in diagnostics that name provider, call and
// field; never in a panic, unbounded recursion or an allocation that the size of the message does not justify.
//
//	p, err := wire.NewClient(conn, 6, wire.Options{Name: "registry.terraform.io/hashicorp/random"})
//	schema, diags := p.Schema(ctx)
//
// The package starts no goroutines. What the protocol cannot carry is lost on the way: ApplyRequest.Intent and Partial,
// Schema.StateOnly, and paths beyond an element of a set.
package wire

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/tombolo-iac/tombolo/internal/wire/plugin5"
	"github.com/tombolo-iac/tombolo/internal/wire/plugin6"
	"github.com/tombolo-iac/tombolo/provider"
)

//go:generate protoc -I . --go_out=. --go_opt=paths=source_relative plugin6/tombolo_plugin6.proto plugin5/tombolo_plugin5.proto

// MaxMessage is the size of the largest message that a plugin's answer may be, and of the largest request that most
// plugins accept. Requests to a plugin are not limited: they hold an object several times, and an answer must fit into
// later requests.
const MaxMessage = 256 << 20

// Limits on how deep things may be nested. Real schemas stay below ten; values of dynamic types are as deep as the JSON
// in them.
const (
	maxSchemaDepth = 100
	maxValueDepth  = 1000
)

// The methods that the contract has, by their names in version 6.
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

// version holds everything in which a version of the protocol differs from the other.
type version struct {
	number  int
	service string
	// renamed holds the names of methods that are called otherwise than in version 6.
	renamed map[string]string
	// prepares: the provider answers its validated block with defaults filled in.
	prepares bool
	// nestedAttributes: attributes may have nested attributes.
	nestedAttributes bool
	// newSchema returns an empty answer to methodSchema; sixOf and ofSix turn it into that of version 6 and back.
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

// Versions are the versions of the protocol that the package speaks, the best one last.
func Versions() []int { return []int{5, 6} }

// Serves reports whether a version of the protocol can express a schema: nil, or what it cannot.
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

// method is the name by which the version knows a method.
func (v *version) method(name string) string {
	if other, ok := v.renamed[name]; ok {
		return other
	}
	return name
}

// path is the name of a method on the wire.
func (v *version) path(name string) string { return "/" + v.service + "/" + v.method(name) }
