// Package encryption encrypts stored states, plans and journals, in the format of OpenTofu 1.7 and later: each program
// reads the other's documents.
//
// An encryption block has methods, which encrypt and decrypt, and key providers, which supply the keys of methods. Each
// target (the state, the plan, the states that data sources read) has a method, and fallbacks that only decrypt.
// Fallbacks make it possible to replace a key or a method, and to introduce or remove encryption.
package encryption

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/tombolo-iac/tombolo/diag"
)

// version marks an encrypted document. There is only one version.
const version = "v0"

// maxMeta limits the metadata of key providers in an encrypted document, in bytes.
const maxMeta = 1 << 20

// Encryption is a configured encryption block. A nil Encryption does not encrypt.
type Encryption struct {
	state, plan, others *Cipher
	named               map[string]*Cipher
}

// State returns the cipher for states, journals, backups and stored results of programs, or nil if they are not
// encrypted.
func (e *Encryption) State() *Cipher {
	if e == nil {
		return nil
	}
	return e.state
}

// Plan returns the cipher for plan files, or nil if they are not encrypted.
func (e *Encryption) Plan() *Cipher {
	if e == nil {
		return nil
	}
	return e.plan
}

// Remote returns the cipher for the state that a data source reads. name is the name of its block, prefixed with the
// module's path if that is not the root module (module.m.name).
func (e *Encryption) Remote(name string) *Cipher {
	if e == nil {
		return nil
	}
	if c := e.named[name]; c != nil {
		return c
	}
	return e.others
}

// Cipher encrypts and decrypts the documents of one target. Its methods may be called concurrently. A nil Cipher leaves
// documents unchanged.
type Cipher struct {
	target  string // for messages: "state"
	setup   *setup
	methods []*block // the first encrypts, all decrypt

	mu     sync.Mutex
	method method   // the first method with the keys of this run; nil until they are requested
	meta   metadata // metadata for decrypting the documents that method encrypts
}

// metadata maps the names of key provider blocks to the parameters with which they derive their keys again. It is not
// secret.
type metadata map[string][]byte

// sealed is an encrypted document as stored.
type sealed struct {
	Serial  *uint64  `json:"serial,omitempty"`
	Lineage *string  `json:"lineage,omitempty"`
	Meta    metadata `json:"meta"`
	Data    []byte   `json:"encrypted_data"`
	Version string   `json:"encryption_version"`
}

// IsSealed reports whether a document is encrypted, with whatever key.
func IsSealed(document []byte) bool {
	document = bytes.TrimLeft(document, " \t\r\n")
	if len(document) == 0 || document[0] != '{' || !bytes.Contains(document, []byte(`"encryption_version"`)) {
		return false
	}
	var s struct {
		Version string `json:"encryption_version"`
	}
	return json.Unmarshal(document, &s) == nil && s.Version != ""
}

// Seals reports whether documents are stored encrypted.
func (c *Cipher) Seals() bool { return c != nil && c.methods[0].kind != unencrypted }

// Ready requests the key for encryption, once. It is called before any operation whose result must be stored.
func (c *Cipher) Ready(ctx context.Context) error {
	if !c.Seals() {
		return nil
	}
	_, _, err := c.sealing(ctx)
	return err
}

// sealing returns the method that encrypts, and the metadata for decryption.
func (c *Cipher) sealing(ctx context.Context) (method, metadata, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.method == nil {
		meta := metadata{}
		m, diags := c.setup.method(ctx, c.methods[0], nil, meta)
		if err := firstError(diags); err != nil {
			return nil, nil, fmt.Errorf("there is no key to encrypt the %s with: %w", c.target, err)
		}
		c.method, c.meta = m, meta
	}
	return c.method, c.meta, nil
}

// Seal returns the stored form of a document. Documents that are not states have a nil lineage.
func (c *Cipher) Seal(ctx context.Context, document []byte, lineage *string, serial uint64) ([]byte, error) {
	if !c.Seals() {
		return document, nil
	}
	m, meta, err := c.sealing(ctx)
	if err != nil {
		return nil, err
	}
	data, err := m.seal(ctx, document)
	if err != nil {
		return nil, fmt.Errorf("encrypt the %s with %s: %w", c.target, c.methods[0].address(), err)
	}
	s := sealed{Meta: meta, Data: data, Version: version}
	if lineage != nil {
		s.Lineage, s.Serial = lineage, &serial
	}
	return json.Marshal(s)
}

// Open returns the decrypted document, and whether it should be encrypted again, because a fallback decrypted it. It
// returns an unencrypted document unchanged if the unencrypted method is among the methods, and refuses it otherwise.
func (c *Cipher) Open(ctx context.Context, document []byte) (plain []byte, outdated bool, err error) {
	if c == nil || len(bytes.TrimSpace(document)) == 0 {
		return document, false, nil
	}
	if !IsSealed(document) {
		for i, m := range c.methods {
			if m.kind == unencrypted {
				return document, i > 0, nil
			}
		}
		return nil, false, &Error{Target: c.target, Plain: true}
	}
	var s sealed
	if err := json.Unmarshal(document, &s); err != nil {
		return nil, false, &Error{Target: c.target, Err: fmt.Errorf("it is not an encrypted document: %w", err)}
	}
	if s.Version != version {
		return nil, false, &Error{Target: c.target, Err: fmt.Errorf("its version is %.20q, but this program supports "+
			"%q",
			s.Version, version)}
	}
	size := 0
	for name, m := range s.Meta {
		size += len(name) + len(m)
	}
	if size > maxMeta {
		return nil, false, &Error{
			Target: c.target, Err: fmt.Errorf("its record of keys has %d bytes, but at most %d are allowed",
				size, maxMeta)}
	}
	var tried []error
	for i, b := range c.methods {
		if b.kind == unencrypted {
			continue
		}
		plain, err := c.openWith(ctx, b, &s)
		if err == nil {
			return plain, i > 0, nil
		}
		if ctx.Err() != nil {
			return nil, false, ctx.Err()
		}
		tried = append(tried, fmt.Errorf("%s: %w", b.address(), err))
	}
	return nil, false, &Error{Target: c.target, Err: errors.Join(tried...)}
}

// openWith decrypts a document with one of the methods, and checks the fields outside of the encrypted part.
func (c *Cipher) openWith(ctx context.Context, b *block, s *sealed) ([]byte, error) {
	m, err := c.setup.opening(ctx, b, s.Meta)
	if err != nil {
		return nil, err
	}
	plain, err := m.open(ctx, s.Data)
	if err != nil || s.Lineage == nil && s.Serial == nil {
		return plain, err
	}
	var inside struct {
		Serial  *uint64 `json:"serial"`
		Lineage *string `json:"lineage"`
	}
	if err := json.Unmarshal(plain, &inside); err != nil {
		return nil, fmt.Errorf("its content is not a state: %w", err)
	}
	if s.Serial != nil && inside.Serial != nil && *s.Serial != *inside.Serial {
		return nil, fmt.Errorf("the serial is %d outside and %d inside of the encryption: it was changed after it "+
			"was written",
			*s.Serial, *inside.Serial)
	}
	if s.Lineage != nil && *s.Lineage != "" && inside.Lineage != nil && *s.Lineage != *inside.Lineage {
		return nil, fmt.Errorf("the lineage is %.60q outside and %.60q inside of the encryption: it was changed "+
			"after it was written",
			*s.Lineage,
			*inside.Lineage)
	}
	return plain, nil
}

// firstError returns the first error of a list as an error.
func firstError(diags diag.List) error {
	for _, d := range diags {
		if d.Severity == diag.Error {
			return fmt.Errorf("%s: %s", d.Summary, strings.TrimSuffix(d.Detail, "."))
		}
	}
	return nil
}

// Error is the error for a document that the encryption settings cannot decrypt or do not allow.
type Error struct {
	Target string // "state" or "plan"
	Plain  bool   // the document is not encrypted, which is not allowed
	Err    error  // the errors of the methods
}

// Error implements error.
func (e *Error) Error() string {
	if e.Plain {
		return fmt.Sprintf(
			"it is not encrypted, and the encryption settings of the %s do not allow that. If it was never "+
				"encrypted, add a method \"unencrypted\" as the fallback of the %s until it has been written again. "+
				"If it was encrypted before, somebody has replaced it", e.Target, e.Target)
	}
	return fmt.Sprintf(
		"it is encrypted, and the encryption settings of the %s cannot decrypt it: %v. Nothing was changed. Add the "+
			"method and the key that it was written with, for example as a fallback", e.Target, e.Err)
}

// Unwrap returns the errors of the methods.
func (e *Error) Unwrap() error { return e.Err }
