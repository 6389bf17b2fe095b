package gcs

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/tombolo-iac/tombolo/internal/store/remote/web"
)

// client sends requests.
type client struct {
	s *settings
	*web.Client
}

func newClient(s *settings, scope string, log func(format string, args ...any)) *client {
	h := web.HTTP(nil)
	who := newAccess(s, h, scope)
	return &client{s, &web.Client{Kind: "gcs", HTTP: h, Log: log, Clean: s.clean, Authorize: who.authorize,
		Renew: who.refused}}
}

// failed returns the error for an unexpected response.
func (c *client) failed(r web.Request, a *web.Answer) error {
	reason, text := message(a.Body)
	return c.Failed(r, a, text, hint(r, a.Status, reason))
}

// hint returns advice on an error.
func hint(r web.Request, status int, reason string) string {
	permission := map[string]string{"read": "storage.objects.get", "look for": "storage.objects.get",
		"write": "storage.objects.create and storage.objects.delete", "delete": "storage.objects.delete",
		"list": "storage.objects.list", "encrypt a key with": "cloudkms.cryptoKeyVersions.useToEncrypt",
		"decrypt a key with": "cloudkms.cryptoKeyVersions.useToDecrypt"}[r.What]
	switch {
	case strings.HasPrefix(reason, "customerEncryptionKey"), strings.HasPrefix(reason, "resourceIsEncryptedWith"),
		strings.HasPrefix(reason, "resourceNotEncryptedWith"):
		return "The object is encrypted with another key, or not encrypted. Check encryption_key and " +
			"GOOGLE_ENCRYPTION_KEY"
	case status == http.StatusUnauthorized:
		return "The credentials are wrong or have expired. Get new ones, and run again: the journal in the bucket " +
			"has the results so far"
	case status == http.StatusForbidden && permission != "":
		text := "Allow " + permission + " to these credentials"
		if r.What == "read" || r.What == "look for" {
			text += ", and storage.objects.list for the bucket: without it, the service does not distinguish a " +
				"missing object from one that these credentials may not read"
		}
		return text
	case status == http.StatusNotFound && !strings.Contains(r.What, "key"):
		return "The backend does not create buckets: create it, or check the argument bucket"
	case status == http.StatusNotFound:
		return "Check kms_encryption_key: expected projects/PROJECT/locations/LOCATION/keyRings/RING/cryptoKeys/KEY"
	case status == http.StatusTooManyRequests:
		return "Other runs write to the bucket too often, or a quota of the project is exhausted"
	}
	return ""
}

// message is the service's description of an error: a code and a text.
func message(body []byte) (reason, text string) {
	var named struct {
		Error struct {
			Message string
			Status  string
			Errors  []struct{ Reason string }
		}
	}
	if json.Unmarshal(body, &named) == nil {
		reason = named.Error.Status
		if len(named.Error.Errors) > 0 {
			reason = named.Error.Errors[0].Reason
		}
		return reason, web.Short(named.Error.Message)
	}
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("<")) {
		return "", ""
	}
	return "", web.Short(string(body))
}
