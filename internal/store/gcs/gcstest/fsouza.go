package gcstest

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Fsouza starts fake-gcs-server with an empty bucket. It returns the address of a proxy that enforces conditions on
// deletions, which version 1.56.1 of the server ignores.
func Fsouza(t *testing.T) string {
	t.Helper()
	bin, err := exec.LookPath("fake-gcs-server")
	if err != nil {
		t.Skip("needs fake-gcs-server on PATH")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	port := l.Addr().(*net.TCPAddr).Port
	must(t, l.Close())
	host := "127.0.0.1:" + strconv.Itoa(port)
	c := exec.Command(bin, "-scheme", "http", "-host", "127.0.0.1", "-port", strconv.Itoa(port), "-backend", "memory",
		"-public-host", host, "-external-url", "http://"+host, "-log-level", "error")
	must(t, c.Start())
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	address := "http://" + host
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		answer, err := http.Post(address+"/storage/v1/b", "application/json", strings.NewReader(`{"name":"states"}`))
		if err == nil {
			answer.Body.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("fake-gcs-server does not start")
		}
	}
	proxy := httptest.NewServer(conditions(host))
	t.Cleanup(proxy.Close)
	return proxy.URL
}

// conditions forwards requests to the server at host. It refuses a deletion whose condition does not hold.
func conditions(host string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ask := func(method, uri string, body []byte) (*http.Response, []byte) {
			out, err := http.NewRequestWithContext(r.Context(), method, "http://"+host+uri, bytes.NewReader(body))
			if err != nil {
				return nil, nil
			}
			out.Header, out.Host = r.Header.Clone(), host
			in, err := http.DefaultTransport.RoundTrip(out)
			if err != nil {
				return nil, nil // the client or the server has gone away
			}
			defer in.Body.Close()
			text, err := io.ReadAll(in.Body)
			if err != nil {
				return nil, nil
			}
			return in, text
		}
		if want := r.URL.Query().Get("ifGenerationMatch"); r.Method == http.MethodDelete && want != "" {
			there, text := ask(http.MethodGet, r.URL.EscapedPath(), nil)
			if there != nil && there.StatusCode == http.StatusOK &&
				!bytes.Contains(text, []byte(`"generation":"`+want+`"`)) {
				w.WriteHeader(http.StatusPreconditionFailed)
				return
			}
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		in, text := ask(r.Method, r.URL.RequestURI(), body)
		if in == nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		for name, values := range in.Header {
			w.Header()[name] = values
		}
		w.WriteHeader(in.StatusCode)
		_, _ = w.Write(text)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
