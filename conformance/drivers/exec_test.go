//go:build unix

package drivers

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"iter"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-exec/tfexec"
)

// sourcesHash returns a hash of everything that answers depend on, or "" if none are to be stored.
func sourcesHash(t *testing.T, extra string) string {
	t.Helper()
	if os.Getenv("TOMBOLO_DRIVERS_CACHE") == "off" {
		return ""
	}
	h := sha256.New()
	for _, pattern := range []string{"*_test.go", "testdata/*"} {
		list, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range list {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			h.Write([]byte(name + "\x00"))
			h.Write(text)
		}
	}
	h.Write([]byte(extra))
	return hex.EncodeToString(h.Sum(nil))[:40]
}

// findTerraform returns the real terraform, or "".
func findTerraform(t *testing.T) string {
	t.Helper()
	bin, err := exec.LookPath("terraform")
	if err != nil {
		t.Logf("nothing is compared: %v", err)
		return ""
	}
	return bin
}

// ours creates a link to the test binary, which runs as Tombolo under that name.
func ours(t *testing.T, name string) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), name)
	if err := os.Symlink(exe, link); err != nil {
		t.Fatal(err)
	}
	return link
}

// ownName matches the program's name, except in the address of a provider.
var ownName = regexp.MustCompile(`(?i).*\btombolo\b[^/].*`)

func TestTheLibraryDrivesTombolo(t *testing.T) {
	called := map[string]map[string]bool{}
	ran, named := 0, 0
	real := findTerraform(t)
	for _, play := range sessions {
		t.Run(play.name, func(t *testing.T) {
			ran++
			got := map[string][]string{}
			names := []string{"terraform", "tombolo"}
			if testing.Short() {
				names = names[:1]
			}
			for _, name := range names {
				t.Run("as "+name, func(t *testing.T) {
					s := newSession(t, ours(t, name), play.files)
					play.run(s)
					got[name] = s.transcript
					own := ownName.FindAllString(s.output.String(), -1)
					if own != nil && name == "terraform" {
						t.Errorf("under the name terraform it says %q", own)
					}
					named += len(own)
					for method, options := range s.called {
						if called[method] == nil {
							called[method] = map[string]bool{}
						}
						maps.Copy(called[method], options)
					}
				})
			}
			if diff := cmp.Diff(got["terraform"], got["tombolo"]); diff != "" && len(got) == 2 {
				t.Errorf("the name makes a difference (-terraform +tombolo):\n%s", diff)
			}
			if real == "" {
				return
			}
			want := withoutVersion(transcriptOf(t, real, play))
			if diff := cmp.Diff(want, withoutVersion(got["terraform"])); diff != "" && !t.Failed() {
				t.Errorf("Tombolo is not as Terraform (-terraform +tombolo):\n%s", diff)
			}
		})
	}
	if ran < len(sessions) || t.Failed() {
		return
	}
	if named == 0 && !testing.Short() {
		t.Error("it never says its own name, so whether it does is not found out")
	}
	checkEverythingIsCalled(t, called)
}

// transcriptOf returns the transcript of the real terraform, from the cache if it is there.
func transcriptOf(t *testing.T, real string, play play) (list []string) {
	t.Helper()
	var file string
	if base, err := os.UserCacheDir(); err == nil {
		if hash := sourcesHash(t, real); hash != "" {
			file = filepath.Join(base, "tombolo-drivers", play.name+"-"+hash+".json")
		}
	}
	if text, err := os.ReadFile(file); err == nil && json.Unmarshal(text, &list) == nil {
		return list
	}
	t.Run("real", func(t *testing.T) {
		s := newSession(t, real, play.files)
		s.real = true
		play.run(s)
		list = s.transcript
		if file == "" || t.Failed() {
			return
		}
		text, err := json.Marshal(list)
		s.must(err)
		keep(t, file, text)
	})
	return list
}

// keep stores an answer in the cache. Other processes may read or write the file at the same time. If the file cannot
// be written, the answer is not cached.
func keep(t *testing.T, file string, text []byte) {
	t.Helper()
	temporary := fmt.Sprintf("%s.%d", file, os.Getpid())
	err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o777), os.WriteFile(temporary, text, 0o666))
	if err == nil {
		err = os.Rename(temporary, file)
	}
	if err != nil {
		os.Remove(temporary)
		t.Logf("it will be asked again: %v", err)
	}
}

// checkEverythingIsCalled checks that sessions have used all methods of the library and, according to its source, all
// of their options.
func checkEverythingIsCalled(t *testing.T, called map[string]map[string]bool) {
	t.Helper()
	ty := reflect.TypeFor[*tfexec.Terraform]()
	for i := range ty.NumMethod() {
		if name := ty.Method(i).Name; called[name] == nil {
			t.Errorf("no session calls the method %s", name)
		}
	}
	out, err := exec.Command("go", "list", "-f", "{{.Dir}}", ty.Elem().PkgPath()).Output()
	if err != nil {
		t.Logf("options are not checked, the source of the library is not at hand: %v", err)
		return
	}
	files, err := filepath.Glob(filepath.Join(string(bytes.TrimSpace(out)), "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no source in %s: %v", out, err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for family, option := range optionsOf(file) {
			used := family == "StatePull" // the library misnames the method, so that no option can be passed
			for method, options := range called {
				used = used || strings.HasPrefix(method, family) && options[option]
			}
			if !used {
				t.Errorf("no session uses the option %s of %s", option, family)
			}
		}
	}
}

// optionsOf returns the methods that make an exported type an option, by the type of the option.
func optionsOf(file *ast.File) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Recv == nil {
				continue
			}
			star, _ := f.Recv.List[0].Type.(*ast.StarExpr)
			family, isOption := strings.CutPrefix(f.Name.Name, "configure")
			if star == nil || !isOption {
				continue
			}
			if option := star.X.(*ast.Ident).Name; strings.HasSuffix(option, "Option") && !yield(family, option) {
				return
			}
		}
	}
}

// toldVersion matches the version of the language, or of the event stream, that programs report: ours is newer than the
// real program.
var toldVersion = regexp.MustCompile(`\b1\.(11\.4|15\.9)\b|VersionLogMessage info version 1\.[23]\b`)

// ofStore matches the block store of terraform_data if it is not set: the real program does not have it.
var ofStore = regexp.MustCompile(`\s*"store": ?(null|\{\}|false),?|,?"store":(null|\{\}|false)`)

// withoutVersion replaces that version by one word, and removes what the older program does not have.
func withoutVersion(transcript []string) []string {
	out := make([]string, len(transcript))
	for i, line := range transcript {
		line = strings.Replace(line, `"action_invocation":0,`, "", 1) // Terraform has it since 1.14
		out[i] = ofStore.ReplaceAllString(toldVersion.ReplaceAllString(line, "<version>"), "")
	}
	return out
}
