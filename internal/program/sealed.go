package program

import (
	"bufio"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Sealing encrypts the files of a Spool: the record, and the answer with its own key, which is stored encrypted beside
// it. A program cannot encrypt its output, so a process of Tombolo, the keeper, forwards the program's input and
// outputs, and ends after it. No file contains any unencrypted part of them.
type Sealing struct {
	// Seal and Open encrypt and decrypt as for the state. Open accepts an unencrypted document only if the state may be
	// unencrypted.
	Seal, Open func(document []byte) ([]byte, error)
	// Plain leaves new files unencrypted; Open still decrypts those of an earlier run.
	Plain bool
	// Keeps reports whether the executable of this process can be a keeper: its main function calls Keep if Keeping
	// returns true. Without it, nothing is spooled, but existing files can be read.
	Keeps bool
}

// Sealed reports whether the files of programs must be encrypted.
func (s Spool) Sealed() bool { return s.Sealing != nil && !s.Sealing.Plain }

// spools reports whether answers of calls can be stored in the required form.
func (s Spool) spools() bool { return !s.Sealed() || s.Sealing.Keeps }

// Maximum size of a part of an answer that is encrypted at a time, and the size of a key, in bytes.
const (
	partSize = 64 << 10
	keySize  = 32
)

// parts encrypts and decrypts an answer part by part; each part is bound to its position. A part is stored as its
// length in four bytes, followed by its content.
type parts struct {
	aead  cipher.AEAD
	token []byte
	n     uint64
}

func newKey() []byte {
	key := make([]byte, keySize)
	rand.Read(key)
	return key
}

func newParts(key []byte, token string) (*parts, error) {
	if len(key) != keySize {
		return nil, fmt.Errorf("the key of an answer has %d bytes, not %d", len(key), keySize)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	return &parts{aead: aead, token: []byte(token)}, err
}

// nonce returns the nonce of a part: it is unique because each answer has its own key.
func (p *parts) nonce() []byte {
	p.n++
	return binary.BigEndian.AppendUint64(make([]byte, p.aead.NonceSize()-8), p.n)
}

func (p *parts) seal(plain []byte) []byte {
	framed := binary.BigEndian.AppendUint32(nil, uint32(len(plain)+p.aead.Overhead()))
	return p.aead.Seal(framed, p.nonce(), plain, p.token)
}

var errChanged = errors.New("it was changed after it was written: its encrypted content does not verify")

// open decrypts the complete parts of an answer, up to a length.
func (p *parts) open(from io.Reader, limit int) (plain []byte, err error) {
	r := bufio.NewReader(from)
	for head := [4]byte{}; len(plain) < limit; {
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return plain, ended(err)
		}
		size := binary.BigEndian.Uint32(head[:])
		if size > partSize+uint32(p.aead.Overhead()) {
			return nil, errChanged
		}
		part := make([]byte, size)
		if _, err := io.ReadFull(r, part); err != nil {
			return plain, ended(err)
		}
		if plain, err = p.aead.Open(plain, p.nonce(), part, p.token); err != nil {
			return nil, errChanged
		}
	}
	return plain[:limit], nil
}

// ended returns nil at the end of an answer, whose last part may not be complete yet or was cut off.
func ended(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// key returns the key of a call's answer, or nil if the answer is not encrypted.
func (s Spool) key(root *os.Root) ([]byte, error) {
	name := s.file(spoolKey)
	sealed, err := upTo(root, name, 1<<20)
	plain := errors.Is(err, fs.ErrNotExist)
	switch {
	case plain && s.Sealing == nil:
		return nil, nil
	case plain:
		sealed = []byte("{}")
	case err != nil:
		return nil, err
	case s.Sealing == nil:
		return nil, fmt.Errorf("the answer next to %s is encrypted, but there are no encryption settings for the state",
			filepath.Join(s.Dir, name))
	}
	key, err := s.Sealing.Open(sealed)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(s.Dir, s.file(spoolOut)), err)
	}
	if plain {
		return nil, nil
	}
	return key, nil
}

// read returns an answer, or its first limit bytes. key is nil if the answer is not encrypted.
func (s Spool) read(out io.Reader, key []byte, limit int) ([]byte, error) {
	if key == nil {
		return io.ReadAll(io.LimitReader(out, int64(limit)))
	}
	p, err := newParts(key, s.Token)
	if err != nil {
		return nil, err
	}
	text, err := p.open(out, limit)
	if err != nil {
		return nil, fmt.Errorf("%s: %w. Check what was created, remove the folder, and run the command again: it "+
			"then treats the operation as interrupted", filepath.Join(s.Dir, s.file(spoolOut)), err)
	}
	return text, nil
}
