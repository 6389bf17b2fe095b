package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// signature is a function, as the program describes it.
type signature struct {
	Description string          `json:"description"`
	Return      json.RawMessage `json:"return_type"`
	Parameters  []parameter     `json:"parameters"`
	Variadic    *parameter      `json:"variadic_parameter"`
}

type parameter struct {
	Name string          `json:"name"`
	Type json.RawMessage `json:"type"`
}

// console is the folder of the expressions whose results a test compares with those of Terraform.
const console = "conformance/testdata/console"

// writeFunctions writes a page into a folder: all functions, each with expressions and their results.
func writeFunctions(ctx context.Context, dir string, _ io.Writer) error {
	text, err := exec.CommandContext(ctx, "go", "run", "./cmd/tombolo", "metadata", "functions", "-json").Output()
	if err != nil {
		return fmt.Errorf("print the functions: %w", err)
	}
	var all struct {
		Signatures map[string]signature `json:"function_signatures"`
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	examples, err := functionExamples(console)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "functions.md"), []byte(functionsPage(all.Signatures, examples)), 0o644)
}

func functionsPage(all map[string]signature, examples map[string][]string) string {
	var b strings.Builder
	b.WriteString("# All functions\n\nEach function has examples from the tests, which compare the results with " +
		"Terraform's. Try them with `" + program + " console`.\n\n")
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if strings.Contains(name, "::") {
			continue // the second name of a function
		}
		s := all[name]
		var parameters []string
		for _, p := range s.Parameters {
			parameters = append(parameters, p.Name+" "+typeName(p.Type))
		}
		if s.Variadic != nil {
			parameters = append(parameters, s.Variadic.Name+" "+typeName(s.Variadic.Type)+"...")
		}
		fmt.Fprintf(&b, "## %s\n\n%s\n\n```text\n%s(%s) %s\n```\n\n", name, s.Description, name,
			strings.Join(parameters, ", "), typeName(s.Return))
		if examples[name] != nil {
			fmt.Fprintf(&b, "```text\n%s\n```\n\n", strings.Join(examples[name], "\n"))
		}
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// typeName returns the name of a type, such as list(string).
func typeName(raw json.RawMessage) string {
	var name string
	if json.Unmarshal(raw, &name) == nil {
		return cmp.Or(map[string]string{"dynamic": "any"}[name], name)
	}
	var parts []json.RawMessage
	if json.Unmarshal(raw, &parts) == nil && len(parts) == 2 && json.Unmarshal(parts[0], &name) == nil {
		return name + "(" + typeName(parts[1]) + ")"
	}
	return "any"
}

// functionExamples returns up to three short expressions for each function that call it and succeed, with their
// results.
func functionExamples(dir string) (map[string][]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "functions_*.txt"))
	if err != nil {
		return nil, err
	}
	const most, lines, columns = 3, 6, 150
	found := map[string][]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for entry := range strings.SplitSeq("\n"+string(text), "\n> ") {
			entry = strings.TrimRight(entry, "\n")
			expression, result, _ := strings.Cut(entry, "\n")
			name, _, call := strings.Cut(expression, "(")
			all := strings.Split("> "+entry, "\n")
			switch {
			case !call, len(found[name]) == most, !strings.HasPrefix(result, "  "), len(all) > lines,
				strings.Contains(result, "\n!"), strings.Contains(result, "\n#"), strings.Contains(result, "\n\n"):
				continue
			case slices.ContainsFunc(all, func(line string) bool { return len(line) > columns }):
				continue
			}
			found[name] = append(found[name], strings.Join(all, "\n"))
		}
	}
	return found, nil
}
