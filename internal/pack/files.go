package pack

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/fetch/packages"
	"github.com/tombolo-iac/tombolo/internal/pack/generic"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/internal/program/verify"
	"github.com/tombolo-iac/tombolo/internal/regex"
)

// file is a file to be packed into archives.
type file struct {
	name string // with slashes, relative to the folder of the provider
	path string // path of its content; "" means that text is the content
	text []byte
	exec bool
	size int64
}

// files are the files of a provider for all platforms, sorted by name.
type files []file

const (
	maxFiles = 10_000
	maxBytes = 2 << 30 // a larger archive needs a variant of zip that not every host reads
	manyMB   = 200
)

// Folders of mirrors in the output.
const filesystemMirror, networkMirror = "filesystem-mirror", "network-mirror"

// collect returns the files of a provider. It skips names that begin with a dot, and files that programs generate.
func collect(o Options, m *manifest.Manifest, text []byte) (files, diag.List) {
	c := &collection{Options: o, manifest: m, root: m.Dir}
	if real, err := filepath.EvalSymlinks(m.Dir); err == nil {
		c.root = real
	}
	c.out, _ = filepath.Abs(o.Out) // only for comparison
	if real, err := filepath.EvalSymlinks(c.out); err == nil {
		c.out = real
	}
	if c.out == c.root {
		return nil, c.diags.Errorf(nil, badPackage, "The packages would be written to %s, the folder of the "+
			"provider, and become part of later packages. Use another folder, such as -out=%s.", o.Out,
			filepath.Join(o.Out, "dist"))
	}
	for _, pattern := range o.Exclude {
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, c.diags.Errorf(nil, badPackage, "%q is not a valid pattern of names to leave out: * matches "+
				"any characters except a slash, ? one character, [a-z] one character of a range.", pattern)
		}
	}
	if err := filepath.WalkDir(c.root, c.visit); err != nil {
		return nil, c.diags.AppendError(badPackage, err)
	}
	for i := range c.files {
		if c.files[i].name == manifest.FileName {
			c.files[i].path, c.files[i].text, c.files[i].size = "", text, int64(len(text))
		}
	}
	return c.files, c.diags
}

type collection struct {
	Options
	manifest  *manifest.Manifest
	root, out string
	files     files
	diags     diag.List
}

func (c *collection) visit(full string, d fs.DirEntry, err error) error {
	if err != nil {
		return err
	}
	if full == c.root {
		return nil
	}
	name, err := filepath.Rel(c.root, full)
	if err != nil {
		return err
	}
	name = filepath.ToSlash(name)
	if full == c.out || c.leftOut(name) {
		if d.IsDir() {
			return filepath.SkipDir
		}
		return nil
	}
	switch {
	case d.IsDir() && isMade(full):
		return filepath.SkipDir
	case d.IsDir() && isThere(filepath.Join(full, "pyvenv.cfg")):
		c.diags = c.diags.Errorf(nil, badPackage, "%s is a virtual environment of Python, which works only on the "+
			"machine where it was created. Leave it out with -exclude=%[1]s, and list Python in \"requires\", create "+
			"the environment with \"prepare\", or build one executable of the program.", name)
		return filepath.SkipDir
	case d.IsDir():
		return nil
	}
	f := file{name: name, path: full}
	info, err := d.Info()
	if err == nil && d.Type()&fs.ModeSymlink != 0 {
		f.path, info, err = c.behind(full)
	}
	var bad *linkError
	switch {
	case errors.As(err, &bad):
		c.diags = c.diags.Errorf(nil, badPackage, "%s is a link %s. Provider archives cannot have links. Replace the "+
			"link with the file, or leave it out with -exclude=%s.", name, bad.problem, name)
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		c.diags = c.diags.Errorf(nil, badPackage,
			"%s is neither a file nor a folder. Remove it, or leave it out with -exclude=%s.", name, name)
		return nil
	}
	f.size = info.Size()
	if f.exec, err = c.executable(f, info); err != nil {
		return err
	}
	if len(c.files) >= maxFiles {
		return fmt.Errorf("%s has more than %d files; leave out those that the provider does not need with -exclude",
			c.root,
			maxFiles)
	}
	c.files = append(c.files, f)
	return nil
}

// isMade reports whether a folder contains the output of an earlier run.
func isMade(dir string) bool {
	return isThere(filepath.Join(dir, filesystemMirror)) && isThere(filepath.Join(dir, networkMirror))
}

func isThere(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

func (c *collection) leftOut(name string) bool {
	if base := path.Base(name); manifest.IsLeftover(base) || base == verify.FileName {
		return true
	}
	for _, pattern := range c.Exclude {
		pattern = strings.TrimSuffix(strings.TrimPrefix(pattern, "./"), "/")
		if ok, _ := path.Match(pattern, name); ok {
			return true
		}
		if ok, _ := path.Match(pattern, path.Base(name)); ok && !strings.Contains(pattern, "/") {
			return true
		}
	}
	return false
}

type linkError struct{ problem string }

func (e *linkError) Error() string { return "a link " + e.problem }

// behind returns the target of a link, which is packed in its place: a link to a file of the package becomes the same
// content under two names.
func (c *collection) behind(full string) (string, fs.FileInfo, error) {
	real, err := filepath.EvalSymlinks(full)
	if err != nil {
		return "", nil, &linkError{"to a file that does not exist"}
	}
	if rel, err := filepath.Rel(c.root, real); err != nil || !filepath.IsLocal(rel) {
		return "", nil, &linkError{"to " + real + ", which is outside of the provider's folder"}
	}
	info, err := os.Stat(real)
	if err == nil && info.IsDir() {
		return "", nil, &linkError{"to a folder"}
	}
	return real, info, err
}

// executable reports whether a file is packed with permission to be executed. Some file systems and systems do not have
// that permission, so scripts whose first line names an interpreter, and files that the command names, are always
// executable.
func (c *collection) executable(f file, info fs.FileInfo) (bool, error) {
	start, err := firstLine(f.path)
	if err != nil {
		return false, err
	}
	script := bytes.HasPrefix(start, []byte("#!"))
	if script && bytes.HasSuffix(start, []byte("\r")) {
		c.diags = c.diags.Warnf(nil, oddPackage, "The lines of %s have Windows line ends. Other systems look for an "+
			"interpreter whose name ends with a carriage return, and do not find it. Save the file with Unix line "+
			"ends.", f.name)
	}
	return info.Mode()&0o111 != 0 || script || c.isCommand(f.name), nil
}

// isCommand reports whether a file is the first word of a command line in the manifest.
func (c *collection) isCommand(name string) bool {
	for _, argv := range slices.AppendSeq(slices.Collect(maps.Values(c.manifest.Command)),
		maps.Values(c.manifest.Prepare)) {
		if len(argv) > 0 && placeholders(strings.TrimPrefix(argv[0], "./")).MatchString(name) {
			return true
		}
	}
	return false
}

// firstLine returns the first line of a file, without its end, truncated to the relevant length.
func firstLine(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	start := make([]byte, 256)
	n, err := f.Read(start)
	if err != nil && err != io.EOF {
		return nil, err
	}
	line, _, _ := bytes.Cut(start[:n], []byte("\n"))
	return line, nil
}

// placeholders returns a pattern that matches a word of a command line for any platform.
func placeholders(word string) *regexp.Regexp {
	quoted := strings.NewReplacer(`\{os\}`, `[a-z0-9]+`, `\{arch\}`, `[a-z0-9]+`).Replace(regexp.QuoteMeta(word))
	return regexp.MustCompile("^" + quoted + "$")
}

// on returns the files for a platform: it omits files of other platforms, in places where the command has a placeholder
// for the platform.
func (list files) on(p packages.Platform, m *manifest.Manifest) []file {
	var any []*regexp.Regexp // places that depend on the platform
	ours := map[string]bool{}
	for _, argv := range m.Command {
		for _, word := range argv {
			place, ok := placeOf(word)
			if !ok {
				continue
			}
			any = append(any, placeholders(place))
			ours[strings.NewReplacer("{os}", p.OS, "{arch}", p.Arch).Replace(place)] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(list), func(f file) bool {
		for place := f.name; place != "."; place = path.Dir(place) {
			if ours[place] {
				return false
			}
			if slices.ContainsFunc(any, func(r *regexp.Regexp) bool { return r.MatchString(place) }) {
				return true
			}
		}
		return false
	})
}

// placeOf returns the file or folder whose name depends on the platform in a word of a command, such as bin/{os}_{arch}
// in ./bin/{os}_{arch}/tool.
func placeOf(word string) (string, bool) {
	rest, inside := strings.CutPrefix(word, "./")
	end := max(strings.LastIndex(rest, "{os}"), strings.LastIndex(rest, "{arch}"))
	if !inside || end < 0 {
		return "", false
	}
	if slash := strings.IndexByte(rest[end:], '/'); slash >= 0 {
		rest = rest[:end+slash]
	}
	return rest, true
}

// checkFiles reports files that would not work on a platform.
func checkFiles(list []file, m *manifest.Manifest, on packages.Platform) (diags diag.List) {
	bad := func(format string, args ...any) { diags = diags.Errorf(nil, badPackage, format, args...) }
	names, folded := map[string]bool{}, map[string]string{}
	var size int64
	for _, f := range list {
		names[f.name] = true
		size += f.size
		if problem := badName(f.name, on); problem != "" {
			bad("The name %s %s. Rename it, or leave it out with -exclude=%s.", f.name, problem, f.name)
		}
		if other, ok := folded[strings.ToLower(f.name)]; ok && on.OS != "linux" {
			bad("The names %s and %s differ only in upper and lower case, so they are the same name on %s.",
				other, f.name,
				on.OS)
		}
		folded[strings.ToLower(f.name)] = f.name
	}
	if size > maxBytes {
		bad("Its files have %d MiB in total, more than the limit of %d MiB for an archive. Leave out files that the "+
			"provider does not need with -exclude.", size>>20, maxBytes>>20)
	} else if size > manyMB<<20 {
		diags = diags.Warnf(nil, oddPackage, "The files for %s have %d MiB in total, which every user must download. "+
			"Leave out files that the provider does not need with -exclude.", on, size>>20)
	}
	argv := m.Command.For(on.OS, on.Arch)
	if m.Wasm != "" && !names[m.Wasm] {
		bad("The manifest names the module %s, which is not in the package.", m.Wasm)
	}
	if argv == nil && m.HTTP == nil && m.Wasm == "" {
		bad(`The manifest has no command for %s. Add one to "command", such as "%s" or "default", or do not pack for `+
			`that platform.`, on, on.OS)
	}
	for _, from := range []struct {
		member string
		words  []string
	}{{"command", argv}, {"prepare", m.Prepare.For(on.OS, on.Arch)}, {"prepare_from", m.PrepareFrom}} {
		for _, word := range from.words {
			name, inside := strings.CutPrefix(word, "./")
			if inside && !names[path.Clean(name)] && !slices.ContainsFunc(list, func(f file) bool {
				return strings.HasPrefix(f.name, path.Clean(name)+"/")
			}) {
				bad("For %s, %q names the file %s, which is not in the package.", on, from.member, word)
			}
		}
	}
	return diags
}

// reserved matches names of devices on Windows, with any extension.
var reserved = regex.Lazy(`(?i)^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?$`)

// badName returns why a name is not possible, as the end of a sentence.
func badName(name string, on packages.Platform) string {
	base, inFolder := path.Base(name), strings.Contains(name, "/")
	lower := strings.ToLower(base)
	switch {
	case strings.ContainsAny(name, "\\:\x00"):
		return "contains a backslash or a colon, which hosts do not unpack"
	case !inFolder && strings.HasPrefix(lower, generic.Prefix):
		return "begins like the name of a plugin, so hosts could mistake it for the plugin"
	}
	if on.OS != "windows" {
		return ""
	}
	for _, part := range strings.Split(name, "/") {
		switch {
		case strings.ContainsAny(part, `<>"|?*`) || strings.IndexFunc(part, func(r rune) bool { return r < ' ' }) >= 0:
			return "contains a character that is not allowed on Windows"
		case strings.HasSuffix(part, ".") || strings.HasSuffix(part, " "):
			return "has a part that ends with a dot or a space, which Windows removes"
		case reserved().MatchString(part):
			return "is the name of a device on Windows"
		}
	}
	return ""
}
