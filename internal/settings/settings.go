// Package settings reads the CLI configuration: installation of providers, credentials and services of hosts, the
// plugin cache.
//
// The files are those of terraform: the file in TF_CLI_CONFIG_FILE, or otherwise ~/.terraformrc (%APPDATA%\terraform.rc
// on Windows) together with *.tfrc and *.tfrc.json in ~/.terraform.d. Their syntax is the first version of HCL, in
// which a key may be quoted, so they are parsed with the library of that version.
//
//	s, diags := settings.Load(settings.Environment{Getenv: os.Getenv, Home: home})
//
// Load returns the valid settings even after errors, because most commands need none. A command that installs providers
// must not continue after an error: it might use another source than the configured one.
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

// Settings is the combined content of all files.
type Settings struct {
	// Flavor is the program that projects are written for, from Environment or the files. It is always set.
	Flavor flavor.Flavor

	// Progress is the style of progress output; "" selects one that suits the terminal.
	Progress Progress

	PluginCacheDir              string // "" for none; environment variables are replaced
	PluginCacheMayBreakLockFile bool
	DisableCheckpoint           bool
	DisableCheckpointSignature  bool

	// Credentials are tokens by host name.
	Credentials map[string]string
	// Helper is the credentials helper; may be nil.
	Helper *CredentialsHelper
	// OCICredentials holds the oci_credentials blocks; OCIDefaults is nil if there is no such block.
	OCICredentials []OCICredentials
	OCIDefaults    *OCIDefaults
	// Hosts are services that replace the discovered services of hosts.
	Hosts map[string]map[string]any

	// DevOverrides are directories with providers under development, which are used without installation.
	DevOverrides map[addr.Provider]string
	// ProgramProviders are folders with program providers, which are used without installation.
	ProgramProviders map[addr.Provider]string
	// PlanPrograms selects the programs that may run during a plan; nil allows all.
	PlanPrograms *PlanPrograms
	// Encryption is the text of encryption settings, which those of configurations override; EncryptionFile is its
	// file.
	Encryption, EncryptionFile string
	// Installation holds the methods of installing providers, in the order of the file; Explicit reports whether there
	// was a provider_installation block. Without one, the implied local mirrors and then the registries are used.
	Installation []Method
	Explicit     bool
}

// Progress is the style of progress output of a command.
type Progress string

// The kinds of progress: one line for a group of objects every ten seconds, a display that is redrawn, and none.
const (
	ProgressPlain Progress = "plain"
	ProgressLive  Progress = "live"
	ProgressNone  Progress = "none"
)

// CredentialsHelper is a program that stores tokens.
type CredentialsHelper struct {
	Name string
	Args []string
}

// MethodKind is the kind of source of a Method.
type MethodKind uint8

// The installation methods.
const (
	Direct           MethodKind = iota + 1 // the registry in the provider's address
	FilesystemMirror                       // a directory
	NetworkMirror                          // a web service with packages of providers
	OCIMirror                              // repositories in an OCI registry
)

// Method is a way of installing providers, for matching providers.
type Method struct {
	Kind     MethodKind
	Location string // the directory, URL or template of repository names; "" for Direct
	Include  []Pattern
	Exclude  []Pattern
	// TrustAllHashes means that all hashes from a network mirror are trusted if one of them matches the downloaded
	// package.
	TrustAllHashes bool
}

// Covers reports whether the method applies to a provider: it is included (or include is not set) and not excluded.
func (m Method) Covers(p addr.Provider) bool {
	matches := func(pattern Pattern) bool { return pattern.Matches(p) }
	return (len(m.Include) == 0 || slices.ContainsFunc(m.Include, matches)) && !slices.ContainsFunc(m.Exclude, matches)
}

// Pattern matches provider addresses; an empty part matches everything.
type Pattern struct{ Host, Namespace, Type string }

// ParsePattern parses NAMESPACE/TYPE or HOST/NAMESPACE/TYPE, in which * matches any part. host is the default host.
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
	// p is in normal form.
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

// Matches reports whether an address matches.
func (p Pattern) Matches(a addr.Provider) bool {
	return (p.Host == "" || p.Host == a.Host) && (p.Namespace == "" || p.Namespace == a.Namespace) &&
		(p.Type == "" || p.Type == a.Type)
}

// Environment is the part of the process that Load reads.
type Environment struct {
	Getenv func(string) string
	// Home is the home directory, or "" if there is none.
	Home string
	// OS is the operating system, as Go names it: windows and darwin have their own paths.
	OS string
	// Dir is the working directory, whose terraform.d/plugins is a mirror; "" means the working directory of the
	// process.
	Dir string
	// Flavor is the caller's choice. If it is not set, the environment and the files decide; Otherwise is used if these
	// do not set it.
	Flavor, Otherwise flavor.Flavor
}

// Load reads all files.
func Load(env Environment) (*Settings, diag.List) {
	wanted, diags := env.ChosenFlavor()
	s := &Settings{Flavor: cmp.Or(wanted, env.Otherwise, flavor.Terraform)}
	files, more := env.read(s.Flavor)
	diags = diags.Extend(more)
	for _, f := range files {
		if chosen := f.flavor(); chosen != flavor.Unset && wanted == flavor.Unset {
			s.Flavor = chosen
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

// ChosenFlavor returns the flavor that the caller or the environment sets.
func (env Environment) ChosenFlavor() (f flavor.Flavor, diags diag.List) {
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

// read reads and parses the files, including those of a flavor.
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

// named returns the file in the environment and the variable that sets it; the second variable is the former name of
// the first.
func (env Environment) named() (path, variable string) {
	for _, variable := range []string{"TF_CLI_CONFIG_FILE", "TERRAFORM_CONFIG"} {
		if path := env.Getenv(variable); path != "" {
			return path, variable
		}
	}
	return "", ""
}

// files returns the paths of the default files, the main one first. The flavor's own main file replaces Terraform's, as
// do the flavor's paths for users without any of Terraform's.
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

// places returns the main file and the folder of further ones, or "" without a home directory.
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

// CredentialsFile returns the file that "login" writes tokens to, or "" without a home directory.
func (env Environment) CredentialsFile(fl flavor.Flavor) string {
	if _, dir := env.places(fl); dir != "" {
		return filepath.Join(dir, "credentials.tfrc.json")
	}
	return ""
}

// Replaced returns the variable that replaces all default files, including that of CredentialsFile, or "".
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

// HelperDirs returns the folders that are searched for a credentials helper.
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

// ImpliedMirrors returns the default folders of providers without installation settings, in order. They need not exist.
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
