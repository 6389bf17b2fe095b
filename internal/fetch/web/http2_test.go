package web_test

import (
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/fetch/web"
)

// Real registries use HTTP/2, which gives servers other ways to waste resources.
func TestHTTP2IsLimitedToo(t *testing.T) {
	mux := http.NewServeMux()
	server := httptest.NewUnstartedServer(mux)
	server.EnableHTTP2, server.Config.ErrorLog = true, log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	handle := func(path string, h http.HandlerFunc) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			if r.ProtoMajor != 2 {
				t.Errorf("%s is asked by %s", r.URL.Path, r.Proto)
			}
			h(w, r)
		})
	}
	handle("/good", answer("good"))
	handle("/headers", func(w http.ResponseWriter, _ *http.Request) {
		for i := range 100 {
			w.Header().Set(fmt.Sprintf("X-%d", i), strings.Repeat("x", 10_000))
		}
	})
	handle("/hints", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", strings.Repeat("x", 10_000))
		for range 100 {
			w.WriteHeader(http.StatusEarlyHints)
		}
		_, _ = io.WriteString(w, "at last")
	})
	handle("/cut", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, "short")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	handle("/part", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Range", "bytes 0-3/1000")
		w.WriteHeader(http.StatusPartialContent)
		_, _ = io.WriteString(w, "part")
	})
	handle("/nothing", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	handle("/endless", endless)
	transport := web.Transport()
	transport.TLSClientConfig.RootCAs = x509.NewCertPool()
	transport.TLSClientConfig.RootCAs.AddCert(server.Certificate())
	defer transport.CloseIdleConnections()
	client := web.New(web.Options{Transport: transport, Timeout: time.Minute, Pause: func(ctx context.Context,
		_ time.Duration) error {
		return ctx.Err()
	}})
	for path, want := range map[string]string{
		"/good": "", "/headers": "header", "/hints": "", "/cut": "", "/part": "206", "/nothing": "204",
		"/endless": "more than 65536 bytes",
	} {
		request := web.Request{URL: at(server.URL + path), Limit: 1 << 16}
		_, err := client.Get(context.Background(), request)
		if path == "/good" && err != nil || path != "/good" && err == nil {
			t.Errorf("%s: got %v", path, err)
		}
		wantErrorOf(t, path, err, want)
		file, openErr := os.Create(filepath.Join(t.TempDir(), "file"))
		if openErr != nil {
			t.Fatal(openErr)
		}
		_, err = client.Download(context.Background(), request, file, nil)
		if path == "/good" && err != nil || path != "/good" && err == nil {
			t.Errorf("download %s: got %v", path, err)
		}
		wantErrorOf(t, "download "+path, err, want)
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	}
}

func wantErrorOf(t *testing.T, what string, err error, want string) {
	t.Helper()
	if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("%s: got %v, want %q", what, err, want)
	}
}
