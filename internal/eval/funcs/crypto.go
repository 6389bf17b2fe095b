package funcs

import (
	"crypto/md5"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"

	"github.com/google/uuid"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/gocty"
	"golang.org/x/crypto/bcrypt"
	"golang.org/x/crypto/ssh"
)

// digest is a hash function and the encoding of its sum. Functions that hash strings and functions that hash files
// share them.
type digest struct {
	start func() hash.Hash
	write func(sum []byte) string
}

var (
	md5Hex       = digest{md5.New, hex.EncodeToString}
	sha1Hex      = digest{sha1.New, hex.EncodeToString}
	sha256Hex    = digest{sha256.New, hex.EncodeToString}
	sha512Hex    = digest{sha512.New, hex.EncodeToString}
	sha256Base64 = digest{sha256.New, base64.StdEncoding.EncodeToString}
	sha512Base64 = digest{sha512.New, base64.StdEncoding.EncodeToString}
)

func hashFunc(d digest) function.Function {
	return textFunc("str", func(text string, _ cty.Value) (string, error) {
		h := d.start()
		h.Write([]byte(text)) // a hash never fails
		return d.write(h.Sum(nil)), nil
	})
}

// longCost is the cost up to which bcrypt takes about a second.
const longCost = 14

func bcryptFunc(pure bool, work *Work) function.Function {
	return withheldErrors(function.New(&function.Spec{
		Params:       []function.Parameter{param("str", cty.String)},
		VarParam:     &function.Parameter{Name: "cost", Type: cty.Number},
		Type:         function.StaticReturnType(cty.String),
		RefineResult: notNull,
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			cost := bcrypt.DefaultCost
			switch {
			case len(args) > 2:
				return cty.NilVal, errors.New("bcrypt() takes no more than two arguments")
			case len(args) == 2:
				if err := gocty.FromCtyValue(args[1], &cost); err != nil {
					return cty.NilVal, err
				}
			}
			if cost > maxCost {
				return cty.NilVal,
					fmt.Errorf("the cost is %d, and each step doubles the time it takes. The maximum is %d",
						cost, maxCost)
			}
			if pure {
				return cty.UnknownVal(cty.String), nil
			}
			work.impureCall()
			type answer struct {
				hashed []byte
				err    error
			}
			a, ok := interruptible(work, cost > longCost, func() answer {
				hashed, err := bcrypt.GenerateFromPassword([]byte(args[0].AsString()), cost)
				return answer{hashed, err}
			})
			switch {
			case !ok:
				return cty.NilVal, ErrStopped
			case a.err != nil:
				return cty.NilVal, fmt.Errorf("cannot hash the password: %w", a.err)
			}
			return cty.StringVal(string(a.hashed)), nil
		},
	}))
}

var rsaDecryptFunc = function.New(&function.Spec{
	Params:       []function.Parameter{param("ciphertext", cty.String), param("privatekey", cty.String)},
	Type:         function.StaticReturnType(cty.String),
	RefineResult: notNull,
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		ciphertext, err := base64.StdEncoding.DecodeString(args[0].AsString())
		if err != nil {
			return cty.NilVal, function.NewArgErrorf(0, "failed to decode input %s: cipher text must be base64-encoded",
				quoted(args[0]))
		}
		// ssh's parser takes the same formats as Terraform: PKCS 1, PKCS 8 and OpenSSH's own
		parsed, err := ssh.ParseRawPrivateKey([]byte(args[1].AsString()))
		if err != nil {
			if _, ok := errors.AsType[*ssh.PassphraseMissingError](err); ok {
				return cty.NilVal,
					function.NewArgErrorf(1, "the private key is protected by a passphrase; decrypt it first")
			}
			return cty.NilVal, function.NewArgErrorf(1, "invalid private key: %w", err)
		}
		key, ok := parsed.(*rsa.PrivateKey)
		if !ok {
			return cty.NilVal, function.NewArgErrorf(1, "invalid private key type %T: an RSA key is required", parsed)
		}
		//lint:ignore SA1019 this padding is what rsadecrypt is defined with, and who calls it holds the key
		plain, err := rsa.DecryptPKCS1v15(nil, key, ciphertext)
		if err != nil {
			return cty.NilVal, fmt.Errorf("failed to decrypt: %w", err)
		}
		return cty.StringVal(string(plain)), nil
	},
})

func uuidFunc(pure bool, work *Work) function.Function {
	return ambientString(pure, func() (string, error) {
		work.impureCall()
		id, err := uuid.NewRandom()
		return id.String(), err
	})
}

var uuidV5Func = function.New(&function.Spec{
	Params:       []function.Parameter{param("namespace", cty.String), param("name", cty.String)},
	Type:         function.StaticReturnType(cty.String),
	RefineResult: notNull,
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		namespace, err := uuidNamespace(args[0].AsString())
		if err != nil {
			return cty.NilVal, err
		}
		return cty.StringVal(uuid.NewSHA1(namespace, []byte(args[1].AsString())).String()), nil
	},
})

func uuidNamespace(name string) (uuid.UUID, error) {
	switch name {
	case "dns":
		return uuid.NameSpaceDNS, nil
	case "url":
		return uuid.NameSpaceURL, nil
	case "oid":
		return uuid.NameSpaceOID, nil
	case "x500":
		return uuid.NameSpaceX500, nil
	}
	id, err := uuid.Parse(name)
	if err != nil {
		return uuid.UUID{}, fmt.Errorf("uuidv5() doesn't support namespace %s (%w)", name, err)
	}
	return id, nil
}
