package azuretest

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"
)

// Azurite starts Azurite's Blob Storage with the account and its container, and returns the address of the account. It
// skips the test if Azurite is not installed.
func Azurite(t *testing.T) string {
	t.Helper()
	bin, err := exec.LookPath("azurite-blob")
	if err != nil {
		t.Skip("needs azurite-blob on PATH (npm i azurite@3.37.0)")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
	l.Close()
	c := exec.Command(bin, "--inMemoryPersistence", "--skipApiVersionCheck", "--silent", "--disableTelemetry",
		"--blobHost", "127.0.0.1", "--blobPort", port)
	c.Env = append(os.Environ(), "AZURITE_ACCOUNTS="+Account+":"+Key)
	c.Dir = t.TempDir()
	var output bytes.Buffer
	c.Stdout, c.Stderr = &output, &output
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
	})
	address := "http://127.0.0.1:" + port + "/" + Account
	for range 300 {
		if create(address) {
			return address
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("Azurite does not answer:\n%s", output.String())
	return ""
}

// create creates the container, and reports whether it exists afterwards.
func create(address string) bool {
	r, err := http.NewRequest(http.MethodPut, address+"/"+Container+"?restype=container", nil)
	if err != nil {
		return false
	}
	sign(r)
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	a.Body.Close()
	return a.StatusCode == http.StatusCreated || a.StatusCode == http.StatusConflict
}
