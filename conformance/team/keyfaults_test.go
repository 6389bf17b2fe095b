//go:build unix

package team

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// outage is what happens to requests to a key service, or calls of a key program, from the first one until it is
// repaired.
type outage struct {
	first   int
	outcome string
}

// outageFates are all kinds of outages.
var outageFates = []string{"refuses", "is broken", "talks nonsense", "hangs up", "does not answer"}

// keyService is a source of keys that can have outages.
type keyService interface {
	begin(outage)
	// repair ends the outage. It returns whether it affected any request, and the total number of requests.
	repair() (noticed bool, requests int)
	// waits reports whether a request is waiting for a response that is never sent.
	waits() bool
}

// faultyService is a key service with outages.
type faultyService struct {
	http.Handler

	mu      sync.Mutex // guards the fields below
	now     outage
	n       int
	noticed bool
	waiting int
	over    chan struct{}
}

func (s *faultyService) begin(o outage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now, s.noticed, s.over = o, false, make(chan struct{})
}

func (s *faultyService) repair() (noticed bool, requests int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over != nil {
		close(s.over)
	}
	s.now, s.over = outage{}, nil
	return s.noticed, s.n
}

func (s *faultyService) waits() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting > 0
}

// ServeHTTP implements http.Handler.
func (s *faultyService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.n++
	outcome, over := "", s.over
	if s.now.first > 0 && s.n >= s.now.first {
		outcome, s.noticed = s.now.outcome, true
	}
	s.mu.Unlock()
	switch outcome {
	case "refuses":
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"__type":"DisabledException","message":"the key is disabled","errors":["the key is disabled"],`+
			`"error":{"code":"Forbidden","message":"the key is disabled"}}`)
	case "is broken":
		http.Error(w, "something went wrong", http.StatusInternalServerError)
	case "talks nonsense":
		fmt.Fprint(w, "<html>Welcome to this network</html>")
	case "hangs up":
		panic(http.ErrAbortHandler)
	case "does not answer":
		s.mu.Lock()
		s.waiting++
		s.mu.Unlock()
		select {
		case <-over:
		case <-r.Context().Done():
		}
		s.mu.Lock()
		s.waiting--
		s.mu.Unlock()
		panic(http.ErrAbortHandler)
	default:
		s.Handler.ServeHTTP(w, r)
	}
}

// faultyProgram is a key or method program with outages. It counts its calls in a file.
type faultyProgram struct {
	t   *testing.T
	dir string
}

// programFaults is the beginning of a program, which determines whether it fails.
const programFaults = `import os, sys, time
with open("calls", "a") as f:
    f.write("x")
first, _, fate = open("outage").read().partition(" ") if os.path.exists("outage") else ("0", "", "")
if 0 < int(first) <= os.path.getsize("calls"):
    open("noticed", "w").close()
    if fate == "does not answer":
        open("waits", "w").close()
        time.sleep(3600)
    if fate == "talks nonsense":
        print("Welcome to this network")
    if fate == "hangs up":
        os.kill(os.getpid(), 9)
    sys.exit("the key is disabled" if fate != "talks nonsense" else 0)
`

func (p faultyProgram) file(name, text string) {
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p faultyProgram) begin(o outage) { p.file("outage", fmt.Sprint(o.first, " ", o.outcome)) }

func (p faultyProgram) repair() (noticed bool, requests int) {
	noticed = p.waitsFor("noticed")
	for _, name := range []string{"outage", "noticed", "waits"} {
		os.Remove(filepath.Join(p.dir, name))
	}
	if info, err := os.Stat(filepath.Join(p.dir, "calls")); err == nil {
		requests = int(info.Size())
	}
	return noticed, requests
}

func (p faultyProgram) waits() bool { return p.waitsFor("waits") }

func (p faultyProgram) waitsFor(name string) bool {
	_, err := os.Stat(filepath.Join(p.dir, name))
	return err == nil
}

// keyFaultsConfiguration has objects that log outside of the state what was created and destroyed.
const keyFaultsConfiguration = `
variable "names" {
  type = set(string)
}
variable "value" {
  type = string
}
resource "terraform_data" "thing" {
  for_each = var.names
  input    = "${var.value} ${each.key}"
  provisioner "local-exec" {
    command = "echo ${self.id} >> made"
  }
  provisioner "local-exec" {
    when    = destroy
    command = "echo ${self.id} >> gone"
  }
}
`

const keyCanary = "8839214776"

// keyLife is a sequence of commands on a state whose keys are not available for a while.
type keyLife struct {
	*member
	seal    seal
	service keyService
}

// Keys are not available for a while, from one request on: before a command, during it, or between a plan and its
// apply. The command ends with an error that names the key provider, or uses the keys that it has; nothing is written
// in plain text, and nothing is overwritten. When the keys are available again, the state has all existing objects.
// TOMBOLO_TEAM_CLOUDS=1 tries each request of a sequence, otherwise one for each kind of keys is tried;
// TOMBOLO_TEAM_SEED selects the outages.
func TestKeysAreMissingForAWhile(t *testing.T) {
	seed, _ := strconv.ParseUint(os.Getenv("TOMBOLO_TEAM_SEED"), 10, 64)
	for i, s := range seals() {
		if s.name == "pbkdf2" || s.name == "chain" {
			continue // not a service, and another one's program
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			calm := newKeyLife(t, s)
			calm.live()
			_, n := calm.service.repair()
			if n < 4 {
				t.Fatalf("there were only %d requests for keys", n)
			}
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			firsts := []int{1 + r.IntN(n)}
			if os.Getenv("TOMBOLO_TEAM_CLOUDS") != "" {
				firsts = slices.Collect(func(yield func(int) bool) {
					for first := 1; first <= n && yield(first); first++ {
					}
				})
			}
			for _, first := range firsts {
				o := outage{first, outageFates[r.IntN(len(outageFates))]}
				t.Run(fmt.Sprint(first, " ", o.outcome), func(t *testing.T) {
					t.Parallel()
					l := newKeyLife(t, s)
					l.service.begin(o)
					l.live()
				})
			}
		})
	}
}

func newKeyLife(t *testing.T, s seal) *keyLife {
	t.Helper()
	l := &keyLife{member: &member{t: t, name: "tombolo", bin: ours, dir: t.TempDir()}, seal: s}
	var env []string
	if strings.Contains(s.blocks, "python3") {
		l.service = faultyProgram{t, l.dir}
		l.file("keys.py", programFaults+keyProgram)
		l.file("method.py", programFaults+methodProgram)
	} else {
		service := &faultyService{}
		env = keyServicesBehind(t, func(h http.Handler) http.Handler {
			service.Handler = h
			return service
		})
		l.service = service
	}
	l.touch("cli.tfrc")
	l.file("main.tf", keyFaultsConfiguration)
	l.env = append(place{env: env}.environ(l.dir), "TF_VAR_value="+keyCanary)
	l.with(s.settings() + "plan {\n  method = " + s.method + "\n}\n")
	return l
}

// live creates, replaces and removes objects, some of them with a saved plan.
func (l *keyLife) live() {
	for _, names := range []string{`["a","b"]`, `["b","c"]`, `["c"]`} {
		l.step("-var=names="+names, "apply", "-auto-approve", "-no-color", "-var=names="+names)
	}
	saved := `-var=names=["d","e"]`
	if l.step(saved, "plan", "-no-color", "-out=saved", saved) {
		l.step(saved, "apply", "-no-color", "saved")
	}
	l.step(saved, "state", "pull")
	l.step(`-var=names=[]`, "destroy", "-auto-approve", "-no-color", saved)
}

// step runs a command. If it fails because of the keys, the outage is repaired and the configuration applied.
func (l *keyLife) step(names string, args ...string) (well bool) {
	l.t.Helper()
	c := l.start(args...)
	ended := false
	waitFor(l.t, func() bool {
		select {
		case err := <-c.ended:
			ended, well = true, err == nil
		default:
		}
		return ended || l.service.waits()
	})
	if !ended { // it is interrupted
		_ = c.Process.Signal(syscall.SIGINT)
		c.endsSoon(l.t)
	}
	text := c.out.String()
	l.nothingIsPlain(args[0])
	noticed, _ := l.service.repair()
	if !well {
		if !noticed {
			l.t.Fatalf("%s failed with its keys:\n%s", args, text)
		}
		address := "key_provider." + strings.TrimPrefix(l.seal.mark, "key_provider.")
		if !strings.HasPrefix(l.seal.mark, "key_provider.") {
			address = l.seal.method
		}
		if ended && !strings.Contains(text, address) && !strings.Contains(text, l.seal.method) {
			l.t.Errorf("%s does not name %s:\n%s", args, address, text)
		}
		if strings.Contains(text, "panic") || strings.Contains(text, "goroutine ") {
			l.t.Errorf("%s says %s", args, text)
		}
		l.run("apply", "-auto-approve", "-no-color", names)
	}
	l.nothingIsLost(args[0])
	return well
}

// nothingIsPlain searches all files for plain text.
func (l *keyLife) nothingIsPlain(when string) {
	l.t.Helper()
	err := filepath.WalkDir(l.dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		for _, part := range append(unpacked(text), string(text)) {
			if strings.Contains(part, keyCanary) {
				l.t.Errorf("%s: %s has what is secret", when, name)
			}
		}
		return err
	})
	if err != nil {
		l.t.Error(err)
	}
}

// nothingIsLost compares the state with the existing objects.
func (l *keyLife) nothingIsLost(when string) {
	l.t.Helper()
	there := map[string]bool{}
	for _, id := range l.lines("made") {
		there[id] = true
	}
	for _, id := range l.lines("gone") {
		delete(there, id)
	}
	var s struct {
		Resources []struct {
			Instances []struct{ Attributes struct{ ID string } }
		}
	}
	if text := l.run("state", "pull"); text != "" {
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			l.t.Errorf("%s: %v in %s", when, err, text)
		}
	}
	known := map[string]bool{}
	for _, r := range s.Resources {
		for _, i := range r.Instances {
			known[i.Attributes.ID] = true
		}
	}
	if !maps.Equal(known, there) {
		l.t.Errorf("after %s the state knows %v, and there is %v", when, known, there)
	}
}

func (l *keyLife) lines(name string) []string {
	text, err := os.ReadFile(filepath.Join(l.dir, name))
	if err != nil {
		return nil
	}
	return strings.Fields(string(text))
}
