package azure

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/encryption"
	"github.com/tombolo-iac/tombolo/internal/regex"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/arguments"
	"github.com/tombolo-iac/tombolo/internal/store/remote/web"
)

// KeyProvider returns the key provider azure_vault. It generates the keys of documents, and a key that never leaves
// Azure Key Vault encrypts them. It finds credentials as the backend does.
func KeyProvider(o remote.Surroundings) *encryption.Kind {
	all := map[string]encryption.Argument{}
	for name, a := range identity() {
		all[name] = encryption.Argument{Type: a.ConfigType()}
	}
	for _, name := range []string{"vault_uri", "vault_key_name"} {
		all[name] = encryption.Argument{Type: cty.String, Required: true}
	}
	all["key_length"] = encryption.Argument{Type: cty.Number, Required: true}
	all["symmetric"] = encryption.Argument{Type: cty.Bool}
	all["symmetric_key_size"] = encryption.Argument{Type: cty.Number}
	return &encryption.Kind{Arguments: all, Keys: func(ctx context.Context, values map[string]cty.Value,
		in json.RawMessage, p encryption.Programs) (encryption.Keys, json.RawMessage, error) {
		actions := programs(cty.ObjectVal(values), o)
		if to := values["vault_uri"]; !to.IsNull() && !ofAzure(to.AsString()) {
			actions = append(actions, remote.Program{Line: "a token of Azure, for " + to.AsString()})
		}
		for _, what := range actions {
			if err := p.May(what.Line); err != nil {
				return encryption.Keys{}, nil, err
			}
		}
		return vaultKeys(ctx, values, in, arguments.Complete(o))
	}}
}

// sealedKey is a document's record of its key.
type sealedKey struct {
	Ciphertext []byte `json:"ciphertext"`
	IV         []byte `json:"iv"`
	Tag        []byte `json:"authentication_tag"`
	Additional []byte `json:"additional_authenticated_data"`
	Version    string `json:"key_version"`
	Algorithm  string `json:"algo"`
}

// vault is a key in a vault.
type vault struct {
	who  credentials
	http *http.Client
	base *url.URL
	key  string
	// returns an access token
	token func(context.Context) (string, error)
}

const vaultVersion = "7.4"

var (
	vaultKey = regex.Lazy(`^[0-9A-Za-z-]{1,127}$`)
	// vaultAlgorithm and keyVersion check values from documents, which may have been changed.
	vaultAlgorithm = regex.Lazy(`^[0-9A-Za-z-]{1,32}$`)
	keyVersion     = regex.Lazy(`^[0-9A-Za-z]{0,64}$`)
)

func vaultKeys(ctx context.Context, values map[string]cty.Value, in json.RawMessage, o remote.Surroundings) (
	k encryption.Keys, meta json.RawMessage, err error) {
	length, err := number(values["key_length"])
	if err != nil || length < 1 || length > 1024 {
		return k, nil, errors.New("key_length: a number of bytes from 1 to 1024 is expected")
	}
	algorithm := "RSA-OAEP-256"
	if v := values["symmetric"]; v != cty.NilVal && !v.IsNull() && v.True() {
		size, err := number(values["symmetric_key_size"])
		if err != nil || size != 128 && size != 192 && size != 256 {
			return k, nil, errors.New("symmetric_key_size: 128, 192 or 256 is expected with symmetric = true")
		}
		algorithm = fmt.Sprintf("A%dGCM", size)
	}
	v, err := newVault(ctx, values, o)
	if err != nil {
		return k, nil, err
	}
	k.Encryption = make([]byte, length)
	rand.Read(k.Encryption)
	made, err := v.call(ctx, "encrypt", sealedKey{Algorithm: algorithm, Ciphertext: k.Encryption})
	if err != nil {
		return k, nil, fmt.Errorf("the new key cannot be encrypted: %w", err)
	}
	made.Algorithm = algorithm
	if len(in) > 0 {
		var then sealedKey
		if err := json.Unmarshal(in, &then); err != nil || len(then.Ciphertext) == 0 ||
			!keyVersion().MatchString(then.Version) {
			return k, nil, errors.New("the document's record of the key cannot be read")
		}
		if then.Algorithm == "" {
			then.Algorithm = algorithm
		}
		if !vaultAlgorithm().MatchString(then.Algorithm) {
			return k, nil, errors.New("the document's record of the key has no algorithm")
		}
		opened, err := v.call(ctx, "decrypt", then)
		if err != nil {
			return k, nil, fmt.Errorf("the key of the document cannot be decrypted: %w", err)
		}
		k.Decryption = opened.Ciphertext
	}
	meta, err = json.Marshal(made)
	return k, meta, err
}

func number(v cty.Value) (int, error) {
	if v == cty.NilVal || v.IsNull() {
		return 0, errors.New("it is not set")
	}
	f := v.AsBigFloat()
	n, _ := f.Int64()
	if !f.IsInt() || n != int64(int(n)) {
		return 0, errors.New("it is not a whole number")
	}
	return int(n), nil
}

func newVault(ctx context.Context, values map[string]cty.Value, o remote.Surroundings) (*vault, error) {
	own := maps.Clone(values)
	for _, name := range []string{"vault_uri", "vault_key_name", "key_length", "symmetric", "symmetric_key_size",
		"encrypted_metadata_alias"} {
		delete(own, name)
	}
	r := reader{arguments.New(cty.ObjectVal(own), o)}
	v := &vault{who: r.credentials(), http: web.HTTP(nil), key: values["vault_key_name"].AsString()}
	for _, d := range r.Diags() {
		if d.Severity == diag.Error {
			return nil, errors.New(v.who.clean(d.Detail))
		}
	}
	if !vaultKey().MatchString(v.key) {
		return nil, errors.New("vault_key_name: expected 1 to 127 letters, digits and hyphens")
	}
	var err error
	if v.base, err = url.Parse(values["vault_uri"].AsString()); err != nil || v.base.Scheme != "https" ||
		strings.Count(v.base.Host, ".") < 2 || v.base.User != nil || strings.Trim(v.base.Path, "/") != "" {
		return nil, errors.New("vault_uri: the address of a vault is expected, such as https://name.vault.azure.net")
	}
	env, err := v.who.cloud(ctx, v.http)
	if err != nil {
		return nil, err
	}
	credential, err := v.who.credential(env, v.http)
	if err != nil {
		return nil, err
	}
	// One token is valid for all vaults of a cloud: its resource is https://vault.azure.net.
	_, domain, _ := strings.Cut(v.base.Hostname(), ".")
	v.token = func(ctx context.Context) (string, error) {
		return v.who.ask(ctx, credential, "https://"+domain+"/.default")
	}
	return v, nil
}

// operation is a request to the service, or its response. Bytes are in base64url.
type operation struct {
	Key        string `json:"kid,omitempty"`
	Algorithm  string `json:"alg,omitempty"`
	Value      string `json:"value"`
	IV         string `json:"iv,omitempty"`
	Additional string `json:"aad,omitempty"`
	Tag        string `json:"tag,omitempty"`
}

// call makes the vault encrypt or decrypt a key. Its errors do not contain keys or tokens.
func (v *vault) call(ctx context.Context, verb string, in sealedKey) (out sealedKey, err error) {
	token, err := v.token(ctx)
	if err != nil {
		return out, err
	}
	text := base64.RawURLEncoding.EncodeToString
	address := v.base.JoinPath("keys", v.key, in.Version, verb)
	address.RawQuery = "api-version=" + vaultVersion
	var result operation
	sent := operation{Algorithm: in.Algorithm, Value: text(in.Ciphertext), IV: text(in.IV),
		Additional: text(in.Additional), Tag: text(in.Tag)}
	err = v.who.fetch(ctx, v.http, http.MethodPost, address.String(),
		map[string]string{"Authorization": "Bearer " + token}, sent, &result)
	if answer := (*statusError)(nil); errors.As(err, &answer) && answer.status == http.StatusForbidden {
		err = fmt.Errorf("%w. Give the identity the role \"Key Vault Crypto User\"", err)
	}
	if err != nil {
		return out, err
	}
	var bad [4]error
	decode := func(i int, s string) (b []byte) {
		b, bad[i] = base64.RawURLEncoding.DecodeString(strings.TrimRight(s, "="))
		return b
	}
	out = sealedKey{Ciphertext: decode(0, result.Value), IV: decode(1, result.IV),
		Additional: decode(2, result.Additional), Tag: decode(3, result.Tag),
		Version: result.Key[strings.LastIndexByte(result.Key, '/')+1:]}
	if errors.Join(bad[:]...) != nil || len(out.Ciphertext) == 0 || !keyVersion().MatchString(out.Version) {
		return out, fmt.Errorf("the answer of %s has no key", v.base.Host)
	}
	return out, nil
}
