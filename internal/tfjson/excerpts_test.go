package tfjson

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

func TestCoveringManyValuesCopiesTheSourceOnce(t *testing.T) {
	var b strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&b, "undeclared%d = \"canary\"\n", i)
	}
	source := []byte(b.String())
	e := NewExcerpts(map[string][]byte{"terraform.tfvars": source})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	x := e.of("terraform.tfvars")
	runtime.ReadMemStats(&after)
	if bytes.Contains(x.source, []byte("canary")) || len(x.source) != len(source) {
		t.Error("a value is shown")
	}
	if !bytes.Contains(source, []byte("canary")) {
		t.Error("the source itself has changed")
	}
	if got := (after.TotalAlloc - before.TotalAlloc) >> 20; got > 64 {
		t.Errorf("%d MiB were allocated for %d KiB", got, len(source)>>10)
	}
}
