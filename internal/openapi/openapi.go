// Package openapi converts OpenAPI documents to HTTP providers. Load reads a document. Map finds the resources, data
// sources and lists in its operations; the result has the manifest of a provider, its tests, and a report that lists
// every operation as mapped or with the reason why not. Mock serves the API of the same document from memory.
//
//	doc, err := openapi.Load("shop.yaml")
//	p := openapi.Map(doc, openapi.Options{})
//	os.Stdout.Write(p.Report())
//
// Documents are of OpenAPI 3.0 or 3.1, in JSON or YAML. References may point into the document and to files in its
// folder and below; nothing is downloaded. The size and depth of a document with its references are limited.
package openapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"

	yaml "go.yaml.in/yaml/v2"

	"github.com/tombolo-iac/tombolo/internal/nesting"
)

const (
	maxSize  = 64 << 20 // of all files together
	maxFiles = 500
	maxDepth = 200
	// maxOperations is the maximum number of operations; the largest public documents have about two thousand.
	maxOperations = 10_000
)

// Document is an OpenAPI document with the files that it refers to.
type Document struct {
	Title, Version string
	Operations     []*Operation
	// Newer is the OpenAPI version if this package does not support it yet.
	Newer string

	root     *source
	dir      *os.Root
	files    map[string]*source
	size     int
	schemas  map[uintptr]*Schema
	problems []string
	schemes  map[string]map[string]any
	security []requirement
	server   map[string]any
	hints    map[string]bool // the names of all hints in the document
}

// source is a file.
type source struct {
	name string // relative to the folder of the document, with slashes
	root any
	// prepared means that its references have been resolved.
	prepared bool
}

// node is an object with its file, to which references are relative.
type node struct {
	v  map[string]any
	in *source
}

// Load reads a document. The error lists all problems, such as references that cannot be resolved.
func Load(file string) (*Document, error) {
	dir, err := os.OpenRoot(filepath.Dir(file))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	d := &Document{dir: dir, files: map[string]*source{}, schemas: map[uintptr]*Schema{}, hints: map[string]bool{}}
	if d.root, err = d.open(filepath.Base(file)); err != nil {
		return nil, err
	}
	top, ok := d.root.root.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s is not an OpenAPI document: its top level must be an object", file)
	}
	version, _ := top["openapi"].(string)
	switch {
	case text(top["swagger"]) != "" || top["swagger"] != nil:
		return nil, fmt.Errorf("%s is a document of Swagger 2.0; OpenAPI 3.0 or 3.1 is required. Convert it, for "+
			"example with swagger2openapi", file)
	case version == "":
		return nil, fmt.Errorf(`%s is not an OpenAPI document: it has no member "openapi" with a version`, file)
	case !strings.HasPrefix(version, "3."):
		return nil, fmt.Errorf("%s is of OpenAPI %s; version 3.0 or 3.1 is required", file, version)
	case !strings.HasPrefix(version, "3.0") && !strings.HasPrefix(version, "3.1"):
		d.Newer = version
	}
	d.prepare(d.root)
	d.read(node{top, d.root})
	if len(d.problems) > 0 {
		return nil, d.failure(file)
	}
	return d, nil
}

const mostProblems = 10

func (d *Document) failure(file string) error {
	list := d.problems[:min(len(d.problems), mostProblems)]
	more := ""
	if n := len(d.problems) - len(list); n > 0 {
		more = fmt.Sprintf("\n  and %d more", n)
	}
	return fmt.Errorf("%s cannot be used:\n  %s%s", file, strings.Join(list, "\n  "), more)
}

// failf records an error in the document.
func (d *Document) failf(format string, args ...any) {
	if problem := fmt.Sprintf(format, args...); !contains(d.problems, problem) {
		d.problems = append(d.problems, problem)
	}
}

// open reads a file of the folder.
func (d *Document) open(name string) (*source, error) {
	if s := d.files[name]; s != nil {
		return s, nil
	}
	if len(d.files) >= maxFiles {
		return nil, fmt.Errorf("the document refers to more than %d files", maxFiles)
	}
	f, err := d.dir.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", name)
	}
	src, err := io.ReadAll(io.LimitReader(f, int64(maxSize-d.size)+1))
	if err != nil {
		return nil, err
	}
	if d.size += len(src); d.size > maxSize {
		return nil, fmt.Errorf("the document with its files has more than %d bytes", maxSize)
	}
	root, err := decode(src)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", name, err)
	}
	s := &source{name: name, root: root}
	d.files[name] = s
	return s, nil
}

// decode parses JSON or YAML.
func decode(src []byte) (any, error) {
	src = bytes.TrimPrefix(src, []byte("\xef\xbb\xbf"))
	var v any
	if trimmed := bytes.TrimSpace(src); len(trimmed) > 0 && trimmed[0] == '{' {
		dec := json.NewDecoder(bytes.NewReader(src))
		dec.UseNumber()
		if err := dec.Decode(&v); err == nil {
			return plain(v, 0)
		}
	}
	if nesting.YAML(string(src)) {
		return nil, errors.New("it nests too deeply")
	}
	if err := yaml.Unmarshal(src, &v); err != nil {
		return nil, err
	}
	return plain(v, 0)
}

// plain converts a value to the types of encoding/json: objects with string keys, numbers as json.Number.
func plain(v any, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("it nests more than %d levels deep", maxDepth)
	}
	var err error
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			if v[name], err = plain(inner, depth+1); err != nil {
				return nil, err
			}
		}
	case map[any]any:
		out := make(map[string]any, len(v))
		for name, inner := range v {
			if out[fmt.Sprint(name)], err = plain(inner, depth+1); err != nil {
				return nil, err
			}
		}
		return out, nil
	case []any:
		for i := range v {
			if v[i], err = plain(v[i], depth+1); err != nil {
				return nil, err
			}
		}
	case int, int64, uint64:
		return json.Number(fmt.Sprint(v)), nil
	case float64:
		return json.Number(strconv.FormatFloat(v, 'g', -1, 64)), nil
	case nil, bool, string, json.Number:
	default:
		return fmt.Sprint(v), nil // a date
	}
	return v, nil
}

// object resolves references and returns the value, which must be an object.
func (d *Document) object(v any, in *source, where string) node {
	for range maxDepth {
		m, ok := v.(map[string]any)
		if !ok {
			return node{}
		}
		ref, ok := m["$ref"].(string)
		if !ok {
			return node{m, in}
		}
		if v, in = d.follow(ref, in, where); in == nil {
			return node{}
		}
	}
	d.failf("%s: its references form a cycle", where)
	return node{}
}

// follow resolves a reference. If it fails, it records an error and returns a nil source.
func (d *Document) follow(ref string, in *source, where string) (any, *source) {
	name, pointer, _ := strings.Cut(ref, "#")
	if name != "" {
		if strings.Contains(name, "://") || strings.HasPrefix(name, "//") {
			d.failf("%s refers to %s; nothing is fetched from the network. Bundle the document first", where, ref)
			return nil, nil
		}
		name = path.Join(path.Dir(in.name), name)
		if name == ".." || strings.HasPrefix(name, "../") || path.IsAbs(name) {
			d.failf("%s refers to %s, which is not below the folder of the document", where, ref)
			return nil, nil
		}
		other, err := d.open(name)
		if err != nil {
			d.failf("%s refers to %s: %s", where, ref, err)
			return nil, nil
		}
		in = other
	}
	v := in.root
	for _, step := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
		if pointer == "" || pointer == "/" {
			break
		}
		if plain, err := url.PathUnescape(step); err == nil {
			step = plain
		}
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		found := false
		switch at := v.(type) {
		case map[string]any:
			v, found = at[step]
		case []any:
			if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(at) {
				v, found = at[i], true
			}
		}
		if !found {
			d.failf("%s refers to %s, where there is nothing", where, ref)
			return nil, nil
		}
	}
	return v, in
}

// prepare resolves all references of a file, so that all errors are found while a document is loaded. It also collects
// the names of the extensions that are hints.
func (d *Document) prepare(s *source) {
	if s.prepared {
		return
	}
	s.prepared = true
	d.explore(s.root, s, "#")
}

// values are the names of members that contain values and not schemas.
var values = []string{"example", "examples", "default", "enum", "const", "mapping"}

func (d *Document) explore(v any, in *source, where string) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range sorted(v) {
			ref, isText := v[name].(string)
			switch {
			case name == "$ref" && isText:
				if _, to := d.follow(ref, in, where); to != nil {
					d.prepare(to)
				}
			case strings.HasPrefix(name, hintPrefix):
				d.hints[name] = true
			case !contains(values, name) || strings.HasSuffix(where, "/properties"):
				d.explore(v[name], in, where+"/"+strings.ReplaceAll(name, "/", "~1"))
			}
		}
	case []any:
		for i, inner := range v {
			d.explore(inner, in, where+"/"+strconv.Itoa(i))
		}
	}
}

func identity(m map[string]any) uintptr { return reflect.ValueOf(m).Pointer() }

//go:noinline
func text(v any) string {
	s, _ := v.(string)
	return s
}

//go:noinline
func flag(v any) bool {
	b, _ := v.(bool)
	return b
}

//go:noinline
func list(v any) []any {
	l, _ := v.([]any)
	return l
}
