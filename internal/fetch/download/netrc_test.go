package download

import (
	"net/url"
	"testing"
)

func TestNetrcGivesAHostItsOwnPassword(t *testing.T) {
	for text, want := range map[string]string{
		"machine a.com login alice password s1\nmachine b.com login bob password s2\n":                "alice:s1",
		"machine a.com login alice password #abc\nmachine b.com login bob password s2\n":              "alice:%23abc",
		"machine a.com # mine\n  login alice # me\n  password s1\nmachine b.com password s2\n":        "alice:s1",
		"# machine a.com password old\nmachine a.com login alice password s1":                         "alice:s1",
		"machine b.com login bob password s2\ndefault login any password s3\n":                        "any:s3",
		"macdef init\nmachine a.com password no\n\nmachine a.com login alice account x password s1\n": "alice:s1",
		"machine b.com login bob password s2\n":                                                       "",
		"machine a.com login alice password\nmachine b.com login bob password s2\n": "" +
			"line 1 ends after the keyword password, where its value is expected",
		"machine a.com login\nalice password s1\n": "" +
			"line 1 ends after the keyword login, where its value is expected",
		"default login any password s3\nmachine a.com login alice password s1\n": "" +
			"line 2 has the keyword machine after default, which must be the last entry",
		"machine\n": "line 1 ends after the keyword machine, where its value is expected",
		"machine a.com login alice password my secret\n": "line 1 has something other than machine, default, login, " +
			"password, account or macdef " +
			"where one of these is expected",
	} {
		user, err := machine(text, "a.com")
		got := ""
		switch {
		case err != nil:
			got = err.Error()
		case user != nil:
			got = (&url.URL{User: user}).User.String()
		}
		if got != want {
			t.Errorf("%q gives %q, expected %q", text, got, want)
		}
	}
}
