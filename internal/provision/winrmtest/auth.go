//go:build unix

package winrmtest

import (
	"bytes"
	"crypto/hmac"
	"crypto/md5" //nolint:gosec // NTLM has it
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"strings"
	"unicode/utf16"

	//lint:ignore SA1019 NTLM has it
	"golang.org/x/crypto/md4"
)

// allowed reports whether a request is authenticated; otherwise it sends a response that asks for credentials.
func (s *Server) allowed(w http.ResponseWriter, r *http.Request) bool {
	if user, password, ok := r.BasicAuth(); ok && !s.NTLM && user == s.User && password == s.Password {
		return true
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	message, err := base64.StdEncoding.DecodeString(token)
	if s.NTLM && (scheme == "NTLM" || scheme == "Negotiate") && err == nil && len(message) > 12 {
		if binary.LittleEndian.Uint32(message[8:]) == 3 && s.proven(message) {
			return true
		}
		if binary.LittleEndian.Uint32(message[8:]) == 1 {
			w.Header().Set("WWW-Authenticate", scheme+" "+base64.StdEncoding.EncodeToString(challenge()))
			w.WriteHeader(http.StatusUnauthorized)
			return false
		}
	}
	scheme = "Basic realm=\"WSMAN\""
	if s.NTLM {
		scheme = "NTLM"
	}
	w.Header().Set("WWW-Authenticate", scheme)
	w.WriteHeader(http.StatusUnauthorized)
	return false
}

var nonce = []byte("8 bytes!")

// challenge is the second message of NTLM, for clients with Unicode and NTLMv2.
func challenge() []byte {
	info := []byte{2, 0, 2, 0, 'X', 0, 0, 0, 0, 0} // name of the domain, and the end
	b := append([]byte("NTLMSSP\x00"), 2, 0, 0, 0)
	b = binary.LittleEndian.AppendUint64(b, 0)          // no target name
	b = binary.LittleEndian.AppendUint32(b, 0x00888201) // Unicode, NTLM, extended security, target information
	b = append(b, nonce...)
	b = binary.LittleEndian.AppendUint64(b, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(info)))
	b = binary.LittleEndian.AppendUint16(b, uint16(len(info)))
	b = binary.LittleEndian.AppendUint32(b, 56)
	b = binary.LittleEndian.AppendUint64(b, 0) // version
	return append(b, info...)
}

// proven reports whether the third message of NTLM proves that its sender has the password.
func (s *Server) proven(message []byte) bool {
	field := func(at int) []byte {
		if len(message) < at+8 {
			return nil
		}
		n, from := int(binary.LittleEndian.Uint16(message[at:])), int(binary.LittleEndian.Uint32(message[at+4:]))
		if from > len(message) || n > len(message)-from {
			return nil
		}
		return message[from : from+n]
	}
	response, domain, user := field(20), field(28), field(36)
	if len(response) < 16 || !bytes.Equal(user, utf16le(s.User)) {
		return false
	}
	hash := md4.New()
	hash.Write(utf16le(s.Password))
	key := sum(hash.Sum(nil), append(utf16le(strings.ToUpper(s.User)), domain...))
	return hmac.Equal(response[:16], sum(key, append(bytes.Clone(nonce), response[16:]...)))
}

func sum(key, data []byte) []byte {
	mac := hmac.New(md5.New, key)
	mac.Write(data)
	return mac.Sum(nil)
}

func utf16le(text string) (out []byte) {
	for _, u := range utf16.Encode([]rune(text)) {
		out = binary.LittleEndian.AppendUint16(out, u)
	}
	return out
}
