package s3

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/kms/types"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/encryption"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/arguments"
)

// shared lists the arguments that the key provider has in common with the backend.
var shared = []string{"region", "access_key", "secret_key", "token", "profile", "shared_credentials_files",
	"shared_config_files", "allowed_account_ids", "forbidden_account_ids", "skip_metadata_api_check",
	"skip_requesting_account_id", "ec2_metadata_service_endpoint", "ec2_metadata_service_endpoint_mode", "assume_role",
	"assume_role_with_web_identity", "sts_region", "http_proxy", "https_proxy", "no_proxy", "insecure",
	"use_dualstack_endpoint", "use_fips_endpoint", "custom_ca_bundle", "max_retries", "retry_mode",
	"skip_credentials_validation"}

// KeyProvider returns the key provider aws_kms: the Key Management Service generates and decrypts keys. It finds
// credentials as the backend does.
func KeyProvider(o remote.Surroundings) *encryption.Kind {
	attributes := schema().Attributes
	arguments := map[string]encryption.Argument{}
	for _, name := range shared {
		arguments[name] = encryption.Argument{Type: attributes[name].ConfigType()}
	}
	arguments["kms_key_id"] = encryption.Argument{Type: cty.String, Required: true}
	arguments["key_spec"] = encryption.Argument{Type: cty.String, Required: true}
	arguments["endpoints"] = encryption.Argument{Block: true, Type: cty.ObjectWithOptionalAttrs(map[string]cty.Type{
		"iam": cty.String, "sts": cty.String}, []string{"iam", "sts"})}
	return &encryption.Kind{Arguments: arguments, Keys: func(ctx context.Context, values map[string]cty.Value,
		in json.RawMessage, p encryption.Programs) (encryption.Keys, json.RawMessage, error) {
		for _, what := range programs(cty.ObjectVal(values), o) {
			if err := p.May(what.Line); err != nil {
				return encryption.Keys{}, nil, err
			}
		}
		return kmsKeys(ctx, values, in, o)
	}}
}

// wrapped is a document's record of its key.
type wrapped struct {
	Ciphertext []byte `json:"ciphertext_blob"`
}

func kmsKeys(ctx context.Context, values map[string]cty.Value, in json.RawMessage, o remote.Surroundings) (
	k encryption.Keys, meta json.RawMessage, err error) {
	spec := types.DataKeySpec(values["key_spec"].AsString())
	if spec != types.DataKeySpecAes256 && spec != types.DataKeySpecAes128 {
		return k, nil, errors.New("key_spec: AES_256 or AES_128 is expected")
	}
	s, err := kmsSettings(values, o)
	if err != nil {
		return k, nil, err
	}
	fail := func(what string, err error) error { return errors.New(s.clean(what + ": " + err.Error())) }
	cfg, err := s.config(ctx, o)
	if err != nil {
		return k, nil, fail("no access to AWS", err)
	}
	if cfg.Region == "" {
		return k, nil, errors.New("the argument region, or AWS_REGION or AWS_DEFAULT_REGION, must be set")
	}
	if err := s.account(ctx, cfg); err != nil {
		return k, nil, fail("the account", err)
	}
	client, id := kms.NewFromConfig(cfg), aws.String(values["kms_key_id"].AsString())
	made, err := client.GenerateDataKey(ctx, &kms.GenerateDataKeyInput{KeyId: id, KeySpec: spec})
	if err != nil {
		return k, nil, fail("no new key", err)
	}
	k.Encryption = made.Plaintext
	if len(in) > 0 {
		var then wrapped
		if err := json.Unmarshal(in, &then); err != nil || len(then.Ciphertext) == 0 {
			return k, nil, errors.New("the document's record of the key cannot be read")
		}
		opened, err := client.Decrypt(ctx, &kms.DecryptInput{KeyId: id, CiphertextBlob: then.Ciphertext})
		if err != nil {
			return k, nil, fail("the key of the document cannot be decrypted", err)
		}
		k.Decryption = opened.Plaintext
	}
	meta, err = json.Marshal(wrapped{made.CiphertextBlob})
	return k, meta, err
}

// kmsSettings reads the arguments that the backend has as well.
func kmsSettings(values map[string]cty.Value, o remote.Surroundings) (*settings, error) {
	values = maps.Clone(values)
	endpoints := values["endpoints"]
	for _, name := range []string{"kms_key_id", "key_spec", "endpoints", "encrypted_metadata_alias"} {
		delete(values, name)
	}
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
	r := reader{arguments.New(cty.ObjectVal(values), o)}
	s := r.settings()
	r.access(s, o)
	s.caBundle = r.file(first(s.caBundle, o.Getenv("AWS_CA_BUNDLE")))
	s.endpoints = map[string]string{"sts": o.Getenv("AWS_ENDPOINT_URL_STS")}
	if !endpoints.IsNull() && !endpoints.GetAttr("sts").IsNull() {
		s.endpoints["sts"] = endpoints.GetAttr("sts").AsString()
	}
	for _, d := range r.Diags() {
		if d.Severity == diag.Error {
			return nil, fmt.Errorf("%s", s.clean(d.Detail))
		}
	}
	return s, nil
}
