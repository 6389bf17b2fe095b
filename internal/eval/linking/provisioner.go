package linking

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/eval/blocks"
	"github.com/tombolo-iac/tombolo/internal/eval/funcs"
	"github.com/tombolo-iac/tombolo/internal/provision"
)

// Provisioner is a provisioner block, compiled against its schema.
type Provisioner struct {
	Config *config.Provisioner
	Body   *blocks.Body
	// Connection describes the connection to the provisioner's machine, or nil if there is no such block.
	Connection *blocks.Body
	// Refs are the references of the block and its connection. Those of a destroy provisioner only refer to values that
	// need no evaluation.
	Refs []addr.Reference
}

// provisioners are those of the language.
var provisioners = []string{"file", "local-exec", "remote-exec"}

// compileProvisioners checks the blocks against their schemas. inherited is the connection block around them; it may be
// nil. An unknown provisioner is refused, not skipped: the object would differ from its configuration.
func compileProvisioners(list []*config.Provisioner, inherited *config.Connection) ([]*Provisioner, diag.List) {
	var out []*Provisioner
	var diags diag.List
	for _, c := range list {
		schema := provision.Schema(c.Type)
		if schema == nil {
			diags = append(diags, &diag.Diagnostic{Severity: diag.Error, Summary: "Missing required provisioner plugin",
				Subject: c.TypeRange.Ptr(),
				Detail: fmt.Sprintf("There is no provisioner %q. The provisioners of the language are local-exec, "+
					"file and remote-exec.%s", c.Type,
					diag.DidYouMean(c.Type, provisioners))}).Meant(c.Type, provisioners)
			continue
		}
		p := &Provisioner{Config: c, Body: blocks.Compile(c.Body, schema)}
		if body := c.ConnectionBody(inherited); body != nil {
			p.Connection = blocks.Compile(body, provision.Connection)
		}
		out = append(out, p)
	}
	return out, diags
}

// mentions returns the references of the provisioner and its connection.
func (p *Provisioner) mentions() []hcl.Traversal {
	if p.Connection == nil {
		return p.Body.Traversals()
	}
	return slices.Concat(p.Body.Traversals(), p.Connection.Traversals())
}

// CheckProvisioners reports the provisioners of a configuration that cannot run here, for callers that cannot compile
// it because its providers are missing.
func CheckProvisioners(c *config.Config) (diags diag.List) {
	for _, m := range c.SortedModules() {
		for _, r := range m.SortedResources() {
			_, more := compileProvisioners(r.Provisioners, r.Connection)
			diags = diags.Extend(more)
		}
	}
	return diags
}

// provisioners adds the references of a resource's provisioners and their connections.
func (l *linker) provisioners(s *Slot) {
	for _, p := range s.Provisioners {
		before := len(l.s.Refs)
		l.traversals(p.Body, slices.DeleteFunc(slices.Clone(p.Body.Traversals()), l.byOwnName))
		l.connection(p.Config.Connection)
		p.Refs = slices.Clone(l.s.Refs[before:])
	}
	if len(s.Provisioners) == 0 {
		return
	}
	before := len(l.s.Refs)
	l.connection(s.Resource.Connection)
	for _, p := range s.Provisioners {
		p.Refs = append(p.Refs, l.s.Refs[before:]...)
	}
}

// byOwnName reports whether a provisioner refers to its object by name, which can only mean self.
func (l *linker) byOwnName(t hcl.Traversal) bool {
	r := l.s.Resource
	ref, diags := addr.ParseReference(t)
	return !diags.HasErrors() && ref.Kind == addr.RefResource && ref.Resource == r.Addr && r.Count == nil &&
		r.ForEach == nil
}

func (l *linker) connection(c *config.Connection) {
	if c == nil {
		return
	}
	attrs, _ := c.Body.JustAttributes()
	for _, a := range attrs {
		l.traversals(c, slices.DeleteFunc(funcs.Mentions(a.Expr), l.byOwnName))
	}
}

// When returns the provisioners that run on creation or destruction.
func (s *Slot) When(when config.ProvisionerWhen) []*Provisioner {
	var out []*Provisioner
	for _, p := range s.Provisioners {
		if p.Config.When == when {
			out = append(out, p)
		}
	}
	return out
}

// At returns the source range of a provisioner in messages about its run: the start of its arguments.
func (p *Provisioner) At() hcl.Range { return p.Body.Range() }

// Check reports problems of the evaluated blocks of a provisioner that the schemas cannot find. Parts of the values may
// be unknown. The values have no marks; connection is cty.NilVal if there is none.
func (p *Provisioner) Check(config, connection cty.Value) diag.List {
	block, conn := provision.Check(p.Config.Type, config, connection)
	block = p.Body.Locate(block)
	if p.Connection != nil {
		block = block.Extend(p.Connection.Locate(conn))
	}
	return block
}
