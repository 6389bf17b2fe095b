package providertest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/value"
)

// show formats a value almost as JSON, for authors of providers in any language.
func show(v cty.Value) string {
	if v == cty.NilVal {
		return "nothing"
	}
	var b strings.Builder
	appendValue(&b, v)
	return b.String()
}

func appendValue(b *strings.Builder, v cty.Value) {
	ty := v.Type()
	switch {
	case v.IsMarked():
		b.WriteString(hidden)
	case !v.IsKnown():
		b.WriteString("(unknown)")
	case v.IsNull():
		b.WriteString("null")
	case ty == cty.String:
		b.WriteString(strconv.Quote(v.AsString()))
	case ty == cty.Number:
		b.WriteString(v.AsBigFloat().Text('f', -1))
	case ty == cty.Bool:
		b.WriteString(strconv.FormatBool(v.True()))
	case ty.IsObjectType() || ty.IsMapType():
		all := v.AsValueMap()
		b.WriteByte('{')
		for i, name := range slices.Sorted(maps.Keys(all)) {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(strconv.Quote(name) + ": ")
			appendValue(b, all[name])
		}
		b.WriteByte('}')
	case v.CanIterateElements():
		showAll(b, v.AsValueSlice(), "[", "]")
	default:
		fmt.Fprintf(b, "%#v", v)
	}
}

func showAll(b *strings.Builder, list []cty.Value, begin, end string) {
	b.WriteString(begin)
	for i, v := range list {
		if i > 0 {
			b.WriteString(", ")
		}
		appendValue(b, v)
	}
	b.WriteString(end)
}

// differences returns the paths at which two values differ, one per line. word and other name the values.
func differences(word string, a cty.Value, other string, b cty.Value) string {
	if a == cty.NilVal || b == cty.NilVal || a.IsNull() != b.IsNull() || !a.Type().Equals(b.Type()) {
		return fmt.Sprintf("%s %s, %s %s", word, show(a), other, show(b))
	}
	bareA, _ := a.UnmarkDeep()
	bareB, _ := b.UnmarkDeep()
	var lines []string
	for _, path := range value.Diff(bareA, bareB) {
		at := strings.TrimPrefix(value.FormatPath(path), ".")
		if at != "" {
			at += ": "
		}
		lines = append(lines, fmt.Sprintf("%s%s %s, %s %s", at, word, part(path, a), other, part(path, b)))
	}
	return strings.Join(lines, "\n")
}

// part formats the value at a path, which may not exist in one of two values.
func part(path cty.Path, v cty.Value) string {
	at, err := path.Apply(v)
	if err != nil {
		return "nothing"
	}
	return show(at)
}
