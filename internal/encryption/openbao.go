package encryption

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"
)

// transit is the key provider that uses the transit engine of OpenBao or Vault to generate and decrypt keys.
var transit = &Kind{
	Arguments: map[string]Argument{
		"address": {Type: cty.String}, "token": {Type: cty.String}, "key_name": {Type: cty.String, Required: true},
		"key_length": {Type: cty.Number}, "transit_engine_path": {Type: cty.String},
	},
	Keys: func(ctx context.Context, arguments map[string]cty.Value, in json.RawMessage, p Programs) (k Keys,
		meta json.RawMessage, err error) {
		length, err := whole(arguments["key_length"], 32)
		if err != nil || length != 16 && length != 32 && length != 64 {
			return k, nil, errors.New("key_length: expected 16, 32 or 64 bytes")
		}
		s, err := newTransit(arguments)
		if err != nil {
			return k, nil, err
		}
		set := func(name string) bool { return !arguments[name].IsNull() && arguments[name].AsString() != "" }
		if set("address") && !set("token") && s.token != "" {
			if err := p.May("the token of BAO_TOKEN or VAULT_TOKEN, for " + s.address); err != nil {
				return k, nil, err
			}
		}
		name := arguments["key_name"].AsString()
		made, err := s.call(ctx, "datakey/plaintext", name, map[string]any{"bits": length * 8})
		if err != nil {
			return k, nil, fmt.Errorf("cannot create a new key: %w", err)
		}
		k.Encryption = made.Plaintext
		if len(in) > 0 {
			var then struct {
				Ciphertext []byte `json:"ciphertext"`
			}
			if err := json.Unmarshal(in, &then); err != nil || len(then.Ciphertext) == 0 {
				return k, nil, errors.New("the document's record of the key cannot be read")
			}
			opened, err := s.call(ctx, "decrypt", name, map[string]any{"ciphertext": string(then.Ciphertext)})
			if err != nil {
				return k, nil, fmt.Errorf("the key of the document cannot be decrypted: %w", err)
			}
			k.Decryption = opened.Plaintext
		}
		meta, err = json.Marshal(map[string][]byte{"ciphertext": []byte(made.Ciphertext)})
		return k, meta, err
	},
}

// transitServer is a server with the transit engine, and its token.
type transitServer struct {
	address, engine, token, namespace string
	client                            *http.Client
}

const (
	serverTime = time.Minute
	maxReply   = 1 << 20
)

func newTransit(arguments map[string]cty.Value) (*transitServer, error) {
	text := func(name, missing string) string {
		if v := arguments[name]; !v.IsNull() && v.AsString() != "" {
			return v.AsString()
		}
		return missing
	}
	client, err := transitClient()
	return &transitServer{
		address:   text("address", cmp.Or(baoVariable("ADDR"), "https://127.0.0.1:8200")),
		token:     text("token", baoVariable("TOKEN")),
		engine:    text("transit_engine_path", "/transit"),
		namespace: baoVariable("NAMESPACE"),
		client:    client,
	}, err
}

// transitReply is a response of the transit engine.
type transitReply struct {
	Plaintext  []byte `json:"plaintext"`
	Ciphertext string `json:"ciphertext"`
}

// call sends a request to the engine. Its errors contain neither the token nor keys.
func (s *transitServer) call(ctx context.Context, verb, key string, body map[string]any) (*transitReply, error) {
	base, err := url.Parse(s.address)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, errors.New("the address of the server is not an https or http URL")
	}
	if s.token == "" {
		return nil,
			errors.New("there is no token: set the argument token, or BAO_TOKEN or VAULT_TOKEN in the environment")
	}
	sent, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	address := base.JoinPath("v1", path.Join(s.engine, verb), url.PathEscape(key))
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, address.String(), bytes.NewReader(sent))
	if err != nil {
		return nil, err
	}
	req.Header.Set("X-Vault-Token", s.token)
	req.Header.Set("X-Vault-Request", "true")
	req.Header.Set("Content-Type", "application/json")
	if s.namespace != "" {
		req.Header.Set("X-Vault-Namespace", s.namespace)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be reached: %w", base.Host, err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxReply))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", base.Host, err)
	}
	if resp.StatusCode != http.StatusOK {
		var problem struct {
			Errors []string `json:"errors"`
		}
		_ = json.Unmarshal(answer, &problem) // without a message, only the status is known
		reason := ""
		if len(problem.Errors) > 0 {
			reason = fmt.Sprintf(": %.500s", strings.ReplaceAll(strings.Join(problem.Errors, "; "), s.token, "(token)"))
		}
		return nil, fmt.Errorf("%s answered with status %s%s", base.Host, resp.Status, reason)
	}
	var reply struct {
		Data transitReply `json:"data"`
	}
	if err := json.Unmarshal(answer, &reply); err != nil || len(reply.Data.Plaintext) == 0 {
		return nil, fmt.Errorf("%s: the answer has no key", base.Host)
	}
	return &reply.Data, nil
}

// builtin holds the key providers of this package.
var builtin = map[string]*Kind{"pbkdf2": passphrases, "external": externalKeys, "openbao": transit}
