package cli

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// attack is a hostile name or value. It has a window title, colors, sequences that clear the screen, ring the bell and
// move the cursor, C1 control codes, bidirectional overrides and invisible characters.
const attack = "\x1b]0;owned\x07\x1b[2J\x1b[31mred\rover\u0085\u009b31m\u202eevil\u2066x\u200bzero\u00adsoft\U000e0041tag\x7f"

// TestExternalTextCannotControlTheTerminal puts control characters into all external text: values, keys, messages, file
// names, the output of programs, the state. No command may print them.
func TestExternalTextCannotControlTheTerminal(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs file names with control characters, which Windows does not have")
	}
	m := newMistake(t)
	value := strings.NewReplacer("\x1b", `\u001b`, "\x07", `\u0007`, "\r", `\r`, "\x7f", `\u007f`).Replace(attack)
	m.write("main.tf", []byte(strings.ReplaceAll(attacked, "ATTACK", value)))
	m.write("program.sh", []byte("printf '%s\\n' '"+attack+"' >&2\nexit 1\n"))
	m.write("good.sh", []byte(`echo '{"a": "`+value+`"}'`+"\n"))
	m.write("broken/x"+attack+".tf", []byte("resource \"terraform_data\" \"a"+attack+"\" {\n  inputt = \""+attack+
		"\" + nothing.a\n}\n"))
	m.write("terraform.tfstate.d/y"+attack+"/terraform.tfstate", nil)
	m.write("ask/main.tf", []byte("variable \"v\" {\n  description = \""+value+"\"\n}\n"))
	m.write("values.tfvars", []byte("nosuch"+"ß = \"x\"\n"))
	for _, line := range []string{
		"tombolo init", "tombolo validate", "tombolo plan", "tombolo plan -out=p", "tombolo show p",
		"tombolo apply -auto-approve", "tombolo show",
		"tombolo output", "tombolo output text", "tombolo state list", `tombolo state show terraform_data.text`,
		"tombolo plan -var fail=true", "tombolo plan -var program=true", "tombolo plan -var-file=values.tfvars",
		"tombolo plan -var 'x" + attack + "=1'",
		"tombolo plan '-target=a" + attack + "'", "tombolo 'plan" + attack + "'", "tombolo plan '-" + attack + "'",
		"tombolo show 'x" + attack + "'",
		"tombolo output 'x" + attack + "'", "tombolo state show 'terraform_data.each[\"" + attack + "\"]'",
		"tombolo state rm 'x" + attack + "'",
		"tombolo workspace new 'x" + attack + "'", "tombolo workspace select 'x" + attack + "'",
		"tombolo state mv 'terraform_data.text' 'x" + attack + "'",
		"tombolo taint 'terraform_data.x" + attack + "'", "tombolo force-unlock -force 'x" + attack + "'",
		"tombolo apply 'x" + attack + "'",
		"tombolo workspace list", "tombolo -chdir=ask plan", "tombolo -chdir=broken fmt",
		"tombolo -chdir=broken validate", "tombolo '-chdir=x" + attack + "' validate", "tombolo -chdir=broken plan",
		"tombolo destroy -auto-approve",
		"tombolo plan -json -var fail=true", "tombolo apply -json -auto-approve",
	} {
		if strings.Contains(line, "-chdir") {
			t.Chdir(m.dir)
		}
		out := m.line(line)
		if at := strings.IndexFunc(out, controls); at >= 0 {
			t.Errorf("%q writes a control character at %q\nin %q", line, out[max(0, at-40):min(len(out), at+20)], out)
		}
		if strings.Contains(line, "-chdir") {
			t.Chdir(m.dir)
		}
	}
	if names, _ := filepath.Glob(filepath.Join(m.dir, "broken", "*")); len(names) != 1 {
		t.Errorf("the file system refused the attack: %q (%v)", names, os.ErrInvalid)
	}
}

// controls reports characters that a terminal may interpret, or that deceive a reader.
func controls(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < 0x20, r >= 0x7f && r < 0xa0, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return true
	}
	return r == 0x200b || r == 0xad || r >= 0xe0000 && r <= 0xe007f
}

const attacked = `
variable "fail" {
  type        = bool
  default     = false
  description = "ATTACK"
}
variable "program" {
  type    = bool
  default = false
}
resource "terraform_data" "text" {
  input = "ATTACK"
  lifecycle {
    precondition {
      condition     = !var.fail
      error_message = "it fails: ATTACK"
    }
  }
  provisioner "local-exec" {
    command = "printf '%s\\n' \"$X\"; printf '%s\\n' \"$X\" >&2"
    environment = { X = "ATTACK" }
  }
}
resource "terraform_data" "lines" {
  input = "one\nATTACK\nthree"
}
resource "terraform_data" "json" {
  input = jsonencode({ "ATTACK" = ["ATTACK"] })
}
resource "terraform_data" "object" {
  input = { "ATTACK" = toset(["ATTACK"]) }
}
resource "terraform_data" "each" {
  for_each = toset(["ATTACK"])
  input    = each.key
}
data "external" "bad" {
  count   = var.program ? 1 : 0
  program = ["sh", "program.sh"]
}
data "external" "good" {
  program = ["sh", "good.sh"]
}
output "text" {
  value = { "ATTACK" = "ATTACK", lines = "ATTACK\nATTACK", good = data.external.good.result }
}
output "bad" {
  value = var.fail ? tonumber("ATTACK") : 2
  precondition {
    condition     = !var.fail
    error_message = "ATTACK"
  }
}
check "it" {
  assert {
    condition     = terraform_data.text.output == "x"
    error_message = "check: ATTACK"
  }
}
`
