package conformance

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Packages that cases add to mirrors with the step "package MIRROR SOURCE VERSION [FORM [PLATFORM]]". They are only
// installed and never run, so their programs are texts, the same on both sides and in every run.

// packageForms are the forms of a package: its files, by name, and whether they are in an archive. In names and texts
// %s is the type.
var packageForms = map[string]struct {
	files  map[string]fs.FileMode
	zipped bool
	broken bool
}{
	"unpacked": {files: map[string]fs.FileMode{"terraform-provider-%s_v": 0o755}},
	"packed": {files: map[string]fs.FileMode{"terraform-provider-%s_v": 0o755, "LICENSE.txt": 0o644},
		zipped: true},
	"corrupt":     {zipped: true, broken: true},
	"empty":       {},
	"textonly":    {files: map[string]fs.FileMode{"README.md": 0o644}},
	"textpacked":  {files: map[string]fs.FileMode{"README.md": 0o644}, zipped: true},
	"other":       {files: map[string]fs.FileMode{"terraform-provider-somethingelse_v": 0o755}},
	"script":      {files: map[string]fs.FileMode{"terraform-provider-%s.sh": 0o755}},
	"plain":       {files: map[string]fs.FileMode{"terraform-provider-%s_v": 0o644}},
	"two":         {files: map[string]fs.FileMode{"terraform-provider-%s_v0": 0o755, "terraform-provider-%s_v": 0o755}},
	"unversioned": {files: map[string]fs.FileMode{"terraform-provider-%s": 0o755}},
	"escaping": {files: map[string]fs.FileMode{"terraform-provider-%s_v": 0o755, "../../../../../../escaped": 0o644},
		zipped: true},
}

// addPackage performs the step. A mirror whose name begins with ~/ is in the user's home directory.
func (r *runner) addPackage(args []string) error {
	mirror, ours := strings.CutPrefix(args[0], "~/")
	root := filepath.Join(r.dir, r.cd)
	if ours {
		root = r.scratch
	}
	if filepath.IsAbs(mirror) {
		return fmt.Errorf("the mirror %s is outside of the case", mirror)
	}
	formName, platform := "unpacked", runtime.GOOS+"_"+runtime.GOARCH
	if len(args) > 3 {
		formName = args[3]
	}
	if len(args) > 4 {
		platform = args[4]
	}
	form, ok := packageForms[formName]
	if !ok {
		return fmt.Errorf("a package has no form %q", formName)
	}
	source, version := args[1], args[2]
	if strings.Count(source, "/") == 1 {
		source = "registry.terraform.io/" + source
	}
	typ := path.Base(source)
	base := filepath.Join(root, filepath.FromSlash(mirror), filepath.FromSlash(source))
	files := map[string]fs.FileMode{}
	for name, mode := range form.files {
		if name = strings.ReplaceAll(name, "%s", typ); strings.HasSuffix(name, "_v") {
			name += version
		}
		files[name] = mode
	}
	text := []byte("#!/bin/sh\n# " + source + " " + version + "\nexit 1\n")
	if !form.zipped {
		dir := filepath.Join(base, version, platform)
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return err
		}
		for name, mode := range files {
			if err := os.WriteFile(filepath.Join(dir, name), text, mode); err != nil {
				return err
			}
		}
		return nil
	}
	if err := os.MkdirAll(base, 0o777); err != nil {
		return err
	}
	archive := []byte("PK\x03\x04 and no more")
	if !form.broken {
		var err error
		if archive, err = zipOf(files, text); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(base, fmt.Sprintf("terraform-provider-%s_%s_%s.zip", typ, version, platform)),
		archive, 0o666)
}

func zipOf(files map[string]fs.FileMode, text []byte) ([]byte, error) {
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for _, name := range sortedKeys(files) {
		header := &zip.FileHeader{Name: name, Method: zip.Store, Modified: time.Unix(1e9, 0).UTC()}
		header.SetMode(files[name])
		out, err := w.CreateHeader(header)
		if err == nil {
			_, err = out.Write(text)
		}
		if err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return buf.Bytes(), err
}

// installLines returns the lines of init's output that scripts read. Terraform installs providers, and the modules of
// runs in several test files, in a random order, so lines about them are sorted.
func installLines(text string) string {
	var out, runs, providers []string
	for _, line := range strings.Split(plain(text), "\n") {
		line = colorless(line)
		if strings.HasPrefix(line, "- test.") {
			runs = append(runs, line)
			continue
		}
		if strings.HasPrefix(line, "- ") {
			line, _, _ = strings.Cut(line, ";") // the result of providers lock is shown in the lock file
			providers = append(providers, line)
			continue
		}
		for _, begin := range []string{"Initializing ", "Upgrading ", "Terraform has been ", "Terraform has created ",
			"Terraform initialized "} {
			if strings.HasPrefix(line, begin) {
				out = append(out, line)
				break
			}
		}
	}
	sortByProvider(providers, func(line string) string { return line })
	slices.Sort(runs)
	return strings.Join(slices.Concat(out, runs, providers), "\n")
}

var providerName = regexp.MustCompile(`[a-z0-9.-]+(/[a-z0-9-]+){1,2}`)

// sortByProvider sorts entries by the name of their provider, and keeps the order of those of one provider.
func sortByProvider[T any](list []T, text func(T) string) {
	slices.SortStableFunc(list, func(a, b T) int {
		return strings.Compare(providerName.FindString(text(a)), providerName.FindString(text(b)))
	})
}

// unorderedTree sorts siblings in the tree of providers, which terraform prints in a random order, and removes
// diagnostics.
func unorderedTree(text string) string {
	text, _, _ = strings.Cut(plain(text), "\nWarning: ")
	lines := strings.Split(strings.ReplaceAll(text, "├──", "└──"), "\n")
	indent := func(line string) int { return strings.Index(line, "└── provider[") }
	for i := 0; i < len(lines); {
		end := i + 1
		for end < len(lines) && indent(lines[i]) >= 0 && indent(lines[end]) == indent(lines[i]) {
			end++
		}
		slices.Sort(lines[i:end])
		i = end
	}
	return strings.TrimSpace(strings.TrimSuffix(strings.Join(lines, "\n"), "╷"))
}

// sortInstallEvents does the same for the events of init: those without a code are about providers or modules.
func sortInstallEvents(group []any) {
	var places []int
	var events []any
	for i, v := range group {
		if event, _ := v.(map[string]any); event["type"] == "log" {
			places, events = append(places, i), append(events, v)
		}
	}
	sortByProvider(events, func(v any) string { return fmt.Sprint(v.(map[string]any)["@message"]) })
	for i, place := range places {
		group[place] = events[i]
	}
}
