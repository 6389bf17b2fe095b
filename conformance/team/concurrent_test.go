//go:build unix

package team

import (
	"errors"
	"fmt"
	"maps"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/backend/backendtest"
	"github.com/tombolo-iac/tombolo/internal/store/httpstore/httpstoretest"
)

// generatedPlace is a place whose states a program stores: the one that "store new" generates.
func generatedPlace(t *testing.T) place {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("needs python3: the store is written in it")
	}
	dir := t.TempDir()
	if out, err := exec.Command(ours, "store", "new", "company", "-out",
		filepath.Join(dir, "company")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return programPlace(dir, python, filepath.Join(dir, "company", "store.py"))
}

// programPlace returns a place with states in a file of dir, stored by a program with the argument config.file.
func programPlace(dir string, words ...string) place {
	for i, word := range words {
		words[i] = strconv.Quote(word)
	}
	command := "[" + strings.Join(words, ", ") + "]"
	return place{block: "backend \"program\" {\n  command = " + command + "\n  config = { file = " +
		strconv.Quote(filepath.Join(dir, "states.db")) + " }\n}", initArgs: []string{
		"-backend-config=command=" + command}}
}

// served returns a place on a server.
func served(t *testing.T) place {
	s := httptest.NewServer(&httpstoretest.Server{})
	t.Cleanup(s.Close)
	return place{block: httpBlock(s.URL+"/s", s.URL+"/s", ""), noWorkspaces: true}
}

// Many concurrent applies, from ten machines, wait for each other, and each uses the results of the others: nothing is
// lost, and nothing is created twice. TOMBOLO_TEAM_APPLIES=n runs n of them.
func TestManyAppliesAtOnceLoseNothing(t *testing.T) {
	const machines = 10
	applies := 5
	if n, err := strconv.Atoi(os.Getenv("TOMBOLO_TEAM_APPLIES")); err == nil {
		applies = n
	}
	kinds := map[string]func(t *testing.T) place{
		"pg":      func(t *testing.T) place { return places(t)["pg 1"] },
		"s3":      func(t *testing.T) place { return places(t)["s3 1"] },
		"gcs":     func(t *testing.T) place { return places(t)["gcs 1"] },
		"http":    served,
		"program": generatedPlace,
	}
	usual := len(kinds)
	for _, kind := range backendtest.Kinds() {
		if kinds[kind] == nil {
			kinds[kind] = func(t *testing.T) place { inFull(t); return ofKind(t, kind) }
		}
	}
	kinds["remote"] = func(t *testing.T) place {
		inFull(t)
		return startTerraforms(t, annsToken).place(`backend "remote"`, `name = "one"`)
	}
	if len(kinds) == usual+1 {
		t.Error("no other kinds are known")
	}
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		t.Run(name, func(t *testing.T) {
			p := kinds[name](t)
			var crowd []*member
			for n := range min(machines, applies) {
				crowd = append(crowd, p.member(t, fmt.Sprint("machine ", n), ours))
			}
			var names []string
			for n := range applies {
				names = append(names, fmt.Sprintf("%q", fmt.Sprint("n", n)))
			}
			all := "-var=names=[" + strings.Join(names, ",") + "]"
			began := time.Now()
			errs := make([]error, applies)
			var wg sync.WaitGroup
			for n := range applies {
				wg.Go(func() {
					out, err := crowd[n%len(crowd)].try("apply", "-auto-approve", "-no-color", "-lock-timeout=20m", all,
						fmt.Sprintf("-target=terraform_data.thing[%s]", names[n]))
					if err == nil && !strings.Contains(out, "1 added, 0 changed, 0 destroyed") {
						err = errors.New("it did not add one object")
					}
					if err != nil {
						errs[n] = fmt.Errorf("apply %d: %w\n%s", n, err, out)
					}
				})
			}
			wg.Wait()
			if err := errors.Join(errs...); err != nil {
				t.Fatal(err)
			}
			t.Logf("%d applies took %s", applies, time.Since(began).Round(time.Millisecond))
			crowd[0].run("apply", "-auto-approve", "-no-color", all) // only the output
			crowd[1].idle(all)
			ids := crowd[2].ids()
			distinct := map[string]bool{}
			for _, id := range ids {
				distinct[id] = true
			}
			if len(distinct) != applies {
				t.Errorf("%d objects, want %d", len(distinct), applies)
			}
			if list := strings.Count(crowd[3].run("state", "list"), "\n"); list != applies {
				t.Errorf("the state has %d objects", list)
			}
		})
	}
}
