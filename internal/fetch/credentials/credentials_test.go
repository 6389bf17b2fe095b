package credentials_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/fetch/credentials"
	"github.com/tombolo-iac/tombolo/internal/settings"
)

func token(t *testing.T, s *credentials.Source, host string) string {
	t.Helper()
	got, err := s.Token(context.Background(), host)
	if err != nil {
		t.Errorf("%s: %v", host, err)
	}
	return got
}

func TestTheEnvironmentPrecedesTheConfiguration(t *testing.T) {
	s := &credentials.Source{
		Environ: []string{
			"TF_TOKEN_example_com=env", "TF_TOKEN_a__b_example_com=dash", "TF_TOKEN_c-d_example_com=plain dash",
			"TF_TOKEN_xn--bcher-kva_example=idn", "TF_TOKEN_xn____bcher____kva_example=x",
			"TF_TOKEN_port_example:8443=port", "TF_TOKEN_=nobody", "TF_TOKEN_-=nobody", "TF_TOKEN_empty_example=",
		},
		Settings: &settings.Settings{Credentials: map[string]string{"example.com": "file", "other.example": "other",
			"empty.example": "file"}},
	}
	for host, want := range map[string]string{
		"example.com": "env", "EXAMPLE.com": "env", "a-b.example.com": "dash", "c-d.example.com": "plain dash",
		"bücher.example":    "idn",
		"port.example:8443": "port", "port.example": "", "other.example": "other", "sub.example.com": "",
		"empty.example": "file", "nobody.example": "",
	} {
		if got := token(t, s, host); got != want {
			t.Errorf("%s: got %q, want %q", host, got, want)
		}
	}
	if _, err := s.Token(context.Background(), "not a host"); err == nil {
		t.Error("what is no host has a token")
	}
}

func TestTokensCannotInjectHeaders(t *testing.T) {
	s := &credentials.Source{
		Settings: &settings.Settings{Credentials: map[string]string{"example.com": "x\r\nX-Evil: secret"}}}
	if _, err := s.Token(context.Background(), "example.com"); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
}

func helper(t *testing.T, script string) *credentials.Source {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell for the helper: it runs everywhere but on Windows")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "terraform-credentials-test"), []byte("#!/bin/sh\necho \"$@\" >>\""+dir+
		"/calls\"\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return &credentials.Source{Settings: &settings.Settings{Helper: &settings.CredentialsHelper{
		Name: "test", Args: []string{"--a", "b c"}}}, HelperDirs: []string{filepath.Join(dir, "none"), dir},
		Environ: os.Environ()}
}

func TestTheHelperIsCalledOncePerHost(t *testing.T) {
	s := helper(t, `[ "$4" = example.com ] && echo '{"token": "helped", "more": 1}' || echo '{}'`)
	for range 2 {
		if got := token(t, s, "example.com"); got != "helped" {
			t.Errorf("got %q", got)
		}
		if got := token(t, s, "bücher.example"); got != "" {
			t.Errorf("got %q", got)
		}
	}
	calls, err := os.ReadFile(filepath.Join(s.HelperDirs[1], "calls"))
	if want := "--a b c get example.com\n--a b c get xn--bcher-kva.example\n"; err != nil || string(calls) != want {
		t.Errorf("got %q, %v", calls, err)
	}
	s.Settings.Credentials = map[string]string{"example.com": "file"}
	if got := token(t, s, "example.com"); got != "file" {
		t.Errorf("got %q", got)
	}
}

func TestFailedHelpersReturnNoToken(t *testing.T) {
	for script, want := range map[string]string{
		"echo '{\"token\": \"secret\"}'; echo no such thing >&2; exit 1": "no such thing",
		"echo secret":                             "did not print a JSON object",
		"echo '[\"secret\"]'":                     "did not print a JSON object",
		"echo '{\"token\": [\"secret\"]}'":        "not a string",
		"printf %s '{\"token\": \"a\\nsecret\"}'": "control characters",
		"":                          "did not print a JSON object",
		"head -c 2000000 /dev/zero": "printed more than",
	} {
		_, err := helper(t, script).Token(context.Background(), "example.com")
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") ||
			!strings.Contains(err.Error(), `helper "test"`) {
			t.Errorf("%s: got %v, want %q", script, err, want)
		}
	}
	for _, name := range []string{"missing", "../evil", ""} {
		s := helper(t, "")
		s.Settings.Helper.Name = name
		if _, err := s.Token(context.Background(), "example.com"); err == nil {
			t.Errorf("the helper %q was found", name)
		}
	}
}

func FuzzEnvironment(f *testing.F) {
	f.Add("TF_TOKEN_a__b_example_com=x", "a-b.example.com")
	f.Fuzz(func(t *testing.T, entry, host string) {
		s := &credentials.Source{Environ: []string{entry}, Settings: &settings.Settings{}}
		got, err := s.Token(context.Background(), host)
		if err == nil && got != "" && !strings.HasSuffix(entry, "="+got) {
			t.Errorf("%q has the token %q", entry, got)
		}
	})
}
