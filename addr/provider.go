package addr

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Well-known parts of provider addresses. The default host only identifies providers, because states and lock files of
// other tools contain it. Packages may be downloaded from elsewhere.
const (
	DefaultProviderHost      = "registry.terraform.io"
	DefaultProviderNamespace = "hashicorp"
	BuiltinProviderHost      = "terraform.io"
	BuiltinProviderNamespace = "builtin"
)

// Provider is the global address of a provider: HOST/NAMESPACE/TYPE, all in lower case.
type Provider struct {
	Host      string
	Namespace string
	Type      string
}

// DefaultProvider returns the address for a local name without a source.
func DefaultProvider(localName string) Provider {
	return DefaultProviderIn(localName, DefaultProviderHost)
}

// DefaultProviderIn is like DefaultProvider, with the given default host.
func DefaultProviderIn(localName, host string) Provider {
	if localName == "terraform" {
		return BuiltinProvider("terraform")
	}
	return Provider{host, DefaultProviderNamespace, localName}
}

// BuiltinProvider returns the address of a provider that is part of the engine.
func BuiltinProvider(typ string) Provider {
	return Provider{BuiltinProviderHost, BuiltinProviderNamespace, typ}
}

// IsBuiltin reports whether the provider is part of the engine.
func (p Provider) IsBuiltin() bool {
	return p.Host == BuiltinProviderHost && p.Namespace == BuiltinProviderNamespace
}

// String returns the full address, as in state files.
func (p Provider) String() string { return p.Host + "/" + p.Namespace + "/" + p.Type }

// ForDisplay returns the address without the default host.
func (p Provider) ForDisplay() string {
	if p.Host == DefaultProviderHost {
		return p.Namespace + "/" + p.Type
	}
	return p.String()
}

// ParseProvider parses TYPE, NAMESPACE/TYPE or HOST/NAMESPACE/TYPE. The default host is DefaultProviderHost.
func ParseProvider(s string) (Provider, error) { return ParseProviderIn(s, DefaultProviderHost) }

// ParseProviderIn is like ParseProvider, with the given default host.
func ParseProviderIn(s, host string) (Provider, error) {
	parts := strings.Split(s, "/")
	for i, part := range parts {
		label := part
		if i == 0 && len(parts) == 3 {
			label = strings.NewReplacer(".", "", ":", "").Replace(part)
		}
		if !validLabel(label) {
			return Provider{},
				fmt.Errorf("%q is not a valid provider source: part %q must consist of letters, digits, dashes and "+
					"underscores", s, part)
		}
		parts[i] = strings.ToLower(part)
	}
	switch len(parts) {
	case 1:
		return Provider{host, DefaultProviderNamespace, parts[0]}, nil
	case 2:
		return Provider{host, parts[0], parts[1]}, nil
	case 3:
		return Provider{parts[0], parts[1], parts[2]}, nil
	}
	return Provider{}, fmt.Errorf("%q is not a valid provider source: expected [HOSTNAME/][NAMESPACE/]TYPE", s)
}

func validLabel(s string) bool {
	if s == "" || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	for _, r := range s {
		ascii := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_'
		if !ascii && r < 0x80 {
			return false
		}
	}
	return true
}

// LocalProviderConfig is a module's name for a provider configuration: `aws`, or `aws.west` with an alias.
type LocalProviderConfig struct {
	LocalName string
	Alias     string
}

// String returns `name` or `name.alias`.
func (c LocalProviderConfig) String() string {
	if c.Alias == "" {
		return c.LocalName
	}
	return c.LocalName + "." + c.Alias
}

// AbsProviderConfig names a provider configuration in the configuration tree. The state holds one for each resource.
type AbsProviderConfig struct {
	Module   Module
	Provider Provider
	Alias    string
	// Key identifies an instance of a block with for_each.
	Key Key
}

// Block returns the address without the instance key.
func (c AbsProviderConfig) Block() AbsProviderConfig {
	c.Key = NoKey
	return c
}

// String returns `module.m.provider["HOST/NS/TYPE"].alias["key"]`.
func (c AbsProviderConfig) String() string {
	s := `provider["` + c.Provider.String() + `"]`
	if !c.Module.IsRoot() {
		s = c.Module.String() + "." + s
	}
	if c.Alias != "" {
		s += "." + c.Alias
	}
	return s + c.Key.String()
}

// ParseAbsProviderConfig parses the output of String.
func ParseAbsProviderConfig(s string) (AbsProviderConfig, error) {
	traversal, diags := hclsyntax.ParseTraversalAbs([]byte(s), "", hcl.InitialPos)
	bad := func() (AbsProviderConfig, error) {
		return AbsProviderConfig{}, fmt.Errorf(`%q is not a provider configuration address: expected `+
			`provider["HOST/NAMESPACE/TYPE"], optionally after a module path, `+
			`and followed by an alias, or by an alias and a key in brackets`, s)
	}
	if diags.HasErrors() {
		return bad()
	}
	var c AbsProviderConfig
	for len(traversal) >= 2 && stepName(traversal[0]) == "module" {
		name := stepName(traversal[1])
		if name == "" {
			return bad()
		}
		c.Module = c.Module.Child(name)
		traversal = traversal[2:]
	}
	if len(traversal) < 2 || len(traversal) > 4 || stepName(traversal[0]) != "provider" {
		return bad()
	}
	index, ok := traversal[1].(hcl.TraverseIndex)
	if !ok {
		return bad()
	}
	key, err := keyOf(index.Key)
	if err != nil {
		return bad()
	}
	text, ok := key.Str()
	if !ok {
		return bad()
	}
	if c.Provider, err = ParseProvider(text); err != nil {
		return AbsProviderConfig{}, err
	}
	if len(traversal) >= 3 {
		if c.Alias = stepName(traversal[2]); c.Alias == "" {
			return bad()
		}
	}
	if len(traversal) == 4 {
		if index, ok = traversal[3].(hcl.TraverseIndex); !ok {
			return bad()
		}
		if c.Key, err = keyOf(index.Key); err != nil {
			return bad()
		}
	}
	return c, nil
}
