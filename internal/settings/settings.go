// Package settings reads the CLI configuration: how providers are installed, credentials and services of hosts, the
// plugin cache.
//
// The files are those of terraform: the one that TF_CLI_CONFIG_FILE names, or else ~/.terraformrc
// (%APPDATA%\terraform.rc on Windows) together with *.tfrc and *.tfrc.json in ~/.terraform.d. Their syntax is the first
// version of HCL, in which a key may be quoted, so the library of that version reads them.
//
//	s, diags := settings.Load(settings.Environment{Getenv: os.Getenv, Home: home})
//
// Load returns what it understood even if there are errors, because most commands need no settings. A command that
// installs providers must not continue after an error: it would take them from another source than the settings name.
package settings

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/flavor"
	"github.com/tombolo-iac/tombolo/internal/regular"
)

// Settings is the content of all files together.
type Settings struct {
	// Flavor is the program that the projects are for: what Environment says, or the setting of that name. It is never
	// unset.
	Flavor flavor.Flavor

	// Progress is how commands tell the progress of operations; "" means as the surroundings want it.
	Progress Progress

	PluginCacheDir              string // "" for none; environment variables are replaced
	PluginCacheMayBreakLockFile bool
	DisableCheckpoint           bool
	DisableCheckpointSignature  bool

	// Credentials are tokens by host name.
	Credentials map[string]string
	// Helper is the credentials helper; nil without one.
	Helper *CredentialsHelper
	// OCICredentials holds the oci_credentials blocks; OCIDefaults is nil without such a block.
	OCICredentials []OCICredentials
	OCIDefaults    *OCIDefaults
	// Hosts are services that replace those that a host would announce.
	Hosts map[string]map[string]any

	// DevOverrides are directories in which a provider lies that is under development; it is used as it is.
	DevOverrides map[addr.Provider]string
	// ProgramProviders are folders with providers that are programs, which are used straight from there.
	ProgramProviders map[addr.Provider]string
	// PlanPrograms selects the programs that may run during a plan; nil allows all.
	PlanPrograms *PlanPrograms
	// Encryption is the text of encryption settings, below those of configurations; EncryptionFile is where it stands.
	Encryption, EncryptionFile string
	// Installation holds the methods of installing providers, in the order of the file; Explicit reports that there was
	// a provider_installation block. Without one, the implied local mirrors and then the registries are used.
	Installation []Method
	Explicit     bool
}

// Progress is how the text of a command tells the progress of operations.
type Progress string

// The kinds of progress: one line a group of objects in ten seconds, a display that is drawn anew, and none.
const (
	ProgressPlain Progress = "plain"
	ProgressLive  Progress = "live"
	ProgressNone  Progress = "none"
)

// CredentialsHelper is a program that knows tokens.
type CredentialsHelper struct {
	Name string
	Args []string
}

// MethodKind is where a Method takes packages from.
type MethodKind uint8

// The installation methods.
const (
	Direct           MethodKind = iota + 1 // the registry that the address of the provider names
	FilesystemMirror                       // a directory
	NetworkMirror                          // a web service that has packages of all providers
	OCIMirror                              // repositories of a registry of OCI artifacts
)

// Method is a way of installing providers, for those that match.
type Method struct {
	Kind     MethodKind
	Location string // the directory, URL or template of names of repositories; "" for Direct
	Include  []Pattern
	Exclude  []Pattern
	// TrustAllHashes means that all hashes of a network mirror are believed when one of them fits what was downloaded.
	TrustAllHashes bool
}

// Covers reports whether the method is meant for a provider: included (or include is not set) and not excluded.
func (m Method) Covers(p addr.Provider) bool {
	matches := func(pattern Pattern) bool { return pattern.Matches(p) }
	return (len(m.Include) == 0 || slices.ContainsFunc(m.Include, matches)) && !slices.ContainsFunc(m.Exclude, matches)
}

// Pattern matches provider addresses; an empty part matches everything.
type Pattern struct{ Host, Namespace, Type string }

// ParsePattern reads NAMESPACE/TYPE or HOST/NAMESPACE/TYPE, in which * stands for any part. Without a host it is the
// one given.
func ParsePattern(text, host string) (Pattern, error) {
	parts := strings.Split(text, "/")
	if len(parts) < 2 || len(parts) > 3 {
		return Pattern{},
			fmt.Errorf(
				"%q must have two or three parts with slashes between them, such as hashicorp/* or example.com/*/*",
				text)
	}
	if len(parts) == 2 {
		parts = slices.Insert(parts, 0, host)
	}
	for i, part := range parts {
		if part == "*" {
			parts[i] = ""
		}
	}
	p := Pattern{Host: parts[0], Namespace: parts[1], Type: parts[2]}
	switch {
	case p.Host == "" && (p.Namespace != "" || p.Type != ""):
		return Pattern{}, fmt.Errorf("%q: the host can be * only if the namespace and the type are * too", text)
	case p.Namespace == "" && p.Type != "":
		return Pattern{}, fmt.Errorf("%q: the namespace can be * only if the type is * too", text)
	}
	sample, err := addr.ParseProvider(or(p.Host, "example.com") + "/" + or(p.Namespace, "any") + "/" +
		or(p.Type, "any"))
	if err != nil {
		return Pattern{}, err
	}
	// The address comes back in its normal form.
	return Pattern{Host: keep(p.Host, sample.Host), Namespace: keep(p.Namespace, sample.Namespace),
		Type: keep(p.Type, sample.Type)}, nil
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

func keep(asked, normal string) string {
	if asked == "" {
		return ""
	}
	return normal
}

// Matches reports whether an address fits.
func (p Pattern) Matches(a addr.Provider) bool {
	return (p.Host == "" || p.Host == a.Host) && (p.Namespace == "" || p.Namespace == a.Namespace) &&
		(p.Type == "" || p.Type == a.Type)
}

// Environment is the part of the process that Load reads.
type Environment struct {
	Getenv func(string) string
	// Home is the home directory, or "" if there is none.
	Home string
	// OS is the operating system, as Go names it: windows and darwin have places of their own.
	OS string
	// Dir is the working directory, whose terraform.d/plugins is a mirror; "" is that of the process.
	Dir string
	// Flavor is the caller's decision. While it is not set, the environment and the files decide; Otherwise is what
	// counts if they say nothing.
	Flavor, Otherwise flavor.Flavor
}

// Load reads all files.
func Load(env Environment) (*Settings, diag.List) {
	wanted, diags := env.Said()
	s := &Settings{Flavor: cmp.Or(wanted, env.Otherwise, flavor.Terraform)}
	files, more := env.read(s.Flavor)
	diags = diags.Extend(more)
	for _, f := range files {
		if said := f.flavor(); said != flavor.Unset && wanted == flavor.Unset {
			s.Flavor = said
		}
	}
	for _, f := range files {
		diags = diags.Extend(s.add(f))
	}
	diags = diags.Extend(s.programs(env.Getenv(ProgramsVariable)))
	if dir := env.Getenv("TF_PLUGIN_CACHE_DIR"); dir != "" {
		s.PluginCacheDir = dir
	}
	if flag := env.Getenv("TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE"); flag != "" && flag != "0" {
		s.PluginCacheMayBreakLockFile = true
	}
	if dir := s.PluginCacheDir; dir != "" {
		switch info, err := os.Stat(dir); {
		case errors.Is(err, fs.ErrNotExist):
			diags = diags.Warnf(nil, "Plugin cache directory does not exist", "The plugin cache directory %s does "+
				"not exist yet. It is created when a provider is installed. Check that the name is right.", dir)
		case err != nil || !info.IsDir():
			diags = diags.Errorf(nil, "Plugin cache directory cannot be used", "The plugin cache directory %s is not "+
				"a readable directory. Create it, or remove the setting.", dir)
			s.PluginCacheDir = ""
		}
	}
	return s, diags
}

// Said returns the flavor that the caller or the environment says.
func (env Environment) Said() (f flavor.Flavor, diags diag.List) {
	name := env.Getenv(flavor.Variable)
	if env.Flavor != flavor.Unset || name == "" {
		return env.Flavor, nil
	}
	f, ok := flavor.Parse(name)
	if !ok {
		diags = diags.Errorf(nil, "Invalid "+flavor.Variable, "%q is not a flavor: expected %s.", name, flavor.Names)
	}
	return f, diags
}

// read reads and parses the files, those of a flavor among them.
func (env Environment) read(fl flavor.Flavor) (files []file, diags diag.List) {
	path, variable := env.named()
	if path != "" {
		src, err := regular.Named(path, maxSize)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, diags.Warnf(nil, "Unable to open CLI configuration file",
				"The CLI configuration file at %q, which %s names, does not exist.", path, variable)
		}
		return addFile(nil, path, src, err)
	}
	for _, path := range env.files(fl) {
		src, err := regular.Read(path, maxSize)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var more diag.List
		files, more = addFile(files, path, src, err)
		diags = diags.Extend(more)
	}
	return files, diags
}

// named returns the file that the environment names, and the variable that does; the second one is an old name of the
// first.
func (env Environment) named() (path, variable string) {
	for _, variable := range []string{"TF_CLI_CONFIG_FILE", "TERRAFORM_CONFIG"} {
		if path := env.Getenv(variable); path != "" {
			return path, variable
		}
	}
	return "", ""
}

// files returns the places of the default files, the main one first. A main file of the flavor's own replaces that of
// Terraform, and so do the flavor's places for users who have none of Terraform's.
func (env Environment) files(fl flavor.Flavor) []string {
	main, dir := env.places(fl)
	if main == "" {
		return nil
	}
	list := []string{main}
	entries, _ := os.ReadDir(dir) // sorted by name; no directory means no files
	for _, e := range entries {
		if !e.IsDir() && (strings.HasSuffix(e.Name(), ".tfrc") || strings.HasSuffix(e.Name(), ".tfrc.json")) {
			list = append(list, filepath.Join(dir, e.Name()))
		}
	}
	return list
}

// places returns the main file and the folder of further ones; "" without a home.
func (env Environment) places(fl flavor.Flavor) (main, dir string) {
	if env.Home == "" {
		return "", ""
	}
	main, dir = filepath.Join(env.Home, ".terraformrc"), filepath.Join(env.Home, ".terraform.d")
	own := filepath.Join(env.Home, "."+fl.Command()+"rc")
	if env.OS == "windows" {
		appData := env.Getenv("APPDATA")
		main, dir = filepath.Join(appData, "terraform.rc"), filepath.Join(appData, "terraform.d")
		own = filepath.Join(appData, fl.Command()+".rc")
	}
	config := env.Getenv("XDG_CONFIG_HOME")
	if config = filepath.Join(config, fl.Folder()); fl.Folder() == "" || !filepath.IsAbs(config) ||
		env.OS == "windows" {
		config = ""
	}
	switch {
	case exists(own):
		main = own
	case config != "" && !exists(main):
		main = filepath.Join(config, fl.Command()+"rc")
	}
	if config != "" && !exists(dir) {
		dir = config
	}
	return main, dir
}

// CredentialsFile returns the file that "login" writes tokens into; "" without a home.
func (env Environment) CredentialsFile(fl flavor.Flavor) string {
	if _, dir := env.places(fl); dir != "" {
		return filepath.Join(dir, "credentials.tfrc.json")
	}
	return ""
}

// Replaced returns the variable that names a file in place of all default ones, and so of the file of CredentialsFile,
// too; "" for none.
func (env Environment) Replaced() string {
	_, variable := env.named()
	return variable
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// maxSize limits the size of a file.
const maxSize = 4 << 20

// HelperDirs returns the folders in which a credentials helper is searched.
func (env Environment) HelperDirs() []string {
	dir := filepath.Join(env.Home, ".terraform.d", "plugins")
	switch {
	case env.OS == "windows":
		dir = filepath.Join(env.Getenv("APPDATA"), "terraform.d", "plugins")
	case env.Home == "":
		return nil
	}
	return []string{dir, filepath.Join(dir, env.OS+"_"+runtime.GOARCH)}
}

// ImpliedMirrors returns the default folders of providers, without installation settings, in their order. They need not
// exist.
func (env Environment) ImpliedMirrors(fl flavor.Flavor) []string {
	list := []string{filepath.Join(env.Dir, "terraform.d", "plugins")}
	if env.Home != "" {
		list = append(list, filepath.Join(env.Home, ".terraform.d", "plugins"))
	}
	if data := env.Getenv("XDG_DATA_HOME"); fl.Folder() != "" && filepath.IsAbs(data) && env.OS != "windows" {
		list = append(list, filepath.Join(data, fl.Folder(), "plugins"))
	}
	if env.OS == "windows" {
		if appData := env.Getenv("APPDATA"); appData != "" {
			list = append(list, filepath.Join(appData, "terraform.d", "plugins"), filepath.Join(appData, "HashiCorp",
				"Terraform", "plugins"))
		}
		return list
	}
	if env.OS == "darwin" {
		const support = "Library/Application Support/io.terraform/plugins"
		if env.Home != "" {
			list = append(list, filepath.Join(env.Home, support))
		}
		return append(list, "/"+support)
	}
	data := env.Getenv("XDG_DATA_HOME")
	if !filepath.IsAbs(data) && env.Home != "" {
		data = filepath.Join(env.Home, ".local", "share")
	}
	shared := env.Getenv("XDG_DATA_DIRS")
	if shared == "" {
		shared = "/usr/local/share:/usr/share"
	}
	for _, dir := range append([]string{data}, filepath.SplitList(shared)...) {
		if filepath.IsAbs(dir) {
			list = append(list, filepath.Join(dir, "terraform", "plugins"))
		}
	}
	return list
}
