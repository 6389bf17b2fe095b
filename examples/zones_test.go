//go:build unix

package examples_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// keptZones returns a folder with the zones that the test values of the example use.
func keptZones(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"kept.example", "moved.example"} {
		text := "$TTL 3600\n" + name + ". IN SOA ns1 host (\n 2020010101 ; serial\n" +
			" 7200 900 1209600 300 )\n\tIN NS ns1\n"
		must(t, os.WriteFile(filepath.Join(dir, name+".zone"), []byte(text), 0o640))
	}
	return dir
}

func TestZonesPassTheSuite(t *testing.T) {
	needs(t, "python3")
	dir := keptZones(t)
	suite(t, "provider-zones", []string{"parallel calls"}, "ZONES_ROOT="+dir)
	for _, name := range []string{"kept.example", "moved.example"} {
		text := contents(t, filepath.Join(dir, name+".zone"))
		if strings.Count(text, " IN\t")+strings.Count(text, "\tIN") != 2 {
			t.Errorf("the suite left records:\n%s", text)
		}
	}
}

func TestZonesKeepEverythingElse(t *testing.T) {
	needs(t, "python3")
	dir := t.TempDir()
	p := newProject(t, "provider-zones", "ZONES_ROOT="+dir)
	file := filepath.Join(dir, "example.com.zone")
	p.apply("Apply complete! Resources: 11 added") // ten of them change one file
	p.settled()
	text := contents(t, file)
	if n := strings.Count(text, "CNAME\twww.example.com."); n != 8 {
		t.Errorf("%d of 8 records are there:\n%s", n, text)
	}
	serial := serialOf(t, text)

	// Somebody edits the file: comments, a relative owner, and another address.
	edited := strings.Replace(text, "IN\tA\t192.0.2.10", "IN\tA\t192.0.2.99 ; temporary", 1) +
		"$ORIGIN dev.example.com.\nbox 60 IN TXT ( \"a ; b\" ; a comment\n" +
		"  \"c\" )\n   IN A 192.0.2.7 ; inherits its name\n"
	must(t, os.WriteFile(file, []byte(edited), 0o640))
	must(t, os.Chmod(file, 0o640))
	p.drifted("192.0.2.99")
	p.apply("0 added, 1 changed, 0 destroyed")
	text = contents(t, file)
	if !strings.Contains(text, "IN\tA\t192.0.2.10\n") ||
		!strings.HasSuffix(text, edited[strings.Index(edited, "$ORIGIN"):]) {
		t.Errorf("the lines of others have changed:\n%s", text)
	}
	if now := serialOf(t, text); now <= serial {
		t.Errorf("the serial number is %s after %s", now, serial)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the mode of the file is another one: %v %v", info.Mode(), err)
	}

	p.imported("zones_record_set.web", "example.com/www/A")
	p.fails("still has 2 records that this configuration does not manage", "destroy", "-auto-approve", "-no-color")
	must(t, os.WriteFile(file, []byte(strings.Split(contents(t, file), "$ORIGIN")[0]), 0o640))
	p.run("destroy", "-auto-approve")
	if list, _ := filepath.Glob(filepath.Join(dir, "*.zone")); len(list) > 0 {
		t.Errorf("something is left: %s", list)
	}
}

func serialOf(t *testing.T, zone string) string {
	t.Helper()
	found := regexp.MustCompile(`SOA\s+\S+ \S+ (\d+)`).FindStringSubmatch(zone)
	if found == nil {
		t.Fatalf("there is no serial number:\n%s", zone)
	}
	return found[1]
}

// A creation that was interrupted after the file had been replaced is repeated: equal records are accepted, and others
// are not.
func TestZonesAcceptTheirOwnRecordsAgain(t *testing.T) {
	needs(t, "python3")
	dir := t.TempDir()
	p := newProject(t, "provider-zones", "ZONES_ROOT="+dir)
	p.run("apply", "-auto-approve")
	file := filepath.Join(dir, "example.com.zone")
	before := contents(t, file)
	must(t, os.Remove(filepath.Join(p.dir, "terraform.tfstate"))) // no result has been stored
	p.apply("Apply complete! Resources: 11 added")
	if text := contents(t, file); text != before {
		t.Errorf("the file has changed:\n%s", text)
	}
	must(t, os.Remove(filepath.Join(p.dir, "terraform.tfstate")))
	must(t, os.WriteFile(file, []byte(strings.Replace(before, "192.0.2.10", "192.0.2.11", 1)), 0o644))
	p.fails("Import them with the id example.com/www/A", "apply", "-auto-approve", "-no-color")
}
