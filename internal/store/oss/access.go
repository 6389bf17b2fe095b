package oss

import (
	"context"
	"crypto/hmac"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"hash"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/aliyun/credentials-go/credentials/providers"

	"github.com/tombolo-iac/tombolo/internal/store/remote/web"
)

// access provides the credentials of requests.
type access struct {
	s      *settings
	turn   chan struct{} // its holder may request credentials
	source providers.CredentialsProvider
	now    func() time.Time // of the service
}

func newAccess(s *settings, now func() time.Time) *access {
	return &access{s: s, turn: make(chan struct{}, 1), now: now}
}

// provider returns the source of credentials: the configured ones or the role of the machine. If a role is to be
// assumed, it wraps that source.
func (w *credentials) provider() (providers.CredentialsProvider, error) {
	var base providers.CredentialsProvider
	var err error
	switch {
	case w.access != "" && w.token != "":
		base, err = providers.NewStaticSTSCredentialsProviderBuilder().WithAccessKeyId(w.access).
			WithAccessKeySecret(w.secret).WithSecurityToken(w.token).Build()
	case w.access != "":
		base, err = providers.NewStaticAKCredentialsProviderBuilder().WithAccessKeyId(w.access).
			WithAccessKeySecret(w.secret).Build()
	case w.ecsRole != "":
		base, err = providers.NewECSRAMRoleCredentialsProviderBuilder().WithRoleName(w.ecsRole).Build()
	default:
		err = errors.New("there are none. Set access_key and secret_key, profile or ecs_role_name, or " +
			"ALICLOUD_ACCESS_KEY and ALICLOUD_SECRET_KEY")
	}
	if err != nil || w.role.arn == "" {
		return base, err
	}
	return providers.NewRAMRoleARNCredentialsProviderBuilder().WithCredentialsProvider(base).WithRoleArn(w.role.arn).
		WithRoleSessionName(w.role.session).WithPolicy(w.role.policy).WithDurationSeconds(int(w.role.seconds)).
		WithStsEndpoint(w.sts).Build()
}

// get returns credentials and the service's current time. Requests for credentials ignore the context; they end later
// by themselves.
func (a *access) get(ctx context.Context) (*providers.Credentials, time.Time, error) {
	select {
	case a.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, time.Time{}, ctx.Err()
	}
	now := a.now().UTC()
	type result struct {
		got *providers.Credentials
		err error
	}
	done := make(chan result, 1)
	go func() {
		defer func() { <-a.turn }()
		var r result
		if a.source == nil {
			a.source, r.err = a.s.credentials.provider()
		}
		if r.err == nil {
			r.got, r.err = a.source.GetCredentials()
		}
		done <- r
	}()
	select {
	case <-ctx.Done():
		return nil, now, ctx.Err()
	case r := <-done:
		if r.err != nil {
			return nil, now, &web.NoAccess{Text: a.s.Clean("no credentials: " + web.Short(r.err.Error()))}
		}
		a.s.Add(r.got.AccessKeySecret, r.got.SecurityToken)
		return r.got, now, nil
	}
}

const algorithm = "OSS4-HMAC-SHA256"

// sign signs a request for an object.
func (a *access) sign(ctx context.Context, r *http.Request, _ []byte) error {
	c, now, err := a.get(ctx)
	if err != nil {
		return err
	}
	if c.SecurityToken != "" {
		r.Header.Set("X-Oss-Security-Token", c.SecurityToken)
	}
	r.Header.Set("X-Oss-Date", now.Format("20060102T150405Z"))
	r.Header.Set("X-Oss-Content-Sha256", "UNSIGNED-PAYLOAD")
	path := r.URL.EscapedPath()
	if !a.s.inPath() {
		path = "/" + a.s.bucket + path
	}
	scope := now.Format("20060102") + "/" + a.s.region + "/oss/aliyun_v4_request"
	digest := sha256.Sum256([]byte(canonical(r, path)))
	text := strings.Join([]string{algorithm, r.Header.Get("X-Oss-Date"), scope, hex.EncodeToString(digest[:])}, "\n")
	key := []byte("aliyun_v4" + c.AccessKeySecret)
	for word := range strings.SplitSeq(scope, "/") {
		key = seal(sha256.New, key, word)
	}
	r.Header.Set("Authorization", algorithm+" Credential="+c.AccessKeyId+"/"+scope+", Signature="+
		hex.EncodeToString(seal(sha256.New, key, text)))
	return nil
}

// canonical returns the text that the signature of a request covers.
func canonical(r *http.Request, path string) string {
	var query []string
	for name, values := range r.URL.Query() {
		entry := escape(name)
		if values[0] != "" {
			entry += "=" + escape(values[0])
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
	return strings.Join([]string{r.Method, path, strings.Join(query, "&"), headers, "", "UNSIGNED-PAYLOAD"}, "\n")
}

// seal returns the HMAC of a text.
func seal(digest func() hash.Hash, key []byte, text string) []byte {
	h := hmac.New(digest, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

func escape(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }

// signRow signs a request for a row of Tablestore.
func (a *access) signRow(ctx context.Context, r *http.Request, body []byte) error {
	c, now, err := a.get(ctx)
	if err != nil {
		return err
	}
	sum := md5.Sum(body)
	for name, value := range map[string]string{"Date": now.Format("2006-01-02T15:04:05.000000Z"),
		"Apiversion": "2015-12-31", "Accesskeyid": c.AccessKeyId, "Instancename": a.s.instance,
		"Contentmd5": base64.StdEncoding.EncodeToString(sum[:])} {
		r.Header.Set("X-Ots-"+name, value)
	}
	if c.SecurityToken != "" {
		r.Header.Set("X-Ots-Ststoken", c.SecurityToken)
	}
	text := r.URL.Path + "\n" + r.Method + "\n\n"
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		if strings.HasPrefix(name, "X-Ots-") {
			text += strings.ToLower(name) + ":" + r.Header.Get(name) + "\n"
		}
	}
	r.Header.Set("X-Ots-Signature", base64.StdEncoding.EncodeToString(seal(sha1.New, []byte(c.AccessKeySecret), text)))
	return nil
}
