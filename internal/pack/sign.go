package pack

import (
	"bytes"
	"crypto"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// Key is an OpenPGP key. Its private part may be missing, or locked.
type Key struct {
	entity     *openpgp.Entity
	file       string
	passphrase []byte
}

// ReadKey reads a private key in the format of gpg's export, with or without armor, and returns a function that signs
// with it. An encrypted key needs its passphrase.
func ReadKey(name string, passphrase []byte) (func(text []byte) ([]byte, error), error) {
	k, err := OpenKey(name, passphrase)
	if err != nil {
		return nil, err
	}
	if k.entity.PrivateKey == nil {
		return nil, fmt.Errorf("%s has no private key; export one with: gpg --armor --export-secret-keys KEY", name)
	}
	return k.Sign, k.unlock()
}

// OpenKey reads a key in the format of gpg's exports, with or without armor. If there are several, the first private
// one is used.
func OpenKey(name string, passphrase []byte) (*Key, error) {
	src, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	list, err := openpgp.ReadArmoredKeyRing(bytes.NewReader(src))
	if err != nil {
		if list, err = openpgp.ReadKeyRing(bytes.NewReader(src)); err != nil {
			return nil, fmt.Errorf("%s has no OpenPGP key: %w", name, err)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s has no OpenPGP key", name)
	}
	k := &Key{list[0], name, passphrase}
	for _, e := range list {
		if e.PrivateKey != nil {
			k.entity = e
			break
		}
	}
	return k, nil
}

// NewKey returns a new private key for an owner, and writes it to a new file that only the user can read.
func NewKey(name, owner string) (*Key, error) {
	e, err := openpgp.NewEntity(owner, "", "", &packet.Config{DefaultHash: crypto.SHA256,
		Algorithm: packet.PubKeyAlgoRSA, RSABits: 3072}) // all versions of the engines can verify RSA
	if err != nil {
		return nil, err
	}
	text, err := armored(openpgp.PrivateKeyType, func(w io.Writer) error { return e.SerializePrivate(w, nil) })
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = f.WriteString(text)
	return &Key{entity: e, file: name}, errors.Join(err, f.Sync(), f.Close())
}

// armored returns what a function writes in armor.
func armored(kind string, write func(io.Writer) error) (string, error) {
	var out bytes.Buffer
	w, err := armor.Encode(&out, kind, nil)
	if err != nil {
		return "", err
	}
	err = errors.Join(write(w), w.Close())
	return out.String() + "\n", err
}

// Public returns the ID of the key and its public part in armor.
func (k *Key) Public() (id, text string, err error) {
	text, err = armored(openpgp.PublicKeyType, k.entity.Serialize)
	return k.entity.PrimaryKey.KeyIdString(), text, err
}

// unlock decrypts the private part.
func (k *Key) unlock() error {
	if k.entity.PrivateKey == nil || !k.entity.PrivateKey.Encrypted {
		return nil
	}
	if len(k.passphrase) == 0 {
		return fmt.Errorf("the key in %s is locked, and no passphrase is set", k.file)
	}
	if err := k.entity.DecryptPrivateKeys(k.passphrase); err != nil {
		return errors.New("the passphrase does not unlock the key in " + k.file)
	}
	return nil
}

// Sign returns the detached signature of a text.
func (k *Key) Sign(text []byte) ([]byte, error) {
	if k.entity.PrivateKey == nil {
		return nil, fmt.Errorf("%s has only the public part of a key, which cannot sign", k.file)
	}
	if err := k.unlock(); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err := openpgp.DetachSign(&out, k.entity, bytes.NewReader(text), &packet.Config{DefaultHash: crypto.SHA256})
	return out.Bytes(), err
}
