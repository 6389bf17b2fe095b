package schematest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/provider"
	"github.com/tombolo-iac/tombolo/provider/serve"
)

// program is an engine in a separate program. It attaches to the provider in the process of the test.
type program struct {
	path   string
	source addr.Provider
	dir    string
	attach string // value of serve.ReattachEnv
	ready  *string
	detach func() error
	warned strings.Builder
}

func newProgram(path string, source addr.Provider, make provider.Factory) (*program, error) {
	value, detach, err := serve.Attach(context.Background(), serve.Options{Address: source.String(), New: make})
	if err != nil {
		return nil, fmt.Errorf("the provider cannot be served: %w", err)
	}
	return &program{path: path, source: source, attach: value, detach: detach, ready: new(string)}, nil
}

func (p *program) name() string   { return "by " + filepath.Base(p.path) }
func (p *program) in(dir string)  { p.dir = dir }
func (p *program) header() string { return header(p.source) }
func (p *program) elsewhere(dir string) engine {
	return &program{path: p.path, source: p.source, dir: dir, attach: p.attach, ready: new(string)}
}

const (
	settingsFile = ".schematest.rc"
	planFile     = ".schematest.plan"
)

// run runs a command. An error holds the program's messages. The standard output is returned in any case.
func (p *program) run(ctx context.Context, args ...string) (string, error) {
	settings := filepath.Join(p.dir, settingsFile)
	if err := os.WriteFile(settings, nil, 0o666); err != nil {
		return "", err
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, p.path, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.dir, &stdout, &stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	// Settings of the author's environment must not change the test.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(s string) bool {
		return strings.HasPrefix(s, "TF_") || strings.HasPrefix(s, "TOFU_")
	})
	cmd.Env = append(cmd.Env, serve.ReattachEnv+"="+p.attach, "TF_CLI_CONFIG_FILE="+settings, "CHECKPOINT_DISABLE=1",
		"TF_IN_AUTOMATION=1", "TF_INPUT=0")
	err := cmd.Run()
	for _, output := range []string{stdout.String(), stderr.String()} {
		output = unframed(output)
		if i := strings.Index(output, "Warning: "); i >= 0 && args[0] != "show" {
			p.warned.WriteString(output[i:] + "\n")
		}
	}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return stdout.String(), &failed{unframed(stderr.String())}
	case err != nil:
		return "", err
	}
	return stdout.String(), nil
}

func (p *program) warnings() string {
	defer p.warned.Reset()
	return strings.TrimSpace(p.warned.String())
}

// init installs modules, once for each configuration.
func (p *program) init(ctx context.Context) error {
	text, err := os.ReadFile(filepath.Join(p.dir, mainFile))
	if err != nil || string(text) == *p.ready {
		return err
	}
	if _, err := p.run(ctx, "init", "-no-color", "-input=false"); err != nil {
		return err
	}
	*p.ready = string(text)
	return nil
}

func (p *program) plan(ctx context.Context, m mode) (*planned, error) {
	if err := p.init(ctx); err != nil {
		return nil, err
	}
	args := []string{"plan", "-no-color", "-input=false", "-out=" + planFile}
	switch m {
	case refreshing:
		args = append(args, "-refresh-only")
	case destroying:
		args = append(args, "-destroy")
	}
	if _, err := p.run(ctx, args...); err != nil {
		return nil, err
	}
	shown, err := p.run(ctx, "show", "-no-color", planFile)
	if err != nil {
		return nil, err
	}
	doc, err := p.run(ctx, "show", "-json", planFile)
	if err != nil {
		return nil, err
	}
	parsed, err := parsePlan([]byte(doc), shown)
	if err != nil {
		return nil, err
	}
	return &planned{plan: parsed, close: func() {}, apply: func(ctx context.Context) error {
		_, err := p.run(ctx, "apply", "-no-color", "-input=false", planFile)
		return err
	}}, nil
}

func (p *program) state(ctx context.Context) (*State, error) {
	if err := p.init(ctx); err != nil {
		return nil, err
	}
	doc, err := p.run(ctx, "show", "-json")
	if err != nil {
		return nil, err
	}
	return parseState([]byte(doc))
}

func (p *program) importObject(ctx context.Context, address, id string) error {
	if err := p.init(ctx); err != nil {
		return err
	}
	_, err := p.run(ctx, "import", "-no-color", "-input=false", address, id)
	return err
}

func (p *program) query(ctx context.Context) (map[string][]string, error) {
	if err := p.init(ctx); err != nil {
		return nil, err
	}
	output, err := p.run(ctx, "query", "-json", "-no-color")
	if f := (*failed)(nil); errors.As(err, &f) {
		return nil, &failed{output + f.text} // problems are lines of the output, too
	} else if err != nil {
		return nil, err
	}
	found := map[string][]string{}
	for line := range strings.Lines(output) {
		var one struct {
			Type  string `json:"type"`
			Found struct {
				Address string `json:"address"`
				Name    string `json:"display_name"`
			} `json:"list_resource_found"`
		}
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			return nil, fmt.Errorf("the output of query -json cannot be read: %w", err)
		}
		if one.Type == "list_resource_found" {
			found[one.Found.Address] = append(found[one.Found.Address], one.Found.Name)
		}
	}
	return found, nil
}

// frame matches the frame that programs draw around problems.
var frame = regexp.MustCompile(`(?m)^[│╷╵] ?`)

func unframed(text string) string { return strings.TrimSpace(frame.ReplaceAllString(text, "")) }
