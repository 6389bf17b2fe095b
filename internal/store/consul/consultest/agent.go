package consultest

import (
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Agent starts Consul itself without any keys, and returns its address. TOMBOLO_CONSUL is the path of the program; if
// it is not set, the test is skipped.
func Agent(t *testing.T) string {
	t.Helper()
	bin := os.Getenv("TOMBOLO_CONSUL")
	if bin == "" {
		t.Skip("needs consul, named with TOMBOLO_CONSUL")
	}
	args := []string{"agent", "-dev", "-bind", "127.0.0.1", "-client", "127.0.0.1", "-disable-host-node-id",
		"-log-level", "error", "-hcl", "disable_update_check = true"}
	address := ""
	for _, name := range []string{"http", "server", "serf-lan"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		port := l.Addr().(*net.TCPAddr).Port
		args = append(args, "-"+name+"-port", strconv.Itoa(port))
		if name == "http" {
			address = l.Addr().String()
		}
		_ = l.Close()
	}
	for _, name := range []string{"serf-wan", "grpc", "grpc-tls", "dns"} {
		args = append(args, "-"+name+"-port", "-1")
	}
	c := exec.Command(bin, args...)
	var output strings.Builder
	c.Stdout, c.Stderr = &output, &output
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = c.Wait()
	}()
	t.Cleanup(func() {
		_ = c.Process.Kill()
		<-ended
	})
	for deadline := time.After(time.Minute); !leads(address); {
		select {
		case <-ended:
			t.Fatalf("consul ended: %s", output.String())
		case <-deadline:
			t.Fatal("consul does not start")
		case <-time.After(50 * time.Millisecond):
		}
	}
	return address
}

// leads reports whether the agent at an address creates sessions, as it does when it is the leader.
func leads(address string) bool {
	r, err := http.NewRequest(http.MethodPut, "http://"+address+"/v1/session/create",
		strings.NewReader(`{"TTL":"10s"}`))
	if err != nil {
		return false
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, answer.Body)
	return err == nil && answer.StatusCode == http.StatusOK
}
