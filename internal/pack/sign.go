package pack

import (
	"bytes"
	"crypto"
	"errors"
	"fmt"
	"os"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// ReadKey reads a private key in the format of gpg's export, with or without armor, and returns a function that signs
// with it. An encrypted key needs its passphrase.
func ReadKey(name string, passphrase []byte) (func(text []byte) ([]byte, error), error) {
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
	var signer *openpgp.Entity
	for _, e := range list {
		if e.PrivateKey != nil {
			signer = e
			break
		}
	}
	if signer == nil {
		return nil, fmt.Errorf("%s has no private key; export one with: gpg --armor --export-secret-keys KEY", name)
	}
	if signer.PrivateKey.Encrypted {
		if len(passphrase) == 0 {
			return nil, fmt.Errorf("the key in %s is locked, and no passphrase is set", name)
		}
		if err := signer.DecryptPrivateKeys(passphrase); err != nil {
			return nil, errors.New("the passphrase does not unlock the key in " + name)
		}
	}
	return func(text []byte) ([]byte, error) {
		var out bytes.Buffer
		err := openpgp.DetachSign(&out, signer, bytes.NewReader(text), &packet.Config{DefaultHash: crypto.SHA256})
		return out.Bytes(), err
	}, nil
}
