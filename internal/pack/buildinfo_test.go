package pack

import (
	"debug/buildinfo"
	"debug/elf"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
)

// binaries returns executables of this machine: this one, the Go tools, and a shell.
func binaries(t *testing.T) []string {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	list := []string{own}
	for _, name := range []string{"go", "gofmt", "sh", "git"} {
		if path, err := exec.LookPath(name); err == nil {
			list = append(list, path)
		}
	}
	return list
}

func TestBuildInfoIsThatOfTheStandardLibrary(t *testing.T) {
	for _, name := range binaries(t) {
		want, wantErr := buildinfo.ReadFile(name)
		got, err := readBuildInfo(name)
		if (err == nil) != (wantErr == nil) || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %v; want %v, %v", name, got, err, want, wantErr)
		}
	}
}

func TestDynamicLinkersAreFound(t *testing.T) {
	for _, name := range binaries(t) {
		f, err := elf.Open(name)
		if err != nil {
			continue
		}
		want := slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
		f.Close()
		if got := needsLibraries(name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// The magic may be anywhere in a binary that reads it, and only the record itself counts.
func TestBuildInfoIsFoundBehindTextsLikeIt(t *testing.T) {
	own, _ := os.Executable()
	want, err := buildinfo.ReadFile(own)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(own)
	if err != nil {
		t.Fatal(err)
	}
	for _, before := range []string{
		infoMagic + "----------------", "-" + infoMagic + infoMagic + "-----------------",
		infoMagic + "\x08\x02" + string(make([]byte, 16)) + string(binary.AppendUvarint(nil, 1<<40)) + "------",
	} {
		before += string(make([]byte, (infoAlign-len(before)%infoAlign)%infoAlign))
		name := filepath.Join(t.TempDir(), "binary")
		if err := os.WriteFile(name, append([]byte(before), data...), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := readBuildInfo(name); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("after %q: %v, %v", before, got, err)
		}
	}
}

func FuzzParseBuildInfo(f *testing.F) {
	own, _ := os.Executable()
	data, err := os.ReadFile(own)
	if err != nil {
		f.Fatal(err)
	}
	for at := 0; at+256 < len(data); at += infoAlign {
		if string(data[at:at+len(infoMagic)]) == infoMagic {
			f.Add(data[at : at+256])
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if info, err := parseBuildInfo(data); (info == nil) != (err != nil) {
			t.Errorf("%v, %v", info, err)
		}
	})
}
