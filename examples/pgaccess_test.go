//go:build unix

package examples_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/pgtest"
)

// compiled builds the program of provider-pgaccess once, beside a copy of its manifest.
var compiled = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(workspace, "provider-pgaccess")
	if err := os.CopyFS(dir, os.DirFS("provider-pgaccess")); err != nil {
		return "", err
	}
	program := filepath.Join(dir, "bin", runtime.GOOS+"_"+runtime.GOARCH, "pgaccess")
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", program, "./provider-pgaccess")
	cmd.Stderr = os.Stderr
	return dir, cmd.Run()
})

// shop creates a database for the example, and returns its address.
func shop(t *testing.T) string {
	t.Helper()
	dsn := pgtest.Database(t)
	dir, err := compiled()
	must(t, err)
	built["provider-pgaccess"] = dir
	must(t, pgtest.Execute(dsn, contents(t, "provider-pgaccess/use/schema.sql")))
	return dsn
}

func single(t *testing.T, dsn, sql string) string {
	t.Helper()
	text, err := pgtest.Single(dsn, sql)
	must(t, err)
	return text
}

const rolesLeft = `SELECT count(*)::text FROM pg_roles
	WHERE rolname LIKE 'shop%' OR rolname LIKE 'try%' OR rolname LIKE 'other%'`

func TestRolesPassTheSuite(t *testing.T) {
	dsn := shop(t)
	// The suite gives privileges to roles whose numbers it chooses.
	must(t, pgtest.Execute(dsn, `DO $$ BEGIN CREATE ROLE readers; CREATE ROLE writers;
		FOR n IN 0..30 LOOP FOR m IN 0..99 LOOP EXECUTE format('CREATE ROLE %I; CREATE ROLE %I',
		'kept-' || n * 1000 + m, 'also-' || n * 1000 + m); END LOOP; END LOOP; END $$`))
	suite(t, "provider-pgaccess", []string{"parallel calls", "resource pgaccess_role: import"}, "PGACCESS_DSN="+dsn)
	if n := single(t, dsn, rolesLeft); n != "0" {
		t.Errorf("the suite left %s roles", n)
	}
	if n := single(t, dsn, `SELECT count(*)::text FROM pg_class, aclexplode(relacl) a
		JOIN pg_roles r ON r.oid = a.grantee
		WHERE r.rolname LIKE 'kept%' OR r.rolname LIKE 'also%'`); n != "0" {
		t.Errorf("the suite left %s privileges", n)
	}
}

func TestRolesAreManaged(t *testing.T) {
	dsn := shop(t)
	const password = "the password of the application"
	p := newProject(t, "provider-pgaccess", "TF_VAR_dsn="+dsn+" application_name=pgaccess", "TF_VAR_password="+password)
	out := p.apply("Apply complete! Resources: 16 added") // eight of them change the privileges of one table
	p.settled()
	if n := single(t, dsn, `SELECT count(*)::text
		FROM aclexplode((SELECT relacl FROM pg_class WHERE relname = 'orders')) a
		JOIN pg_roles r ON r.oid = a.grantee WHERE r.rolname LIKE 'shop%'`); n != "19" {
		t.Errorf("the table has %s of 19 privileges", n)
	}
	const verifier = `SELECT rolpassword FROM pg_authid WHERE rolname = 'shop_app'`
	first := single(t, dsn, verifier)
	if !strings.HasPrefix(first, "SCRAM-SHA-256$4096:") {
		t.Errorf("the server has the password %q", first)
	}
	must(t, pgtest.Execute(dsn, `REVOKE SELECT ON shop.orders FROM shop_readers;
		GRANT DELETE ON shop.orders TO shop_readers;
		ALTER ROLE shop_app NOLOGIN`))
	p.drifted("DELETE")
	update := []string{"-var", "limit=20"}
	out += p.apply("0 added, 2 changed, 0 destroyed", update...)
	if now := single(t, dsn, verifier); now != first {
		t.Error("the password was set again, although its version is the same")
	}
	p.imported("pgaccess_grant.orders", "shop_readers:table:shop.orders", update...)
	hides(t, "the state", contents(t, filepath.Join(p.dir, "terraform.tfstate")), password, first)

	// A lost answer: the objects are there, and nothing is stored.
	must(t, os.Remove(filepath.Join(p.dir, "terraform.tfstate")))
	p.apply("Apply complete! Resources: 16 added", update...)
	out += p.run(append([]string{"destroy", "-auto-approve"}, update...)...)
	if n := single(t, dsn, rolesLeft); n != "0" {
		t.Errorf("%s roles are left", n)
	}
	hides(t, "the output", out, password)
}
