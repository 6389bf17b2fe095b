package remote

import (
	"net/netip"
	"net/url"
	"strings"

	"github.com/zclconf/go-cty/cty"
)

// Written returns an argument from the block itself, or "".
func Written(config cty.Value, name string) string {
	if config == cty.NilVal || config.IsNull() || !config.Type().HasAttribute(name) {
		return ""
	}
	v, _ := config.GetAttr(name).Unmark()
	if v.IsNull() || !v.IsKnown() || v.Type() != cty.String {
		return ""
	}
	return v.AsString()
}

// Elsewhere reports whether an address is neither on this machine nor, with TLS, below one of the domains. An address
// without a scheme is assumed to use TLS.
func Elsewhere(address string, domains ...string) bool {
	if address == "" {
		return false
	}
	if !strings.Contains(address, "://") {
		address = "https://" + address
	}
	u, err := url.Parse(address)
	if err != nil {
		return true
	}
	host := strings.ToLower(u.Hostname())
	for _, domain := range domains {
		if (host == domain || strings.HasSuffix(host, "."+domain)) && u.Scheme == "https" {
			return false
		}
	}
	ip, err := netip.ParseAddr(host)
	return host != "localhost" && (err != nil || !ip.IsLoopback())
}

// server returns an address for messages, without parts that may be secret.
func server(address string) string {
	if !strings.Contains(address, "://") {
		address = "https://" + address
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "an address that cannot be read"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host}).String()
}

// Sent returns a credential of the user that is sent to an address from the block.
func Sent(argument, what, address string) Program {
	return Program{Argument: argument, Line: what + ", for " + server(address), Token: true}
}

// SentTo returns those of the variables that are set and whose values a driver sends to an address from the block. A
// user who sets such a variable has no other way to specify the service for which it is meant.
func (o Surroundings) SentTo(argument, address string, variables ...string) (all []Program) {
	if o.Getenv == nil || !Elsewhere(address) {
		return nil
	}
	for _, name := range variables {
		if o.Getenv(name) != "" {
			p := Sent(argument, "the value of "+name, address)
			p.Usual = true
			all = append(all, p)
		}
	}
	return all
}
