package validation_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/sdk/schema"
	. "github.com/tombolo-iac/tombolo/sdk/schema/validation"
)

func TestChecksPassWhatTheyAskFor(t *testing.T) {
	type values = []interface{}
	digits := regexp.MustCompile(`^\d+$`)
	for name, test := range map[string]struct {
		check     schema.SchemaValidateFunc
		good, bad values
		words     string
	}{
		"IntBetween":            {IntBetween(1, 3), values{1, 3}, values{0, 4, "1"}, "x"},
		"IntAtLeast":            {IntAtLeast(2), values{2, 9}, values{1}, "2 or more, but is 1"},
		"IntAtMost":             {IntAtMost(2), values{2, -1}, values{3}, "2 or less, but is 3"},
		"IntInSlice":            {IntInSlice([]int{1, 5}), values{5}, values{2}, "one of [1 5]"},
		"FloatBetween":          {FloatBetween(0, 1), values{0.5}, values{1.5, 1}, "x"},
		"IsPortNumber":          {IsPortNumber, values{80}, values{0, 70000}, "65535"},
		"StringInSlice":         {StringInSlice([]string{"a", "b"}, false), values{"a"}, values{"A", "", 1}, "x"},
		"StringInSlice, folded": {StringInSlice([]string{"a"}, true), values{"A"}, values{"b"}, `one of ["a"], but is "b"`},
		"StringNotInSlice":      {StringNotInSlice([]string{"a"}, true), values{"b"}, values{"A"}, "must not be"},
		"StringLenBetween":      {StringLenBetween(1, 2), values{"é", "ab"}, values{"", "abc"}, "from 1 to 2 characters"},
		"StringMatch":           {StringMatch(digits, ""), values{"12"}, values{"a"}, `\d`},
		"StringMatch, worded":   {StringMatch(digits, "digits only"), values{"12"}, values{"a"}, "digits only"},
		"StringDoesNotMatch":    {StringDoesNotMatch(digits, "no digits"), values{"a"}, values{"12"}, "no digits"},
		"StringIsNotEmpty":      {StringIsNotEmpty, values{" "}, values{""}, "must not be empty"},
		"StringIsNotWhiteSpace": {StringIsNotWhiteSpace, values{"a"}, values{"", " \t"}, "spaces"},
		"StringIsJSON":          {StringIsJSON, values{"{}", "1"}, values{"{", ""}, "JSON"},
		"StringIsValidRegExp":   {StringIsValidRegExp, values{"a+"}, values{"("}, "regular expression"},
		"IsIPAddress":           {IsIPAddress, values{"10.0.0.1", "::1"}, values{"10.0.0", ""}, "IP address"},
		"IsCIDR":                {IsCIDR, values{"10.0.0.0/8", "fd00::/8"}, values{"10.0.0.0", "x/8"}, "a network"},
		"IsURL":                 {IsURLWithHTTPorHTTPS, values{"https://a/b"}, values{"ftp://a", "a", "https:///b"}, "schemes"},
		"IsRFC3339Time":         {IsRFC3339Time, values{"2026-01-02T03:04:05Z"}, values{"yesterday"}, "a time"},
		"All":                   {All(IntAtLeast(1), IntAtMost(3)), values{2}, values{0, 4}, "x"},
		"Any":                   {Any(IntAtMost(1), IntAtLeast(3)), values{0, 4}, values{2}, "1 or less"},
	} {
		for _, v := range test.good {
			if _, errs := test.check(v, "x"); len(errs) > 0 {
				t.Errorf("%s refuses %#v: %v", name, v, errs)
			}
		}
		for _, v := range test.bad {
			_, errs := test.check(v, "x")
			if text := fmt.Sprint(errs); len(errs) == 0 || !strings.Contains(text, `"x"`) || !strings.Contains(text, test.words) {
				t.Errorf("%s of %#v gives %v", name, v, errs)
			}
		}
	}
}
