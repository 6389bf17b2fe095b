package drivertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/state"
)

// Secrets calls a service that repeats each request in its response, and one that does not exist. None of the secrets
// may appear in an error or in the log. Open returns a driver for an address; gossip formats a text as an error of the
// service.
func Secrets(t *testing.T, secrets []string, open func(address string, log func(string, ...any)) (remote.Driver,
	error), gossip func(w http.ResponseWriter, text string)) {
	t.Helper()
	received := 0
	var mu sync.Mutex
	var output strings.Builder
	log := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(&output, format+"\n", args...)
	}
	address := Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := json.Marshal(map[string]any{"h": r.Header, "u": r.URL.String()})
		mu.Lock()
		received++
		mu.Unlock()
		gossip(w, strings.NewReplacer("&", "", "<", "", ">", "", `"`, " ", `\n`, " ").Replace(string(text)))
	}))
	for _, at := range []string{address, "http://127.0.0.1:1"} {
		d, err := open(at, log)
		if err != nil {
			t.Fatal(err)
		}
		p, err := d.Place(state.DefaultWorkspace)
		if err != nil {
			t.Fatal(err)
		}
		ctx := t.Context()
		_, err = p.Lock(ctx, Info("0b5c8e7e-6c1f-4d9e-9d6d-000000000001"))
		log("%v", err)
		_, err = p.Read(ctx)
		log("%v", err)
		_, err = d.Workspaces(ctx)
		log("%v", err)
		if h, err := p.Unlocked(ctx); err == nil {
			_, err = h.Write(ctx, remote.Write{Data: []byte("x")})
			log("%v", err)
		}
	}
	text := output.String()
	for _, secret := range secrets {
		if at := strings.Index(text, secret); at >= 0 {
			t.Errorf("%q is said: ...%s", secret, text[max(0, at-200):min(len(text), at+100)])
		}
	}
	if received < 3 || !strings.Contains(text, "Gossip") {
		t.Errorf("the service was asked %d times, and not heard:\n%s", received, text)
	}
}

// Refused opens a backend with invalid arguments, each with a part of the expected error: "name=value name=value",
// where null means not set.
func Refused(t *testing.T, kind remote.Kind, settings func(more map[string]cty.Value) cty.Value,
	wrong map[string]string) {
	t.Helper()
	for want, arguments := range wrong {
		more := map[string]cty.Value{}
		for argument := range strings.SplitSeq(arguments, " ") {
			name, text, _ := strings.Cut(argument, "=")
			value := cty.StringVal(text)
			if text == "null" {
				value = cty.NullVal(cty.String)
			}
			var err error
			if more[name], err = convert.Convert(value, kind.Schema.Attributes[name].ImpliedType()); err != nil {
				t.Fatal(err)
			}
		}
		_, diags := kind.Open(t.Context(), settings(more), remote.Surroundings{})
		text := ""
		for _, d := range diags {
			text += d.Summary + "\n" + d.Detail + "\n"
		}
		if !strings.Contains(text, want) {
			t.Errorf("%s: the problems are not %q:\n%s", arguments, want, text)
		}
	}
}
