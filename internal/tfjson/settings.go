package tfjson

import (
	"bytes"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/regex"
)

// remoteState is the data source whose config has the arguments of a backend.
const remoteState = "terraform_remote_state"

// secretSettings are the arguments of backends that may hold a secret, of all types.
var secretSettings = []string{"access_key", "access_token", "address", "assume_role_with_web_identity",
	"client_certificate", "client_certificate_password", "client_key", "client_private_key_pem", "client_secret",
	"conn_str", "credentials", "customer_provided_key", "encryption_key", "exec", "headers", "http_auth",
	"lock_address", "oidc_request_token", "oidc_token", "password", "private_key", "private_key_password",
	"sas_token", "secret_id", "secret_key", "secrets", "security_token",
	"sse_customer_key", "token", "unlock_address"}

// settingLine matches arguments, for files that cannot be parsed.
var settingLine = regex.Lazy(`(?m)^[ \t]*"?(\w+)"?[ \t]*[=:](.*)$`)

// SecretSetting reports whether an argument of a backend is covered in excerpts: one that may hold a secret, or whose
// name may be a mistyped name of one.
func SecretSetting(name string) bool {
	return slices.Contains(secretSettings, name) || diag.Nearest(name, secretSettings) != ""
}

func (x *excerpt) mentions(word string) bool { return bytes.Contains(x.source, []byte(word)) }

// coverBackends covers the values of secret arguments in the backend block of a terraform block. A block in place of an
// argument is also covered.
func (x *excerpt) coverBackends(body hcl.Body) {
	for _, b := range blocksOf(body) {
		if b.Type != "backend" {
			continue
		}
		attrs, _ := b.Body.JustAttributes()
		for name, attr := range attrs {
			if SecretSetting(name) {
				x.coverExpression(attr)
			}
		}
		if native, ok := b.Body.(*hclsyntax.Body); ok {
			for _, inner := range native.Blocks {
				if SecretSetting(inner.Type) {
					x.cover(inner.OpenBraceRange.End.Byte, inner.CloseBraceRange.Start.Byte)
				}
			}
		}
	}
}

// coverSettings covers the values of secret arguments in the config of terraform_remote_state. An expression other than
// an object with literal names is covered completely, unless it is a reference.
func (x *excerpt) coverSettings(config hcl.Expression) {
	pairs, diags := hcl.ExprMap(config)
	if diags.HasErrors() {
		if len(config.Variables()) == 0 {
			x.cover(config.Range().Start.Byte, config.Range().End.Byte)
		}
		return
	}
	for _, pair := range pairs {
		name, _ := pair.Key.Value(nil)
		literal := name.IsWhollyKnown() && !name.IsNull() && name.Type() == cty.String
		if !literal || SecretSetting(name.AsString()) {
			x.cover(pair.Value.Range().Start.Byte, pair.Value.Range().End.Byte)
		}
	}
}

// coverSettingLines covers the values of secret arguments in a file with a backend that cannot be parsed.
func (x *excerpt) coverSettingLines() {
	if !x.mentions("backend") && !x.mentions(remoteState) {
		return
	}
	for _, at := range settingLine().FindAllSubmatchIndex(x.source, -1) {
		if SecretSetting(string(x.source[at[2]:at[3]])) {
			x.cover(at[4], at[5])
		}
	}
}
