package state

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/tombolo-iac/tombolo/addr"
)

// The parsers in this file handle the common forms of addresses by hand, because a state may hold 100 000 of them, and
// pass all others (escapes in keys, letters beyond ASCII) to package addr.

// parseModule parses the path of a module instance; "" is the root.
func parseModule(s string) (addr.ModuleInstance, error) {
	if m, rest, ok := cutModule(s); ok && rest == "" {
		return m, nil
	}
	t, diags := addr.ParseTarget(s)
	if diags.HasErrors() || !t.IsModule() {
		return addr.RootInstance, fmt.Errorf(`%q is not the path of a module instance: expected something like `+
			`module.net or module.net["eu"].module.db[0]`, s)
	}
	return t.Module, nil
}

// cutModule parses the module steps at the start of a text; ok is false if they are not in the common form.
func cutModule(s string) (m addr.ModuleInstance, rest string, ok bool) {
	for strings.HasPrefix(s, "module.") {
		s = s[len("module."):]
		end := strings.IndexAny(s, ".[")
		if end < 0 {
			end = len(s)
		}
		name := s[:end]
		s = s[end:]
		key := addr.NoKey
		if strings.HasPrefix(s, "[") {
			if key, s, ok = cutKey(s); !ok {
				return m, "", false
			}
		}
		if !asciiName(name) {
			return m, "", false
		}
		m = m.Child(name, key)
		if s == "" {
			return m, "", true
		}
		if s[0] != '.' {
			return m, "", false
		}
		s = s[1:]
	}
	return m, s, true
}

func cutKey(s string) (key addr.Key, rest string, ok bool) {
	end := strings.IndexByte(s, ']')
	if end < 2 {
		return addr.NoKey, "", false
	}
	inside, rest := s[1:end], s[end+1:]
	if inside[0] != '"' {
		n, err := strconv.Atoi(inside)
		return addr.IntKey(n), rest, err == nil && strconv.Itoa(n) == inside && n >= 0
	}
	if len(inside) < 2 || inside[len(inside)-1] != '"' {
		return addr.NoKey, "", false
	}
	text := inside[1 : len(inside)-1]
	for _, c := range []byte(text) {
		if c < 0x20 || c >= 0x7f || strings.IndexByte("\"\\$%]", c) >= 0 {
			return addr.NoKey, "", false
		}
	}
	return addr.StringKey(text), rest, true
}

// parseDependency parses the address of a resource in the configuration.
func parseDependency(s string) (addr.ConfigResource, error) {
	if m, rest, ok := cutModule(s); ok {
		mode := addr.Managed
		if after, ok := strings.CutPrefix(rest, "data."); ok {
			mode, rest = addr.Data, after
		}
		typ, name, _ := strings.Cut(rest, ".")
		if asciiName(typ) && asciiName(name) && typ != "module" && typ != "data" && typ != "ephemeral" &&
			typ != "resource" {
			return addr.ConfigResource{Module: m.Config(), Resource: addr.Resource{Mode: mode, Type: typ, Name: name}},
				nil
		}
	}
	r, diags := addr.ParseInstance(s)
	if diags.HasErrors() || !r.Key.IsNone() {
		return addr.ConfigResource{}, fmt.Errorf("%q is not the address of a resource in the configuration: expected "+
			"something like aws_instance.web or module.net.aws_vpc.main", s)
	}
	return r.Config(), nil
}

func asciiName(s string) bool {
	for i, c := range []byte(s) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		if !letter && (i == 0 || (c < '0' || c > '9') && c != '-') {
			return false
		}
	}
	return s != ""
}

func validName(s string) bool { return asciiName(s) || hclsyntax.ValidIdentifier(s) }

// parseProvider parses a provider configuration address. States of Terraform 0.12 have `provider.NAME` without a
// source: its address then has the namespace "-", which `state replace-provider` can replace.
func parseProvider(s string) (addr.AbsProviderConfig, error) {
	c, err := addr.ParseAbsProviderConfig(s)
	if err == nil {
		return c, nil
	}
	m, rest, ok := cutModule(s)
	if legacy, found := strings.CutPrefix(rest, "provider."); ok && found {
		name, alias, aliased := strings.Cut(legacy, ".")
		if asciiName(name) && (!aliased || asciiName(alias)) {
			p := addr.Provider{Host: addr.DefaultProviderHost, Namespace: "-", Type: name}
			return addr.AbsProviderConfig{Module: m.Config(), Provider: p, Alias: alias}, nil
		}
	}
	// The same in the form that Terraform writes.
	const namespace = `"` + addr.DefaultProviderHost + `/-/`
	if strings.Contains(s, namespace) {
		if c, err := addr.ParseAbsProviderConfig(strings.Replace(s, namespace, `"`+addr.DefaultProviderHost+`/x/`,
			1)); err == nil {
			c.Provider.Namespace = "-"
			return c, nil
		}
	}
	return c, err
}
