package compat

// remarks describe differences from Terraform, by the key of the item. A remark on a command applies to its flags, one
// on a block or body to its content, unless these have their own.
var remarks = map[string]Remark{
	"command login": {
		Differs, "It asks for a token that you create in a browser, and does not open the browser: there is no OAuth."},
	"flag test cloud-run": {Refused, "There is no service that runs tests."},
	"flag test filter": {
		Differs, "Any spelling of a file's path is accepted, and a missing file is a warning."},
	"flag providers test-directory": {
		Differs, "The directory is checked; providers that only tests need are not shown."},

	"command stacks": {Refused, "Stacks run in a service of HashiCorp."},
	"flag init create-default-workspace": {
		Absent, "It belongs to `state_store` blocks, an experiment of Terraform."},
	"flag init enable-pluggable-state-storage-experiment": {Absent, "An experiment of Terraform."},
	"block terraform state_store":                         {Absent, keptByPlugins},

	"flag state show json-into": {Differs, "The document is that of Terraform 1.16, without a line before it."},
	"flag workspace list json":  {Differs, "In Terraform's projects it is a document, as in Terraform 1.16."},

	"flag plan deprecation":               {Differs, unknownLevel},
	"flag apply deprecation":              {Differs, unknownLevel},
	"flag apply suppress-forget-errors":   {Differs, forgetErrors},
	"flag destroy suppress-forget-errors": {Differs, forgetErrors},

	"argument module source": {Differs, "Mercurial, S3, Google Cloud Storage, xz archives, and packages with links " +
		"to places outside of them are refused."},
	"block terraform cloud": {Differs, neverThere},

	"backend remote": {Differs, neverThere},

	"setting providers": {
		Absent, "An old form: `dev_overrides` in `provider_installation` names programs of providers."},
	"setting provisioners": {Moot, "Provisioners are no longer plugins; Terraform ignores the setting, too."},

	"variable CHECKPOINT_DISABLE": {
		Moot, "Tombolo never checks a service for new versions."},
	"variable TF_CLI_ARGS":      {Differs, notAShell},
	"variable TF_CLI_ARGS_NAME": {Differs, notAShell},
	"variable TF_FORCE_LOCAL_BACKEND": {
		Differs, "Runs are always local; the variable allows them even if the workspace's own runs belong to the " +
			"service."},
	"variable TF_STATE_PERSIST_INTERVAL": {
		Moot, "Every result is written to the journal before the next step begins."},
}

const (
	neverThere = "States, locks and workspaces are shared. Plans and applies are always local: if a workspace runs " +
		"them in the service, they are refused unless `TF_FORCE_LOCAL_BACKEND` is set."
	keptByPlugins = "An experiment of Terraform: states kept by plugins."
	unknownLevel  = "Levels other than `module:all`, `module:local` and `module:none` are refused; OpenTofu treats " +
		"them as `module:all`. In both, JSON output has all warnings."
	forgetErrors = "Only projects of OpenTofu have this error."
	notAShell    = "Shell operators such as `;`, `&` and `>` are ordinary characters, quoted or not; Terraform " +
		"drops what follows an unquoted one."
)
