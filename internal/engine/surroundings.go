package engine

import (
	"cmp"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/flavor"
	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/fetch/packages"
	"github.com/tombolo-iac/tombolo/internal/fetch/web"
	"github.com/tombolo-iac/tombolo/internal/projectfile"
	"github.com/tombolo-iac/tombolo/internal/regular"
	"github.com/tombolo-iac/tombolo/internal/replace"
	"github.com/tombolo-iac/tombolo/internal/settings"
	"github.com/tombolo-iac/tombolo/state"
)

// Surroundings holds the inputs of a run from outside of its configuration: the working directory with its data folder,
// the environment, the CLI configuration, and the name of the program. The zero value is the working directory of the
// process with an empty environment. Methods must not be called concurrently, except for MayRead once Settings was
// called.
type Surroundings struct {
	// Dir is the working directory, with the root module, the lock file, the data folder and, by default, the state.
	// Empty means the working directory of the process.
	Dir string
	// StartDir is path.cwd: where the user started the program. Empty means the working directory of the process.
	StartDir string
	// Environ is the environment, in the form of os.Environ.
	Environ []string
	// PluginEnviron is the environment of plugins; nil means the environment of the process.
	PluginEnviron []string
	// Program is the name of the command, for advice; Title is the program's name in sentences. Empty means "tombolo".
	Program, Title string
	// Words are the terms of a caller other than the command line; the zero value means those of Program.
	Words diag.Words
	// ChosenFlavor is the caller's choice of a flavor; if it is not set, see Flavor. CalledAs is the flavor for the
	// name by which the program was called.
	ChosenFlavor, CalledAs flavor.Flavor
	// ProviderLog and CoreLog receive the logs of plugins and of the engine; nil drops them.
	ProviderLog, CoreLog *slog.Logger

	// Keeps reports whether encrypted responses of programs can outlive this process; see Options.
	Keeps bool

	// Agree returns an error to refuse commands of the encryption block in the working directory before they run; nil
	// allows all that plan_programs allows.
	Agree func(line string) error

	// Given holds values of variables from the command line. Those of const variables are used whenever the
	// configuration is loaded.
	Given []config.Option
	// Values holds values of variables from an embedding program; they override all others.
	Values map[string]cty.Value
	// ValuesIn is the place of Values for errors, as "the file x"; empty means the program.
	ValuesIn string

	encrypted *encrypted         // see Encryption
	root      *config.Module     // the root module that was loaded last
	folder    *config.Module     // the root module of the working directory, after it was loaded without errors
	memory    state.Store        // the store of the backend "inmem", after its first use
	shared    []sharedStore      // the opened stores of services
	settings  *settings.Settings // see Settings
	problems  diag.List
	web       *web.Client // see Web
}

// Getenv returns a variable of the environment; the last entry with a name takes precedence.
func (s *Surroundings) Getenv(name string) string {
	value, _ := s.lookupenv(name)
	return value
}

func (s *Surroundings) lookupenv(name string) (value string, found bool) {
	for _, entry := range s.Environ {
		if k, v, ok := strings.Cut(entry, "="); ok && k == name {
			value, found = v, true
		}
	}
	return value, found
}

// In converts a name relative to the working directory to one relative to the process's.
func (s *Surroundings) In(name string) string {
	if s.Dir == "" || s.Dir == "." || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(s.Dir, name)
}

// dir returns the working directory, which is never empty.
func (s *Surroundings) dir() string {
	if s.Dir == "" {
		return "."
	}
	return s.Dir
}

// words returns the caller's terms for commands and options.
func (s *Surroundings) words() diag.Words {
	if s.Words.Command != nil {
		return s.Words
	}
	return diag.Named(cmp.Or(s.Program, diag.Program))
}

// DataDir returns the folder for installed modules and providers, relative to the working directory: TF_DATA_DIR or
// ".terraform".
func (s *Surroundings) DataDir() string {
	if dir := s.Getenv("TF_DATA_DIR"); dir != "" {
		return dir
	}
	return config.DefaultDataDir
}

// DataBase returns the folder that links in the data folder must not leave: the working directory, unless the user has
// set another data folder.
func (s *Surroundings) DataBase() string {
	if dir := s.Getenv("TF_DATA_DIR"); dir != "" {
		return s.In(dir)
	}
	return s.dir()
}

// PluginFolder returns the folder for installed providers.
func (s *Surroundings) PluginFolder() packages.Folder {
	return packages.Folder{Dir: s.In(filepath.Join(s.DataDir(), "providers")), Base: s.DataBase()}
}

// StateVersion returns the program and version for locks: if called by the name of another tool, only the version, as
// in that tool.
func (s *Surroundings) StateVersion() string {
	switch {
	case s.CalledAs != flavor.Unset:
		return s.LanguageVersion()
	case s.Title != "":
		return s.Title + " " + Version
	}
	return "Tombolo " + Version
}

// workspaceName returns the name of the selected workspace, or "" if it is unknown.
func (s *Surroundings) workspaceName() string {
	name, _, err := s.Workspace()
	if err != nil {
		return ""
	}
	return name
}

// Workspace returns the selected workspace, and reports whether the environment sets it.
func (s *Surroundings) Workspace() (name string, overridden bool, err error) {
	if name := s.Getenv("TF_WORKSPACE"); name != "" {
		return name, true, nil
	}
	content, err := regular.Read(s.In(filepath.Join(s.DataDir(), "environment")), regular.Note)
	if os.IsNotExist(err) || err == nil && strings.TrimSpace(string(content)) == "" {
		return state.DefaultWorkspace, false, nil
	}
	return strings.TrimSpace(string(content)), false, err
}

// SelectWorkspace stores the selected workspace.
func (s *Surroundings) SelectWorkspace(name string) error {
	return replace.Own(s.DataBase(), s.In(filepath.Join(s.DataDir(), "environment")), 0o666, func(w io.Writer) error {
		_, err := io.WriteString(w, name)
		return err
	})
}

// SettingsEnvironment returns the environment of the CLI configuration.
func (s *Surroundings) SettingsEnvironment() settings.Environment {
	home, _ := os.UserHomeDir() // there are no default files without a home directory
	if h, ok := s.lookupenv("HOME"); ok {
		home = h
	}
	return settings.Environment{Getenv: s.Getenv, Home: home, OS: runtime.GOOS, Dir: s.In(""), Flavor: s.ChosenFlavor,
		Otherwise: cmp.Or(s.CalledAs, s.initialised())}
}

// Settings returns the CLI configuration, which it loads once.
func (s *Surroundings) Settings() (*settings.Settings, diag.List) {
	if s.settings == nil {
		s.settings, s.problems = settings.Load(s.SettingsEnvironment())
	}
	return s.settings, s.problems
}

// ProjectFile loads the project file of the working directory.
func (s *Surroundings) ProjectFile() (projectfile.File, diag.List) { return projectfile.Load(s.Dir) }

// MayRead returns an error unless the CLI configuration allows a program to run during a plan: see Options.MayRead.
func (s *Surroundings) MayRead(p addr.Provider, words []string) error {
	set, mistakes := s.Settings()
	if mistakes.HasErrors() { // errors are reported where settings are used
		return errors.New("the CLI configuration, which may forbid it, cannot be read")
	}
	return set.PlanPrograms.Refusal(p, words)
}

func logOrDiscard(log *slog.Logger) *slog.Logger {
	if log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return log
}
