package main

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
)

// scram returns the verifier that PostgreSQL stores for a password (RFC 5803), so that the password itself is neither
// sent to the server nor written to its log. Passwords with characters outside of ASCII are used as they are, as
// PostgreSQL does with those that SASLprep does not change.
func scram(password string) (string, error) {
	const iterations = 4096 // the default of PostgreSQL
	salt := make([]byte, 16)
	if _, err := rand.Read(salt); err != nil {
		return "", err
	}
	salted, err := pbkdf2.Key(sha256.New, password, salt, iterations, sha256.Size)
	if err != nil {
		return "", err
	}
	keyed := func(word string) []byte {
		h := hmac.New(sha256.New, salted)
		h.Write([]byte(word))
		return h.Sum(nil)
	}
	stored := sha256.Sum256(keyed("Client Key"))
	encode := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("SCRAM-SHA-256$%d:%s$%s:%s", iterations, encode(salt), encode(stored[:]),
		encode(keyed("Server Key"))), nil
}
