package credentials_test

import (
	"context"
	"encoding/base64"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/fetch/credentials"
	"github.com/tombolo-iac/tombolo/internal/fetch/web"
	"github.com/tombolo-iac/tombolo/internal/settings"
)

func basic(user, password string) string {
	return base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
}

// The most specific match for a repository is used. Otherwise the block precedes the files, the files have an order,
// and a helper for all repositories comes last.
func TestTheMostSpecificLoginIsUsed(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs Linux: other systems keep the files elsewhere")
	}
	home := t.TempDir()
	write := func(name, content string, mode os.FileMode) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(home, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, name), []byte(content), mode); err != nil {
			t.Fatal(err)
		}
	}
	write("run/containers/auth.json", `{"auths": {"a.example": {"auth": "`+basic("run", "1")+
		`"}, "empty.example": {}}}`,
		0o600)
	write(".config/containers/auth.json", `{"auths": {"a.example": {"auth": "`+basic("config", "2")+`"},
		"a.example/team": {"auth": "`+basic("team", "3:4")+`"},
		"b.example/team/one": {"auth": "`+basic("one", "5")+`"}}}`,
		0o600)
	write(".docker/config.json", `{"auths": {"https://index.docker.io/v1/": {"auth": "`+basic("hub", "6")+`"},
		"empty.example": {}, "token.example": {"identitytoken": "t"}},
		"credHelpers": {"helped.example": "one"}, "credsStore": "all"}`, 0o600)
	write(".dockercfg", `{"old.example": {"auth": "`+basic("old", "7")+`"}}`, 0o600)
	write("bin/docker-credential-one",
		"#!/bin/sh\nread s\necho \"{\\\"Username\\\":\\\"$s\\\",\\\"Secret\\\":\\\"s\\\"}\"\n",
		0o755)
	write("bin/docker-credential-all", "#!/bin/sh\nread s\ncase $s in\nknown.*) echo '{\"Username\":\"<token>\","+
		"\"Secret\":\"r\"}';;\nbroken.*) echo canary; exit 3;;\nodd.*) echo canary;;\n*) echo credentials not found "+
		"in "+
		"native keychain; exit 1;;\nesac\n", 0o755)
	set := &settings.Settings{OCICredentials: []settings.OCICredentials{
		{Prefix: "a.example", Username: "block", Password: "8"}, {Prefix: "b.example/team", AccessToken: "x",
			RefreshToken: "y"}}}
	source := &credentials.Source{Settings: set, Environ: []string{"HOME=" + home,
		"XDG_RUNTIME_DIR=" + home + "/run", "PATH=" + home + "/bin:" + os.Getenv("PATH")}}
	for repository, want := range map[string]web.Login{
		"a.example/other":          {Username: "block", Password: "8"},
		"a.example/team":           {Username: "team", Password: "3:4"},
		"a.example/team/x":         {Username: "team", Password: "3:4"},
		"a.example/teams":          {Username: "block", Password: "8"},
		"b.example/team/one/x":     {Username: "one", Password: "5"},
		"b.example/team/two":       {AccessToken: "x", RefreshToken: "y"},
		"b.example/other":          {},
		"index.docker.io/corp/x":   {Username: "hub", Password: "6"},
		"token.example/x":          {RefreshToken: "t"},
		"helped.example/x":         {Username: "helped.example", Password: "s"},
		"old.example/x":            {Username: "old", Password: "7"},
		"known.example/x":          {RefreshToken: "r"},
		"empty.example/x":          {},
		"a.example.evil.example/x": {},
	} {
		host, name, _ := strings.Cut(repository, "/")
		if got, err := source.Login(context.Background(), host, name); err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", repository, got, err, want)
		}
	}
	for _, host := range []string{"broken.example", "odd.example"} {
		if _, err := source.Login(context.Background(), host, "x"); err == nil ||
			strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", host, err)
		}
	}
	set.OCIDefaults = &settings.OCIDefaults{Nowhere: true}
	if got, err := source.Login(context.Background(), "a.example", "team"); err != nil || got.Username != "block" {
		t.Errorf("without the files: %+v, %v", got, err)
	}
	write("broken.json", "canary", 0o600)
	set.OCIDefaults = &settings.OCIDefaults{Files: []string{home + "/broken.json"}}
	if _, err := source.Login(context.Background(), "a.example", "x"); err == nil ||
		strings.Contains(err.Error(), "canary") {
		t.Errorf("a broken file: %v", err)
	}
}
