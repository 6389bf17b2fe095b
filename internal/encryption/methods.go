package encryption

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/zclconf/go-cty/cty"
)

// method encrypts and decrypts bytes. Its methods may be called concurrently.
type method interface {
	seal(ctx context.Context, plain []byte) ([]byte, error)
	open(ctx context.Context, sealed []byte) ([]byte, error)
}

// unencrypted is the method that leaves documents unencrypted. Its block is checked, but no method is created.
const unencrypted = "unencrypted"

// methodKind is a kind of method.
type methodKind struct {
	Arguments map[string]Argument
	make      func(arguments map[string]cty.Value, p Programs) (method, error)
}

var methods = map[string]*methodKind{
	unencrypted: {Arguments: map[string]Argument{}, make: func(map[string]cty.Value, Programs) (method, error) {
		return nil, errors.New("it does not encrypt")
	}},
	"aes_gcm": {
		Arguments: map[string]Argument{"keys": {Type: cty.DynamicPseudoType, Required: true},
			"aad": {Type: cty.List(cty.Number)}},
		make: newAESGCM,
	},
	"external": {
		Arguments: map[string]Argument{"keys": {Type: cty.DynamicPseudoType},
			"encrypt_command": {Type: cty.List(cty.String), Required: true},
			"decrypt_command": {Type: cty.List(cty.String), Required: true}},
		make: newExternal,
	},
}

// aesGCM is AES-GCM. An encrypted text consists of nonce, ciphertext and tag.
type aesGCM struct {
	encrypt, decrypt cipher.AEAD // decrypt is nil if there is no key for decryption
	aad              []byte
}

func newAESGCM(arguments map[string]cty.Value, _ Programs) (method, error) {
	keys, err := keysOf(arguments["keys"])
	if err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	m := &aesGCM{}
	if m.aad, err = bytesOf(arguments["aad"]); err != nil {
		return nil, fmt.Errorf("aad: %w", err)
	}
	if m.encrypt, err = gcm(keys.Encryption); err != nil {
		return nil, fmt.Errorf("encryption key: %w", err)
	}
	if len(keys.Decryption) > 0 {
		if m.decrypt, err = gcm(keys.Decryption); err != nil {
			return nil, fmt.Errorf("decryption key: %w", err)
		}
	}
	return m, nil
}

func gcm(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("it has %d bytes, but 16, 24 or 32 are required", len(key))
	}
	return cipher.NewGCM(block)
}

func (m *aesGCM) seal(_ context.Context, plain []byte) ([]byte, error) {
	out := make([]byte, m.encrypt.NonceSize(), m.encrypt.NonceSize()+len(plain)+m.encrypt.Overhead())
	rand.Read(out)
	return m.encrypt.Seal(out, out, plain, m.aad), nil
}

func (m *aesGCM) open(_ context.Context, sealed []byte) ([]byte, error) {
	if m.decrypt == nil {
		return nil, errors.New("the key provider has no key for this document")
	}
	n := m.decrypt.NonceSize()
	if len(sealed) < n+m.decrypt.Overhead() {
		return nil, errors.New("the ciphertext is truncated")
	}
	plain, err := m.decrypt.Open(nil, sealed[:n], sealed[n:], m.aad)
	if err != nil {
		return nil, errors.New("the key is wrong, or the ciphertext was changed")
	}
	return plain, nil
}
