package command

import (
	"slices"
	"strings"

	"github.com/tombolo-iac/tombolo/flavor"
	"github.com/tombolo-iac/tombolo/internal/engine"
)

// Variable is an environment variable that commands read.
type Variable struct {
	Name string // with NAME or HOST for the variable part
	Text string // with ~ as in Command.Long

	// The help of commands shows the variable if they have one of these flags, or if their path begins with one of
	// these words; the general help shows it always.
	Flags, Paths []string
}

// Environment lists the environment variables that change what the program does.
var Environment = []Variable{
	{Name: "TF_CLI_ARGS", Text: "Arguments to insert before those of every command, split as a shell does."},
	{Name: "TF_CLI_ARGS_NAME",
		Text: "The same for only the command NAME, such as TF_CLI_ARGS_plan or TF_CLI_ARGS_state_list."},
	{Name: "TF_CLI_CONFIG_FILE", Text: "The CLI configuration file. The default is .terraformrc in " +
		"the home directory, or terraform.rc on Windows.", Paths: []string{"init"}},
	{Name: "TF_DATA_DIR", Text: "The directory where init installs modules and providers. The default is .terraform.",
		Paths: []string{"init", "get", "workspace"}},
	{Name: "TF_DISABLE_PLUGIN_TLS",
		Text:  "If set, connect to plugins without TLS, to inspect the traffic. For debugging only.",
		Flags: []string{"parallelism"}},
	{Name: "TF_IN_AUTOMATION", Text: "If set, do not suggest which command to run next.", Paths: []string{
		"init", "plan", "apply"}},
	{Name: "TF_INPUT", Text: "0 or false: do not ask for input, as with -input=false.", Flags: []string{"input"}},
	{Name: "TF_LOG", Text: "Write a log to standard error. The value is a level, TRACE, DEBUG, INFO, WARN or ERROR; " +
		"JSON for all messages as JSON; or OFF."},
	{Name: "TF_LOG_CORE", Text: "The log level of ~~ itself. Overrides TF_LOG."},
	{Name: "TF_LOG_PATH", Text: "Append the log to this file instead of standard error."},
	{Name: "TF_LOG_PROVIDER", Text: "The log level of plugins. Overrides TF_LOG."},
	{Name: "TF_PLUGIN_CACHE_DIR", Text: "A directory with provider packages that all projects share. Overrides the " +
		"setting plugin_cache_dir.", Flags: []string{"upgrade", "enable-plugin-cache"}},
	{Name: "TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE",
		Text:  "If set and not 0, use the cache also for packages that are not in the lock file yet.",
		Flags: []string{"upgrade"}},
	{Name: "TF_REATTACH_PROVIDERS", Text: "Use plugins that are already running, and do not stop them. The value is " +
		"the JSON document that a plugin prints when you run it in a debugger.", Flags: []string{"parallelism"}},
	{Name: "TF_VAR_NAME",
		Text:  "The value of the root module's variable NAME. Files and options override it.",
		Flags: []string{"var"}},
	{Name: "TF_WORKSPACE", Text: "The workspace to use instead of the selected one.", Flags: []string{"lock", "state"},
		Paths: []string{"state", "workspace", "show", "output"}},
	{Name: "TOMBOLO_ALL_DIAGNOSTICS",
		Text: "If set, show every problem in full, even if many have the same title."},
	{Name: ciVariable, Text: "The CI service to format the text for, with its groups of lines and annotations of " +
		"files: github, gitlab, or auto to detect the service. If unset, the text has no such formatting.",
		Paths: []string{"plan", "apply", "validate", "test"}},
	{Name: flavor.Variable,
		Text: "The kind of project: terraform or opentofu. By default, the setting flavor, the name the program is " +
			"called by, and the lock file decide.", Paths: []string{"init"}},
	{Name: engine.DisposableVariable, Text: "A folder that will be removed after the command, such as the checkout " +
		"of a worker. States in files in it are refused.", Flags: []string{"lock"}},
	{Name: "TOMBOLO_GRANTS_NAME", Text: "Permissions of the sandboxed provider NAME, such as \"provider " +
		"example/dns, env DNS_TOKEN, http api.example.com\".", Paths: []string{"init"}},
	{Name: "TOMBOLO_PROGRAM_DEBUG", Text: "The debugger for a program provider, as NAME=COMMAND. The words " +
		"replace the first word of the program's command, such as notes=node --inspect-brk=127.0.0.1:9229. " +
		"NAME=unix:SOCKET uses a program that was started with TOMBOLO_LISTEN=SOCKET.",
		Flags: []string{"parallelism"}},
	{Name: "TOMBOLO_PROGRAM_PROVIDERS", Text: "Program providers to use directly from their folders, such as " +
		"example/notes=./notes. Separate several with commas.", Flags: []string{"parallelism"},
		Paths: []string{"init"}},
	{Name: "TOMBOLO_RUNS", Text: "The connection string of the PostgreSQL database with the runs for workers. The " +
		"default is PG_CONN_STR, or PostgreSQL's own variables.", Flags: []string{"remote"}, Paths: []string{"runs"}},
	{Name: "TOMBOLO_SIGNING_PASSPHRASE", Text: "The passphrase of the key given with -sign.", Flags: []string{"sign"}},
	{Name: "TOMBOLO_STATE_HISTORY", Text: "The number of former states to keep for each workspace, if the backend " +
		"supports it. The default is 100; 0 keeps none.", Flags: []string{"lock"}},
	{Name: "TERRAFORM_CONFIG", Text: "The old name of TF_CLI_CONFIG_FILE."},
	{Name: "NO_COLOR", Text: "If set, print no colors."},
	{Name: "FORCE_COLOR", Text: "If set, print colors even if the output is not a terminal. CLICOLOR_FORCE does the " +
		"same."},
}

// VariablesOf returns the variables to list in the help of a command.
func VariablesOf(path string, flags []Flag) []Variable {
	list := []Variable{{
		Name: ArgumentsVariable(path),
		Text: "Arguments to insert before those of the command line, split as a shell does.",
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

// ArgumentsVariable returns the name of the variable with additional arguments for a command.
func ArgumentsVariable(path string) string {
	return "TF_CLI_ARGS_" + strings.NewReplacer(" ", "_", "-", "_").Replace(path)
}
