package validation

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo/sdk/schema"
)

// IsPortNumber requires a TCP or UDP port number.
func IsPortNumber(value interface{}, key string) ([]string, []error) {
	return IntBetween(1, 65535)(value, key)
}

// IsIPAddress requires an IPv4 or IPv6 address.
func IsIPAddress(value interface{}, key string) ([]string, []error) {
	return check(func(v string) string {
		return unless(net.ParseIP(v) != nil, "must be an IP address, but is %q",
			v)
	})(value, key)
}

// IsCIDR requires a network such as 10.0.0.0/8.
func IsCIDR(value interface{}, key string) ([]string, []error) {
	return check(func(v string) string {
		_, err := netip.ParsePrefix(v)
		return unless(err == nil, "must be a network such as 10.0.0.0/8, but is %q", v)
	})(value, key)
}

// IsURLWithHTTPorHTTPS requires an HTTP or HTTPS URL.
func IsURLWithHTTPorHTTPS(value interface{}, key string) ([]string, []error) {
	return IsURLWithScheme([]string{"http", "https"})(value, key)
}

// IsURLWithScheme requires a URL with a host and one of the schemes. The message does not show the URL, because it may
// contain a password.
func IsURLWithScheme(schemes []string) schema.SchemaValidateFunc {
	return check(func(v string) string {
		u, err := url.Parse(v)
		return unless(err == nil && u.Host != "" && slices.Contains(schemes, u.Scheme),
			"must be a URL with a host and one of the schemes %q", schemes)
	})
}

// IsPortNumberOrZero requires a number from 0 to 65535.
func IsPortNumberOrZero(value interface{}, key string) ([]string, []error) {
	return IntBetween(0, 65535)(value, key)
}

// IsIPv4Address requires an IPv4 address.
func IsIPv4Address(value interface{}, key string) ([]string, []error) {
	return check(func(v string) string {
		a, err := netip.ParseAddr(v)
		return unless(err == nil && a.Is4(), "must be an IPv4 address")
	})(value, key)
}

// IsIPv6Address requires an IPv6 address.
func IsIPv6Address(value interface{}, key string) ([]string, []error) {
	return check(func(v string) string {
		a, err := netip.ParseAddr(v)
		return unless(err == nil && a.Is6() && a.Zone() == "", "must be an IPv6 address")
	})(value, key)
}

// IsMACAddress requires a MAC address.
func IsMACAddress(value interface{}, key string) ([]string, []error) {
	return check(func(v string) string {
		_, err := net.ParseMAC(v)
		return unless(err == nil, "must be a MAC address")
	})(value, key)
}

// IsURLWithHTTPS requires an HTTPS URL.
func IsURLWithHTTPS(value interface{}, key string) ([]string, []error) {
	return IsURLWithScheme([]string{"https"})(value, key)
}

// IsCIDRNetwork requires a network with a prefix of min to max bits, written with its first address.
func IsCIDRNetwork(min, max int) schema.SchemaValidateFunc {
	return check(func(v string) string {
		p, err := netip.ParsePrefix(v)
		switch {
		case err != nil:
			return fmt.Sprintf("must be a network such as 10.0.0.0/8, but is %q", v)
		case p != p.Masked():
			return fmt.Sprintf("must be the address of a network: the network of %s is %s", v, p.Masked())
		}
		return unless(p.Bits() >= min && p.Bits() <= max, "must have a prefix of %d to %d bits, but %s has %d", min,
			max, v, p.Bits())
	})
}

// IsIPv4Range requires two IPv4 addresses separated by a dash, the lower one first.
func IsIPv4Range(value interface{}, key string) ([]string, []error) {
	return check(func(v string) string {
		from, to, _ := strings.Cut(v, "-")
		first, err1 := netip.ParseAddr(from)
		last, err2 := netip.ParseAddr(to)
		return unless(err1 == nil && err2 == nil && first.Is4() && last.Is4() && first.Less(last),
			"must be a range such as 10.0.0.1-10.0.0.9, but is %q", v)
	})(value, key)
}
