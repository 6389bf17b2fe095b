//go:build unix

package crash

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/encryption/encryptiontest"
	"github.com/tombolo-iac/tombolo/internal/pgtest"
	"github.com/tombolo-iac/tombolo/internal/program/starter"
	"github.com/tombolo-iac/tombolo/internal/store/azure"
	"github.com/tombolo-iac/tombolo/internal/store/azure/azuretest"
	"github.com/tombolo-iac/tombolo/internal/store/consul"
	consulserver "github.com/tombolo-iac/tombolo/internal/store/consul/server"
	"github.com/tombolo-iac/tombolo/internal/store/gcs"
	googleserver "github.com/tombolo-iac/tombolo/internal/store/gcs/server"
	httpstore "github.com/tombolo-iac/tombolo/internal/store/http"
	"github.com/tombolo-iac/tombolo/internal/store/http/server"
	"github.com/tombolo-iac/tombolo/internal/store/kubernetes"
	clusterserver "github.com/tombolo-iac/tombolo/internal/store/kubernetes/server"
	"github.com/tombolo-iac/tombolo/internal/store/pg"
	"github.com/tombolo-iac/tombolo/internal/store/program"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/s3"
	"github.com/tombolo-iac/tombolo/state"
)

// Shared is where a job keeps its state when that is not a file: a service, and a place of its own there.
type Shared struct{ Kind, Address, Name string }

var (
	driversMu sync.Mutex
	drivers   = map[Shared]remote.Driver{}
)

// driver connects to the service, once a process.
func (s Shared) driver() remote.Driver {
	driversMu.Lock()
	defer driversMu.Unlock()
	if drivers[s] != nil {
		return drivers[s]
	}
	kind, config := pg.Kind(), map[string]cty.Value{}
	switch s.Kind {
	case "s3":
		kind = s3.Kind()
	case "program":
		kind = program.Kind()
	case "gcs":
		kind = gcs.Kind()
	case "http":
		kind = httpstore.Kind()
	case "consul":
		kind = consul.Kind()
	case "kubernetes":
		kind = kubernetes.Kind()
	case "azurerm":
		kind = azure.Kind()
	}
	for name, a := range kind.Schema.Attributes {
		config[name] = cty.NullVal(a.ImpliedType())
	}
	switch s.Kind {
	case "s3":
		config["bucket"], config["key"] = cty.StringVal("b"), cty.StringVal(s.Name)
		config["region"], config["use_lockfile"] = cty.StringVal("eu-central-1"), cty.True
		config["access_key"], config["secret_key"] = cty.StringVal("key"), cty.StringVal("secret")
		config["use_path_style"], config["skip_metadata_api_check"] = cty.True, cty.True
		config["skip_credentials_validation"], config["skip_requesting_account_id"] = cty.True, cty.True
		endpoints := map[string]cty.Value{}
		for name := range kind.Schema.Attributes["endpoints"].ImpliedType().AttributeTypes() {
			endpoints[name] = cty.NullVal(cty.String)
		}
		endpoints["s3"] = cty.StringVal(s.Address)
		config["endpoints"] = cty.ObjectVal(endpoints)
	case "gcs":
		config["bucket"], config["prefix"] = cty.StringVal("states"), cty.StringVal(s.Name)
		config["access_token"] = cty.StringVal("token")
		config["storage_custom_endpoint"] = cty.StringVal(s.Address + "/storage/v1/")
	case "azurerm":
		config["storage_account_name"] = cty.StringVal(azuretest.Account)
		config["access_key"] = cty.StringVal(azuretest.Key)
		config["container_name"], config["key"] = cty.StringVal(azuretest.Container), cty.StringVal(s.Name)
	case "consul":
		config["address"], config["path"] = cty.StringVal(s.Address), cty.StringVal("states/"+s.Name)
	case "kubernetes":
		config["host"], config["token"] = cty.StringVal(s.Address), cty.StringVal("token")
		name := strings.ReplaceAll(s.Name, "_", "-") + "-state" // not a number at its end
		config["secret_suffix"] = cty.StringVal(name)
	case "program":
		config["command"] = cty.ListVal([]cty.Value{cty.StringVal("python3"),
			cty.StringVal(filepath.Join(s.Address, "store.py"))})
		config["config"] = cty.MapVal(map[string]cty.Value{"file": cty.StringVal(filepath.Join(s.Address, s.Name))})
	case "http":
		for _, name := range []string{"address", "lock_address", "unlock_address"} {
			config[name] = cty.StringVal(s.Address + "/" + s.Name)
		}
	default:
		config["conn_str"], config["schema_name"] = cty.StringVal(s.Address), cty.StringVal(s.Name)
	}
	d, diags := kind.Open(context.Background(), cty.ObjectVal(config), remote.Surroundings{})
	if diags.HasErrors() {
		panic(diags.Err())
	}
	drivers[s] = d
	return d
}

// close ends the connections to the place.
func (s Shared) close() {
	driversMu.Lock()
	defer driversMu.Unlock()
	if d := drivers[s]; d != nil {
		delete(drivers, s)
		_ = d.Close() // nothing is left to be written
	}
}

// store is the store over the service, with a folder of rescue.
func (s Shared) store(rescue string) state.Store {
	return remote.New(remote.Options{Driver: s.driver(), Rescue: []string{rescue},
		Journals: filepath.Dir(rescue), Beat: time.Second, Cipher: encryptiontest.Asked()})
}

// buckets starts a server of buckets.
func buckets(t *testing.T) string {
	t.Helper()
	objects := s3mem.New()
	if err := objects.CreateBucket("b"); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(gofakes3.New(objects).Server())
	t.Cleanup(server.Close)
	return server.URL
}

// storeProgram writes the program that keeps states with which people begin one, into a folder for the states, too.
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

// moveAway puts an empty folder in the place of the project's, as when the next run is on another machine.
func (r *room) moveAway() {
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

// freed breaks the lock of a process that is dead, as a person would. A database frees it by itself, soon.
func (r *room) freed() {
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
// working directory is gone too, unless it has the journal. TOMBOLO_CRASH_KILLS=n asks for n of them for each service.
func TestKilledWithASharedState(t *testing.T) {
	t.Parallel()
	kills := 4
	switch {
	case full:
		kills = 100
	case testing.Short():
		kills = 2
	}
	if n, err := strconv.Atoi(os.Getenv("TOMBOLO_CRASH_KILLS")); err == nil {
		kills = n
	}
	t.Run("pg", func(t *testing.T) { killShared(t, Shared{Kind: "pg", Address: pgtest.Database(t)}, kills) })
	t.Run("http", func(t *testing.T) {
		service := httptest.NewServer(&server.Server{})
		t.Cleanup(service.Close)
		killShared(t, Shared{Kind: "http", Address: service.URL}, kills)
	})
	t.Run("s3", func(t *testing.T) { killShared(t, Shared{Kind: "s3", Address: buckets(t)}, kills) })
	t.Run("gcs", func(t *testing.T) {
		service := httptest.NewServer(googleserver.New("states"))
		t.Cleanup(service.Close)
		killShared(t, Shared{Kind: "gcs", Address: service.URL}, (kills+1)/2)
	})
	t.Run("consul", func(t *testing.T) {
		c := &consulserver.Server{}
		service := httptest.NewServer(c)
		t.Cleanup(func() {
			c.Close() // ends who waits for a key
			service.CloseClientConnections()
			service.Close()
		})
		killShared(t, Shared{Kind: "consul", Address: strings.TrimPrefix(service.URL, "http://")}, (kills+1)/2)
	})
	t.Run("kubernetes", func(t *testing.T) {
		service := httptest.NewServer(&clusterserver.Server{Token: "token"})
		t.Cleanup(service.Close)
		killShared(t, Shared{Kind: "kubernetes", Address: service.URL}, (kills+1)/2)
	})
	t.Run("azurerm", func(t *testing.T) {
		cloud := azuretest.Cloud{Blobs: &azuretest.Blobs{}}
		// Everything of this process and its children that speaks HTTPS goes through the proxy: nothing else does here.
		for _, variable := range cloud.Start(t) {
			name, value, _ := strings.Cut(variable, "=")
			if err := os.Setenv(name, value); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.Unsetenv(name) })
		}
		killShared(t, Shared{Kind: "azurerm", Address: azuretest.Account}, (kills+1)/2)
	})
	t.Run("program", func(t *testing.T) {
		killShared(t, Shared{Kind: "program", Address: storeProgram(t)}, (kills+1)/2) // it starts an interpreter
	})
}

func killShared(t *testing.T, at Shared, kills int) {
	first, _ := crowd(true, "0s")
	second, expected := crowd(false, "30ms")
	quick, _ := crowd(false, "0s")
	random := rand.New(rand.NewSource(seed))
	place := func(t *testing.T, n string, before bool) *room {
		at.Name = "place_" + n
		there := at
		t.Cleanup(there.close)
		r := newSharedRoom(t, first, there)
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
			if i%2 == 0 && at.Kind != "http" { // its journal stands in that directory
				r.moveAway()
			}
			r.freed()
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
