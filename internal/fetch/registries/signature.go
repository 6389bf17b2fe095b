package registries

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	pgperrors "github.com/ProtonMail/go-crypto/openpgp/errors"

	"github.com/tombolo-iac/tombolo/internal/fetch/packages"
)

const (
	maxSignature = 64 << 10
	maxKeys      = 100
	maxKey       = 256 << 10
)

// signingKey is a key that signs the releases of a provider, according to a registry.
type signingKey struct {
	Armor string `json:"ascii_armor"`
	// TrustSignature is a signature of the key by a key that vouches for its owner.
	TrustSignature string `json:"trust_signature"`
}

// Anchors holds keys that vouch for signers, in armor.
type Anchors struct{ Official, Partners string }

// The keys that HashiCorp publishes: the one of its own releases, and the one that signs the keys of its partners.
var (
	//go:embed keys/hashicorp.asc
	officialKey string
	//go:embed keys/hashicorp-partners.asc
	partnersKey string
)

func (a Anchors) orHashiCorp() Anchors {
	if a == (Anchors{}) {
		return Anchors{Official: officialKey, Partners: partnersKey}
	}
	return a
}

// verify returns the trusted signer of a text, or an error with the reason why there is none.
func verify(text, signature []byte, keys []signingKey, anchors Anchors) (proof packages.Proof, err error) {
	defer guard(&err)
	anchors = anchors.orHashiCorp()
	for _, key := range keys {
		ring, err := keyring(key.Armor)
		if err != nil {
			return packages.Proof{}, fmt.Errorf("one of the keys of the publisher cannot be read: %w", err)
		}
		signer, err := check(ring, text, signature)
		if errors.Is(err, pgperrors.ErrUnknownIssuer) {
			continue
		}
		if err != nil {
			return packages.Proof{}, err
		}
		proof := packages.Proof{Trust: packages.SelfSigned, KeyID: signer.PrimaryKey.KeyIdString()}
		if official, err := keyring(anchors.Official); err == nil {
			if _, err := check(official, text, signature); err == nil {
				proof.Trust = packages.OfficialSigned
				return proof, nil
			}
		}
		if key.TrustSignature != "" {
			if err := verifyKey(key, anchors.Partners); err != nil {
				return packages.Proof{},
					fmt.Errorf(
						"the registry lists the publisher's key %s as signed by the partner program, but %w",
						proof.KeyID, err)
			}
			proof.Trust = packages.PartnerSigned
		}
		return proof, nil
	}
	return packages.Proof{}, errors.New("it was not made with any of the publisher's keys in the registry")
}

// Verify returns an error unless a text was signed with a key, which is in armor. It decides as Fetch does.
func Verify(text, signature []byte, key string) error {
	_, err := verify(text, signature, []signingKey{{Armor: key}}, Anchors{})
	return err
}

// check returns the owner of a key in the ring who has signed a text. An expired key is accepted: releases keep their
// signatures, and the registry still lists the key. An expired signature, which the library checks last, is refused.
func check(ring openpgp.KeyRing, text, signature []byte) (*openpgp.Entity, error) {
	made, signer, err := openpgp.VerifyDetachedSignature(ring, bytes.NewReader(text), bytes.NewReader(signature), nil)
	switch {
	case errors.Is(err, pgperrors.ErrKeyExpired) && made != nil && made.SigExpired(time.Now()):
		err = pgperrors.ErrSignatureExpired
	case errors.Is(err, pgperrors.ErrKeyExpired):
		err = nil
	}
	if err == nil && (signer == nil || signer.PrimaryKey == nil) {
		err = pgperrors.ErrUnknownIssuer
	}
	return signer, err
}

// verifyKey verifies the signature of a key by another key.
func verifyKey(key signingKey, by string) error {
	ring, err := keyring(by)
	if err != nil {
		return err
	}
	content, err := dearmor(key.Armor)
	if err != nil {
		return err
	}
	signature, err := dearmor(key.TrustSignature)
	if err != nil {
		return err
	}
	if _, err := check(ring, content, signature); err != nil {
		return fmt.Errorf("that signature is not valid: %w", err)
	}
	return nil
}

func keyring(text string) (openpgp.EntityList, error) {
	if len(text) > maxKey {
		return nil, fmt.Errorf("it has more than %d bytes", maxKey)
	}
	return openpgp.ReadArmoredKeyRing(strings.NewReader(text))
}

func dearmor(text string) ([]byte, error) {
	if len(text) > maxKey {
		return nil, fmt.Errorf("it has more than %d bytes", maxKey)
	}
	block, err := armor.Decode(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(block.Body, maxKey))
}

// guard converts a panic of the library, which parses untrusted input, to an error.
func guard(err *error) {
	if problem := recover(); problem != nil {
		*err = fmt.Errorf("it cannot be read: %v", problem)
	}
}
