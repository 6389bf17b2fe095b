package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/tombolo-iac/tombolo/internal/world"
)

// A shape is a family of configurations that only differ in size.
type shape struct {
	name    string
	about   string
	objects func(n int) int // number of managed objects for a size
	write   func(w io.Writer, n int)
	module  func(w io.Writer) // main.tf of ./m, if the shape has one
	inner   func(w io.Writer) // main.tf of ./m/inner, if the module calls one
	// baseline, for shapes that the references cannot run without a plugin, is a shell command to compare tombolo with,
	// which is timed as the first step.
	baseline func(n int) string
	// plugin is the source of the objects' plugin: its calls are recorded and replayed without an engine, for
	// comparison.
	plugin string
	// steps replaces the usual sequence.
	steps []step
	// once means that the size makes no difference.
	once bool
}

// A step is one command of the sequence that is measured.
type step struct {
	name string
	args []string
	// ends is the expected end of the output; %d is replaced by the number of objects.
	ends string
}

var (
	usual = []step{
		{"plan", []string{"plan", "-input=false", "-no-color"}, ""},
		{"apply", []string{"apply", "-input=false", "-no-color", "-auto-approve"},
			"Apply complete! Resources: %d added, 0 changed, 0 destroyed."},
		{"no-op plan", []string{"plan", "-input=false", "-no-color"}, "No changes."},
		{"destroy", []string{"destroy", "-input=false", "-no-color", "-auto-approve"},
			"Destroy complete! Resources: %d destroyed."},
	}
	startup = []step{
		{"version", []string{"version"}, ""},
		{"validate", []string{"validate", "-no-color"}, ""},
	}
)

// wideSteps holds further usual operations on large objects.
var wideSteps = append(slices.Clone(usual[:3]), []step{
	{"plan of a change", []string{"plan", "-input=false", "-no-color", "-var=change=yes"}, ""},
	{"show", []string{"show", "-no-color"}, ""},
	{"show -json", []string{"show", "-json"}, ""},
	{"output", []string{"output", "-json"}, ""},
	usual[3],
}...)

func times(k int) func(int) int { return func(n int) int { return k * n } }

var shapes = append([]shape{
	{
		name: "startup", about: "one object; version and validate only", objects: times(0), steps: startup, once: true,
		write: func(w io.Writer, n int) { fmt.Fprint(w, "resource \"terraform_data\" \"a\" { input = 1 }\n") },
	},
	{
		name: "flat", about: "one block with count = n", objects: times(1),
		write: func(w io.Writer, n int) {
			fmt.Fprintf(w, "resource \"terraform_data\" \"a\" {\n  count = %d\n  input = \"item ${count.index}\"\n}\n",
				n)
		},
	},
	{
		name: "foreach", about: "one block with for_each over n strings", objects: times(1),
		write: func(w io.Writer, n int) {
			fmt.Fprintf(w, "resource \"terraform_data\" \"a\" {\n  for_each = toset(%s)\n  input    = each.key\n}\n",
				keys(n))
		},
	},
	{
		name: "pairs", about: "a and b with count = n, b[i] refers to a[i].id", objects: times(2),
		write: func(w io.Writer, n int) {
			fmt.Fprintf(w, "resource \"terraform_data\" \"a\" {\n  count = %d\n  input = count.index\n}\n", n)
			fmt.Fprintf(w,
				"resource \"terraform_data\" \"b\" {\n  count = %d\n  input = terraform_data.a[count.index].id\n}\n", n)
		},
	},
	{
		name: "splat", about: "b with count = n, each joins a[*].id: quadratic by its nature", objects: times(2),
		write: func(w io.Writer, n int) {
			fmt.Fprintf(w, "resource \"terraform_data\" \"a\" { count = %d }\n", n)
			fmt.Fprintf(w, "resource \"terraform_data\" \"b\" {\n  count = %d\n  input = length(join(\",\", "+
				"terraform_data.a[*].id))\n}\n", n)
		},
	},
	{
		name: "shared", about: "b with count = n, all use one local that joins a[*].id", objects: times(2),
		write: func(w io.Writer, n int) {
			fmt.Fprintf(w, "resource \"terraform_data\" \"a\" { count = %d }\n", n)
			fmt.Fprint(w, "locals { length = length(join(\",\", terraform_data.a[*].id)) }\n")
			fmt.Fprintf(w, "resource \"terraform_data\" \"b\" {\n  count = %d\n  input = local.length\n}\n", n)
		},
	},
	{
		name: "separate", about: "n blocks that do not know each other", objects: times(1),
		write: func(w io.Writer, n int) {
			for i := range n {
				fmt.Fprintf(w, "resource \"terraform_data\" \"r%d\" { input = %d }\n", i, i)
			}
		},
	},
	{
		name: "chain", about: "n blocks, each refers to the one before", objects: times(1),
		write: func(w io.Writer, n int) {
			fmt.Fprint(w, "resource \"terraform_data\" \"r0\" { input = 0 }\n")
			for i := 1; i < n; i++ {
				fmt.Fprintf(w, "resource \"terraform_data\" \"r%d\" { input = terraform_data.r%d.id }\n", i, i-1)
			}
		},
	},
	{
		name: "modules", about: "a module with for_each over n/10 keys, ten objects in each", objects: func(n int) int {
			return n / 10 * 10
		},
		write: func(w io.Writer, n int) {
			fmt.Fprintf(w, "module \"m\" {\n  source   = \"./m\"\n  for_each = toset(%s)\n  name     = each.key\n}\n",
				keys(n/10))
			fmt.Fprint(w, "output \"last\" { value = length([for m in module.m : m.last]) }\n")
		},
		module: func(w io.Writer) {
			fmt.Fprint(w, `variable "name" { type = string }
resource "terraform_data" "first" { input = var.name }
resource "terraform_data" "rest" {
  count = 8
  input = "${terraform_data.first.id}-${count.index}"
}
resource "terraform_data" "last" { input = terraform_data.rest[*].id }
output "last" { value = terraform_data.last.id }
`)
		},
	},
	{
		name:    "plugins",
		about:   "n objects of a plugin that takes up to 100 ms to change one, beside the same calls without an engine",
		objects: times(1), plugin: world.Source,
		write: func(w io.Writer, n int) { writeWorld(w, n, "  seed  = 1\n  delay = \"100ms\"\n") },
	},
	{
		name: "fast-plugins", about: "the same with a plugin that takes no time: what the engine costs",
		objects: times(1), plugin: world.Source,
		write: func(w io.Writer, n int) { writeWorld(w, n, "") },
	},
	wideShape("sets", "one object with two sets of n objects of five attributes, and n set blocks", 1, setArguments),
	wideShape("small-sets", "a hundred objects with sets of n/10 objects", 100, func(n int) string {
		return setArguments(n / 10)
	}),
	wideShape("names", "one object with a set of n strings", 1, func(n int) string {
		return fmt.Sprintf("  names = %s\n", keys(n))
	}),
	wideShape("collections", "one object with a map of n strings, a map and a list of n objects, and n list blocks", 1,
		collectionArguments),
	wideShape("text", "one object with a text of 100 bytes times n", 1, func(n int) string {
		return fmt.Sprintf("  text = join(\",\", [for k in %s : \"${k}${format(\"%%090d\", 1)}\"])\n", keys(n))
	}),
	{name: "records", about: "n objects of a hundred attributes, of which one is configured", objects: times(1),
		plugin: wideSource, write: writeRecords},
	{
		name: "external", about: "n data.external that run cat, beside xargs -P 10", objects: times(0),
		baseline: func(n int) string { return fmt.Sprintf("yes query.json | head -n %d | xargs -P 10 -n 1 cat", n) },
		write: func(w io.Writer, n int) {
			fmt.Fprintf(w, "data \"external\" \"a\" {\n  count   = %d\n  program = [\"cat\"]\n  query   = { index = "+
				"count.index }\n}\n", n)
			fmt.Fprint(w, "output \"last\" { value = length(data.external.a) }\n")
		},
	},
}, invariantShapes...)

// writeWorld writes n objects of the plugin; more is additional configuration.
func writeWorld(w io.Writer, n int, more string) {
	fmt.Fprintf(w, "terraform {\n  required_providers {\n    world = { source = %q }\n  }\n}\n",
		"registry.terraform.io/"+world.Source)
	fmt.Fprintf(w, "provider \"world\" {\n  dir   = \"world\"\n%s}\n", more)
	fmt.Fprintf(w, "resource \"world_object\" \"a\" {\n  count = %d\n  name  = \"object-${count.index}\"\n  value = "+
		"\"some text\"\n", n)
	fmt.Fprint(w, "  tags  = { team = \"a\", stage = \"test\" }\n}\n")
}

func shapeNames() []string {
	var names []string
	for _, s := range shapes {
		names = append(names, s.name)
	}
	return names
}

func (s shape) sequence() []step {
	if s.steps != nil {
		return s.steps
	}
	return usual
}

// generate writes the configuration of a size to dir, as a stream, because bench must use little memory itself: see
// measure.go.
func (s shape) generate(dir string, n int) error {
	if err := writeSource(filepath.Join(dir, "main.tf"), func(w io.Writer) { s.write(w, n) }); err != nil {
		return err
	}
	if s.module == nil {
		return nil
	}
	if s.inner != nil {
		if err := writeSource(filepath.Join(dir, "m", "inner", "main.tf"), s.inner); err != nil {
			return err
		}
	}
	return writeSource(filepath.Join(dir, "m", "main.tf"), s.module)
}

func writeSource(path string, write func(io.Writer)) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return writeFile(path, func(f io.Writer) error {
		w := bufio.NewWriter(f)
		write(w)
		return w.Flush()
	})
}

// keys returns an expression for n keys. The function range returns at most 1024 numbers, so two levels are needed.
func keys(n int) string {
	rows := (n + 999) / 1000
	return fmt.Sprintf("slice(flatten([for i in range(%d) : [for j in range(1000) : \"key-${i}-${j}\"]]), 0, %d)", rows,
		n)
}
