// Package descriptors links our messages of the plugin protocol beside terraform-plugin-go, whose messages and files
// have other names, and compares methods, field numbers and kinds. It is a separate module, since nothing else of ours
// needs that library; the test TestMessagesEqualThePublishedProtocol in internal/wire runs it if the library is
// available.
package descriptors

import (
	"fmt"
	"testing"

	_ "github.com/hashicorp/terraform-plugin-go/tfprotov5/tf5server"
	_ "github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/tombolo-iac/tombolo/internal/wire/plugin5"
	"github.com/tombolo-iac/tombolo/internal/wire/plugin6"
)

func TestOurMessagesTravelLikeThoseOfTheFrameworks(t *testing.T) {
	for version, ours := range map[int]protoreflect.FileDescriptor{
		5: plugin5.File_plugin5_tombolo_plugin5_proto, 6: plugin6.File_plugin6_tombolo_plugin6_proto,
	} {
		t.Run(fmt.Sprint("version ", version), func(t *testing.T) {
			found, err := protoregistry.GlobalFiles.FindDescriptorByName(
				protoreflect.FullName(fmt.Sprintf("tfplugin%d.Provider", version)))
			if err != nil {
				t.Fatal(err)
			}
			c := &comparison{t: t, seen: map[[2]protoreflect.FullName]bool{}}
			c.service(ours.Services().Get(0), found.(protoreflect.ServiceDescriptor))
			t.Logf("%d pairs of messages are alike", len(c.seen))
			if len(c.seen) < 80 {
				t.Errorf("only %d pairs of messages were compared", len(c.seen))
			}
		})
	}
}

type comparison struct {
	t    *testing.T
	seen map[[2]protoreflect.FullName]bool
}

func (c *comparison) service(ours, theirs protoreflect.ServiceDescriptor) {
	for i := range theirs.Methods().Len() {
		their := theirs.Methods().Get(i)
		our := ours.Methods().ByName(their.Name())
		if our == nil {
			c.t.Errorf("method %s is missing", their.Name())
			continue
		}
		if our.IsStreamingClient() != their.IsStreamingClient() ||
			our.IsStreamingServer() != their.IsStreamingServer() {
			c.t.Errorf("method %s streams otherwise", their.Name())
		}
		c.message(string(their.Name())+" request", our.Input(), their.Input())
		c.message(string(their.Name())+" response", our.Output(), their.Output())
	}
	for i := range ours.Methods().Len() {
		if name := ours.Methods().Get(i).Name(); theirs.Methods().ByName(name) == nil {
			c.t.Errorf("method %s is ours alone", name)
		}
	}
}

// message compares by numbers, because names of messages and fields are not encoded.
func (c *comparison) message(where string, ours, theirs protoreflect.MessageDescriptor) {
	pair := [2]protoreflect.FullName{ours.FullName(), theirs.FullName()}
	if c.seen[pair] {
		return
	}
	c.seen[pair] = true
	for i := range theirs.Fields().Len() {
		their := theirs.Fields().Get(i)
		at := fmt.Sprintf("%s, %s.%s = %d", where, theirs.Name(), their.Name(), their.Number())
		our := ours.Fields().ByNumber(their.Number())
		if our == nil {
			if !ours.ReservedRanges().Has(their.Number()) {
				c.t.Errorf("%s: missing", at)
			}
			continue
		}
		if our.Kind() != their.Kind() || our.Cardinality() != their.Cardinality() || our.IsMap() != their.IsMap() ||
			our.HasPresence() != their.HasPresence() ||
			choice(our) != choice(their) {
			c.t.Errorf("%s: theirs is %v %v, ours %v %v", at, their.Cardinality(), their.Kind(), our.Cardinality(),
				our.Kind())
			continue
		}
		if their.Message() != nil {
			c.message(at, our.Message(), their.Message())
		}
		if their.Enum() != nil {
			c.enum(at, our.Enum(), their.Enum())
		}
	}
	for i := range ours.Fields().Len() {
		if our := ours.Fields().Get(i); theirs.Fields().ByNumber(our.Number()) == nil &&
			!shared[string(ours.Name())+"."+string(our.Name())] {
			c.t.Errorf("%s, %s.%s = %d: theirs has no such field in %s", where, ours.Name(), our.Name(), our.Number(),
				theirs.Name())
		}
	}
}

// choice reports whether a field is part of a oneof.
func choice(fd protoreflect.FieldDescriptor) bool {
	o := fd.ContainingOneof()
	return o != nil && !o.IsSynthetic()
}

// shared are fields of our messages that correspond to several of theirs, not all of which have the field.
var shared = map[string]bool{
	// Terraform 1.16 has these; the framework ends at 6.10.
	"Block.computed": true, "ClientCapabilities.store_planned_private": true,
	"ClientCapabilities.computed_blocks_allowed": true, "PlanRequest.planned_private": true,
	"ValidateProviderResponse.prepared":   true, // only in version 5
	"ValidateRequest.client_capabilities": true, // only for managed resources
	"MetadataResponse.state_stores":       true, // only in version 6
}

func (c *comparison) enum(where string, ours, theirs protoreflect.EnumDescriptor) {
	for i := range theirs.Values().Len() {
		if v := theirs.Values().Get(i); ours.Values().ByNumber(v.Number()) == nil {
			c.t.Errorf("%s: %s = %d is missing", where, v.Name(), v.Number())
		}
	}
}
