//go:build unix

package pg

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/pgtest"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/drivertest"
)

// Whatever is wrong with a connection string or with the server, no error and no line of a log contains the password or
// a part of it. Many of the strings contain passwords with special characters that split the string at the wrong place.
func TestPasswordsAreNeverShown(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // a server that closes connections
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	go func() {
		for {
			c, err := silent.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	port := silent.Addr().(*net.TCPAddr).Port
	const canary = "CANARY"
	passwords := []string{"CANARYx", "CANARY/CANARY", "12/CANARY", "CANARY@CANARY", "CANARY#CANARY", "CANARY:CANARY",
		"CANARY?CANARY=1", "CANARY%zz", "CANARY CANARY", "CANARY'", `CANARY\`, "CANARY\x00", "CANARY&sslmode=CANARY",
		"[CANARY",
		"CANARY]"}
	forms := []string{"postgres://u:%s@127.0.0.1:%d/db", "postgres://u:%s@127.0.0.1:%d/db?sslmode=disable",
		"postgresql://u:%s@127.0.0.1:%d", "host=127.0.0.1 user=u password=%s port=%d",
		"host=127.0.0.1 user=u password='%s' port=%d sslmode=disable", "password=%s port=%d sslmode=banana",
		"postgres://u@127.0.0.1:%[2]d/db?password=%[1]s", "postgres://u:%s@127.0.0.1:%d/db?sslmode=banana",
		"postgres://u:%s@127.0.0.1:%d/db?target_session_attrs=x&connect_timeout=x", "%s=%d"}
	var lines []string
	note := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	try := func(conn string) {
		lines = nil
		d, diags := Kind().Open(t.Context(), cty.ObjectVal(map[string]cty.Value{"conn_str": cty.StringVal(conn)}),
			remote.Surroundings{Getenv: func(string) string { return "" }, Log: note})
		for _, each := range diags {
			note("%s: %s", each.Summary, each.Detail)
		}
		if d != nil {
			_, err := d.Workspaces(t.Context())
			note("%v", err)
			p, _ := d.Place("default")
			_, err = p.Lock(t.Context(), drivertest.Info("x"))
			note("%v %s", err, p)
			d.Close()
		}
		for _, line := range lines {
			if strings.Contains(line, canary) {
				t.Errorf("%q: %s", conn, line)
			}
		}
	}
	for _, password := range passwords {
		for _, form := range forms {
			try(fmt.Sprintf(form, password, port))
			try(fmt.Sprintf(form, url.QueryEscape(password), port))
		}
	}
}

// Views of a working server do not show the password either.
func TestPasswordsAreNotInTheServersViews(t *testing.T) {
	dsn := pgtest.Database(t)
	var lines []string
	d, diags := Kind().Open(t.Context(), cty.ObjectVal(map[string]cty.Value{"conn_str": cty.StringVal(dsn +
		" password=CANARY")}), remote.Surroundings{Log: func(format string, args ...any) {
		lines = append(lines, fmt.Sprintf(format, args...))
	}})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	defer d.Close()
	p, err := d.Place("default")
	if err != nil {
		t.Fatal(err)
	}
	h, err := p.Lock(t.Context(), drivertest.Info("0b5c8e7e-6c1f-4d9e-9d6d-000000000001"))
	if err != nil {
		t.Fatal(err)
	}
	seen, err := pgtest.Single(dsn, "SELECT string_agg(a::text, ' ') FROM pg_stat_activity a")
	if err != nil {
		t.Fatal(err)
	}
	if err := pgtest.Execute(dsn, "DROP SCHEMA terraform_remote_state CASCADE"); err != nil {
		t.Fatal(err)
	}
	_, werr := h.Write(t.Context(), remote.Write{Data: []byte("{}")})
	uerr := h.Unlock(context.WithoutCancel(t.Context()))
	for _, line := range append(lines, seen, fmt.Sprint(werr), fmt.Sprint(uerr), p.String()) {
		if strings.Contains(line, "CANARY") {
			t.Error(line)
		}
	}
	if werr == nil {
		t.Error("a state was written to a table that is gone")
	}
}
