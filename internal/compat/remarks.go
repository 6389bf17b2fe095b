package compat

// remarks are all that is not simply as in Terraform, by the key of the item. One on a command counts for its flags,
// one on a block or body for what stands in it, unless they have their own.
var remarks = map[string]Remark{
	"command login": {
		Refused, "Tokens are read from the settings, and from where `terraform login` saved them."},
	"command logout":      {Refused, "As login: remove the token from the file."},
	"flag test cloud-run": {Refused, "There is no service that runs tests: they run here."},
	"flag test filter": {
		Differs, "A file is also found by another spelling of its name, and one that is not there is warned of."},
	"flag providers test-directory": {
		Differs, "The directory is checked; providers that only tests need are not shown."},

	"argument module source": {Differs, "Mercurial, S3, Google Cloud Storage and archives packed with " +
		"xz are refused, and packages with links that leave them."},
	"block resource connection":             {Refused, noRemote},
	"body resource/provisioner file":        {Refused, noRemote},
	"body resource/provisioner remote-exec": {Refused, noRemote},
	"block terraform cloud": {
		Refused, "There is no service that runs plans: remove the block; states are kept by a backend."},

	"backend azurerm":    {Refused, oneOfOurs},
	"backend consul":     {Refused, oneOfOurs},
	"backend cos":        {Refused, oneOfOurs},
	"backend gcs":        {Refused, oneOfOurs},
	"backend http":       {Refused, oneOfOurs},
	"backend kubernetes": {Refused, oneOfOurs},
	"backend oss":        {Refused, oneOfOurs},
	"backend remote": {
		Refused, "There is no service that runs plans: remove the block, or keep states with the backend `local`."},

	"setting providers": {
		Absent, "An old form: `dev_overrides` in `provider_installation` names programs of providers."},
	"setting provisioners": {Moot, "Provisioners are no plugins any more; Terraform ignores the setting, too."},

	"variable CHECKPOINT_DISABLE": {
		Moot, "There is nothing to switch off: no service is ever asked for new versions."},
	"variable TF_CLI_ARGS":            {Differs, notAShell},
	"variable TF_CLI_ARGS_NAME":       {Differs, notAShell},
	"variable TF_CLOUD_HOSTNAME":      {Refused, "They are part of the block `cloud`, which is refused."},
	"variable TF_CLOUD_ORGANIZATION":  {Refused, "They are part of the block `cloud`, which is refused."},
	"variable TF_CLOUD_PROJECT":       {Refused, "They are part of the block `cloud`, which is refused."},
	"variable TF_FORCE_LOCAL_BACKEND": {Moot, "Without remote runs there is nothing to force."},
	"variable TF_STATE_PERSIST_INTERVAL": {
		Moot, "There is nothing to set: every result is in the journal before the next step begins."},
}

const (
	notAShell = "Signs of shells such as `;`, `&` and `>` stand for themselves, quoted or not; Terraform drops what " +
		"follows when they are not quoted."
	noRemote  = "Nothing is run on other machines: a `local-exec` provisioner can call ssh or scp."
	oneOfOurs = "States are kept by the backends `local`, `inmem`, `pg` and `s3`; the message says so."
)
