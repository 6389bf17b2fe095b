package validation_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/sdk/schema"
	. "github.com/tombolo-iac/tombolo/sdk/schema/validation"
)

func TestChecksAcceptValidValues(t *testing.T) {
	type values = []interface{}
	digits := regexp.MustCompile(`^\d+$`)
	for name, test := range map[string]struct {
		check     schema.SchemaValidateFunc
		good, bad values
		words     string
	}{
		"IntBetween":    {IntBetween(1, 3), values{1, 3}, values{0, 4, "1"}, "x"},
		"IntAtLeast":    {IntAtLeast(2), values{2, 9}, values{1}, "2 or more, but is 1"},
		"IntAtMost":     {IntAtMost(2), values{2, -1}, values{3}, "2 or less, but is 3"},
		"IntInSlice":    {IntInSlice([]int{1, 5}), values{5}, values{2}, "one of [1 5]"},
		"FloatBetween":  {FloatBetween(0, 1), values{0.5}, values{1.5, 1}, "x"},
		"IsPortNumber":  {IsPortNumber, values{80}, values{0, 70000}, "65535"},
		"StringInSlice": {StringInSlice([]string{"a", "b"}, false), values{"a"}, values{"A", "", 1}, "x"},
		"StringInSlice, folded": {StringInSlice([]string{"a"}, true), values{"A"}, values{"b"},
			`one of ["a"], but is "b"`},
		"StringNotInSlice": {StringNotInSlice([]string{"a"}, true), values{"b"}, values{"A"}, "must not be"},
		"StringLenBetween": {StringLenBetween(1, 2), values{"é", "ab"}, values{"", "abc"},
			"from 1 to 2 characters"},
		"StringMatch":           {StringMatch(digits, ""), values{"12"}, values{"a"}, `\d`},
		"StringMatch, worded":   {StringMatch(digits, "digits only"), values{"12"}, values{"a"}, "digits only"},
		"StringDoesNotMatch":    {StringDoesNotMatch(digits, "no digits"), values{"a"}, values{"12"}, "no digits"},
		"StringIsNotEmpty":      {StringIsNotEmpty, values{" "}, values{""}, "must not be empty"},
		"StringIsNotWhiteSpace": {StringIsNotWhiteSpace, values{"a"}, values{"", " \t"}, "spaces"},
		"StringIsJSON":          {StringIsJSON, values{"{}", "1"}, values{"{", ""}, "JSON"},
		"StringIsValidRegExp":   {StringIsValidRegExp, values{"a+"}, values{"("}, "regular expression"},
		"IsIPAddress":           {IsIPAddress, values{"10.0.0.1", "::1"}, values{"10.0.0", ""}, "IP address"},
		"IsCIDR":                {IsCIDR, values{"10.0.0.0/8", "fd00::/8"}, values{"10.0.0.0", "x/8"}, "a network"},
		"IsURL": {IsURLWithHTTPorHTTPS, values{"https://a/b"}, values{"ftp://a", "a", "https:///b"},
			"schemes"},
		"IsRFC3339Time":      {IsRFC3339Time, values{"2026-01-02T03:04:05Z"}, values{"yesterday"}, "a time"},
		"FloatAtLeast":       {FloatAtLeast(0.5), values{0.5}, values{0.4, 1}, "x"},
		"FloatAtMost":        {FloatAtMost(0.5), values{0.5}, values{0.6}, "or less"},
		"IntDivisibleBy":     {IntDivisibleBy(3), values{0, -3}, values{4}, "a multiple of 3"},
		"IsPortNumberOrZero": {IsPortNumberOrZero, values{0, 65535}, values{-1, 65536}, "65535"},
		"NoZeroValues":       {NoZeroValues, values{1, 0.5, true, "a"}, values{0, 0.0, false, "", " "}, "x"},
		"IsUUID": {IsUUID, values{"b0c2f5a8-4a6e-4b7e-9c1d-0a1b2c3d4e5f"}, values{
			"b0c2", "", "xb0c2f5a8-4a6e-4b7e-9c1d-0a1b2c3d4e5f"}, "a UUID"},
		"IsIPv4Address":           {IsIPv4Address, values{"10.0.0.1"}, values{"::1", "10.0"}, "IPv4"},
		"IsIPv6Address":           {IsIPv6Address, values{"::1"}, values{"10.0.0.1", "fe80::1%eth0"}, "IPv6"},
		"IsMACAddress":            {IsMACAddress, values{"00:00:5e:00:53:01"}, values{"00:00"}, "MAC"},
		"IsURLWithHTTPS":          {IsURLWithHTTPS, values{"https://a"}, values{"http://a"}, "x"},
		"StringIsBase64":          {StringIsBase64, values{"YQ=="}, values{"YQ", "", "*"}, "base64"},
		"StringDoesNotContainAny": {StringDoesNotContainAny("/?"), values{"a"}, values{"a/b", "?"}, "any of"},
		"IntNotInSlice":           {IntNotInSlice([]int{1, 2}), values{3}, values{2, "3"}, "x"},
		"StringIsEmpty":           {StringIsEmpty, values{""}, values{" "}, "must be empty"},
		"StringIsWhiteSpace":      {StringIsWhiteSpace, values{"", " \t"}, values{"a"}, "spaces"},
		"ListOfUniqueStrings": {ListOfUniqueStrings, values{values{}, values{"a", "b"}}, values{
			values{"a", "b", "a"}, values{1}, "a"}, "x"},
		"IsCIDRNetwork": {IsCIDRNetwork(8, 24), values{"10.0.0.0/8", "10.1.2.0/24"}, values{
			"10.0.0.0/7", "10.1.2.3/24", "10.0.0.0", ""}, "x"},
		"IsCIDRNetwork, masked": {IsCIDRNetwork(0, 32), values{"0.0.0.0/0"}, values{"10.1.2.3/24"}, "is 10.1.2.0/24"},
		"IsIPv4Range": {IsIPv4Range, values{"10.0.0.1-10.0.1.0"}, values{"10.0.0.2-10.0.0.1", "10.0.0.1",
			"::1-::2", "a-b", "1.1.1.1-1.1.1.1"}, "10.0.0.1-10.0.0.9"},
		"IsDayOfTheWeek": {IsDayOfTheWeek(false), values{"Sunday", "Saturday"}, values{"sunday", "Sun"},
			"Monday"},
		"IsMonth": {IsMonth(true), values{"january", "December"}, values{"Jan", ""}, "March"},
		"All":     {All(IntAtLeast(1), IntAtMost(3)), values{2}, values{0, 4}, "x"},
		"Any":     {Any(IntAtMost(1), IntAtLeast(3)), values{0, 4}, values{2}, "1 or less"},
	} {
		for _, v := range test.good {
			if _, errs := test.check(v, "x"); len(errs) > 0 {
				t.Errorf("%s refuses %#v: %v", name, v, errs)
			}
		}
		for _, v := range test.bad {
			_, errs := test.check(v, "x")
			if text := fmt.Sprint(errs); len(errs) == 0 || !strings.Contains(text, `"x"`) ||
				!strings.Contains(text, test.words) {
				t.Errorf("%s of %#v gives %v", name, v, errs)
			}
		}
	}
}

func TestChecksReportPaths(t *testing.T) {
	path := cty.GetAttrPath("tags")
	tags := map[string]interface{}{"a": "1", "long": "two"}
	for name, check := range map[string]schema.SchemaValidateDiagFunc{"MapKeyLenBetween": MapKeyLenBetween(1, 2),
		"MapKeyMatch":        MapKeyMatch(regexp.MustCompile("^.$"), ""),
		"AllDiag":            AllDiag(MapKeyLenBetween(1, 4), MapKeyMatch(regexp.MustCompile("^.$"), "")),
		"AnyDiag":            AnyDiag(MapKeyLenBetween(1, 2), MapKeyLenBetween(1, 3)),
		"MapValueLenBetween": MapValueLenBetween(1, 1), "MapValueMatch": MapValueMatch(regexp.MustCompile("^[0-9]$"),
			"")} {
		diags := check(tags, path)
		if len(diags) == 0 || !diags[0].Path.Equals(path.IndexString("long")) {
			t.Errorf("%s gives %v", name, diags)
		}
		if diags := check(map[string]interface{}{"a": "1"}, path); len(diags) > 0 {
			t.Errorf("%s gives %v", name, diags)
		}
	}
	wordy := func(value interface{}, key string) ([]string, []error) { return []string{key + " is odd"}, nil }
	diags := ToDiagFunc(schema.SchemaValidateFunc(All(IntAtLeast(3), wordy)))(1, cty.GetAttrPath("rule").IndexInt(
		0).GetAttr("port"))
	if text := fmt.Sprint(diags); len(diags) != 2 || !diags.HasErrors() ||
		!strings.Contains(text, `"port" must be 3 or more`) || !strings.Contains(text, "port is odd") {
		t.Errorf("got %s", text)
	}
}

func TestWriteOnlyAttributesArePreferred(t *testing.T) {
	path := cty.GetAttrPath("login").Index(cty.UnknownVal(cty.Number)).GetAttr("password")
	check := PreferWriteOnlyAttribute(path, cty.GetAttrPath("login").IndexInt(0).GetAttr("password_wo"))
	login := func(passwords ...cty.Value) cty.Value {
		var list []cty.Value
		for _, p := range passwords {
			list = append(list, cty.ObjectVal(map[string]cty.Value{"password": p, "name": cty.StringVal("n")}))
		}
		return cty.ObjectVal(map[string]cty.Value{"login": cty.ListVal(list)})
	}
	for name, c := range map[string]struct {
		allowed bool
		config  cty.Value
		want    int
	}{
		"set":         {true, login(cty.StringVal("a"), cty.NullVal(cty.String), cty.UnknownVal(cty.String)), 2},
		"not set":     {true, login(cty.NullVal(cty.String)), 0},
		"no support":  {false, login(cty.StringVal("a")), 0},
		"unknown all": {true, cty.ObjectVal(map[string]cty.Value{"login": cty.UnknownVal(cty.List(cty.String))}), 0},
	} {
		var resp schema.ValidateResourceConfigFuncResponse
		check(t.Context(), schema.ValidateResourceConfigFuncRequest{
			RawConfig: c.config, WriteOnlyAttributesAllowed: c.allowed}, &resp)
		if len(resp.Diagnostics) != c.want || resp.Diagnostics.HasErrors() {
			t.Errorf("%s: got %v", name, resp.Diagnostics)
		}
	}
}
