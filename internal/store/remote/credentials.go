package remote

import (
	"net/netip"
	"net/url"
	"strings"

	"github.com/zclconf/go-cty/cty"
)

// Written returns the text that a block says itself; "" for none.
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

// Elsewhere reports whether an address is neither below one of the domains, with TLS, nor on this machine. Without a
// scheme it is taken for one with TLS.
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

// server is an address for people, without what may be secret in it.
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

// Sent returns a credential of the user that goes to an address that the block names.
func Sent(argument, what, address string) Program {
	return Program{Argument: argument, Line: what + ", for " + server(address), Token: true}
}

// Lent returns the variables that are set, of those whose values a driver sends to an address that the block names.
// Whoever sets such a variable has no other way to say for which service.
func (o Surroundings) Lent(argument, address string, variables ...string) (all []Program) {
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
