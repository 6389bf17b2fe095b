// Package world is a fake cloud for tests, and the provider `world` that manages objects in it.
//
// A World lives in a folder. Its only file is a ledger to which every request and every change is appended and synced
// before anyone hears of it; what exists is what the ledger says. So a test can kill an engine at any moment and still
// know exactly what exists, and how many times each thing was created. Many processes may use one world at once.
//
//	ledger    one line for each event: BEGIN, CREATED, UPDATED, DELETED or FAILED, then JSON
//
// The provider can be slow, fail, create by halves and let objects drift, by seed or by a directive of a single object:
//
//	provider "world" {
//	  dir       = "w"        # required, unless the factory was given one
//	  seed      = 7          # of the rates below
//	  delay     = "20ms"     # every change takes up to so long
//	  fail_rate = 0.1        # of all changes fail before they have an effect
//	  half_rate = 0.1        # of all creations fail after it
//	}
//	ephemeral "world_lease" "l" {
//	  name  = "l"            # its token is lent
//	  renew = "1s"           # every second; fail = "open", "renew" or "close" lets that fail
//	}
//	resource "world_object" "a" {
//	  name   = "a"           # another name is another object
//	  value  = "x"
//	  behave = { delay = "1s", fail = "update:2,delete", half = "error", drift = "value", deaf = "yes" }
//	}
//
// Two more types, world_blocks and world_nested, have every form of value that a schema can describe (shapes.go), and
// there are functions (functions.go).
//
// Changes take place half way through the delay: a process that is killed while it waits may or may not have made the
// change.
// Nothing here starts a goroutine.
package world

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// Kind is the kind of an event.
type Kind string

// The kinds of events. Every change begins with Begin and ends with one of the others, unless the process
// was killed.
const (
	Begin   Kind = "BEGIN"
	Created Kind = "CREATED"
	Updated Kind = "UPDATED"
	Deleted Kind = "DELETED"
	Failed  Kind = "FAILED"
)

// Event is one line of the ledger.
type Event struct {
	Kind Kind `json:"-"`
	// Op is create, update or delete, or outside for a change outside of the engine.
	Op   string `json:"op"`
	Name string `json:"name,omitempty"`
	ID   string `json:"id,omitempty"`
	// Token is the intent of the engine's operation.
	Token string `json:"token,omitempty"`
	PID   int    `json:"pid"`
	// Mark distinguishes begins that are alike otherwise.
	Mark string `json:"mark,omitempty"`
	// Object is the object after a Created or Updated.
	Object *Object `json:"object,omitempty"`
}

// Object is one thing in the world. Maps and texts that are nil are null.
type Object struct {
	ID     string            `json:"id"`
	Name   string            `json:"name"`
	Value  *string           `json:"value,omitempty"`
	Size   string            `json:"size"` // a number in decimal
	Tags   map[string]string `json:"tags"`
	Secret *string           `json:"secret,omitempty"`
	// Password was given in a write-only attribute: the world keeps it, the engine must not.
	Password string            `json:"password,omitempty"`
	Behave   map[string]string `json:"behave"`
	Revision int               `json:"revision"`
	Drifted  bool              `json:"drifted,omitempty"`
	// Token is the intent that created it.
	Token string `json:"token,omitempty"`
	// Type and Body are the resource type and the value of a shaped object; empty for a world_object.
	Type string          `json:"type,omitempty"`
	Body json.RawMessage `json:"body,omitempty"`
}

// World is an open world. Methods may be called concurrently.
type World struct {
	dir  string
	file *os.File

	mu     sync.Mutex // guards what follows, which is folded from the ledger
	off    int64
	events []Event
	there  map[string]*Object
	begun  map[string]int // how often each "op name" was begun
	place  map[string]int // which of these a mark is
}

// Open opens the world of a folder, which is created if necessary.
func Open(dir string) (*World, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("open world: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "ledger"), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open world: %w", err)
	}
	return &World{dir: dir, file: f, there: map[string]*Object{}, begun: map[string]int{}, place: map[string]int{}}, nil
}

// Close closes the ledger.
func (w *World) Close() error { return w.file.Close() }

// append writes an event and makes it durable. The line break comes first: the partial line of a killed writer is then
// its own line, which is ignored.
func (w *World) append(e Event) error {
	e.PID = os.Getpid()
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if _, err := w.file.Write(slices.Concat([]byte("\n"), []byte(e.Kind), []byte(" "), b)); err != nil {
		return fmt.Errorf("write the world's ledger: %w", err)
	}
	if err := w.file.Sync(); err != nil {
		return fmt.Errorf("write the world's ledger: %w", err)
	}
	return nil
}

// refresh folds what was appended since, by anyone. Called with mu held.
func (w *World) refresh() error {
	b, err := io.ReadAll(io.NewSectionReader(w.file, w.off, 1<<40))
	if err != nil {
		return fmt.Errorf("read the world's ledger: %w", err)
	}
	for len(b) > 0 {
		line, rest, more := bytes.Cut(b, []byte("\n"))
		e, ok := parse(line)
		if !ok && !more && len(line) > 0 {
			return nil // perhaps still being written
		}
		if ok {
			w.fold(e)
		}
		w.off += int64(len(b) - len(rest))
		b = rest
	}
	return nil
}

func parse(line []byte) (e Event, ok bool) {
	kind, rest, ok := bytes.Cut(line, []byte(" "))
	if !ok || json.Unmarshal(rest, &e) != nil {
		return e, false
	}
	e.Kind = Kind(kind)
	return e, true
}

func (w *World) fold(e Event) {
	w.events = append(w.events, e)
	switch e.Kind {
	case Begin:
		key := e.Op + " " + e.Name
		w.begun[key]++
		w.place[e.Mark] = w.begun[key]
	case Created, Updated:
		w.there[e.Object.ID] = e.Object
	case Deleted:
		delete(w.there, e.ID)
	}
}

// look calls f with the present of the world.
func (w *World) look(f func()) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.refresh(); err != nil {
		return err
	}
	f()
	return nil
}

// begin announces a change and tells how many times this was tried for this name, including now.
func (w *World) begin(op, name, id, token string) (try int, err error) {
	var b [8]byte
	_, _ = rand.Read(b[:])
	mark := hex.EncodeToString(b[:])
	if err := w.append(Event{Kind: Begin, Op: op, Name: name, ID: id, Token: token, Mark: mark}); err != nil {
		return 0, err
	}
	err = w.look(func() { try = w.place[mark] })
	return try, err
}

// Exists lists what exists, by id.
func (w *World) Exists() ([]Object, error) {
	var out []Object
	err := w.look(func() {
		for _, o := range w.there {
			out = append(out, *o)
		}
	})
	slices.SortFunc(out, func(a, b Object) int { return cmp.Compare(a.ID, b.ID) })
	return out, err
}

// Object finds an object by its id, or nil if there is none.
func (w *World) Object(id string) (o *Object, err error) {
	err = w.look(func() {
		if there := w.there[id]; there != nil {
			c := *there
			o = &c
		}
	})
	return o, err
}

// Events lists everything that ever happened, in order.
func (w *World) Events() (all []Event, err error) {
	err = w.look(func() { all = slices.Clone(w.events) })
	return all, err
}

// Creations returns how many objects of a name were ever created.
func (w *World) Creations(name string) (n int, err error) {
	err = w.look(func() {
		for _, e := range w.events {
			if e.Kind == Created && e.Name == name {
				n++
			}
		}
	})
	return n, err
}

// Remove removes an object behind the engine's back.
func (w *World) Remove(id string) error {
	o, err := w.Object(id)
	if err != nil {
		return err
	}
	if o == nil {
		return fmt.Errorf("the world has no object %q", id)
	}
	return w.append(Event{Kind: Deleted, Op: "outside", ID: id, Name: o.Name})
}

// Change changes an object behind the engine's back.
func (w *World) Change(id string, change func(*Object)) error {
	o, err := w.Object(id)
	if err != nil {
		return err
	}
	if o == nil {
		return fmt.Errorf("the world has no object %q", id)
	}
	change(o)
	o.Revision++
	return w.append(Event{Kind: Updated, Op: "outside", ID: id, Name: o.Name, Object: o})
}

// Create creates an object behind the engine's back.
func (w *World) Create(o Object) (Object, error) {
	try, err := w.begin("create", o.Name, "", "")
	if err != nil {
		return o, err
	}
	o.ID, o.Revision = fmt.Sprintf("%s-%d", o.Name, try), 1
	return o, w.append(Event{Kind: Created, Op: "outside", ID: o.ID, Name: o.Name, Object: &o})
}
