//go:build unix

package host_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/host"
)

// shell returns a plugin that is a shell script.
func shell(script string) host.Plugin {
	return host.Plugin{Provider: addr.DefaultProvider("fake"), Program: "/bin/sh", Args: []string{"-c", script},
		StartTimeout: time.Minute}
}

func TestProgramsThatAreNotPluginsAreExplained(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		want   []string
		waits  bool // it is only detected after the start timeout
	}{
		"greeting": {"echo hello; sleep 600", []string{"not the handshake line of a plugin",
			"    hello"}, false},
		"help and exit": {"echo usage: x; echo need FOO >&2; exit 3", []string{"    usage: x", "    need FOO"},
			false},
		"silent exit": {"exit 4", []string{"ended without printing its handshake line", "exit status 4"}, false},
		"words and exit": {"echo 'python3: not found' >&2; exit 127", []string{
			"ended without printing", "    python3: not found", "exit status 127"}, false},
		"hang":        {"sleep 600", []string{"did not print its handshake line within 3s"}, true},
		"reads stdin": {"cat; exit 5", []string{"exit status 5"}, false},
		"no certificate": {"echo '1|5|tcp|127.0.0.1:1234|grpc'; sleep 600", []string{
			"has no certificate in its sixth field"}, false},
		"padded": {"echo '1|6|tcp|127.0.0.1:1234|grpc|" + strings.Repeat("A", 98) + "=='; sleep 600",
			[]string{`remove each "=" at its end`}, false},
		"no base64": {"echo '1|6|tcp|127.0.0.1:1234|grpc|" + strings.Repeat("-", 100) + "'; sleep 600",
			[]string{"sixth field must be the certificate in base64"}, false},
		"PEM in base64": {"echo '1|6|tcp|127.0.0.1:1234|grpc|" + base64.RawStdEncoding.EncodeToString(
			[]byte("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n")) + "'; sleep 600", []string{
			"It must be base64 of DER"}, false},
		"no certificate at all": {"echo '1|6|tcp|127.0.0.1:1234|grpc|" + strings.Repeat("A", 100) + "'; sleep 600",
			[]string{"does not contain a DER certificate"}, false},
		"no line end": {"printf '1|6|tcp|127.0.0.1:1234|grpc|x'; sleep 600", []string{
			"has no newline", "    1|6|tcp|127.0.0.1:1234|grpc|x"}, true},
		"old transport": {"echo '1|5|tcp|127.0.0.1:1234|netrpc'; sleep 600", []string{"does not offer gRPC"},
			false},
		"other version": {"echo '1|4|tcp|127.0.0.1:1234|grpc|" + strings.Repeat("A", 100) + "'; sleep 600",
			[]string{"4"}, false},
		"endless line": {"yes | tr -d '\\n'", []string{"not the handshake line of a plugin"},
			false},
		"flooded stderr": {"yes error >&2", []string{"did not print its handshake line within 3s"}, true},
		"binary":         {"head -c 100000 /dev/zero; sleep 600", []string{"not the handshake line"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plugin := shell(c.script)
			if c.waits {
				plugin.StartTimeout = 3 * time.Second
			}
			p, err := plugin.Factory()(context.Background())
			if err == nil {
				p.Close()
				t.Fatal("it started")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %s\nwant %q", err, want)
				}
			}
			if len(err.Error()) > 40_000 {
				t.Errorf("the message has %d bytes", len(err.Error()))
			}
		})
	}
}

func TestPluginsThatRequireACertificateAreExplained(t *testing.T) {
	p := shell("echo '1|5|tcp|127.0.0.1:1234|grpc|" + strings.Repeat("A", 100) + "'; sleep 600")
	p.Plain = true
	started, err := p.Factory()(context.Background())
	if err == nil {
		started.Close()
		t.Fatal("it started")
	}
	if !strings.Contains(err.Error(), "TF_DISABLE_PLUGIN_TLS") {
		t.Errorf("got %s", err)
	}
}

func TestProgramsThatTheSystemCannotRunAreExplained(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"interpreter missing": {"#! /nonexistent/python3 -I\nprint()\n",
			`the interpreter in its first line does not exist: "/nonexistent/python3 -I"`},
		"windows line ends": {"#!/bin/sh\r\nexit\r\n",
			`the interpreter in its first line does not exist: "/bin/sh\r"`},
		"script without a start": {"import grpc\n", "needs a first line with #!"},
		"another system":         {"MZ\x90\x00\x03\xff\xff", "another system or processor"},
		"empty":                  {"", "#!"},
	} {
		program := filepath.Join(t.TempDir(), "terraform-provider-fake")
		if err := os.WriteFile(program, []byte(c.text), 0o755); err != nil {
			t.Fatal(err)
		}
		_, err := host.Plugin{Provider: addr.DefaultProvider("fake"), Program: program}.Factory()(context.Background())
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), program) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	_, err := host.Plugin{Provider: addr.DefaultProvider("fake"), Program: "/nonexistent/program"}.Factory()(
		context.Background())
	if err == nil || strings.Contains(err.Error(), "It is") {
		t.Errorf("got %v", err)
	}
}

func TestACancelledStartEndsTheProgram(t *testing.T) {
	p := shell("sleep 600")
	p.StartTimeout = time.Hour
	for _, after := range []time.Duration{0, time.Millisecond, 200 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(context.Background(), after)
		_, err := p.Factory()(ctx)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		cancel()
	}
}

func TestAMissingProgramIsNamed(t *testing.T) {
	_, err := host.Plugin{Provider: addr.DefaultProvider("fake"),
		Program: "/nonexistent/terraform-provider-fake"}.Factory()(context.Background())
	if err == nil || !strings.Contains(err.Error(), "/nonexistent/terraform-provider-fake cannot be started") {
		t.Errorf("got %v", err)
	}
}

func TestReattachmentsAreReadAsProvidersPrintThem(t *testing.T) {
	got, err := host.ParseReattach(
		`{"registry.terraform.io/my-org/my-provider":{"Protocol":"grpc","ProtocolVersion":6,"Pid":3382870,"Test":true,"Addr":{"Network":"unix","String":"/tmp/plugin713096927"}},"hashicorp/old":{"Protocol":"grpc","Pid":1,"Test":true,"Addr":{"Network":"tcp","String":"127.0.0.1:10000"}},"registry.terraform.io/-/old":{"Protocol":"grpc","Pid":1,"Test":true,"Addr":{"Network":"tcp","String":"127.0.0.1:10000"}}}`)
	if err != nil {
		t.Fatal(err)
	}
	mine := addr.Provider{Host: addr.DefaultProviderHost, Namespace: "my-org", Type: "my-provider"}
	want := map[addr.Provider]host.Reattachment{
		mine: {Provider: mine, Protocol: 6, Network: "unix", Address: "/tmp/plugin713096927"},
		addr.DefaultProvider("old"): {Provider: addr.DefaultProvider("old"), Protocol: 5, Network: "tcp",
			Address: "127.0.0.1:10000"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"x", "[]", `{"a/b/c/d":{}}`, `{"a/b":{"Protocol":"netrpc"}}`,
		`{"a/b":{"Protocol":"grpc","Addr":{"Network":"udp","String":"x"}}}`,
		`{"a/b":{"Protocol":"grpc","ProtocolVersion":7,"Addr":{"Network":"unix","String":"x"}}}`} {
		if got, err := host.ParseReattach(bad); err == nil {
			t.Errorf("%s was read as %v", bad, got)
		}
	}
	if got, err := host.ParseReattach(""); err != nil || got != nil {
		t.Errorf("%v, %v", got, err)
	}
}

func TestAReattachedProviderThatIsGoneIsExplained(t *testing.T) {
	mute, err := net.Listen("tcp", "127.0.0.1:0") // accepts connections but sends nothing
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	go func() {
		for {
			conn, err := other.Accept()
			if err != nil {
				return
			}
			fmt.Fprintln(conn, "220 mail.example.com ESMTP")
		}
	}()
	for _, c := range []struct{ network, address, want string }{
		{"unix", "/nonexistent/socket", "no such file"},
		{"tcp", "127.0.0.1:1", "refused"},
		{"tcp", other.Addr().String(), "does not use gRPC"},
		{"tcp", mute.Addr().String(), "does not answer"},
	} {
		r := host.Reattachment{Provider: addr.DefaultProvider("gone"), Protocol: 6, Network: c.network,
			Address: c.address}
		patience := time.Minute
		if c.want == "does not answer" {
			patience = 2 * time.Second
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		p, err := r.Factory()(ctx)
		cancel()
		if err == nil {
			p.Close()
			t.Errorf("%s: no error", c.address)
			continue
		}
		for _, want := range []string{"TF_REATTACH_PROVIDERS", c.address, c.want} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v\nhas no %q", err, want)
			}
		}
	}
}

// The folder for a plugin's socket is removed with the plugin, even if the plugin never used it.
func TestPluginsThatCannotStartLeaveNoFolderBehind(t *testing.T) {
	temp, err := os.MkdirTemp("/tmp", "leave") // short, because names of sockets are limited
	if err != nil {
		t.Skip("needs a folder /tmp: ", err)
	}
	t.Cleanup(func() { os.RemoveAll(temp) })
	t.Setenv("TMPDIR", temp)
	for name, p := range map[string]host.Plugin{
		"missing": {Provider: addr.DefaultProvider("fake"), Program: "/nonexistent/terraform-provider-fake"},
		"ends":    shell("exit 3"),
		"talks":   shell("echo hello; sleep 600"),
	} {
		if started, err := p.Factory()(context.Background()); err == nil {
			started.Close()
			t.Errorf("%s: it started", name)
		}
		if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
			t.Errorf("%s: left behind: %v, %v", name, left, err)
		}
	}
}
