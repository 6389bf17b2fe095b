// Package machines controls other machines: it connects to one by SSH or WinRM as a connection block describes, copies
// files to it and runs commands on it.
//
// Connect tries until the timeout of the block, because a new machine is not ready immediately. All input from the
// other side is bounded, and everything ends with its context: the command gets a signal, then the connection is
// closed.
//
//	c, diags := machines.Read(value) // the evaluated connection block
//	m, err := machines.Connect(ctx, c, tell)
//	defer m.Close()
//	err = m.Script(ctx, script, tell)
//
// The arguments of the block, their defaults and the printed lines equal those of Terraform's connection block.
package machines

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/provider"
)

// Schema describes the connection block.
var Schema = &provider.Block{Attributes: map[string]*provider.Attribute{
	"type": optional(cty.String), "user": optional(cty.String), "password": optional(cty.String),
	"host": {Type: cty.String, Required: true}, "port": optional(cty.Number), "timeout": optional(cty.String),
	"script_path": optional(cty.String), "target_platform": optional(cty.String),
	"private_key": optional(cty.String), "certificate": optional(cty.String), "host_key": optional(cty.String),
	"agent": optional(cty.Bool), "agent_identity": optional(cty.String),
	"proxy_scheme": optional(cty.String), "proxy_host": optional(cty.String), "proxy_port": optional(cty.Number),
	"proxy_user_name": optional(cty.String), "proxy_user_password": optional(cty.String),
	"bastion_host": optional(cty.String), "bastion_host_key": optional(cty.String),
	"bastion_port": optional(cty.Number), "bastion_user": optional(cty.String),
	"bastion_password": optional(cty.String), "bastion_private_key": optional(cty.String),
	"bastion_certificate": optional(cty.String),
	// for WinRM
	"https": optional(cty.Bool), "insecure": optional(cty.Bool), "cacert": optional(cty.String),
	"use_ntlm": optional(cty.Bool),
}}

func optional(t cty.Type) *provider.Attribute { return &provider.Attribute{Type: t, Optional: true} }

// Secrets lists the secret arguments of the block, whether they are marked or not.
var Secrets = []string{"password", "private_key", "proxy_user_password", "bastion_password", "bastion_private_key"}

// A Connection describes how to reach a machine.
type Connection struct {
	Machine Hop
	Bastion *Hop // machine through which to connect, or nil
	Proxy   *Proxy
	// Agent enables the keys of the user's SSH agent; AgentIdentity names the one to try first.
	Agent         bool
	AgentIdentity string
	Timeout       time.Duration // of all attempts together
	ScriptPath    string        // path of scripts, in which %RAND% is replaced with a number
	Windows       bool
	WinRM         *WinRM // nil for SSH
}

// A Hop is a machine on the way, with its credentials.
type Hop struct {
	Host        string
	Port        int
	User        string
	Password    string
	PrivateKey  string // PEM
	Certificate string // as in an authorized_keys file
	HostKey     string // public key of the machine, or of the authority that certifies it; "" accepts any
}

// A Proxy is the proxy of the first connection.
type Proxy struct {
	Scheme         string // http, https, socks5
	Host           string
	Port           int
	User, Password string
}

const (
	defaultTimeout       = 5 * time.Minute
	defaultScript        = "/tmp/terraform_%RAND%.sh"
	defaultWindowsScript = "C:/windows/temp/terraform_%RAND%.cmd"
)

// Check reports the problems of a connection block, whose value may be partly unknown. Problems have the path of their
// argument.
func Check(v cty.Value) diag.List {
	var diags diag.List
	one := func(name, summary string, allowed ...string) {
		v := v.GetAttr(name)
		if v.IsNull() || !v.IsKnown() {
			return
		}
		if v.AsString() == "" || slices.Contains(allowed, v.AsString()) {
			return
		}
		diags = append(diags, &diag.Diagnostic{Severity: diag.Error, Summary: summary, Path: cty.GetAttrPath(name),
			Detail: fmt.Sprintf("The argument %s is %q. Expected: %s.", name, v.AsString(),
				strings.Join(allowed, " or "))})
	}
	one("type", "Invalid connection type", "ssh", "winrm")
	one("target_platform", "Invalid target platform", "unix", "windows")
	one("proxy_scheme", "Invalid proxy scheme", "http", "https", "socks5")
	return diags
}

// OnWindows reports whether a connection block is for a machine with Windows. v may be cty.NilVal.
func OnWindows(v cty.Value) bool {
	if v == cty.NilVal {
		return false
	}
	is := func(name, want string) bool {
		a := v.GetAttr(name)
		return !a.IsNull() && a.AsString() == want
	}
	return is("type", "winrm") || is("target_platform", "windows")
}

// Read returns the connection of a connection block. The value must be wholly known and without marks.
func Read(v cty.Value) (*Connection, diag.List) {
	if diags := Check(v); diags.HasErrors() {
		return nil, diags
	}
	text := func(name, otherwise string) string {
		if a := v.GetAttr(name); !a.IsNull() && a.AsString() != "" {
			return a.AsString()
		}
		return otherwise
	}
	number := func(name string, otherwise int) int {
		if a := v.GetAttr(name); !a.IsNull() {
			if n, _ := a.AsBigFloat().Int64(); n != 0 {
				return int(n)
			}
		}
		return otherwise
	}
	winRM := text("type", "") == "winrm"
	port, user := 22, "root"
	if winRM {
		port, user = winRMPort, winRMUser
		if https := v.GetAttr("https"); !https.IsNull() && https.True() {
			port = winRMTLSPort
		}
	}
	c := &Connection{
		Machine: Hop{Host: text("host", ""), Port: number("port", port), User: text("user", user),
			Password: text("password", ""), PrivateKey: text("private_key", ""), Certificate: text("certificate", ""),
			HostKey: text("host_key", "")},
		Agent:         v.GetAttr("agent").IsNull() || v.GetAttr("agent").True(),
		AgentIdentity: text("agent_identity", ""),
		Windows:       OnWindows(v),
	}
	if c.Machine.Host == "" {
		return nil, diag.List{{Severity: diag.Error, Summary: "No host to connect to", Path: cty.GetAttrPath("host"),
			Detail: "The argument host of the connection block is empty. Set it to the address of the machine, such " +
				"as self.public_ip."}}
	}
	if winRM {
		set := func(name string) bool { return !v.GetAttr(name).IsNull() && v.GetAttr(name).True() }
		c.WinRM = &WinRM{HTTPS: set("https"), Insecure: set("insecure"), CACert: text("cacert", ""),
			NTLM: set("use_ntlm")}
	}
	c.Timeout = timeout(text("timeout", ""))
	m := c.Machine
	if host := text("bastion_host", ""); host != "" {
		c.Bastion = &Hop{Host: host, Port: number("bastion_port", m.Port), User: text("bastion_user", m.User),
			Password: text("bastion_password", m.Password), PrivateKey: text("bastion_private_key", m.PrivateKey),
			Certificate: text("bastion_certificate", ""), HostKey: text("bastion_host_key", "")}
	}
	if host := text("proxy_host", ""); host != "" {
		c.Proxy = &Proxy{Scheme: text("proxy_scheme", "http"), Host: host, Port: number("proxy_port", 0),
			User: text("proxy_user_name", ""), Password: text("proxy_user_password", "")}
	}
	c.ScriptPath = text("script_path", map[bool]string{false: defaultScript, true: defaultWindowsScript}[c.Windows])
	return c, nil
}

// timeout parses the time that connecting may take. An invalid duration means the default, as in Terraform.
func timeout(text string) time.Duration {
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return d
	}
	return defaultTimeout
}

// scriptName returns a name for a script on the machine.
func (c *Connection) scriptName() string {
	return strings.ReplaceAll(c.ScriptPath, "%RAND%", strconv.FormatUint(uint64(rand.Uint32()), 10))
}
