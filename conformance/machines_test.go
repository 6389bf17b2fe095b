package conformance

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tombolo-iac/tombolo/internal/provision/sshtest"
)

// machines are configurations whose provisioners run on another machine, an OpenSSH server. Each side has a directory
// there, {dir}.
var machines = []struct{ name, text string }{
	{name: "scripts", text: `
resource "terraform_data" "a" {
  input = "in"
  {connection}
  provisioner "remote-exec" {
    inline = ["echo ${self.input}", "echo two >&2", "printf three"]
  }
  provisioner "remote-exec" {
    scripts = ["one.sh", "two.sh"]
  }
  provisioner "remote-exec" {
    inline = ["#!/bin/bash\necho $${BASH_VERSION:0:1} >{dir}/bash"]
    connection {
      script_path = "{dir}/my_%RAND%.sh"
    }
  }
}`},
	{name: "files", text: `
resource "terraform_data" "a" {
  {connection}
  provisioner "file" {
    content     = "héllo"
    destination = "{dir}/a file"
  }
  provisioner "file" {
    source      = "one.sh"
    destination = "{dir}/one's"
  }
  provisioner "file" {
    source      = "tree"
    destination = "{dir}/there"
  }
  provisioner "file" {
    source      = "tree/"
    destination = "{dir}/there"
  }
}`},
	{name: "failing", text: `
resource "terraform_data" "a" {
  {connection}
  provisioner "remote-exec" {
    inline = ["echo before; exit 3"]
  }
  provisioner "file" {
    content     = "never"
    destination = "{dir}/never"
  }
}
resource "terraform_data" "b" {
  {connection}
  provisioner "remote-exec" {
    inline     = ["kill -9 $$"]
    on_failure = continue
  }
}`},
	{name: "arguments", text: `
resource "terraform_data" "a" {
  {connection}
  provisioner "remote-exec" {
    inline = ["true", ""]
  }
}
resource "terraform_data" "b" {
  {connection}
  provisioner "remote-exec" {
    script = "none.sh"
  }
}
resource "terraform_data" "c" {
  {connection}
  provisioner "file" {
    source      = "none"
    destination = "{dir}/none"
  }
}
resource "terraform_data" "d" {
  {connection}
  provisioner "remote-exec" {
    inline = ["true"]
    connection {
      private_key = "junk"
    }
  }
}`},
	{name: "secrets", text: `
variable "s" {
  default   = "hush"
  sensitive = true
}
resource "terraform_data" "a" {
  {connection}
  provisioner "remote-exec" {
    inline = ["echo ${var.s} >{dir}/s; cat {dir}/s"]
  }
  provisioner "file" {
    content     = var.s
    destination = "{dir}/t"
  }
}`},
	{name: "bastion", text: `
resource "terraform_data" "a" {
  {connection}
  provisioner "remote-exec" {
    inline = ["echo there"]
    connection {
      bastion_host = "127.0.0.1"
      host_key     = file("host.pub")
    }
  }
}`},
	{name: "at_destroy", text: `
resource "terraform_data" "a" {
  input = { dir = "{dir}", port = {port}, user = "{user}", key = file("key") }
  connection {
    host        = "127.0.0.1"
    port        = self.output.port
    user        = self.output.user
    private_key = self.output.key
  }
  provisioner "remote-exec" {
    when   = destroy
    inline = ["echo gone >${self.output.dir}/gone"]
  }
}`},
}

// Text that differs between runs, and text that only one of the programs prints.
var (
	scriptNumber = regexp.MustCompile(`terraform_\d+\.sh`)
	dataID       = regexp.MustCompile(`\[id=[^\]]*\]`)
	tookTime     = regexp.MustCompile(`after \d+s`)
	stillBusy    = regexp.MustCompile(`: Still \w+\.\.\. \[`)
)

// TestProvisionersOnOtherMachinesAgree runs the provisioners file and remote-exec with terraform and tombolo against an
// OpenSSH server, and compares their output, exit codes, and the files on the machine afterwards.
func TestProvisionersOnOtherMachinesAgree(t *testing.T) {
	terraform, tombolo := findTerraform(t), findTombolo(t)
	for _, tt := range machines {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var sides [2]string
			for i, bin := range []string{terraform, tombolo} {
				sides[i] = onMachine(t, bin, tt.text)
			}
			if diff := cmp.Diff(sides[0], sides[1]); diff != "" {
				t.Errorf("(-terraform +tombolo)\n%s", diff)
			}
		})
	}
}

// onMachine applies and destroys a configuration, and returns the sorted lines of output, and the files on the machine
// after each of the two.
func onMachine(t *testing.T, bin, text string) string {
	t.Helper()
	s := sshtest.Start(t)
	dir, there := t.TempDir(), filepath.Join(s.Dir, "there")
	connection := fmt.Sprintf("connection {\n    host = \"127.0.0.1\"\n    port = %d\n    user = %q\n"+
		"    private_key = file(\"key\")\n    agent = false\n  }", s.Port, s.User)
	text = strings.NewReplacer("{connection}", connection, "{dir}", there, "{port}", fmt.Sprint(s.Port), "{user}",
		s.User).Replace(text)
	for name, content := range map[string]string{"main.tf": text, "key": s.PrivateKey, "host.pub": s.HostKey,
		"one.sh": "#!/bin/sh\necho one\n", "two.sh": "echo two\n", "tree/a": "1", "tree/sub/b": "2", "empty.tfrc": ""} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(there, "there"), 0o777); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, args := range [][]string{{"init"}, {"apply", "-auto-approve"}, {"destroy", "-auto-approve"}} {
		cmd := exec.Command(bin, append(args, "-no-color")...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+filepath.Join(dir, "empty.tfrc"), "CHECKPOINT_DISABLE=1",
			"SSH_AUTH_SOCK=")
		var printed bytes.Buffer
		cmd.Stdout, cmd.Stderr = &printed, &printed
		err := cmd.Run()
		if args[0] == "init" {
			if err != nil {
				t.Fatalf("init: %v\n%s", err, &printed)
			}
			continue
		}
		fmt.Fprintf(&out, "%s ends with %v\n", args[0], err)
		out.WriteString(ofProvisioners(strings.ReplaceAll(printed.String(), s.Dir, "<server>")))
		for _, name := range listed(t, there) {
			fmt.Fprintf(&out, "on the machine: %s\n", name)
		}
	}
	return strings.ReplaceAll(out.String(), fmt.Sprint(s.Port), "<port>")
}

// ofProvisioners returns the sorted lines of provisioners, and the titles of errors. Durations, and messages that are
// only printed after a long time, are left out, as is our balance of a failed apply, which the other program does not
// have.
func ofProvisioners(text string) string {
	text = tookTime.ReplaceAllString(dataID.ReplaceAllString(scriptNumber.ReplaceAllString(text, "terraform_N.sh"),
		"[id]"), "after N")
	var lines []string
	for line := range strings.Lines(text) {
		if stillBusy.MatchString(line) || strings.HasPrefix(line, "Apply incomplete!") {
			continue
		}
		if strings.HasPrefix(line, "terraform_data.") || strings.HasPrefix(line, "Error: ") ||
			strings.Contains(line, "terraform_N.sh") || strings.Contains(line, "Resources: ") {
			lines = append(lines, strings.TrimRight(line, " \n")+"\n")
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// listed returns the files below a directory with their contents.
func listed(t *testing.T, dir string) (list []string) {
	t.Helper()
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() || strings.Contains(info.Name(), "my_") { // terraform empties its scripts
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path) // below dir
		list = append(list, fmt.Sprintf("%s %v %q", name, info.Mode(), text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}
