package command

import (
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo/flavor"
)

// Variable is a variable of the environment that counts for commands.
type Variable struct {
	Name string // with NAME or HOST for a part that is free
	Text string // with ~ as in the texts of commands

	// It is shown in the help of the commands that have one of these flags, or whose path begins with one of these
	// words; in that of all commands together in any case.
	Flags, Paths []string
}

// Environment is all that the program reads of the environment to decide what it does.
var Environment = []Variable{
	{Name: "TF_CLI_ARGS", Text: "Arguments that stand before those of every command, split as a shell does."},
	{Name: "TF_CLI_ARGS_NAME",
		Text: "The same for the command NAME alone, such as TF_CLI_ARGS_plan or TF_CLI_ARGS_state_list."},
	{Name: "TF_CLI_CONFIG_FILE", Text: "The file with the settings of the program. The default is .terraformrc in " +
		"the home directory, or terraform.rc on Windows.", Paths: []string{"init"}},
	{Name: "TF_DATA_DIR", Text: "The directory in which init keeps what it installs. The default is .terraform.",
		Paths: []string{"init", "get", "workspace"}},
	{Name: "TF_DISABLE_PLUGIN_TLS",
		Text:  "With any value: talk to plugins without TLS, to look at what is said. For debugging only.",
		Flags: []string{"parallelism"}},
	{Name: "TF_IN_AUTOMATION", Text: "With any value: no advice on what to run next.", Paths: []string{
		"init", "plan", "apply"}},
	{Name: "TF_INPUT", Text: "With 0 or false: ask nothing, as -input=false.", Flags: []string{"input"}},
	{Name: "TF_LOG", Text: "Write a log to the standard error output: TRACE, DEBUG, INFO, WARN or ERROR for its " +
		"level, JSON for all of it as JSON, OFF for none."},
	{Name: "TF_LOG_CORE", Text: "The level of what ~~ itself logs, in place of TF_LOG."},
	{Name: "TF_LOG_PATH", Text: "The file to which the log is appended instead."},
	{Name: "TF_LOG_PROVIDER", Text: "The level of what plugins log, in place of TF_LOG."},
	{Name: "TF_PLUGIN_CACHE_DIR", Text: "A directory in which packages of providers are kept for all projects, in " +
		"place of the setting plugin_cache_dir.", Flags: []string{"upgrade", "enable-plugin-cache"}},
	{Name: "TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE",
		Text:  "With any value but 0: use the cache for packages that the lock file does not know yet, too.",
		Flags: []string{"upgrade"}},
	{Name: "TF_REATTACH_PROVIDERS", Text: "Plugins that run already, as a JSON document that a plugin under a " +
		"debugger prints: use these, and do not stop them.", Flags: []string{"parallelism"}},
	{Name: "TF_VAR_NAME",
		Text:  "The value of the variable NAME of the root module; values of files and options replace it.",
		Flags: []string{"var"}},
	{Name: "TF_WORKSPACE", Text: "The workspace to work on, whichever is selected.", Flags: []string{"lock", "state"},
		Paths: []string{"state", "workspace", "show", "output"}},
	{Name: "TOMBOLO_ALL_DIAGNOSTICS",
		Text: "With any value: show every problem in full, however many have the same title."},
	{Name: flavor.Variable,
		Text: "Whose project it is: terraform or opentofu. Otherwise the setting flavor, the name " +
			"by which the program is called, and the lock file decide.", Paths: []string{"init"}},
	{Name: "TOMBOLO_PROGRAM_PROVIDERS", Text: "Program providers to use straight from their folders, such as " +
		"example/notes=./notes, with commas between several.", Flags: []string{"parallelism"}, Paths: []string{"init"}},
	{Name: "TOMBOLO_SIGNING_PASSPHRASE", Text: "The passphrase of the key that -sign names.", Flags: []string{"sign"}},
	{Name: "TOMBOLO_STATE_HISTORY", Text: "How many former states of a workspace are kept, where the backend keeps " +
		"any. The default is 100; 0 keeps none.", Flags: []string{"lock"}},
	{Name: "TERRAFORM_CONFIG", Text: "An old name of TF_CLI_CONFIG_FILE."},
	{Name: "NO_COLOR", Text: "With any value: no colors."},
}

// VariablesOf returns the variables that count for a command in particular.
func VariablesOf(path string, flags []Flag) []Variable {
	list := []Variable{{
		Name: ArgumentsVariable(path),
		Text: "Arguments that stand before those of the command line, split as a shell does.",
	}}
	for _, v := range Environment {
		hasFlag := slices.ContainsFunc(flags, func(f Flag) bool { return slices.Contains(v.Flags, f.Name) })
		first, _, _ := strings.Cut(path, " ")
		if hasFlag || slices.Contains(v.Paths, first) {
			list = append(list, v)
		}
	}
	return list
}

// ArgumentsVariable returns the name of the variable that has arguments for a command.
func ArgumentsVariable(path string) string {
	return "TF_CLI_ARGS_" + strings.NewReplacer(" ", "_", "-", "_").Replace(path)
}
