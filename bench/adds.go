package main

import (
	"bytes"
	"cmp"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The location of the table of the program's size by packages. A row names packages between backquotes; "path/..."
// includes all packages below it. Two rows have the fixed names below. A package belongs to the row with the longest
// matching path.
const (
	tablePlace    = "bench/README.md"
	tableBegins   = "| packages | kB |\n|---|---:|\n"
	standardTitle = "Go's own"
	restTitle     = "types, texts, tables of the linker"
)

// A row may grow by a tenth, or by this many bytes if that is more, before the table has to be updated.
const mayGrow = 50_000

// addition is a row of the table.
type addition struct {
	name  string
	bytes int64
}

// checkAdditions compares the program with the table, or updates the table. size is that of the stripped program.
func checkAdditions(ctx context.Context, dir string, size int64, write bool, out io.Writer) error {
	page, err := os.ReadFile(tablePlace)
	if err != nil {
		return err
	}
	before, rows, after, err := readAdditions(string(page))
	if err != nil {
		return err
	}
	packages, err := sizesOfPackages(ctx, dir)
	if err != nil {
		return err
	}
	modules, err := modulesOfPackages(ctx)
	if err != nil {
		return err
	}
	now, missing := additions(rows, packages, modules, size)
	if !write {
		return compareAdditions(rows, now, missing, out)
	}
	now, _ = additions(slices.Concat(rows, missing), packages, modules, size)
	now = slices.DeleteFunc(now, func(a addition) bool { return a.bytes == 0 })
	slices.SortStableFunc(now, func(a, b addition) int { return cmp.Compare(b.bytes, a.bytes) })
	return os.WriteFile(tablePlace, []byte(before+tableBegins+formatAdditions(now)+after), 0o666)
}

// readAdditions splits the page around the rows of the table.
func readAdditions(page string) (before string, rows []addition, after string, err error) {
	before, rest, ok := strings.Cut(page, tableBegins)
	if !ok {
		return "", nil, "", fmt.Errorf("%s has no table with the head %q", tablePlace, strings.Fields(tableBegins))
	}
	for strings.HasPrefix(rest, "|") {
		line, below, _ := strings.Cut(rest, "\n")
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if len(cells) != 2 {
			return "", nil, "", fmt.Errorf("%s: the row %q has no two cells", tablePlace, line)
		}
		kB, err := strconv.ParseInt(strings.ReplaceAll(cells[1], " ", ""), 10, 64)
		if err != nil {
			return "", nil, "", fmt.Errorf("%s: the row %q has no size: %w", tablePlace, line, err)
		}
		rows, rest = append(rows, addition{cells[0], kB * 1000}), below
	}
	return before, rows, rest, nil
}

func formatAdditions(rows []addition) string {
	var b strings.Builder
	for _, r := range rows {
		digits := strconv.FormatInt((r.bytes+500)/1000, 10)
		if n := len(digits) - 3; n > 0 {
			digits = digits[:n] + " " + digits[n:]
		}
		fmt.Fprintf(&b, "| %s | %s |\n", r.name, digits)
	}
	return b.String()
}

// additions sums up the packages of each row. Packages without a row are in missing, by module.
func additions(rows []addition, packages map[string]int64, modules map[string]string, size int64) (now,
	missing []addition) {
	sums, strange := map[string]int64{}, map[string]int64{}
	rest := size
	for name, bytes := range packages {
		rest -= bytes
		module := modules[name]
		row := rowOf(rows, name)
		switch {
		case module == "":
			sums[standardTitle] += bytes
		case row != "":
			sums[row] += bytes
		default:
			strange["`"+module+"/...`"] += bytes
		}
	}
	sums[restTitle] = rest
	for _, r := range rows {
		now = append(now, addition{r.name, sums[r.name]})
	}
	for name, bytes := range strange {
		missing = append(missing, addition{name, bytes})
	}
	for _, name := range []string{standardTitle, restTitle} {
		if !slices.ContainsFunc(rows, func(r addition) bool { return r.name == name }) {
			missing = append(missing, addition{name, sums[name]})
		}
	}
	slices.SortFunc(missing, func(a, b addition) int { return cmp.Compare(a.name, b.name) })
	return now, missing
}

// rowOf returns the row of a package, or "".
func rowOf(rows []addition, name string) (found string) {
	longest := 0
	for _, r := range rows {
		for _, quoted := range quotation.FindAllStringSubmatch(r.name, -1) {
			path, below := strings.CutSuffix(quoted[1], "/...")
			if (name == path || below && strings.HasPrefix(name, path+"/")) && len(quoted[1]) > longest {
				found, longest = r.name, len(quoted[1])
			}
		}
	}
	return found
}

var quotation = regexp.MustCompile("`([^`]+)`")

// compareAdditions reports packages that were added, have grown, or were removed.
func compareAdditions(rows, now, missing []addition, out io.Writer) error {
	const remedy = "if it is worth that, \"go run ./bench size -write\" writes the table in " + tablePlace
	var problems []error
	for _, m := range missing {
		problems = append(problems, fmt.Errorf("%s adds %d bytes and has no row: %s", m.name, m.bytes, remedy))
	}
	for i, r := range rows {
		grown := now[i].bytes - r.bytes
		switch {
		case now[i].bytes == 0:
			problems = append(problems, fmt.Errorf("%s is not in the program any more, and has a row: %s", r.name,
				remedy))
		case grown > max(r.bytes/10, mayGrow):
			problems = append(problems, fmt.Errorf("%s adds %d bytes, %d more than its row says: %s", r.name,
				now[i].bytes, grown, remedy))
		case -grown > max(r.bytes/10, mayGrow):
			fmt.Fprintf(out, "%s: %s MB less than its row says\n", r.name, decimalMB(-grown))
		}
	}
	return errors.Join(problems...)
}

// sizesOfPackages returns the sizes of packages in the program file: code, data, and the corresponding part of the
// tables for stack traces.
func sizesOfPackages(ctx context.Context, dir string) (map[string]int64, error) {
	name := filepath.Join(dir, "named")
	flags, err := releaseFlags()
	if err != nil {
		return nil, err
	}
	build := goForLinux(ctx, append(append([]string{"build", "-trimpath", "-ldflags=-w", "-o", name}, flags...),
		"./cmd/tombolo")...)
	if text, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the program with its symbols: %w: %s", err, text)
	}
	file, err := elf.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	symbols, err := file.Symbols()
	if err != nil {
		return nil, err
	}
	code, data := map[string]int64{}, map[string]int64{}
	var allCode, tables int64
	for _, section := range file.Sections {
		if section.Name == ".gopclntab" {
			tables = int64(section.Size)
		}
	}
	for _, s := range symbols {
		if int(s.Section) <= 0 || int(s.Section) >= len(file.Sections) {
			continue
		}
		owner := packageOf(s.Name)
		switch section := file.Sections[s.Section]; {
		case owner == "" || section.Type == elf.SHT_NOBITS || section.Name == ".gopclntab":
		case section.Flags&elf.SHF_EXECINSTR != 0:
			code[owner] += int64(s.Size)
			allCode += int64(s.Size)
		default:
			data[owner] += int64(s.Size)
		}
	}
	for owner, bytes := range code {
		data[owner] += bytes + tables*bytes/max(allCode, 1)
	}
	return data, nil
}

var (
	generated = regexp.MustCompile(`^(go:itab\.|type:\.(eq|hash)\.)`)
	notInName = regexp.MustCompile(`^(\*|\[\d*\])+`)
)

// packageOf returns the package of a symbol, or "" for the linker's own symbols.
func packageOf(symbol string) string {
	symbol = notInName.ReplaceAllString(generated.ReplaceAllString(symbol, ""), "")
	if i := strings.IndexAny(symbol, "[({, "); i >= 0 {
		symbol = symbol[:i]
	}
	slash := strings.LastIndexByte(symbol, '/') + 1
	dot := strings.IndexByte(symbol[slash:], '.')
	if dot <= 0 {
		return ""
	}
	path, err := url.PathUnescape(symbol[:slash+dot])
	if err != nil || strings.ContainsAny(path, ":;$") {
		return ""
	}
	return path
}

// modulesOfPackages returns the module of each package of the program; standard packages have none.
func modulesOfPackages(ctx context.Context) (map[string]string, error) {
	list := goForLinux(ctx, "list", "-deps", "-f", "{{.ImportPath}} {{with .Module}}{{.Path}}{{end}}", "./cmd/tombolo")
	text, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("list the packages of the program: %w", err)
	}
	modules := map[string]string{}
	for line := range bytes.Lines(text) {
		name, module, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
		modules[name] = module
	}
	return modules, nil
}

// goForLinux returns a go command for the system of the table.
func goForLinux(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, "go", args...)
	c.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64")
	return c
}
