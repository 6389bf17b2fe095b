package journal

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tombolo-iac/tombolo/internal/encryption"
)

// Key encrypts the payloads of those records of a journal that contain data of objects, with AES-256-GCM. It belongs to
// one journal, whose header contains it, encrypted like the state. A nil Key leaves payloads unencrypted.
type Key struct {
	Sealed json.RawMessage
	aead   cipher.AEAD
}

// keySize is the size of a key in bytes.
const keySize = 32

// NewKey returns the key of a new journal, or nil if the state is not encrypted.
func NewKey(c *encryption.Cipher) (*Key, error) {
	if !c.Seals() {
		return nil, nil
	}
	plain := make([]byte, keySize)
	rand.Read(plain)
	sealed, err := c.Seal(context.Background(), plain, nil, 0) // programs of the settings have one minute
	if err != nil {
		return nil, err
	}
	return keyOf(plain, sealed)
}

// openKey reads the key of a journal, or nil if there is none.
func openKey(c *encryption.Cipher, sealed json.RawMessage) (*Key, error) {
	if len(sealed) == 0 {
		return nil, nil
	}
	if c == nil {
		return nil, errors.New("it is encrypted, but there are no encryption settings for the state")
	}
	plain, _, err := c.Open(context.Background(), sealed)
	if err != nil {
		return nil, err
	}
	return keyOf(plain, sealed)
}

func keyOf(plain []byte, sealed json.RawMessage) (*Key, error) {
	if len(plain) != keySize {
		return nil, fmt.Errorf("its key has %d bytes, not %d", len(plain), keySize)
	}
	block, err := aes.NewCipher(plain)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	return &Key{Sealed: sealed, aead: aead}, err
}

// hidden reports whether the payloads of a kind are encrypted: all except those that only relate records to each other
// and contain no data of objects.
func (k Kind) hidden() bool {
	switch k {
	case KindHeader, KindRun, KindCheckpoint, KindDone, KindClose, KindDurable, KindSeal:
		return false
	}
	return true
}

// Append appends a record with an encrypted payload.
func (k *Key) Append(dst []byte, n Nonce, seq uint64, kind Kind, payload []byte) []byte {
	if k == nil || !kind.hidden() {
		return Append(dst, n, seq, kind, payload)
	}
	sealed := make([]byte, k.aead.NonceSize(), k.aead.NonceSize()+len(payload)+k.aead.Overhead())
	rand.Read(sealed)
	return Append(dst, n, seq, kind, k.aead.Seal(sealed, sealed, payload, place(n, seq, kind)))
}

// place returns the additional data that binds an encrypted payload to its record, so that it cannot be decrypted
// anywhere else.
func place(n Nonce, seq uint64, kind Kind) []byte {
	return append(binary.LittleEndian.AppendUint64(n[:], seq), byte(kind))
}

// open decrypts the payload of a record.
func (k *Key) open(n Nonce, r *Record) error {
	if k == nil || !r.Kind.hidden() {
		return nil
	}
	size := k.aead.NonceSize()
	if len(r.Payload) < size {
		return fmt.Errorf("record %d is truncated", r.Seq)
	}
	plain, err := k.aead.Open(nil, r.Payload[:size], r.Payload[size:], place(n, r.Seq, r.Kind))
	if err != nil {
		return fmt.Errorf("record %d was changed after it was written: its encrypted content does not verify", r.Seq)
	}
	r.Payload = plain
	return nil
}
