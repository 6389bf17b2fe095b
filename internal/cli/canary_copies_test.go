package cli

import (
	"encoding/base64"
	"strings"
	"testing"
)

// TestCopiesOfSecretsAreHidden runs a configuration in which objects, programs and provisioners repeat secrets in
// values that are not marked: verbatim, in a URL, as JSON and in base64. No text output may contain them. JSON output
// is not checked, because it hides only marked values.
func TestCopiesOfSecretsAreHidden(t *testing.T) {
	p := newPlanting(t)
	p.write("terraform.tfvars", []byte("secret = \""+planted+"\"\nonce = \"x"+planted+"\"\n"))
	p.write("main.tf", []byte(`
variable "secret" {
  type      = string
  sensitive = true
}
variable "once" {
  type      = string
  ephemeral = true
}
variable "edition" { default = 1 }
resource "terraform_data" "copied" {
  input            = { password = var.secret, version = var.edition }
  triggers_replace = var.secret
  provisioner "local-exec" {
    command = "printf %s 'the password is ${var.secret} or ${urlencode("a ${var.secret}")}' | tee copy; base64 copy"
  }
}
resource "terraform_data" "of_copy" {
  input            = [terraform_data.copied.output, base64encode(jsonencode(terraform_data.copied.output))]
  triggers_replace = "url://x:${try(terraform_data.copied.output.password, "")}@host"
}
data "external" "program" {
  program = ["sh", "-c", "cat > asked; cat asked >&2; printf '{\"copy\":\"%s\",\"code\":\"%s\"}' `+
		`\"$(tr -dc a-z0-9 < asked)\" \"$(base64 -w0 asked)\""]
  query   = { secret = var.secret }
}
resource "terraform_data" "of_program" { input = data.external.program.result }
output "copied" { value = terraform_data.copied.output }
output "program" { value = { (data.external.program.result.copy) = data.external.program.result } }
`))
	look := func(args ...string) {
		t.Helper()
		text := p.run(args...)
		if strings.Contains(text, "[exit 1]") {
			t.Errorf("%s fails:\n%s", strings.Join(args, " "), text)
		}
		for before := range 3 {
			whole := base64.StdEncoding.EncodeToString([]byte("abc"[:before] + planted))
			if part := whole[4 : len(whole)-6]; strings.Contains(text, part) {
				t.Errorf("%s tells a secret in base64 (%s):\n%s", strings.Join(args, " "), part, text)
			}
		}
	}
	p.run("init")
	for _, version := range []string{"1", "2"} {
		set := "-var=edition=" + version
		look("plan", set, "-out=p")
		look("show", "p")
		look("apply", set, "-auto-approve")
		look("show")
		for _, address := range []string{"copied", "of_copy", "of_program"} {
			look("state", "show", "terraform_data."+address)
		}
		look("plan", set, "-destroy")
		look("plan", set, "-replace=terraform_data.copied")
		look("plan", set, "-refresh-only")
		look("drift", set)
		look("drift", set, "-markdown")
	}
	for _, expression := range []string{"terraform_data.copied.output", "terraform_data.of_copy.input",
		"terraform_data.of_program"} {
		p.typed(expression+"\n", "console")
	}
	look("destroy", "-auto-approve")
}
