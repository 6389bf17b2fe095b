package s3_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
	"github.com/tombolo-iac/tombolo/state"
)

// program is the real terraform in its own directory.
type program struct {
	t   *testing.T
	bin string
	dir string
	env []string
}

const lockID = "0b5c8e7e-6c1f-4d9e-9d6d-000000000001"

// terraform sets up a directory with a block.
func terraform(t *testing.T, block string) *program {
	t.Helper()
	bin := os.Getenv("TOMBOLO_TERRAFORM") // or OpenTofu
	if bin == "" {
		var err error
		if bin, err = exec.LookPath("terraform"); err != nil {
			t.Skip("needs terraform on PATH")
		}
	}
	p := &program{t: t, bin: bin, dir: t.TempDir()}
	rc := filepath.Join(p.dir, "empty.tfrc")
	p.env = append(os.Environ(), "CHECKPOINT_DISABLE=1", "TF_CLI_CONFIG_FILE="+rc, "TF_IN_AUTOMATION=1", "AWS_REGION=",
		"AWS_PROFILE=", "HOME="+p.dir)
	p.file("empty.tfrc", "")
	p.file("main.tf", "terraform {\n  backend \"s3\" {\n"+block+"  }\n}\n"+
		"variable \"x\" { default = 1 }\noutput \"x\" { value = var.x }\n")
	p.run("init", "-input=false")
	return p
}

func (p *program) file(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p *program) command(args ...string) *exec.Cmd {
	c := exec.CommandContext(p.t.Context(), p.bin, append(args, "-no-color")...)
	c.Dir, c.Env = p.dir, p.env
	return c
}

func (p *program) run(args ...string) string {
	p.t.Helper()
	out, err := p.command(args...).CombinedOutput()
	if err != nil {
		p.t.Fatalf("terraform %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func (p *program) fails(args ...string) string {
	p.t.Helper()
	out, err := p.command(args...).CombinedOutput()
	if err == nil {
		p.t.Fatalf("terraform %s succeeded\n%s", strings.Join(args, " "), out)
	}
	return string(out)
}

// holding calls f while terraform holds the lock and waits for input.
func (p *program) holding(f func()) {
	p.t.Helper()
	c := p.command("apply", "-var=x=99")
	in, err := c.StdinPipe()
	must(p.t, err)
	out, err := c.StdoutPipe()
	must(p.t, err)
	c.Stderr = c.Stdout
	must(p.t, c.Start())
	var text bytes.Buffer
	for b := make([]byte, 1); !strings.Contains(text.String(), "Enter a value"); {
		if _, err := out.Read(b); err != nil {
			p.t.Fatalf("terraform ended: %v\n%s", err, text.String())
		}
		text.Write(b)
	}
	f()
	_, err = io.WriteString(in, "no\n")
	must(p.t, err)
	io.Copy(&text, out)
	if err := c.Wait(); err == nil {
		p.t.Errorf("terraform applied what it should not\n%s", text.String())
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// block returns the text of a block with some settings.
func block(settings map[string]cty.Value) string {
	var b strings.Builder
	for name, v := range settings {
		switch {
		case v.Type() == cty.String:
			fmt.Fprintf(&b, "%s = %q\n", name, v.AsString())
		case v.Type() == cty.Bool:
			fmt.Fprintf(&b, "%s = %t\n", name, v.True())
		default:
			fmt.Fprintf(&b, "%s = {\n%s}\n", name, block(v.AsValueMap()))
		}
	}
	return b.String()
}

// forTerraform adds settings that prevent terraform from calling services that do not exist.
func forTerraform(s map[string]cty.Value) map[string]cty.Value {
	s["skip_credentials_validation"], s["skip_requesting_account_id"] = cty.True, cty.True
	return s
}

// outputs returns the output values of a state.
func outputs(t *testing.T, data []byte) string {
	t.Helper()
	var doc struct {
		Outputs map[string]struct{ Value any }
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	var all []string
	for name, o := range doc.Outputs {
		all = append(all, fmt.Sprintf("%s=%v", name, o.Value))
	}
	return strings.Join(all, " ")
}

func TestTerraformSharesStatesAndLocks(t *testing.T) {
	server := httptest.NewServer(serve(t))
	t.Cleanup(server.Close)
	s := forTerraform(settings(server.URL, nil))
	shareLife(t, open(t, s), terraform(t, block(s)))
}

// shareLife performs changes of a state with terraform and a driver alternately.
func shareLife(t *testing.T, d remote.Driver, tf *program) {
	ctx := t.Context()
	p, err := d.Place(state.DefaultWorkspace)
	must(t, err)
	read := func(want string) remote.Content {
		t.Helper()
		c, err := p.Read(ctx)
		must(t, err)
		if got := outputs(t, c.Data); got != want {
			t.Errorf("read %s, want %s", got, want)
		}
		return c
	}
	tf.run("apply", "-auto-approve", "-var=x=5")
	c := read("x=5")

	h, err := p.Lock(ctx, drivertest.Info(lockID))
	must(t, err)
	journal, err := h.StartJournal(ctx, "", bytes.Repeat([]byte("journal"), 20_000))
	must(t, err)
	must(t, h.Append(ctx, journal, 1, []byte("more")))
	text := tf.fails("apply", "-auto-approve", "-var=x=6")
	for _, want := range []string{"Error acquiring the state lock", lockID, "me@here", "OperationTypeApply",
		"some note"} {
		if !strings.Contains(text, want) {
			t.Errorf("terraform does not say %q:\n%s", want, text)
		}
	}
	data := regexp.MustCompile(`"serial": ?1`).ReplaceAll(c.Data, []byte(`"serial": 2`))
	data = regexp.MustCompile(`"value": ?"5"`).ReplaceAll(data, []byte(`"value": "7"`))
	_, err = h.Write(ctx, remote.Write{Data: data, Was: c.Version, Serial: 2})
	must(t, err)
	must(t, h.Unlock(ctx))
	if got := strings.TrimSpace(tf.run("output", "-raw", "x")); got != "7" {
		t.Errorf("terraform reads %s, want 7", got)
	}
	tf.run("apply", "-auto-approve", "-var=x=8")
	read("x=8")

	tf.holding(func() {
		_, err := p.Lock(ctx, drivertest.Info(lockID))
		var locked *state.LockedError
		if !errors.As(err, &locked) || locked.Info == nil || locked.Info.ID == "" ||
			locked.Info.Operation != state.OperationApply || locked.Info.Who == "" || locked.Info.Created.IsZero() {
			t.Errorf("lock: %v", err)
		}
		info, err := p.Holder(ctx)
		must(t, err)
		if locked != nil && (info == nil || *info != *locked.Info) {
			t.Errorf("holder %+v", info)
		}
	})

	tf.run("workspace", "new", "blue")
	tf.run("apply", "-auto-approve", "-var=x=9")
	names, err := d.Workspaces(ctx)
	must(t, err)
	if !slices.Equal(names, []string{"blue"}) {
		t.Errorf("workspaces %q", names)
	}
	green, err := d.Place("green")
	must(t, err)
	gh, err := green.Lock(ctx, drivertest.Info(lockID))
	must(t, err)
	_, err = gh.StartJournal(ctx, "", []byte("x"))
	must(t, err)
	_, err = gh.Write(ctx, remote.Write{Data: data})
	must(t, err)
	list := strings.Fields(strings.ReplaceAll(tf.run("workspace", "list"), "*", ""))
	if !slices.Equal(list, []string{"default", "blue", "green"}) {
		t.Errorf("terraform lists the workspaces %q", list)
	}
	tf.run("workspace", "select", "green")
	tf.run("force-unlock", "-force", lockID)
	if err := gh.Check(ctx); !errors.Is(err, remote.ErrLost) {
		t.Errorf("after terraform's force-unlock: %v", err)
	}
	if got := strings.TrimSpace(tf.run("output", "-raw", "x")); got != "7" {
		t.Errorf("terraform reads %s in the workspace green, want 7", got)
	}
	tf.run("workspace", "select", "default")
	tf.run("workspace", "delete", "-force", "green")
	tf.run("workspace", "delete", "-force", "blue")
	if names, err := d.Workspaces(ctx); err != nil || len(names) > 0 {
		t.Errorf("workspaces %q, %v", names, err)
	}
}
