// Package world is a fake cloud for tests, and the provider `world` that manages objects in it.
//
// A World lives in a folder. Its only file is a ledger to which every request and every change is appended and synced
// before its result is returned; the ledger determines which objects exist. So a test can kill an engine at any moment
// and still know exactly what exists, and how many times each object was created. Many processes may use one world
// concurrently.
//
//	ledger    one line for each event: BEGIN, CREATED, UPDATED, DELETED or FAILED, then JSON
//
// The provider can be slow, fail, create objects partly and let objects drift, depending on a seed or on a directive of
// a single object:
//
//	provider "world" {
//	  dir       = "w"        # required, unless the factory was given one
//	  seed      = 7          # of the rates below
//	  delay     = "20ms"     # every change takes up to this long
//	  fail_rate = 0.1        # fraction of changes that fail before they take effect
//	  half_rate = 0.1        # fraction of creations that fail afterwards
//	}
//	ephemeral "world_lease" "l" {
//	  name  = "l"            # its token is opened
//	  renew = "1s"           # interval; fail = "open", "renew" or "close" makes that fail
//	}
//	resource "world_object" "a" {
//	  name   = "a"           # another name is another object
//	  value  = "x"
//	  behave = { delay = "1s", fail = "update:2,delete", half = "error", drift = "value", deaf = "yes" }
//	}
//
// Two more types, world_blocks and world_nested, contain every form of value that a schema can describe (shapes.go),
// and there are functions (functions.go).
//
// Changes take effect halfway through the delay: a process that is killed while it waits may or may not have made the
// change. No code here starts a goroutine.
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

// Kinds of events. Every change begins with Begin and ends with one of the others, unless the process was killed.
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
	// Mark distinguishes Begin events that are otherwise equal.
	Mark string `json:"mark,omitempty"`
	// Object is the object after a Created or Updated event.
	Object *Object `json:"object,omitempty"`
}

// Object is an object in the world. Nil maps and texts are null.
type Object struct {
	ID     string            `json:"id"`
	Name   string            `json:"name"`
	Value  *string           `json:"value,omitempty"`
	Size   string            `json:"size"` // a number in decimal
	Tags   map[string]string `json:"tags"`
	Secret *string           `json:"secret,omitempty"`
	// Password was set by a write-only attribute: the world stores it, the engine must not.
	Password string            `json:"password,omitempty"`
	Behave   map[string]string `json:"behave"`
	Revision int               `json:"revision"`
	Drifted  bool              `json:"drifted,omitempty"`
	// Token is the intent of its creation.
	Token string `json:"token,omitempty"`
	// Type and Body are the resource type and the value of a shaped object; both are empty for a world_object.
	Type string          `json:"type,omitempty"`
	Body json.RawMessage `json:"body,omitempty"`
}

// World is an open world. Its methods may be called concurrently.
type World struct {
	dir  string
	file *os.File

	mu     sync.Mutex // guards the fields below, which are computed from the ledger
	off    int64
	events []Event
	there  map[string]*Object
	begun  map[string]int // how often each "op name" was begun
	place  map[string]int // number of the try that a mark belongs to
}

// Open opens the world in a folder, which it creates if necessary.
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

// append durably appends an event. The line break comes first: the partial line of a killed writer is then a separate
// line, which is ignored.
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

// refresh applies the events that any process has appended since. It is called with mu held.
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

// look calls f with the current content of the world.
func (w *World) look(f func()) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.refresh(); err != nil {
		return err
	}
	f()
	return nil
}

// begin records the start of a change and returns how often it was tried for this name, including this try.
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

// Exists returns the existing objects, sorted by ID.
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

// Object returns the object with an ID, or nil if it does not exist.
func (w *World) Object(id string) (o *Object, err error) {
	err = w.look(func() {
		if there := w.there[id]; there != nil {
			c := *there
			o = &c
		}
	})
	return o, err
}

// Events returns all events in order.
func (w *World) Events() (all []Event, err error) {
	err = w.look(func() { all = slices.Clone(w.events) })
	return all, err
}

// Creations returns how many objects with a name were ever created.
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

// Remove removes an object outside of the engine.
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

// Change changes an object outside of the engine.
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

// Create creates an object outside of the engine.
func (w *World) Create(o Object) (Object, error) {
	try, err := w.begin("create", o.Name, "", "")
	if err != nil {
		return o, err
	}
	o.ID, o.Revision = fmt.Sprintf("%s-%d", o.Name, try), 1
	return o, w.append(Event{Kind: Created, Op: "outside", ID: o.ID, Name: o.Name, Object: &o})
}
