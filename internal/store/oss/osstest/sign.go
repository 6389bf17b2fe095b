package osstest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// signedV4 checks a signature of version 4, which also covers the region.
func (s *Server) signedV4(r *http.Request, given string) bool {
	parts := map[string]string{}
	for part := range strings.SplitSeq(strings.TrimPrefix(given, "OSS4-HMAC-SHA256 "), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		parts[name] = value
	}
	scope, ok := strings.CutPrefix(parts["Credential"], AccessKey+"/")
	at := r.Header.Get("X-Oss-Date")
	words := strings.Split(scope, "/")
	if !ok || len(words) != 4 || !strings.HasPrefix(at, words[0]) {
		return false
	}
	var query []string
	for name, values := range r.URL.Query() {
		entry := url.QueryEscape(name)
		if values[0] != "" {
			entry += "=" + strings.ReplaceAll(url.QueryEscape(values[0]), "+", "%20")
		}
		query = append(query, entry)
	}
	slices.Sort(query)
	headers := ""
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		low := strings.ToLower(name)
		if strings.HasPrefix(low, "x-oss-") || low == "content-type" || low == "content-md5" {
			headers += low + ":" + strings.TrimSpace(r.Header.Get(name)) + "\n"
		}
	}
	canonical := strings.Join([]string{r.Method, r.URL.EscapedPath(), strings.Join(query, "&"), headers, "",
		r.Header.Get("X-Oss-Content-Sha256")}, "\n")
	digest := sha256.Sum256([]byte(canonical))
	text := strings.Join([]string{"OSS4-HMAC-SHA256", at, scope, hex.EncodeToString(digest[:])}, "\n")
	key := []byte("aliyun_v4" + Secret)
	for _, word := range append(words, text) {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(word))
		key = h.Sum(nil)
	}
	return hex.EncodeToString(key) == parts["Signature"]
}
