package tombolo_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// block returns the fenced text after a marker comment of the README.
func block(t *testing.T, marker string) (args, text string) {
	t.Helper()
	found := blocks(t, "README.md", marker)
	return found[0][0], found[0][1]
}

// blocks returns the arguments and the fenced text after each marker comment of a file.
func blocks(t *testing.T, file, marker string) (found [][2]string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?s)<!-- "+marker+
		": ([^\n]*?) -->\n```[a-z]*\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		found = append(found, [2]string{m[1], m[2]})
	}
	if found == nil {
		t.Fatalf("%s has no block marked %q", file, marker)
	}
	return found
}

// wantLines checks that the output has the lines; "..." stands for any number of lines. Durations are ignored: they
// depend on the machine.
func wantLines(t *testing.T, got, want string) {
	t.Helper()
	rest := regexp.MustCompile(`complete after \d+m?\d*s`).ReplaceAllString(got, "complete after 0s")
	for _, part := range strings.Split("\n"+want, "\n...\n") {
		part = strings.Trim(part, "\n")
		i := strings.Index(rest, part)
		if i < 0 {
			t.Fatalf("the page shows\n%s\nwhich is not (in this order) in the output:\n%s", part, got)
		}
		rest = rest[i+len(part):]
	}
}

func TestReadmeShowsWhatTheProgramPrints(t *testing.T) {
	if testing.Short() {
		t.Skip("runs without -short: it builds the command")
	}
	bin := filepath.Join(t.TempDir(), "tombolo")
	if out, err := exec.Command("go", "build", "-o", bin, "./cmd/tombolo").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := func(dir, args string) string {
		cmd := exec.Command(bin, strings.Fields(args)...)
		cmd.Dir = dir
		out, _ := cmd.CombinedOutput() // one of the examples is a failing plan
		return string(out)
	}
	t.Run("quickstart", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.CopyFS(filepath.Join(dir, "examples", "quickstart"), os.DirFS("examples/quickstart")); err != nil {
			t.Fatal(err)
		}
		for _, left := range []string{"terraform.tfstate", "terraform.tfstate.backup", "world"} {
			if err := os.RemoveAll(filepath.Join(dir, "examples", "quickstart", left)); err != nil {
				t.Fatal(err)
			}
		}
		args, want := block(t, "shows")
		wantLines(t, run(dir, args), want)
	})
	t.Run("first configuration", func(t *testing.T) {
		dir := t.TempDir()
		name, src := block(t, "file")
		write := func(src string) {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(src), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write(src)
		wantLines(t, run(dir, "apply -auto-approve -no-color"), `greetings = {
  "ann" = "Hello ann, from`)
		wantLines(t, run(dir, "plan -no-color"), "No changes.")
		write(strings.NewReplacer("= var.names", "= var.name", "each.key}", "each.keys}").Replace(src))
		args, want := block(t, "fails")
		wantLines(t, run(dir, args), want)
	})
}

// TestTheFirstApplyShowsWhatTheProgramPrints writes the file of the page and runs its commands in order.
func TestTheFirstApplyShowsWhatTheProgramPrints(t *testing.T) {
	if testing.Short() {
		t.Skip("runs without -short: it builds the command")
	}
	const page = "docs/start/first-apply.md"
	dir := t.TempDir()
	bin := filepath.Join(dir, "tombolo")
	if out, err := exec.Command("go", "build", "-o", bin, "./cmd/tombolo").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, file := range blocks(t, page, "file") {
		if err := os.WriteFile(filepath.Join(dir, file[0]), []byte(file[1]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range blocks(t, page, "run") {
		cmd := exec.Command(bin, strings.Fields(step[0])...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", step[0], err, out)
		}
		wantLines(t, string(out), step[1])
	}
}

// The first screen of the README answers what a newcomer has to know.
func TestReadmeIntroducesTheProject(t *testing.T) {
	raw, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitN(string(raw), "\n", 31)
	screen := strings.Join(lines[:30], "\n")
	for _, want := range []string{"Terraform language", "**For whom.**", "**How to get it.**",
		"go install ./cmd/tombolo",
		"**What it cannot do yet.**", "docs/compatibility.md"} {
		if !strings.Contains(screen, want) {
			t.Errorf("the first 30 lines of README.md do not say %q", want)
		}
	}
}
