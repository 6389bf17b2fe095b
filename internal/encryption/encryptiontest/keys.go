package encryptiontest

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"io"
	"net/http"
	"strings"
)

// Wrap encrypts a key as key services do, under the name of a key that never leaves them. All services with this name
// can decrypt it, even in another process.
func Wrap(name string, plain []byte) []byte {
	nonce := make([]byte, 12)
	rand.Read(nonce)
	return wrapper(name).Seal(append([]byte("wrapped "), nonce...), nonce, plain, nil)
}

// Unwrap decrypts the result of Wrap.
func Unwrap(name string, wrapped []byte) (plain []byte, ok bool) {
	rest, ok := bytes.CutPrefix(wrapped, []byte("wrapped "))
	if !ok || len(rest) < 12 {
		return nil, false
	}
	plain, err := wrapper(name).Open(nil, rest[:12], rest[12:], nil)
	return plain, err == nil
}

func wrapper(name string) cipher.AEAD {
	key := sha256.Sum256([]byte("a key of a service for tests: " + name))
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // the key has 32 bytes
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		panic(err) // the block size is that of AES
	}
	return gcm
}

// AmazonKey is the name of the key in AmazonKeys.
const AmazonKey = "alias/states"

// AmazonKeys is a small Key Management Service of Amazon.
type AmazonKeys struct{}

// ServeHTTP implements http.Handler.
func (AmazonKeys) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct {
		KeyId, KeySpec string
		CiphertextBlob []byte
	}
	body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err := json.Unmarshal(body, &in); err != nil || !strings.HasPrefix(r.Header.Get("Authorization"),
		"AWS4-HMAC-SHA256") {
		http.Error(w, `{"__type":"AccessDeniedException"}`, http.StatusForbidden)
		return
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	refuse := func(document string) {
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, document)
	}
	_, action, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	length := map[string]int{"AES_256": 32, "AES_128": 16}[in.KeySpec]
	out := map[string]any{"KeyId": in.KeyId}
	switch {
	case in.KeyId != "" && in.KeyId != AmazonKey:
		refuse(`{"__type":"NotFoundException","message":"there is no such key"}`)
		return
	case action == "GenerateDataKey" && length > 0:
		plain := make([]byte, length)
		rand.Read(plain)
		out["Plaintext"], out["CiphertextBlob"] = plain, Wrap(AmazonKey, plain)
	case action == "Decrypt":
		plain, ok := Unwrap(AmazonKey, in.CiphertextBlob)
		if !ok {
			refuse(`{"__type":"InvalidCiphertextException"}`)
			return
		}
		out["Plaintext"] = plain
	default:
		refuse(`{"__type":"ValidationException","message":"neither a key nor a text"}`)
		return
	}
	_ = json.NewEncoder(w).Encode(out)
}

// TransitToken is the token that Transit accepts, and TransitKey the name of its key.
const (
	TransitToken = "the token of the server"
	TransitKey   = "states"
)

// Transit is a small transit engine. It responds as OpenBao 2 and Vault 1 do.
type Transit struct{}

// ServeHTTP implements http.Handler.
func (Transit) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Bits       int
		Ciphertext string
	}
	_ = json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(&in)
	refuse := func(status int, why string) {
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]any{"errors": []string{why}})
	}
	const version = "vault:v1:"
	data := map[string]any{}
	switch {
	case r.Header.Get("X-Vault-Token") != TransitToken:
		refuse(http.StatusForbidden, "permission denied for "+r.Header.Get("X-Vault-Token"))
		return
	case r.URL.Path == "/v1/transit/datakey/plaintext/"+TransitKey && in.Bits > 0 && in.Bits <= 512:
		key := make([]byte, in.Bits/8)
		rand.Read(key)
		wrapped, _ := json.Marshal(Wrap("transit "+TransitKey, key))
		data["plaintext"], data["ciphertext"] = key, version+strings.Trim(string(wrapped), `"`)
	case r.URL.Path == "/v1/transit/decrypt/"+TransitKey:
		var wrapped []byte
		text, ok := strings.CutPrefix(in.Ciphertext, version)
		quoted, _ := json.Marshal(text)
		if !ok || json.Unmarshal(quoted, &wrapped) != nil {
			refuse(http.StatusBadRequest, "invalid ciphertext: no prefix")
			return
		}
		key, ok := Unwrap("transit "+TransitKey, wrapped)
		if !ok {
			refuse(http.StatusBadRequest, "cipher: message authentication failed")
			return
		}
		data["plaintext"] = key
	default:
		refuse(http.StatusBadRequest, "encryption key not found")
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"data": data})
}
