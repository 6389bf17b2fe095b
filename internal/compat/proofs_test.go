package compat

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/rogpeppe/go-internal/txtar"
)

// usage maps items to the cases that use them.
type usage map[string][]string

// with returns the facts combined with those of another program.
func (f Facts) with(more Facts) Facts {
	out := f
	out.Commands = maps.Clone(f.Commands)
	for path, flags := range more.Commands {
		out.Commands[path] = slices.Concat(out.Commands[path], flags, []string{}) // never nil
	}
	out.Settings = slices.Concat(f.Settings, more.Settings)
	out.Environment = slices.Concat(f.Environment, more.Environment)
	return out
}

// cases reads the conformance corpus and the scripts of the command line.
func cases(t *testing.T, f, more Facts) usage {
	f = f.with(more)
	u := usage{}
	for prefix, pattern := range map[string]string{"": "../../conformance/testdata/*/*.txtar",
		"cli/": "../cli/testdata/*.txtar"} {
		files, err := filepath.Glob(filepath.FromSlash(pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("there are no cases in %s", pattern)
		}
		for _, file := range files {
			name := prefix + strings.TrimSuffix(filepath.Base(file), ".txtar")
			if prefix == "" {
				name = filepath.Base(filepath.Dir(file)) + "/" + name
			}
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			u.read(f, name, prefix == "cli/", archive)
		}
	}
	lives, err := filepath.Glob(filepath.FromSlash("../../conformance/team/*_test.go"))
	if err != nil || len(lives) == 0 {
		t.Fatal("there are no states that are shared with terraform")
	}
	for _, file := range lives {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile(`backend "([a-z0-9]+)"`).FindAllSubmatch(text, -1) {
			u.add("team/"+strings.TrimSuffix(filepath.Base(file), "_test.go"), Item{Backend, "", string(found[1])})
		}
	}
	for key := range u {
		slices.SortFunc(u[key], func(a, b string) int { // the corpus, which compares programs, before the scripts
			if aCLI, bCLI := strings.HasPrefix(a, "cli/"), strings.HasPrefix(b, "cli/"); aCLI != bCLI {
				if aCLI {
					return 1
				}
				return -1
			}
			return strings.Compare(a, b)
		})
		u[key] = slices.Compact(u[key])
	}
	return u
}

func (u usage) add(name string, i Item) { u[i.String()] = append(u[i.String()], name) }

func (u usage) read(f Facts, name string, script bool, archive *txtar.Archive) {
	steps := string(archive.Comment)
	for _, file := range archive.Files {
		text := string(file.Data)
		switch {
		case file.Name == "steps":
			steps = text
		case strings.HasSuffix(file.Name, ".tf"), strings.HasSuffix(file.Name, ".tofu"),
			strings.HasSuffix(file.Name, ".tfquery.hcl"):
			u.configuration(name, text)
		case strings.HasSuffix(file.Name, "rc"):
			u.settings(f, name, text)
		case strings.HasPrefix(name, "console/"):
			for _, call := range regexp.MustCompile(`\b([a-z0-9]+)\(`).FindAllStringSubmatch(text, -1) {
				u.add(name, Item{Function, "", call[1]})
			}
		}
	}
	for line := range strings.SplitSeq(steps, "\n") {
		u.step(f, name, script, strings.Fields(line))
	}
}

// step records the command of a line, its flags, and the variables that it sets.
func (u usage) step(f Facts, name string, script bool, words []string) {
	if len(words) > 1 && words[0] == "env" {
		variable, _, _ := strings.Cut(words[1], "=")
		for _, known := range f.Environment {
			if pattern := regexp.QuoteMeta(known); regexp.MustCompile("^" + strings.NewReplacer("NAME", ".+", "HOST",
				".+").Replace(pattern) + "$").MatchString(variable) {
				u.add(name, Item{Variable, "", known})
			}
		}
		return
	}
	if script {
		at := slices.IndexFunc(words, func(w string) bool { return w == "tombolo" || w == "terraform" })
		if at < 0 || at > 3 {
			return
		}
		words = words[at+1:]
	}
	flags := func(path string, words []string) {
		for _, w := range words {
			flag, _, _ := strings.Cut(strings.TrimLeft(strings.Trim(w, "'\""), "-"), "=")
			if strings.HasPrefix(strings.Trim(w, "'\""), "-") && slices.Contains(f.Commands[path], flag) {
				u.add(name, Item{Flag, path, flag})
			}
		}
	}
	before := 0
	for before < len(words) && strings.HasPrefix(words[before], "-") {
		before++
	}
	flags("", words[:before])
	words = words[before:]
	for n := min(2, len(words)); n > 0; n-- {
		if path := strings.Join(words[:n], " "); f.Commands[path] != nil {
			u.add(name, Item{Command, "", path})
			flags(path, words[n:])
			return
		}
	}
}

func (u usage) configuration(name, text string) {
	file, _ := hclsyntax.ParseConfig([]byte(text), "x.tf", hcl.InitialPos)
	if file == nil {
		return
	}
	body := file.Body.(*hclsyntax.Body)
	hclsyntax.VisitAll(body, func(n hclsyntax.Node) hcl.Diagnostics {
		if call, ok := n.(*hclsyntax.FunctionCallExpr); ok {
			u.add(name, Item{Function, "", strings.TrimPrefix(call.Name, "core::")})
		}
		return nil
	})
	u.body(name, "", body)
}

func (u usage) body(name, path string, body *hclsyntax.Body) {
	for arg, attr := range body.Attributes {
		u.add(name, Item{Argument, path, arg})
		if object, ok := attr.Expr.(*hclsyntax.ObjectConsExpr); ok && path == "terraform/required_providers" {
			for _, item := range object.Items {
				u.add(name, Item{Argument, path + "/NAME", hcl.ExprAsKeyword(item.KeyExpr)})
			}
		}
	}
	for _, b := range body.Blocks {
		u.add(name, Item{Block, path, b.Type})
		inner := strings.TrimPrefix(path+"/"+b.Type, "/")
		if (b.Type == "provisioner" || b.Type == "backend") && len(b.Labels) == 1 {
			u.add(name, Item{Backend, "", b.Labels[0]})
			inner += " " + b.Labels[0]
		}
		u.body(name, inner, b.Body)
	}
}

// settings records names of settings. Their files are small, so any occurrence of a name counts.
func (u usage) settings(f Facts, name, text string) {
	for _, setting := range f.Settings {
		in := true
		for part := range strings.SplitSeq(setting, "/") {
			in = in && regexp.MustCompile(`(?m)\b`+regexp.QuoteMeta(part)+`\b`).MatchString(text)
		}
		if in {
			u.add(name, Item{Setting, "", setting})
		}
	}
}
