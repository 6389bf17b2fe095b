package talk

import "testing"

func TestTheGreetingContainsHostAndLogLevel(t *testing.T) {
	for _, c := range []struct {
		host string
		env  []string
		want string
	}{
		{"", nil, `{"protocol":[1],"host":"tombolo","log":"info"}`},
		{"tombolo/1.2.3", []string{"TF_LOG=DEBUG", "TF_VAR_password=secret"},
			`{"protocol":[1],"host":"tombolo/1.2.3","log":"debug"}`},
		{"", []string{"TF_LOG=debug", "TF_LOG_PROVIDER=trace"}, `{"protocol":[1],"host":"tombolo","log":"trace"}`},
		{"", []string{"TF_LOG=json", "TF_LOG_PROVIDER=debug"}, `{"protocol":[1],"host":"tombolo","log":"trace"}`},
		{"", []string{"TF_LOG=error", "TF_LOG_PATH=trace"}, `{"protocol":[1],"host":"tombolo","log":"info"}`},
	} {
		if got := string(Greeting(1, c.host, c.env, nil)); got != c.want {
			t.Errorf("%q %q: got %s, want %s", c.host, c.env, got, c.want)
		}
	}
	const want = `{"protocol":[1],"host":"tombolo","log":"info","attached":{"directory":"/d","environment":{"A":"b"}}}`
	if got := string(Greeting(1, "", nil, &Attached{"/d", map[string]string{"A": "b"}})); got != want {
		t.Errorf("attached: got %s, want %s", got, want)
	}
}
