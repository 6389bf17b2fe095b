package stack_test

import (
	"archive/zip"
	"bytes"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/projectfile"
	"github.com/tombolo-iac/tombolo/internal/stack"
)

// FuzzOpenFile opens plan files with any manifest, and any file. Each unit of the stack is chosen at most once.
func FuzzOpenFile(f *testing.F) {
	f.Add([]byte(`{"format_version":"1.0","units":[{"name":"a","dir":"testdata/unit"}]}`), true)
	f.Add([]byte(`{"format_version":"1.0","units":[{"name":"a","dir":"testdata/unit"},{"name":"a",
		"dir":"testdata/unit"}]}`), true)
	f.Add([]byte(`{"format_version":"2.0"}`), true)
	f.Add([]byte("PK\x03\x04"), false)
	file, diags := projectfile.Parse(projectfile.Name, []byte(`unit "a" { source = "testdata/unit" }`))
	if diags.HasErrors() {
		f.Fatal(diags.Err())
	}
	s, diags := stack.Load(".", file)
	if diags.HasErrors() {
		f.Fatal(diags.Err())
	}
	f.Fuzz(func(t *testing.T, text []byte, packed bool) {
		if packed {
			var b bytes.Buffer
			w := zip.NewWriter(&b)
			manifest, err := w.Create("manifest.json")
			if err == nil {
				_, err = manifest.Write(text)
			}
			if err != nil || w.Close() != nil {
				t.Fatal(err)
			}
			text = b.Bytes()
		}
		opened, err := stack.OpenFile(bytes.NewReader(text), int64(len(text)))
		if err != nil {
			return
		}
		if units, diags := s.Chosen(opened); len(units) > 1 || len(units) > 0 && diags.HasErrors() {
			t.Errorf("units %v, problems %v", units, diags.Err())
		}
	})
}
