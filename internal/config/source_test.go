package config_test

import (
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/config"
)

// Terraform's normal form of these is in the lines that it prints before a download.
func TestSourcesHaveANormalForm(t *testing.T) {
	for raw, want := range map[string]string{
		"github.com/a/b/sub/x":                      "git::https://github.com/a/b.git//sub/x",
		"github.com/a/b/sub//x?ref=v1":              "git::https://github.com/a/b.git//sub/x?ref=v1",
		"git::github.com/a/b//s":                    "git::https://github.com/a/b.git//s",
		"bitbucket.org/a/b/sub":                     "git::https://bitbucket.org/a/b/sub.git",
		"bitbucket.org/a/b//sub?ref=x":              "git::https://bitbucket.org/a/b.git//sub?ref=x",
		"gitlab.com/a/b/c":                          "gitlab.com/a/b/c",
		"git@github.com:a/b//sub?ref=v1":            "git::ssh://git@github.com/a/b//sub?ref=v1",
		"git::git@example.com:a/b.git":              "git::ssh://git@example.com/a/b.git",
		"git::https://example.com/a.git//s/../t":    "git::https://example.com/a.git//t",
		"git::https://example.com/a/b?ref=a//b":     "git::https://example.com/a/b?ref=a//b",
		"git::/tmp/x":                               "git::file:///tmp/x",
		"/tmp/x//sub":                               "file:///tmp/x//sub",
		"file::/tmp/x":                              "file::file:///tmp/x",
		"b.s3.amazonaws.com/k.zip":                  "s3::https://b.s3.amazonaws.com/k.zip",
		"https://example.com/a.zip//sub?x=1":        "https://example.com/a.zip//sub?x=1",
		"https://example.com//":                     "https://example.com",
		"gitlab.com/a/b":                            "",
		"foo@bar.com:x/y":                           "",
		"//a/b":                                     "",
		"git::https://example.com/a.git//../t":      "",
		"git::https://example.com/a.git//s/../../t": "",
	} {
		_, got, err := config.ParseSource(raw, false)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: got %q, %v, want %q", raw, got, err, want)
		}
	}
}

func FuzzParseSource(f *testing.F) {
	for _, raw := range []string{"./x", "a/b/c//d", "git::https://x/y.git//s?ref=v", "github.com/a/b/c", "git@x:y//z",
		"/a//b", "a::b::c", "https://x//y//z?a//b", "bitbucket.org/a//b?c", "x.amazonaws.com//.."} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		kind, normal, err := config.ParseSource(raw, false)
		if err != nil || kind != config.SourceRemote {
			return
		}
		_, rest := config.SplitForced(normal)
		pkg, sub := config.SplitSubdir(rest)
		if pkg == "" && sub == "" {
			t.Errorf("%q becomes %q", raw, normal)
		}
		for part := range strings.SplitSeq(sub, "/") {
			if part == ".." {
				t.Errorf("%q becomes %q, whose folder leads up", raw, normal)
			}
		}
	})
}
