package cos

import (
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tombolo-iac/tombolo/internal/store/remote/web"
)

// granted holds credentials and the time when they expire; zero means never.
type granted struct {
	id, key, token string
	until          time.Time
}

// early is how long before their expiry credentials are renewed.
const early = 3 * time.Minute

// access provides the credentials of requests.
type access struct {
	s     *settings
	web   *web.Client   // for services that issue credentials
	turn  chan struct{} // its holder may request credentials
	last  *granted
	clock web.Clock
}

// get returns credentials and the service's current time.
func (a *access) get(ctx context.Context) (*granted, time.Time, error) {
	select {
	case a.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, time.Time{}, ctx.Err()
	}
	defer func() { <-a.turn }()
	now := a.clock.Now()
	if a.last == nil || !a.last.until.IsZero() && a.last.until.Sub(now) < early {
		g, err := a.fetch(ctx, now)
		if err != nil {
			if ctx.Err() != nil {
				return nil, now, ctx.Err()
			}
			return nil, now, &web.NoAccess{Text: a.s.Clean("no credentials: " + err.Error())}
		}
		a.s.Add(g.key, g.token)
		a.last = g
	}
	return a.last, now, nil
}

// fetch returns new credentials: the configured ones or those of the machine. If a role is to be assumed, it exchanges
// them for those of the role.
func (a *access) fetch(ctx context.Context, now time.Time) (*granted, error) {
	w := &a.s.credentials
	g := &granted{id: w.id, key: w.key, token: w.token}
	if g.id == "" {
		if w.machine == "" {
			return nil, errors.New("there are none. Set secret_id and secret_key, TENCENTCLOUD_SECRET_ID and " +
				"TENCENTCLOUD_SECRET_KEY, profile, or cam_role_name")
		}
		var err error
		if g, err = a.machine(ctx, w.machine); err != nil {
			return nil, err
		}
	}
	if w.role.arn == "" {
		return g, nil
	}
	asked := map[string]any{"RoleArn": w.role.arn, "RoleSessionName": w.role.session, "DurationSeconds": w.role.seconds}
	if w.role.policy != "" {
		asked["Policy"] = url.QueryEscape(w.role.policy)
	}
	if w.role.external != "" {
		asked["ExternalId"] = w.role.external
	}
	var got struct {
		Credentials struct{ Token, TmpSecretId, TmpSecretKey string }
		ExpiredTime int64
	}
	c := *a.web
	c.Authorize = func(_ context.Context, r *http.Request, body []byte) error { return sign(r, body, g, now) }
	err := call{"sts", "AssumeRole", "assume the role", w.role.arn}.do(ctx, &c, a.s, asked, &got)
	if err != nil {
		return nil, err
	}
	return &granted{got.Credentials.TmpSecretId, got.Credentials.TmpSecretKey, got.Credentials.Token,
		time.Unix(got.ExpiredTime, 0)}, nil
}

// machine returns the credentials of the machine's role.
func (a *access) machine(ctx context.Context, name string) (*granted, error) {
	r := web.Request{What: "get the role of the machine", Name: name, Method: http.MethodGet,
		Address: machines + "/latest/meta-data/cam/security-credentials/" + url.PathEscape(name)}
	c := *a.web
	c.Authorize = func(context.Context, *http.Request, []byte) error { return nil }
	answer, err := c.Send(ctx, r)
	if err != nil {
		return nil, err
	}
	var got struct {
		TmpSecretId, TmpSecretKey, Token, Code string
		ExpiredTime                            int64
	}
	if !answer.OK() || json.Unmarshal(answer.Body, &got) != nil || got.Code != "Success" {
		return nil, c.Failed(r, answer, "", "Attach the role to the machine, or check cam_role_name")
	}
	return &granted{got.TmpSecretId, got.TmpSecretKey, got.Token, time.Unix(got.ExpiredTime, 0)}, nil
}

// valid is how long a signature is valid.
const valid = 15 * time.Minute

// sign signs a request for an object.
func (a *access) sign(ctx context.Context, r *http.Request, _ []byte) error {
	g, now, err := a.get(ctx)
	if err != nil {
		return err
	}
	if g.token != "" {
		r.Header.Set("X-Cos-Security-Token", g.token)
	}
	r.Header.Set("Authorization", signature(r, g, now))
	return nil
}

// signature returns the signature of a request for an object.
func signature(r *http.Request, g *granted, now time.Time) string {
	headers := map[string]string{"host": r.URL.Host}
	for name := range r.Header {
		low := strings.ToLower(name)
		if strings.HasPrefix(low, "x-cos-") || low == "content-md5" || low == "content-type" {
			headers[low] = r.Header.Get(name)
		}
	}
	query := map[string]string{}
	for name, values := range r.URL.Query() {
		query[strings.ToLower(escape(name))] = values[0]
	}
	fields, fieldNames := pairs(headers)
	parameters, parameterNames := pairs(query)
	lines := []string{strings.ToLower(r.Method), r.URL.Path, parameters, fields, ""}
	digest := sha1.Sum([]byte(strings.Join(lines, "\n")))
	span := fmt.Sprintf("%d;%d", now.Unix(), now.Add(valid).Unix())
	key := hex.EncodeToString(seal(sha1.New, []byte(g.key), span))
	text := "sha1\n" + span + "\n" + hex.EncodeToString(digest[:]) + "\n"
	return "q-sign-algorithm=sha1&q-ak=" + g.id + "&q-sign-time=" + span + "&q-key-time=" + span + "&q-header-list=" +
		fieldNames + "&q-url-param-list=" + parameterNames + "&q-signature=" +
		hex.EncodeToString(seal(sha1.New, []byte(key), text))
}

// pairs returns the names and values, and the names alone, as a signature covers them.
func pairs(of map[string]string) (all, names string) {
	sorted := slices.Sorted(maps.Keys(of))
	var parts []string
	for _, name := range sorted {
		parts = append(parts, name+"="+escape(of[name]))
	}
	return strings.Join(parts, "&"), strings.Join(sorted, ";")
}

func escape(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }

// seal returns the HMAC of a text.
func seal(digest func() hash.Hash, key []byte, text string) []byte {
	h := hmac.New(digest, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// signCall signs a call of the API.
func (a *access) signCall(ctx context.Context, r *http.Request, body []byte) error {
	g, now, err := a.get(ctx)
	if err != nil {
		return err
	}
	return sign(r, body, g, now)
}

// sign signs a call of the API with credentials. The first part of the host names the service.
func sign(r *http.Request, body []byte, g *granted, now time.Time) error {
	const algorithm = "TC3-HMAC-SHA256"
	service := r.Header.Get("X-Tc-Service")
	r.Header.Del("X-Tc-Service")
	r.Header.Set("X-Tc-Timestamp", strconv.FormatInt(now.Unix(), 10))
	if g.token != "" {
		r.Header.Set("X-Tc-Token", g.token)
	}
	digest := sha256.Sum256(body)
	lines := []string{r.Method, "/", "", "content-type:" + r.Header.Get("Content-Type"), "host:" + r.URL.Host, "",
		"content-type;host", hex.EncodeToString(digest[:])}
	canonical := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	scope := now.Format("2006-01-02") + "/" + service + "/tc3_request"
	text := strings.Join([]string{algorithm, r.Header.Get("X-Tc-Timestamp"), scope,
		hex.EncodeToString(canonical[:])}, "\n")
	key := []byte("TC3" + g.key)
	for word := range strings.SplitSeq(scope, "/") {
		key = seal(sha256.New, key, word)
	}
	r.Header.Set("Authorization", algorithm+" Credential="+g.id+"/"+scope+", SignedHeaders=content-type;host, "+
		"Signature="+hex.EncodeToString(seal(sha256.New, key, text)))
	return nil
}

// refused is an error that the API returns.
type refused struct{ Code, Message string }

// call is a call of the API. The field what describes it in messages.
type call struct{ service, action, what, name string }

// apiVersion is the version of both services.
const apiVersion = "2018-08-13"

// do calls the API and decodes the response. An error of the API is wrapped as a *refused.
func (d call) do(ctx context.Context, c *web.Client, s *settings, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	r := web.Request{What: d.what, Name: d.name, Method: http.MethodPost, Address: s.api(d.service) + "/", Body: body,
		Header: http.Header{"Content-Type": {"application/json"}, "X-Tc-Action": {d.action},
			"X-Tc-Version": {apiVersion}, "X-Tc-Region": {s.region}, "X-Tc-Service": {d.service}}}
	a, err := c.Send(ctx, r)
	if err != nil {
		return err
	}
	var answer struct{ Response json.RawMessage }
	var problem struct{ Error *refused }
	if !a.OK() || json.Unmarshal(a.Body, &answer) != nil || json.Unmarshal(answer.Response, &problem) != nil {
		return c.Failed(r, a, "", "The server is not the API of Tencent Cloud: check domain")
	}
	if problem.Error != nil {
		return &web.Problem{Text: s.Clean(fmt.Sprintf("%s %s: %s: %s", d.what, d.name, problem.Error.Code,
			web.Short(problem.Error.Message))), Err: problem.Error}
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(answer.Response, out)
}

// Error implements error.
func (r *refused) Error() string { return r.Code + ": " + r.Message }
