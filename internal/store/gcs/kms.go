package gcs

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/encryption"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/arguments"
	"github.com/tombolo-iac/tombolo/internal/store/remote/web"
)

// keyService is the address of Cloud KMS.
const keyService = "https://cloudkms." + universe + "/v1/"

// maxKey is the longest key, in bytes.
const maxKey = 1024

// KeyProvider returns the key provider gcp_kms. It generates keys, and Cloud KMS encrypts and decrypts them. It finds
// credentials as the backend does.
func KeyProvider(o remote.Surroundings) *encryption.Kind {
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
	return &encryption.Kind{Arguments: map[string]encryption.Argument{
		"kms_encryption_key":                    {Type: cty.String, Required: true},
		"key_length":                            {Type: cty.Number, Required: true},
		"credentials":                           {Type: cty.String},
		"access_token":                          {Type: cty.String},
		"impersonate_service_account":           {Type: cty.String},
		"impersonate_service_account_delegates": {Type: cty.List(cty.String)},
	}, Keys: func(ctx context.Context, values map[string]cty.Value, in json.RawMessage, p encryption.Programs) (
		encryption.Keys, json.RawMessage, error) {
		for _, what := range programs(cty.ObjectVal(values), o) {
			if err := p.May(what.Line); err != nil {
				return encryption.Keys{}, nil, err
			}
		}
		return keys(ctx, values, in, o)
	}}
}

// wrapped is a document's record of its key.
type wrapped struct {
	Ciphertext []byte `json:"ciphertext"`
}

func keys(ctx context.Context, values map[string]cty.Value, in json.RawMessage, o remote.Surroundings) (
	k encryption.Keys, meta json.RawMessage, err error) {
	n, accuracy := values["key_length"].AsBigFloat().Int64()
	if accuracy != 0 || n < 1 || n > maxKey {
		return k, nil, fmt.Errorf("key_length: expected a whole number of bytes from 1 to %d; aes_gcm needs 16, 24 "+
			"or 32", maxKey)
	}
	s, err := keySettings(values, o)
	if err != nil {
		return k, nil, err
	}
	service := &keyClient{client: newClient(s, scopeKeys, o.Log), key: values["kms_encryption_key"].AsString()}
	defer service.HTTP.CloseIdleConnections()
	k.Encryption = make([]byte, n)
	rand.Read(k.Encryption) // never fails
	made, err := service.ask(ctx, "encrypt a key with", "encrypt", map[string][]byte{"plaintext": k.Encryption})
	if err != nil {
		return k, nil, err
	}
	if len(in) > 0 {
		var then wrapped
		if err := json.Unmarshal(in, &then); err != nil || len(then.Ciphertext) == 0 {
			return k, nil, errors.New("the document's record of the key cannot be read")
		}
		opened, err := service.ask(ctx, "decrypt a key with",
			"decrypt", map[string][]byte{"ciphertext": then.Ciphertext})
		if err != nil {
			return k, nil, err
		}
		k.Decryption = opened.Plaintext
	}
	meta, err = json.Marshal(wrapped{made.Ciphertext})
	return k, meta, err
}

// keySettings reads the arguments that the backend has as well.
func keySettings(values map[string]cty.Value, o remote.Surroundings) (*settings, error) {
	o = arguments.Complete(o)
	r := reader{arguments.New(cty.ObjectVal(values), o)}
	s := &settings{}
	r.access(s, "GOOGLE_CREDENTIALS")
	s.api = keyService
	if domain := o.Getenv("GOOGLE_CLOUD_UNIVERSE_DOMAIN"); domain != "" {
		s.api = strings.Replace(keyService, universe, domain, 1)
	}
	if e := o.Getenv("GOOGLE_KMS_CUSTOM_ENDPOINT"); e != "" {
		s.api = strings.TrimSuffix(e, "/") + "/"
	}
	for _, d := range r.Diags() {
		if d.Severity == diag.Error {
			return nil, errors.New(s.clean(d.Detail))
		}
	}
	return s, nil
}

// keyClient is a client of Cloud KMS.
type keyClient struct {
	*client
	key string
}

// keyAnswer is a response of Cloud KMS.
type keyAnswer struct {
	Plaintext  []byte `json:"plaintext"`
	Ciphertext []byte `json:"ciphertext"`
}

// ask makes Cloud KMS encrypt or decrypt a key.
func (c *keyClient) ask(ctx context.Context, what, verb string, in map[string][]byte) (*keyAnswer, error) {
	if !strings.HasPrefix(c.key, "projects/") || strings.ContainsAny(c.key, "?#% ") || strings.Contains(c.key, "..") {
		return nil, fmt.Errorf("kms_encryption_key: %q is not a Cloud KMS key. Expected "+
			"projects/PROJECT/locations/LOCATION/keyRings/RING/cryptoKeys/KEY", c.key)
	}
	body, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	r := web.Request{What: what, Name: c.key, Method: http.MethodPost, Address: c.s.api + c.key + ":" + verb,
		Body: body, Header: http.Header{"Content-Type": {"application/json"}}}
	a, err := c.Send(ctx, r)
	if err != nil {
		return nil, err
	}
	if a.Status != http.StatusOK {
		return nil, c.failed(r, a)
	}
	out := &keyAnswer{}
	if err := json.Unmarshal(a.Body, out); err != nil || len(out.Plaintext)+len(out.Ciphertext) == 0 {
		return nil, fmt.Errorf("%s %s: the answer has no key. The server is not Cloud KMS", what, c.key)
	}
	return out, nil
}
