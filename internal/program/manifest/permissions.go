package manifest

import (
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/tombolo-iac/tombolo/internal/program/strictjson"
	"github.com/tombolo-iac/tombolo/internal/regex"
)

// Permissions lists the permissions that a module asks for. Without any it only has its standard streams, clocks and
// random numbers.
type Permissions struct {
	// Env lists the names of environment variables.
	Env []string
	// Folders are folders with files.
	Folders []Folder
	// Hosts are servers in the form of validHost.
	Hosts []string
}

// Folder is a folder of the machine that a module can read, or also write.
type Folder struct {
	// Path is absolute, or relative to the directory in which the provider is used.
	Path string
	// As is the absolute path of the folder inside of the module.
	As    string
	Write bool
}

// Lines returns the permissions in the form in which users grant them: one line for each, sorted.
func (p Permissions) Lines() (lines []string) {
	for _, name := range p.Env {
		lines = append(lines, "env "+name)
	}
	for _, f := range p.Folders {
		lines = append(lines, f.line())
	}
	for _, host := range p.Hosts {
		lines = append(lines, "http "+host)
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

func (f Folder) line() string {
	if f.Write {
		return "write " + f.Path
	}
	return "read " + f.Path
}

// Missing returns the lines that have not been granted. Who may write to a folder may also read it.
func (p Permissions) Missing(granted []string) []string {
	return slices.DeleteFunc(p.Lines(), func(line string) bool {
		folder, reads := strings.CutPrefix(line, "read ")
		return slices.Contains(granted, line) || reads && slices.Contains(granted, "write "+folder)
	})
}

// ProviderWord begins the lines of a GrantsVariable that name a provider, by its address or its folder.
const ProviderWord = "provider "

// GrantsTo returns the lines of a GrantsVariable that are granted to a provider: those after a line with its name, up
// to the next such line. Names of providers in manifests are chosen by their authors, so the name of the variable alone
// grants nothing. is reports whether a line names the provider.
func GrantsTo(text string, is func(name string) bool) (lines []string) {
	ours := false
	for _, line := range ParseGrants(text) {
		if name, names := strings.CutPrefix(line, ProviderWord); names {
			ours = is(name)
		} else if ours {
			lines = append(lines, line)
		}
	}
	return lines
}

// GrantsVariable returns the name of the environment variable in which a user grants permissions to this provider: a
// list of lines, separated by commas; see GrantsTo.
func (m *Manifest) GrantsVariable() string { return "TOMBOLO_GRANTS_" + strings.ToUpper(m.Name) }

// ParseGrants reads a list of lines that are separated by commas. Nobody grants everything ("*") in this way.
func ParseGrants(text string) (lines []string) {
	for line := range strings.SplitSeq(text, ",") {
		if line = strings.Join(strings.Fields(line), " "); line != "" && line != "*" {
			lines = append(lines, line)
		}
	}
	return lines
}

var (
	validVariable = regex.Lazy(`^[A-Za-z_][A-Za-z0-9_]*$`)
	validPath     = regex.Lazy(`^[^\x00-\x1f\x7f,:*?"<>|\\]+$`)
	validDomain   = regex.Lazy(`^(\*\.)?([a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*$`)
)

// permissions decodes what a module asks for.
func (r *reader) permissions(v *node) {
	p := &r.m.Permissions
	r.object(v, `"permissions"`, fields{
		"env": func(v *node) {
			p.Env = r.distinct(v, "env", func(name string) string {
				switch {
				case !validVariable().MatchString(name):
					return "the name of an environment variable: letters, digits and underscores"
				case name == "TOMBOLO_PROTOCOL" || strings.HasPrefix(name, "TOMBOLO_GRANTS_"):
					return "a variable of the provider; Tombolo itself sets this one"
				}
				return ""
			})
		},
		"http": func(v *node) {
			p.Hosts = r.distinct(v, "http", func(host string) string {
				if validHost(host) {
					return ""
				}
				return `a host in lower case, such as "api.example.com", "*.example.com" or "127.0.0.1:8080"; ` +
					`"http://" before it allows plain HTTP`
			})
		},
		"files": r.folders,
	})
}

// distinct decodes a list of texts that must differ. expected returns "" for valid ones.
func (r *reader) distinct(v *node, name string, expected func(text string) string) []string {
	list, ok := r.texts(v, fmt.Sprintf("%q", name))
	if !ok {
		return nil
	}
	for i, text := range list {
		if want := expected(text); want != "" {
			r.errorf(v.Items[i], "%q in \"permissions\" contains %q. Expected %s.", name, text, want)
		} else if slices.Contains(list[:i], text) {
			r.errorf(v.Items[i], "%q is listed twice. Remove one of the two.", text)
		}
	}
	return list
}

func (r *reader) folders(v *node) {
	const example = `{"path": "zones", "write": true}`
	if v.Kind != strictjson.Array {
		r.errorf(v, `"files" must be an array of objects such as %s, not %s.`, example, v.Kind)
		return
	}
	places := map[string]bool{}
	for _, item := range v.Items {
		var f Folder
		if !r.object(item, `A folder in "files"`, fields{"path": r.text(&f.Path), "as": r.text(&f.As),
			"write": r.flag(&f.Write)}) {
			continue
		}
		if f.As == "" {
			f.As = "/" + strings.TrimPrefix(f.Path, "/")
			if f.Path == "." {
				f.As = "/"
			}
		}
		switch {
		case !validPath().MatchString(f.Path) || path.Clean(f.Path) != f.Path || strings.HasPrefix(f.Path, "../") ||
			f.Path == ".." || strings.TrimSpace(f.Path) != f.Path:
			r.errorf(item, `A folder in "files" needs a "path" with slashes, without "..", spaces at its ends or `+
				`special characters: %s.`, example)
		case !validPath().MatchString(f.As) || !path.IsAbs(f.As) || path.Clean(f.As) != f.As:
			r.errorf(item, `"as" is the path of the folder for the module, and begins with a slash: "/zones".`)
		case places[f.As]:
			r.errorf(item, `Two folders have the path %q for the module. Give one of them another "as".`, f.As)
		}
		places[f.As] = true
		r.m.Permissions.Folders = append(r.m.Permissions.Folders, f)
	}
}

// validHost reports whether a text is a domain or an address, with a port if it is not the usual one, and with http://
// if it is not for HTTPS. The first label of a domain can be *.
func validHost(text string) bool {
	host := strings.TrimPrefix(text, "http://")
	name, port, has := host, "", false
	if i := strings.LastIndex(host, ":"); i >= 0 && !strings.HasSuffix(host, "]") {
		name, port, has = host[:i], host[i+1:], true
	}
	if has {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || strconv.FormatUint(n, 10) != port {
			return false
		}
	}
	if inner, ok := strings.CutPrefix(name, "["); ok {
		a, err := netip.ParseAddr(strings.TrimSuffix(inner, "]"))
		return err == nil && a.Is6() && "["+a.String()+"]" == name
	}
	return len(name) <= 253 && validDomain().MatchString(name)
}
