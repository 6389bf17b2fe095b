package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	plugin "github.com/hashicorp/go-plugin"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/program/programtest"
	"github.com/tombolo-iac/tombolo/internal/wire"
	"github.com/tombolo-iac/tombolo/internal/wire/wiretest"
	"github.com/tombolo-iac/tombolo/provider"
)

// The test binary is its own plugin if this is set; the value selects which one.
const modeEnv = "SERVE_TEST_MODE"

func TestMain(m *testing.M) {
	if runtime.GOOS != "windows" && len(os.TempDir()) > 60 {
		os.Setenv("TMPDIR", "/tmp") // plugins create sockets there, and the length of their names is limited
	}
	switch mode := os.Getenv(modeEnv); mode {
	case "":
		os.Exit(m.Run())
	case "start":
		startPluginAndWait()
	default:
		address := "registry.terraform.io/tombolo/echo"
		if mode == "nameless" {
			address = ""
		}
		Main(Options{
			Address: address, Grace: 5 * time.Second,
			New: func(context.Context) (provider.Provider, error) { return &echo{nested: mode == "nested"}, nil },
		})
	}
}

// echo has a function that returns its argument, and a slow data source that records how it ended.
type echo struct {
	provider.Base
	nested bool
	name   string
}

func (e *echo) Schema(context.Context) (*provider.Schema, diag.List) {
	block := &provider.Block{Attributes: map[string]*provider.Attribute{"notes": {Type: cty.String, Required: true}}}
	if e.nested {
		block.Attributes["inner"] = &provider.Attribute{Optional: true, Nested: &provider.NestedObject{
			Nesting: provider.NestingSingle}}
	}
	return &provider.Schema{
		Provider: &provider.Block{Attributes: map[string]*provider.Attribute{
			"name": {Type: cty.String, Optional: true}}},
		Data: map[string]*provider.ResourceType{"echo_slow": {Block: block}},
		Functions: map[string]*provider.Function{
			"say": {Params: []provider.FunctionParam{{Name: "text", Type: cty.String}}, Return: cty.String},
		},
	}, nil
}

func (e *echo) Configure(_ context.Context, req provider.ConfigureRequest) provider.ConfigureResponse {
	if v := req.Config.GetAttr("name"); !v.IsNull() {
		e.name = v.AsString()
	}
	return provider.ConfigureResponse{}
}

func (e *echo) CallFunction(_ context.Context, _ string, args []cty.Value) (cty.Value, error) {
	fmt.Println("on standard output") // must not disturb the handshake
	return cty.StringVal(e.name + args[0].AsString()), nil
}

func (e *echo) ReadData(ctx context.Context, req provider.ReadDataRequest) provider.ReadDataResponse {
	notes := req.Config.GetAttr("notes").AsString()
	_ = os.WriteFile(filepath.Join(notes, "pid"), []byte(strconv.Itoa(os.Getpid())), 0o600)
	_ = os.WriteFile(filepath.Join(notes, "begun"), nil, 0o600)
	select {
	case <-ctx.Done():
		time.Sleep(200 * time.Millisecond)
		_ = os.WriteFile(filepath.Join(notes, "cancelled"), nil, 0o600)
	case <-time.After(time.Minute):
	}
	return provider.ReadDataResponse{State: req.Config}
}

// connect acts as a host that uses go-plugin and its gRPC library.
func connect(c *plugin.Client, version func() int) (provider.Provider, error) {
	conn, err := wiretest.Connected(c)
	if err != nil {
		return nil, err
	}
	return wire.NewClient(conn, version(), wire.Options{Name: "echo"})
}

func six() int { return 6 }

func command(mode string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), modeEnv+"="+mode)
	return cmd
}

// launch starts a plugin as Terraform does.
func launch(t *testing.T, mode string, versions ...int) (*plugin.Client, provider.Provider) {
	t.Helper()
	c := plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig: wiretest.Handshake, VersionedPlugins: wiretest.Calling(versions...), Cmd: command(mode),
		AutoMTLS:         true,
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC}, Logger: hclog.NewNullLogger(), SyncStdout: io.Discard,
		SyncStderr: io.Discard,
	})
	t.Cleanup(c.Kill)
	p, err := connect(c, c.NegotiatedVersion)
	if err != nil {
		t.Fatal(err)
	}
	return c, p
}

func say(t *testing.T, p provider.Provider, text string) string {
	t.Helper()
	v, err := p.CallFunction(t.Context(), "say", []cty.Value{cty.StringVal(text)})
	if err != nil {
		t.Fatal(err)
	}
	return v.AsString()
}

func configure(t *testing.T, p provider.Provider, name string) {
	t.Helper()
	req := provider.ConfigureRequest{Config: cty.ObjectVal(map[string]cty.Value{"name": cty.StringVal(name)})}
	if err := p.Configure(t.Context(), req).Diagnostics.Err(); err != nil {
		t.Fatal(err)
	}
}

func TestHostAndPluginAgreeOnTheBestVersion(t *testing.T) {
	for _, tt := range []struct {
		mode string
		host []int
		want int
	}{{"plain", []int{5, 6}, 6}, {"plain", []int{5}, 5}, {"plain", []int{6}, 6}, {"nested", []int{5, 6}, 6}} {
		c, p := launch(t, tt.mode, tt.host...)
		if got := c.NegotiatedVersion(); got != tt.want {
			t.Errorf("%s, host with %v: version %d, want %d", tt.mode, tt.host, got, tt.want)
		}
		if rpc, err := c.Client(); err != nil {
			t.Error(err)
		} else if err := rpc.Ping(); err != nil {
			t.Errorf("health: %v", err)
		}
		if got := say(t, p, "hello"); got != "hello" {
			t.Errorf("said %q", got)
		}
		c.Kill()
		if !c.Exited() {
			t.Error("the plugin still runs")
		}
	}
}

func TestHostsWithoutNestedAttributesGetAnError(t *testing.T) {
	c := plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig: wiretest.Handshake, VersionedPlugins: wiretest.Calling(5), Cmd: command("nested"),
		AutoMTLS:         true,
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC}, Logger: hclog.NewNullLogger(),
	})
	defer c.Kill()
	if _, err := c.Client(); err == nil || !strings.Contains(err.Error(), "version") {
		t.Errorf("got error %v, want one about versions", err)
	}
}

func TestLargeValuesPass(t *testing.T) {
	_, p := launch(t, "plain", 5, 6)
	text := strings.Repeat("x", 20<<20)
	if got := say(t, p, text); got != text {
		t.Errorf("got %d bytes back, sent %d", len(got), len(text))
	}
}

func TestShutdownAwaitsRunningCalls(t *testing.T) {
	c, p := launch(t, "plain", 6)
	notes := beginSlow(t, p)
	c.Kill()
	waitFor(t, filepath.Join(notes, "cancelled"))
}

// beginSlow starts a call that never ends by itself and waits until it is under way.
func beginSlow(t *testing.T, p provider.Provider) (notes string) {
	t.Helper()
	notes = t.TempDir()
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.ReadData(context.Background(), provider.ReadDataRequest{
			Type: "echo_slow", Config: cty.ObjectVal(map[string]cty.Value{"notes": cty.StringVal(notes)}),
		})
	}()
	t.Cleanup(func() { <-done })
	waitFor(t, filepath.Join(notes, "begun"))
	return notes
}

func waitFor(t *testing.T, file string) {
	t.Helper()
	for range 1200 {
		if _, err := os.Stat(file); err == nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("%s does not appear", file)
}

func TestPluginStartedByHandPrintsHelp(t *testing.T) {
	cmd := command("plain")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("got %v, want exit status 1", err)
	}
	if stdout.Len() > 0 || !strings.Contains(stderr.String(), "the provider registry.terraform.io/tombolo/echo") ||
		!strings.Contains(stderr.String(), "-debug") {
		t.Errorf("stdout: %s\nstderr: %s", stdout.String(), stderr.String())
	}
}

// Hosts could not identify the provider of such a plugin.
func TestDebugPluginsNeedAnAddress(t *testing.T) {
	out, err := command("nameless", "-debug").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "cannot start: it has no Address") ||
		strings.Contains(string(out), ReattachEnv) {
		t.Errorf("got %v\n%s", err, out)
	}
	_, _, err = Attach(t.Context(), Options{New: func(context.Context) (provider.Provider, error) {
		return &echo{}, nil
	}})
	if err == nil || !strings.Contains(err.Error(), "no Address") {
		t.Errorf("attached: %v", err)
	}
}

func TestDebuggedPluginServesOneClientAfterAnother(t *testing.T) {
	cmd := command("plain", "-debug")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	text := make(chan string, 1)
	go func() {
		buf := make([]byte, 4096)
		n, _ := io.ReadAtLeast(out, buf, len("TF_REATTACH_PROVIDERS"))
		for !bytes.Contains(buf[:n], []byte("}'")) {
			m, err := out.Read(buf[n:])
			if n += m; err != nil {
				break
			}
		}
		text <- string(buf[:n])
		_, _ = io.Copy(io.Discard, out)
		ended <- cmd.Wait()
	}()
	found := regexp.MustCompile(`TF_REATTACH_PROVIDERS='(.*)'`).FindStringSubmatch(<-text)
	if found == nil {
		t.Fatal("no TF_REATTACH_PROVIDERS was printed")
	}
	reattach := parseReattach(t, found[1])
	for _, name := range []string{"first ", "second "} {
		c := plugin.NewClient(&plugin.ClientConfig{
			HandshakeConfig: wiretest.Handshake, Plugins: wiretest.Calling(6)[6], Reattach: reattach,
			AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC}, Logger: hclog.NewNullLogger(),
		})
		p, err := connect(c, six)
		if err != nil {
			t.Fatal(err)
		}
		configure(t, p, name)
		if got := say(t, p, "hello"); got != name+"hello" {
			t.Errorf("said %q", got)
		}
		c.Kill()
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("the plugin did not end well: %v", err)
		}
		if strings.Contains(stderr.String(), "{") { // the library would write JSON lines
			t.Errorf("whoever started it has to read:\n%s", stderr.String())
		}
	case <-time.After(time.Minute):
		_ = cmd.Process.Kill()
		t.Error("the plugin still runs")
	}
}

func parseReattach(t *testing.T, text string) *plugin.ReattachConfig {
	t.Helper()
	var all map[string]struct {
		Protocol        string
		ProtocolVersion int
		Pid             int
		Test            bool
		Addr            struct{ Network, String string }
	}
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		t.Fatal(err)
	}
	one := all["registry.terraform.io/tombolo/echo"]
	if one.Protocol != "grpc" || one.ProtocolVersion != 6 || !one.Test || one.Addr.Network != "unix" {
		t.Errorf("reattach: %+v", one)
	}
	return &plugin.ReattachConfig{
		Protocol: plugin.Protocol(one.Protocol), ProtocolVersion: one.ProtocolVersion, Pid: one.Pid, Test: one.Test,
		Addr: &net.UnixAddr{Net: one.Addr.Network, Name: one.Addr.String},
	}
}

func TestPluginEndsWithTheProcessThatStartedIt(t *testing.T) {
	for _, wrapper := range []string{"", "#!/bin/sh\n\"$@\"\nexit $?\n"} {
		script := ""
		if wrapper != "" {
			script = filepath.Join(t.TempDir(), "wrapper")
			if err := os.WriteFile(script, []byte(wrapper), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		notes := t.TempDir()
		cmd := command("start")
		cmd.Env = append(cmd.Env, "SERVE_TEST_NOTES="+notes, "SERVE_TEST_WRAPPER="+script)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		waitFor(t, filepath.Join(notes, "begun"))
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		waitFor(t, filepath.Join(notes, "cancelled"))
		text, err := os.ReadFile(filepath.Join(notes, "pid"))
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(string(text))
		if err != nil {
			t.Fatal(err)
		}
		if !programtest.Ends(pid) {
			t.Errorf("wrapper %q: the plugin outlives its host", wrapper)
		}
	}
}

// startPluginAndWait is a host that gets killed while its plugin works.
func startPluginAndWait() {
	notes := os.Getenv("SERVE_TEST_NOTES")
	cmd := command("plain")
	if script := os.Getenv("SERVE_TEST_WRAPPER"); script != "" {
		env := cmd.Env
		cmd = exec.Command(script, os.Args[0])
		cmd.Env = env
	}
	c := plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig: wiretest.Handshake, VersionedPlugins: wiretest.Calling(6), Cmd: cmd, SkipHostEnv: true,
		AutoMTLS:         true,
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC}, Logger: hclog.NewNullLogger(),
	})
	p, err := connect(c, six)
	if err != nil {
		panic(err)
	}
	p.ReadData(context.Background(), provider.ReadDataRequest{
		Type: "echo_slow", Config: cty.ObjectVal(map[string]cty.Value{"notes": cty.StringVal(notes)}),
	})
}
