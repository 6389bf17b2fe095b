//go:build unix

package pgtest

import (
	"os"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	code := m.Run()
	Stop()
	os.Exit(code)
}

func TestTheServerStopsWithItsLifeline(t *testing.T) {
	Database(t)
	s, problem := startServer()
	if problem != "" {
		t.Fatal(problem)
	}
	s.stop()
	if err := Execute(s.dsn("postgres"), "SELECT 1"); err == nil {
		t.Error("the server runs on")
	}
	if _, err := os.Stat(s.dir); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("its folder is still there: %v", err)
	}
}
