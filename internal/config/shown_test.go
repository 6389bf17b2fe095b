package config_test

import (
	"testing"

	"github.com/tombolo-iac/tombolo/internal/config"
)

func TestSourcesShowNothingSecret(t *testing.T) {
	for source, want := range map[string]string{
		"./x":      "./x",
		"a/b/c//d": "a/b/c//d",
		"git::https://TOKEN@web.example/x?ref=v1":         "git::https://xxxxx@web.example/x?ref=v1",
		"git::https://me:pass@web.example/x":              "git::https://xxxxx@web.example/x",
		"git::https://me:p%ss@web.example/x":              "git::https://xxxxx@web.example/x",
		"git::ssh://git@web.example/x?sshkey=abc&depth=1": "git::ssh://git@web.example/x?sshkey=xxxxx&depth=1",
		"git::ssh://me:pass@web.example/x":                "git::ssh://me:xxxxx@web.example/x",
		"https://web.example/x.zip?a=b&checksum=md5:0":    "https://web.example/x.zip?a=b&checksum=md5:0",
		"https://web.example/x.zip?access_token=t&archive=zip": "https://web.example/x.zip" +
			"?access_token=xxxxx&archive=zip",
		"https://web.example/x.zip?X-Amz-Signature=s&%73ig=t&c": "https://web.example/x.zip" +
			"?X-Amz-Signature=xxxxx&%73ig=xxxxx&c",
	} {
		if got := config.ShownSource(source); got != want {
			t.Errorf("%s shows as %s, expected %s", source, got, want)
		}
	}
	if got := config.ShownAnswer(
		"https://me@web.example/x.zip?a=b&archive=zip"); got != "https://xxxxx@web.example/x.zip?a=xxxxx&archive=zip" {
		t.Errorf("an answer shows as %s", got)
	}
}
