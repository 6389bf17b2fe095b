//go:build unix

package crash

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/backend/backendtest"
	"github.com/tombolo-iac/tombolo/internal/encryption/encryptiontest"
	"github.com/tombolo-iac/tombolo/internal/pgtest"
	"github.com/tombolo-iac/tombolo/internal/program/starter"
	"github.com/tombolo-iac/tombolo/internal/store/pg"
	"github.com/tombolo-iac/tombolo/internal/store/program"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/state"
)

// Shared is the location of a job's state if that is not a file: a service, and its own place there.
type Shared struct{ Kind, Address, Name string }

var (
	driversMu sync.Mutex
	drivers   = map[Shared]remote.Driver{}
)

// driver connects to the service, once per process.
func (s Shared) driver() remote.Driver {
	driversMu.Lock()
	defer driversMu.Unlock()
	if drivers[s] != nil {
		return drivers[s]
	}
	d, err := s.open()
	if err != nil {
		panic(err)
	}
	drivers[s] = d
	return d
}

// open connects to the service.
func (s Shared) open() (remote.Driver, error) {
	kind, config := pg.Kind(), map[string]cty.Value{}
	switch s.Kind {
	case "program":
		kind = program.Kind()
	case "pg":
	default:
		return backendtest.Driver(context.Background(), s.Kind, s.Address, s.Name)
	}
	for name, a := range kind.Schema.Attributes {
		config[name] = cty.NullVal(a.ImpliedType())
	}
	if s.Kind == "program" {
		config["command"] = cty.ListVal([]cty.Value{cty.StringVal("python3"),
			cty.StringVal(filepath.Join(s.Address, "store.py"))})
		config["config"] = cty.MapVal(map[string]cty.Value{"file": cty.StringVal(filepath.Join(s.Address, s.Name))})
	} else {
		config["conn_str"], config["schema_name"] = cty.StringVal(s.Address), cty.StringVal(s.Name)
	}
	d, diags := kind.Open(context.Background(), cty.ObjectVal(config), remote.Surroundings{})
	return d, diags.Err()
}

// close closes the connections for the location.
func (s Shared) close() {
	driversMu.Lock()
	defer driversMu.Unlock()
	if d := drivers[s]; d != nil {
		delete(drivers, s)
		_ = d.Close() // nothing is left to be written
	}
}

// store returns the store on the service, with a rescue folder.
func (s Shared) store(rescue string) state.Store {
	return remote.New(remote.Options{Driver: s.driver(), Rescue: []string{rescue},
		Journals: filepath.Dir(rescue), Beat: time.Second, Cipher: encryptiontest.Asked()})
}

// storeProgram writes the example program for state programs to a folder, which also contains its states.
func storeProgram(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("needs python3 for the program")
	}
	dir := t.TempDir()
	for name, text := range starter.Store("python", "crash") {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// moveAway replaces the project's folder with an empty one, as if the next run were on another machine.
func (r *testProject) moveAway() {
	r.t.Helper()
	config, err := os.ReadFile(filepath.Join(r.job.Dir, "main.tf"))
	if err == nil {
		err = os.RemoveAll(r.job.Dir)
	}
	if err == nil {
		err = os.MkdirAll(r.job.Dir, 0o755)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	r.configure(string(config))
}

// unlockByHand releases the lock of a dead process, as a person does. A database releases it by itself after a moment.
func (r *testProject) unlockByHand() {
	r.t.Helper()
	ws, err := r.job.store(nil).Workspace(state.DefaultWorkspace)
	if err != nil {
		r.t.Fatal(err)
	}
	for range 3000 {
		session, err := ws.Lock(r.t.Context(), state.LockRequest{})
		if err == nil {
			if err := session.Unlock(); err != nil {
				r.t.Fatal(err)
			}
			return
		}
		var locked *state.LockedError
		if !errors.As(err, &locked) {
			r.t.Fatalf("the state cannot be locked: %v", err)
		}
		if r.job.Shared.Kind != "pg" && locked.Info != nil {
			if err := ws.ForceUnlock(r.t.Context(), locked.Info.ID); err != nil {
				r.t.Fatal(err)
			}
			continue
		}
		time.Sleep(20 * time.Millisecond)
	}
	r.t.Fatal("the lock of a dead process is not given back")
}

// TestKilledWithASharedState kills applies and destroys whose state is kept by a service; after half of them the
// working directory is lost as well, unless it contains the journal. TOMBOLO_CRASH_KILLS=n sets the number of kills for
// each service.
func TestKilledWithASharedState(t *testing.T) {
	t.Parallel()
	kills := 2
	switch {
	case full:
		kills = 100
	case testing.Short():
		kills = 1
	}
	if n, err := strconv.Atoi(os.Getenv("TOMBOLO_CRASH_KILLS")); err == nil {
		kills = n
	}
	t.Run("pg", func(t *testing.T) { killShared(t, Shared{Kind: "pg", Address: pgtest.Database(t)}, kills) })
	for _, kind := range backendtest.Kinds() {
		t.Run(kind, func(t *testing.T) {
			n := (kills + 1) / 2
			if kind == "http" || kind == "s3" {
				n = kills
			}
			killShared(t, Shared{Kind: kind, Address: backendtest.Start(t, kind).Block}, n)
		})
	}
	t.Run("program", func(t *testing.T) {
		killShared(t, Shared{Kind: "program", Address: storeProgram(t)}, (kills+1)/2) // it starts an interpreter
	})
}

func killShared(t *testing.T, at Shared, kills int) {
	first, _ := crowd(true, "0s")
	second, expected := crowd(false, "30ms")
	quick, _ := crowd(false, "0s")
	random := rand.New(rand.NewSource(seed))
	place := func(t *testing.T, n string, before bool) *testProject {
		at.Name = "place" + n + "x"
		there := at
		t.Cleanup(there.close)
		r := newSharedProject(t, first, there)
		if before {
			r.noErrors(r.job.do(t.Context(), nil))
			r.mark()
		}
		r.configure(second)
		return r
	}
	trial := place(t, "trial", true)
	started := time.Now()
	if killed(t, trial.job.command()) {
		t.Fatal("killed by somebody else")
	}
	length := time.Since(started)
	hit, inFlight := 0, 0
	for i := range kills {
		moment := time.Duration(random.Float64() * float64(length))
		t.Run(fmt.Sprintf("%d after %s", i, moment.Round(time.Millisecond)), func(t *testing.T) {
			before := i%3 != 0
			r := place(t, strconv.Itoa(i), before)
			stop := r.reader()
			j := r.job
			j.Destroy = i%4 == 1 && before
			if killedAfter(t, j.command(), moment) {
				hit++
			}
			stop()
			inFlight += len(r.read().InFlight)
			if i%2 == 0 && at.Kind != "http" { // its journal is in that directory
				r.moveAway()
			}
			r.unlockByHand()
			r.configure(quick)
			if j.Destroy {
				r.afterDestroy()
			} else {
				r.aftermath(expected)
			}
		})
	}
	t.Logf("%s: a run takes %s; killed %d of %d times with %d operations in flight", at.Kind,
		length.Round(time.Millisecond), hit, kills, inFlight)
}
