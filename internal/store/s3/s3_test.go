package s3_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
	"github.com/tombolo-iac/tombolo/internal/store/s3"
)

// serve starts a server with an empty bucket "b".
func serve(t *testing.T) http.Handler {
	t.Helper()
	backend := s3mem.New()
	if err := backend.CreateBucket("b"); err != nil {
		t.Fatal(err)
	}
	return gofakes3.New(backend).Server()
}

// settings returns the settings of a block for a server.
func settings(address string, more map[string]cty.Value) map[string]cty.Value {
	s := map[string]cty.Value{
		"bucket": cty.StringVal("b"), "key": cty.StringVal("some/state"), "region": cty.StringVal("us-east-1"),
		"access_key": cty.StringVal("AKIDCANARY"), "secret_key": cty.StringVal("secret-canary"),
		"use_path_style": cty.True, "use_lockfile": cty.True, "skip_metadata_api_check": cty.True,
		"endpoints": cty.ObjectVal(map[string]cty.Value{"s3": cty.StringVal(address)}),
	}
	for name, v := range more {
		s[name] = v
	}
	return s
}

// open returns a driver with the settings.
func open(t *testing.T, s map[string]cty.Value) remote.Driver {
	t.Helper()
	d, diags := s3.Kind().Open(t.Context(), cty.ObjectVal(s), remote.Surroundings{})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	return d
}

func TestDriver(t *testing.T) {
	drivertest.Run(t, drivertest.Options{}, func(t *testing.T) (a, b remote.Driver) {
		server := httptest.NewServer(serve(t))
		t.Cleanup(server.Close)
		s := settings(server.URL, nil)
		return open(t, s), open(t, s)
	})
}

// fetch returns the body at an address.
func fetch(t *testing.T, address string) []byte {
	t.Helper()
	answer, err := http.Get(address)
	must(t, err)
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	must(t, err)
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s\n%s", address, answer.Status, b)
	}
	return b
}
