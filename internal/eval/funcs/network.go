package funcs

import (
	"fmt"
	"math/big"
	"net"
	"strings"

	"github.com/apparentlymart/go-cidr/cidr"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/gocty"
)

// maxNewBits is the maximum number of bits that one call can add to a prefix, because the library counts subnets in an
// int.
const maxNewBits = 32

var cidrHostFunc = function.New(&function.Spec{
	Params:       []function.Parameter{param("prefix", cty.String), param("hostnum", cty.Number)},
	Type:         function.StaticReturnType(cty.String),
	RefineResult: notNull,
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		var host *big.Int
		if err := gocty.FromCtyValue(args[1], &host); err != nil {
			return cty.NilVal, err
		}
		network, err := parsePrefix(args[0].AsString())
		if err != nil {
			return cty.NilVal, err
		}
		address, err := cidr.HostBig(network, host)
		if err != nil {
			return cty.NilVal, err
		}
		return cty.StringVal(address.String()), nil
	},
})

// cidrContainsFunc is OpenTofu's cidrcontains.
var cidrContainsFunc = function.New(&function.Spec{
	Params: []function.Parameter{
		param("containing_prefix", cty.String), param("contained_ip_or_prefix", cty.String),
	},
	Type:         function.StaticReturnType(cty.Bool),
	RefineResult: notNull,
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		outer, err := parsePrefix(args[0].AsString())
		if err != nil {
			return cty.NilVal, err
		}
		text := args[1].AsString()
		inner, err := parsePrefix(text)
		if err != nil && !strings.Contains(text, "/") {
			length := "/128"
			if !strings.Contains(text, ":") {
				length = "/32"
			}
			inner, err = parsePrefix(text + length)
		}
		if err != nil {
			return cty.NilVal, fmt.Errorf("invalid IP address or prefix: %s", text)
		}
		outer, inner = withoutMapping(outer), withoutMapping(inner)
		if len(outer.IP) != len(inner.IP) {
			return cty.NilVal, fmt.Errorf("address family mismatch: %s vs. %s", args[0].AsString(), text)
		}
		first, last := cidr.AddressRange(inner)
		return cty.BoolVal(outer.Contains(first) && outer.Contains(last)), nil
	},
})

// withoutMapping returns the IPv4 network for one that is mapped into IPv6, and others unchanged.
func withoutMapping(n *net.IPNet) *net.IPNet {
	const mapped = 8 * (net.IPv6len - net.IPv4len)
	if ones, bits := n.Mask.Size(); bits == 8*net.IPv6len && ones >= mapped && n.IP.To4() != nil {
		return &net.IPNet{IP: n.IP.To4(), Mask: net.CIDRMask(ones-mapped, 8*net.IPv4len)}
	}
	return n
}

var cidrNetmaskFunc = function.New(&function.Spec{
	Params:       []function.Parameter{param("prefix", cty.String)},
	Type:         function.StaticReturnType(cty.String),
	RefineResult: notNull,
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		network, err := parsePrefix(args[0].AsString())
		if err != nil {
			return cty.NilVal, err
		}
		if network.IP.To4() == nil {
			return cty.NilVal, fmt.Errorf("IPv6 addresses cannot have a netmask: %s", args[0].AsString())
		}
		return cty.StringVal(net.IP(network.Mask).String()), nil
	},
})

var cidrSubnetFunc = function.New(&function.Spec{
	Params: []function.Parameter{
		param("prefix", cty.String), param("newbits", cty.Number), param("netnum", cty.Number),
	},
	Type:         function.StaticReturnType(cty.String),
	RefineResult: notNull,
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		var newBits int
		if err := gocty.FromCtyValue(args[1], &newBits); err != nil {
			return cty.NilVal, err
		}
		var number *big.Int
		if err := gocty.FromCtyValue(args[2], &number); err != nil {
			return cty.NilVal, err
		}
		network, err := parsePrefix(args[0].AsString())
		if err != nil {
			return cty.NilVal, err
		}
		if n := number.BitLen(); n > 64 && n > newBits { // the library reads only the last 64 bits
			return cty.NilVal, fmt.Errorf("prefix extension of %d does not accommodate a subnet number of %d bits",
				newBits, n)
		}
		subnet, err := cidr.SubnetBig(network, newBits, number)
		if err != nil {
			return cty.NilVal, err
		}
		return cty.StringVal(subnet.String()), nil
	},
})

var cidrSubnetsFunc = function.New(&function.Spec{
	Params:       []function.Parameter{param("prefix", cty.String)},
	VarParam:     &function.Parameter{Name: "newbits", Type: cty.Number},
	Type:         function.StaticReturnType(cty.List(cty.String)),
	RefineResult: notNull,
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		network, err := parsePrefix(args[0].AsString())
		if err != nil {
			return cty.NilVal, function.NewArgError(0, err)
		}
		if len(args) == 1 {
			return cty.ListValEmpty(cty.String), nil
		}
		subnets := make([]cty.Value, len(args)-1)
		var last *net.IPNet
		for i, arg := range args[1:] {
			last, err = nextSubnet(network, last, arg)
			if err != nil {
				return cty.NilVal, function.NewArgError(i+1, err)
			}
			subnets[i] = cty.StringVal(last.String())
		}
		return cty.ListVal(subnets), nil
	},
})

// nextSubnet returns the first subnet of network whose prefix is newBits longer and which starts after last, if that is
// not nil.
func nextSubnet(network, last *net.IPNet, newBits cty.Value) (*net.IPNet, error) {
	var bits int
	if err := gocty.FromCtyValue(newBits, &bits); err != nil {
		return nil, err
	}
	switch {
	case bits < 1:
		return nil, fmt.Errorf("must extend prefix by at least one bit")
	case bits > maxNewBits:
		return nil, fmt.Errorf("may not extend prefix by more than %d bits", maxNewBits)
	}
	start, size := network.Mask.Size()
	length := start + bits
	if length > size {
		family := "IPv4"
		if size == 128 {
			family = "IPv6"
		}
		return nil, fmt.Errorf("would extend prefix to %d bits, which is too long for an %s address", length, family)
	}
	if last == nil {
		return &net.IPNet{IP: network.IP, Mask: net.CIDRMask(length, size)}, nil
	}
	next, wrapped := cidr.NextSubnet(last, length)
	if wrapped || !network.Contains(next.IP) {
		return nil, fmt.Errorf("not enough remaining address space for a subnet with a prefix of %d bits after %s",
			length, last)
	}
	return next, nil
}

// parsePrefix reads an address prefix. Numbers of an IPv4 address may have leading zeros and are decimal: older
// versions of the language accept them, the standard library does not.
func parsePrefix(text string) (*net.IPNet, error) {
	address, length, found := strings.Cut(text, "/")
	colon := strings.LastIndexByte(address, ':')
	parts := strings.Split(address[colon+1:], ".")
	if len(parts) == net.IPv4len {
		for i, part := range parts {
			if trimmed := strings.TrimLeft(part, "0"); trimmed != "" || part == "" {
				parts[i] = trimmed
			} else {
				parts[i] = "0"
			}
		}
		address = address[:colon+1] + strings.Join(parts, ".")
	}
	if found {
		_, network, err := net.ParseCIDR(address + "/" + length)
		if err == nil {
			return network, nil
		}
	}
	return nil, fmt.Errorf("invalid CIDR expression: invalid CIDR address: %s", text)
}
