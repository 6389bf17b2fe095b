package encryption

import (
	"context"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/json"
	"errors"
	"fmt"
	"hash"

	"github.com/zclconf/go-cty/cty"
)

// OpenTofu's defaults and minimums.
const (
	leastPassphrase = 16
	leastRounds     = 200_000
	usualRounds     = 600_000
	usualKeyLength  = 32
	usualSaltLength = 32
	usualHash       = "sha512"
	// Limits for parameters in a document that is not yet verified.
	mostRounds    = 100_000_000
	mostKeyLength = 1 << 10
)

var hashes = map[string]func() hash.Hash{"sha256": sha256.New, "sha512": sha512.New}

// passphrases derives keys from a passphrase, or from the keys of another key provider (chain).
var passphrases = &Kind{
	Arguments: map[string]Argument{
		"passphrase": {Type: cty.String}, "chain": {Type: cty.DynamicPseudoType}, "key_length": {Type: cty.Number},
		"iterations": {Type: cty.Number}, "hash_function": {Type: cty.String}, "salt_length": {Type: cty.Number},
	},
	Check: func(arguments map[string]cty.Value) (int, error) {
		if _, _, err := phrases(arguments); err != nil {
			return 0, err
		}
		now, _, err := derivation(arguments)
		return now.Length, err
	},
	Keys: func(_ context.Context, arguments map[string]cty.Value, in json.RawMessage, _ Programs) (k Keys,
		meta json.RawMessage, err error) {
		encrypt, decrypt, err := phrases(arguments)
		if err != nil {
			return k, nil, err
		}
		now, saltLength, err := derivation(arguments)
		if err != nil {
			return k, nil, err
		}
		if len(in) > 0 { // first, because its parameters may be invalid
			var then salted
			if err := json.Unmarshal(in, &then); err != nil {
				return k, nil, errors.New("the document's record of the key cannot be read")
			}
			if k.Decryption, err = then.key(decrypt); err != nil {
				return k, nil, fmt.Errorf("the document requires an invalid key: %w", err)
			}
		}
		now.Salt = make([]byte, saltLength)
		rand.Read(now.Salt)
		if k.Encryption, err = now.key(encrypt); err != nil {
			return k, nil, err
		}
		meta, err = json.Marshal(now)
		return k, meta, err
	},
}

// derivation returns the parameters for deriving new keys, and the length of their salt.
func derivation(arguments map[string]cty.Value) (now salted, saltLength int, err error) {
	now = salted{Hash: usualHash}
	for name, to := range map[string]*int{"iterations": &now.Rounds, "key_length": &now.Length,
		"salt_length": &saltLength} {
		if *to, err = whole(arguments[name], map[string]int{"iterations": usualRounds, "key_length": usualKeyLength,
			"salt_length": usualSaltLength}[name]); err != nil {
			return now, 0, fmt.Errorf("%s: %w", name, err)
		}
	}
	if v := arguments["hash_function"]; !v.IsNull() {
		now.Hash = v.AsString()
	}
	if now.Rounds < leastRounds {
		return now, 0, fmt.Errorf("iterations: %d are too few, at least %d are required", now.Rounds, leastRounds)
	}
	now.Salt = []byte{0} // placeholder until a salt is generated
	return now, saltLength, now.check()
}

// salted holds the parameters for deriving a key from a passphrase, as documents store them.
type salted struct {
	Salt   []byte `json:"salt"`
	Rounds int    `json:"iterations"`
	Hash   string `json:"hash_function"`
	Length int    `json:"key_length"`
}

func (s *salted) key(phrase string) ([]byte, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	return pbkdf2.Key(hashes[s.Hash], phrase, s.Salt, s.Rounds, s.Length)
}

// check returns an error for invalid parameters.
func (s *salted) check() error {
	switch {
	case hashes[s.Hash] == nil:
		return fmt.Errorf("hash_function: %.20q is not supported; use sha256 or sha512", s.Hash)
	case s.Length <= 0 || s.Length > mostKeyLength:
		return fmt.Errorf("key_length: %d is not between 1 and %d", s.Length, mostKeyLength)
	case s.Rounds <= 0 || s.Rounds > mostRounds:
		return fmt.Errorf("iterations: %d is not between 1 and %d", s.Rounds, mostRounds)
	case len(s.Salt) == 0:
		return errors.New("salt_length: the salt is missing")
	}
	return nil
}

// phrases returns the passphrases for encryption and for decryption.
func phrases(arguments map[string]cty.Value) (encrypt, decrypt string, err error) {
	phrase, chain := arguments["passphrase"], arguments["chain"]
	switch {
	case phrase.IsNull() && chain.IsNull():
		return "", "", errors.New("it needs a passphrase, or another key provider in chain")
	case !phrase.IsNull() && !chain.IsNull():
		return "", "", errors.New("it has a passphrase and a chain: remove one of them")
	case !phrase.IsNull():
		encrypt, decrypt = phrase.AsString(), phrase.AsString()
	default:
		keys, err := keysOf(chain)
		if err != nil {
			return "", "", fmt.Errorf("chain: %w", err)
		}
		encrypt, decrypt = string(keys.Encryption), string(keys.Decryption)
	}
	if len(encrypt) < leastPassphrase || decrypt != "" && len(decrypt) < leastPassphrase {
		return "", "", fmt.Errorf("the passphrase is too short: it has %d characters, and at least %d are required",
			len(encrypt),
			leastPassphrase)
	}
	return encrypt, decrypt, nil
}

// whole returns a positive integer, or a default if v is null.
func whole(v cty.Value, missing int) (int, error) {
	if v.IsNull() {
		return missing, nil
	}
	i, accuracy := v.AsBigFloat().Int64()
	if accuracy != 0 || i <= 0 || i > mostRounds {
		return 0, errors.New("expected a whole number greater than 0")
	}
	return int(i), nil
}
