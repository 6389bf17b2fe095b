package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// sizeMain implements "bench size". It prints the size of the installed program, and checks that the linker can omit
// unused methods, that the table of sizes is up to date, and that the hosts of packages are small. With -each it prints
// by how much the program would shrink without each backend and its libraries.
func sizeMain(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("bench size", flag.ContinueOnError)
	limit := flags.Int64("limit", 0, "fail if the program has more bytes")
	each := flags.Bool("each", false, "build it without each backend, too")
	write := flags.Bool("write", false, "write the table of what is in it")
	if err := flags.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "bench-size")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	size, err := builtSize(ctx, dir, "./cmd/tombolo", "")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "tombolo: %s MB, stripped\n", decimalMB(size))
	if *limit > 0 && size > *limit {
		return fmt.Errorf("the program has %d bytes, at most %d are promised: \"bench size -each\" says what adds how "+
			"much", size, *limit)
	}
	if err := keptMethods(ctx); err != nil {
		return err
	}
	if err := checkAdditions(ctx, dir, size, *write, out); err != nil {
		return err
	}
	if err := checkHosts(ctx, dir, out); err != nil || !*each {
		return err
	}
	plugin, err := builtSize(ctx, dir, "./cmd/terraform-provider-external", "")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "terraform-provider-external: %s MB, stripped\n", decimalMB(plugin))
	return sizeOfEach(ctx, dir, size, out)
}

func decimalMB(n int64) string { return fmt.Sprintf("%.1f", float64(n)/1e6) }

// builtSize builds a program like a release and returns its size. overlay is an overlay file of the go command, or "".
func builtSize(ctx context.Context, dir, program, overlay string) (int64, error) {
	file := filepath.Join(dir, "built")
	flags, err := releaseFlags()
	if err != nil {
		return 0, err
	}
	args := append([]string{"build", "-trimpath", "-ldflags", "-s -w", "-o", file}, flags...)
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	build := goForLinux(ctx, append(args, program)...)
	if text, err := build.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("build %s: %w: %s", program, err, text)
	}
	info, err := os.Stat(file)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// releaseFlags returns the flags with which .goreleaser.yaml compiles libraries.
func releaseFlags() ([]string, error) {
	const name = ".goreleaser.yaml"
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	_, list, found := strings.Cut(string(text), "    gcflags:\n")
	var flags []string
	for line := range strings.Lines(list) {
		item, ok := strings.CutPrefix(line, "      - ")
		if !ok {
			break
		}
		flags = append(flags, "-gcflags="+strings.TrimSpace(item))
	}
	if !found || len(flags) == 0 {
		return nil, fmt.Errorf("%s has no list gcflags", name)
	}
	return flags, nil
}

// keptMethods returns an error if the linker has to keep the exported methods of all types, which happens if any code
// looks up methods by a name that is not constant.
func keptMethods(ctx context.Context) error {
	link := goForLinux(ctx, "build", "-trimpath", "-ldflags=-dumpdep", "-o", os.DevNull, "./cmd/tombolo")
	text, err := link.CombinedOutput()
	if err != nil {
		return fmt.Errorf("link the program: %w", err)
	}
	mark := []byte("<ReflectMethod>")
	for line := range bytes.Lines(text) {
		if from, to, ok := bytes.Cut(line, []byte(" -> ")); ok && bytes.Contains(to, mark) {
			return fmt.Errorf("%s looks up methods by name, because %s uses it, so that every method of every library "+
				"is kept: choose another way", bytes.TrimSpace(to), from)
		}
	}
	return nil
}

// sizeOfEach prints by how much the program would shrink without each of the backends, and without all of them.
func sizeOfEach(ctx context.Context, dir string, size int64, out io.Writer) error {
	const kinds = "internal/backend/kinds.go"
	text, err := os.ReadFile(kinds)
	if err != nil {
		return err
	}
	found := regexp.MustCompile(`(?m)^\t(?:(\w+) )?"github.com/tombolo-iac/tombolo/internal/store/(\w+)"$`).
		FindAllStringSubmatch(string(text), -1)
	type row struct {
		name string
		adds int64
	}
	var rows []row
	all := string(text)
	measure := func(name, changed string) error {
		n, err := sizeWith(ctx, dir, kinds, changed)
		rows = append(rows, row{name, size - n})
		return err
	}
	for _, f := range found {
		if f[2] == "remote" {
			continue
		}
		changed := withoutBackend(string(text), f[0], cmp.Or(f[1], f[2]))
		if changed == string(text) {
			return fmt.Errorf("%s has no entry for %s", kinds, f[2])
		}
		all = withoutBackend(all, f[0], cmp.Or(f[1], f[2]))
		if err := measure(f[2], changed); err != nil {
			return err
		}
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(b.adds, a.adds) })
	if err := measure("all of them", all); err != nil {
		return err
	}
	fmt.Fprint(out, "\n| backend | adds |\n|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(out, "| %s | %s MB |\n", r.name, decimalMB(r.adds))
	}
	return nil
}

// withoutBackend removes an import and its use from the table of backends.
func withoutBackend(text, imported, name string) string {
	text = strings.Replace(text, imported+"\n", "", 1)
	text = regexp.MustCompile(`(?m)^\t"\w+":\s+new\(`+name+`\.Kind\(\)\),.*\n`).ReplaceAllString(text, "")
	return regexp.MustCompile(`"\w+": `+name+`\.KeyProvider\(o\),?\s*`).ReplaceAllString(text, "")
}

// sizeWith builds the program with a replaced file.
func sizeWith(ctx context.Context, dir, file, text string) (int64, error) {
	at, err := filepath.Abs(file)
	if err != nil {
		return 0, err
	}
	changed, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	description, err := json.Marshal(map[string]any{"Replace": map[string]string{at: changed}})
	if err != nil {
		return 0, err
	}
	err = errors.Join(os.WriteFile(changed, []byte(text), 0o600), os.WriteFile(overlay, description, 0o600))
	if err != nil {
		return 0, err
	}
	return builtSize(ctx, dir, "./cmd/tombolo", overlay)
}
