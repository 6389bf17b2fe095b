package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestSymbolsHavePackages(t *testing.T) {
	for symbol, want := range map[string]string{
		"main.main": "main",
		"go:itab.*github.com/aws/smithy-go/io.ringBuffer,io.Reader":  "github.com/aws/smithy-go/io",
		"type:.eq.[128]github.com/zclconf/go-cty/cty.Value":          "github.com/zclconf/go-cty/cty",
		"gopkg.in/ini%2ev1.(*File).Section":                          "gopkg.in/ini.v1",
		"slices.SortFunc[go.shape.[]k8s.io/api.Pod,go.shape.string]": "slices",
		"golang.org/x/text/encoding/korean.encode0":                  "golang.org/x/text/encoding/korean",
		"go:func.*": "", "type:*": "", "$f64.3fd": "", "runtime.text": "runtime",
	} {
		if got := packageOf(symbol); got != want {
			t.Errorf("%s is of %q, want %q", symbol, got, want)
		}
	}
}

// Exactly the grown, added and removed packages are reported, and a written table is read unchanged.
func TestTableOfSizesReportsChanges(t *testing.T) {
	rows := []addition{{"mine: `example.com/a/...`", 1_000_000}, {"apart: `example.com/a/big/...` `example.com/b`",
		2_000_000}, {standardTitle, 3_000_000}, {restTitle, 4_000_000}}
	packages := map[string]int64{"example.com/a": 900_000, "example.com/a/x": 150_000, "example.com/a/big/y": 1_500_000,
		"example.com/b": 500_000, "runtime": 3_000_000}
	modules := map[string]string{"example.com/a": "example.com/a", "example.com/a/x": "example.com/a",
		"example.com/a/big/y": "example.com/a", "example.com/b": "example.com/b", "runtime": "",
		"example.com/new/z": "example.com/new"}
	check := func(want ...string) {
		t.Helper()
		size := int64(4_000_000)
		for _, n := range packages {
			size += n
		}
		now, missing := additions(rows, packages, modules, size)
		var out bytes.Buffer
		err := compareAdditions(rows, now, missing, &out)
		if (err == nil) != (len(want) == 0) {
			t.Errorf("it says %v, want %q", err, want)
		}
		for _, part := range want {
			if err != nil && !strings.Contains(err.Error(), part) {
				t.Errorf("it says %v, want %q", err, part)
			}
		}
	}
	check()
	packages["example.com/a/x"] = 250_000
	check("mine: `example.com/a/...` adds 1150000 bytes, 150000 more than its row says")
	packages["example.com/a/x"] = 150_000
	packages["example.com/new/z"] = 10
	check("`example.com/new/...` adds 10 bytes and has no row")
	delete(packages, "example.com/new/z")
	delete(packages, "example.com/a/big/y")
	delete(packages, "example.com/b")
	check("apart: `example.com/a/big/...` `example.com/b` is not in the program any more")

	before, read, after, err := readAdditions("head\n" + tableBegins + formatAdditions(rows) + "\nfoot\n")
	if err != nil || before != "head\n" || after != "\nfoot\n" || len(read) != len(rows) || read[1] != rows[1] {
		t.Errorf("%q, %v, %q, %v", before, read, after, err)
	}
	if _, _, _, err := readAdditions("| packages |"); err == nil {
		t.Error("a page without the table is read")
	}
}
