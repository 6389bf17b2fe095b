package gcs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"github.com/tombolo-iac/tombolo/internal/store/remote/web"
)

// Audiences of tokens.
const (
	scopeStorage = "https://www.googleapis.com/auth/devstorage.read_write"
	scopeKeys    = "https://www.googleapis.com/auth/cloudkms"
	scopeAll     = "https://www.googleapis.com/auth/cloud-platform"
)

// access provides the token of requests.
type access struct {
	s     *settings
	http  *http.Client
	scope string
	turn  chan struct{} // its holder may request a token
	token *oauth2.Token
	quota string // project to which requests are billed
}

func newAccess(s *settings, client *http.Client, scope string) *access {
	return &access{s: s, http: client, scope: scope, turn: make(chan struct{}, 1), quota: s.quota}
}

// authorize adds the token to a request.
func (a *access) authorize(ctx context.Context, r *http.Request, _ []byte) error {
	if a.s.open {
		return nil
	}
	select {
	case a.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-a.turn }()
	if !a.token.Valid() {
		got, err := a.fetch(ctx)
		if err != nil {
			return err
		}
		if a.token = got.Token; a.quota == "" {
			a.quota = got.quota
		}
	}
	r.Header.Set("Authorization", "Bearer "+a.token.AccessToken)
	if a.quota != "" {
		r.Header.Set("X-Goog-User-Project", a.quota)
	}
	return nil
}

// refused drops a token that the service no longer accepts, and reports whether a new one can be requested.
func (a *access) refused(r *http.Request, answer *web.Answer) bool {
	if answer.Status != http.StatusUnauthorized {
		return false
	}
	a.turn <- struct{}{}
	defer func() { <-a.turn }()
	if a.token != nil && r.Header.Get("Authorization") == "Bearer "+a.token.AccessToken {
		a.token = nil
	}
	return a.s.token == "" || a.s.account != ""
}

// granted is a token, and the project that its credentials set for billing.
type granted struct {
	*oauth2.Token
	quota string
}

// fetch requests a new token. Some token sources ignore the context; they end later by themselves.
func (a *access) fetch(ctx context.Context) (*granted, error) {
	type result struct {
		got *granted
		err error
	}
	done := make(chan result, 1)
	go func() {
		got, err := a.base(context.WithValue(ctx, oauth2.HTTPClient, a.http))
		if err == nil && a.s.account != "" {
			got.Token, err = a.impersonate(ctx, got.Token)
		}
		done <- result{got, err}
	}()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case r := <-done:
		if r.err != nil && ctx.Err() == nil {
			return nil, &web.NoAccess{Text: a.s.clean(description(r.err)), Passing: unsure(r.err)}
		}
		return r.got, r.err
	}
}

// unsure reports whether a retry may succeed.
func unsure(err error) bool {
	var answer *oauth2.RetrieveError
	var unsent *url.Error
	return errors.As(err, &answer) && answer.Response != nil && web.Busy(answer.Response.StatusCode) ||
		errors.As(err, &unsent) && !web.Lasting(err)
}

// base returns a token of the credentials themselves.
func (a *access) base(ctx context.Context) (*granted, error) {
	scope := a.scope
	if a.s.account != "" {
		scope = scopeAll
	}
	var found *google.Credentials
	var err error
	var file struct {
		Type  google.CredentialsType
		Quota string `json:"quota_project_id"`
	}
	switch {
	case a.s.token != "":
		return &granted{Token: &oauth2.Token{AccessToken: a.s.token}}, nil
	case a.s.credentials != nil:
		if err := json.Unmarshal(a.s.credentials, &file); err != nil {
			return nil, errors.New("credentials: they are not a JSON object")
		}
		found, err = google.CredentialsFromJSONWithType(ctx, a.s.credentials, file.Type, scope)
	default:
		found, err = google.FindDefaultCredentials(ctx, scope)
		if err == nil && found.JSON != nil {
			_ = json.Unmarshal(found.JSON, &file) // without it, no other project is billed
		}
	}
	if err != nil {
		return nil, fmt.Errorf("there are no usable credentials: %w. Set credentials or "+
			"GOOGLE_CREDENTIALS, sign in with \"gcloud auth application-default login\", or run where a "+
			"service account is attached", err)
	}
	token, err := found.TokenSource.Token()
	return &granted{Token: token, quota: file.Quota}, err
}

// description returns the reason of an error without the parts of the request that a server repeats.
func description(err error) string {
	var answer *oauth2.RetrieveError
	if !errors.As(err, &answer) {
		var unsent *url.Error
		if errors.As(err, &unsent) {
			return "no token: " + unsent.Err.Error()
		}
		return err.Error()
	}
	text := "the credentials are not accepted"
	if answer.Response != nil {
		text += ": " + answer.Response.Status
	}
	if answer.ErrorCode != "" {
		text += ", " + web.Short(answer.ErrorCode)
	}
	if answer.ErrorDescription != "" {
		text += ": " + web.Short(answer.ErrorDescription)
	}
	return text
}

// lifetime is how long a token for an account is valid.
const lifetime = "3600s"

// impersonate returns a token of the account to impersonate.
func (a *access) impersonate(ctx context.Context, t *oauth2.Token) (*oauth2.Token, error) {
	const accounts = "projects/-/serviceAccounts/"
	asked := map[string]any{"scope": []string{a.scope}, "lifetime": lifetime}
	var chain []string
	for _, d := range a.s.delegates {
		chain = append(chain, accounts+d)
	}
	if chain != nil {
		asked["delegates"] = chain
	}
	body, err := json.Marshal(asked)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, a.s.accounts+accounts+url.PathEscape(a.s.account)+
		":generateAccessToken", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+t.AccessToken)
	resp, err := a.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, web.MaxMessage))
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		_, text := message(answer)
		return nil, fmt.Errorf("these credentials may not impersonate the service account %s: status %d %s. Grant "+
			"them the role roles/iam.serviceAccountTokenCreator on it", a.s.account, resp.StatusCode, text)
	}
	var out struct {
		Token   string    `json:"accessToken"`
		Expires time.Time `json:"expireTime"`
	}
	if err := json.Unmarshal(answer, &out); err != nil || out.Token == "" {
		return nil, fmt.Errorf("the answer for the service account %s has no token", a.s.account)
	}
	return &oauth2.Token{AccessToken: out.Token, Expiry: out.Expires}, nil
}
