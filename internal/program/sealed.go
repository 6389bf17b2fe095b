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

// Sealing encrypts what a Spool has: the record, and the answer under a key of its own, which is beside it and itself
// encrypted. A program cannot encrypt what it says, so a process of ours, the keeper, stands between it and the disk:
// it holds the input and the outputs of the program, and ends after it. No plain byte of either is in a file.
type Sealing struct {
	// Seal and Open are those of the state. Open accepts a plain document only if the state may be plain.
	Seal, Open func(document []byte) ([]byte, error)
	// Plain leaves what is new plain: Open reads what an earlier run has left.
	Plain bool
	// Keeps reports whether the executable of this process, started anew, is a keeper: its main function calls Keep if
	// Keeping says so. Without it, nothing is spooled, but what is there can be read.
	Keeps bool
}

// Sealed reports whether what is kept of programs must be encrypted.
func (s Spool) Sealed() bool { return s.Sealing != nil && !s.Sealing.Plain }

// spools reports whether answers of calls can be kept as they have to be.
func (s Spool) spools() bool { return !s.Sealed() || s.Sealing.Keeps }

// The longest part of an answer that is sealed at once, and the length of a key.
const (
	partSize = 64 << 10
	keySize  = 32
)

// parts seals and opens an answer part by part, each for its place alone. A part is its length in four bytes, and
// itself.
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

// nonce is new for each part, and its key is for one answer.
func (p *parts) nonce() []byte {
	p.n++
	return binary.BigEndian.AppendUint64(make([]byte, p.aead.NonceSize()-8), p.n)
}

func (p *parts) seal(plain []byte) []byte {
	framed := binary.BigEndian.AppendUint32(nil, uint32(len(plain)+p.aead.Overhead()))
	return p.aead.Seal(framed, p.nonce(), plain, p.token)
}

var errChanged = errors.New("it was changed after it was written: its encrypted content does not verify")

// open reads the parts of an answer that are whole, up to a length.
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

// ended returns nil for the end of an answer: its last part may still be on its way, or was cut.
func ended(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// key returns the key of the answer of a call, or nil if it is plain.
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

// read returns an answer up to a limit, and its length as far as that is known; key is nil if it is plain.
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
