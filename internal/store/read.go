package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"slices"
	"time"

	"github.com/tombolo-iac/tombolo/internal/encryption"
	"github.com/tombolo-iac/tombolo/internal/regular"
	"github.com/tombolo-iac/tombolo/internal/store/journal"
	"github.com/tombolo-iac/tombolo/state"
)

// note is the beginning of a state file during a rewrite. It is not valid JSON.
const note = "#tombolo: this state is being rewritten. If no run is under way, run any tombolo command that locks " +
	"the state; it repairs the file.\n"

// content is the decoded content of a state file.
type content struct {
	hash   string // "" if there is no file
	size   int64
	noted  bool // it was being rewritten
	state  *state.State
	err    error // why it cannot be decoded
	info   Info
	serial uint64
	ours   []string // files beside it that this session created
	// outdated means that the state must be encrypted with a new key, or decrypted.
	outdated bool
}

// hashing reads a file of up to regular.State bytes sequentially, and computes the hash of what it has read.
type hashing struct {
	f    File
	name string
	off  int64
	sum  hash.Hash
	head []byte
}

// newHashing returns a hashing for an open file.
func newHashing(f File, name string) (*hashing, Info, error) {
	info, err := bounded(f, name, regular.State)
	return &hashing{f: f, name: name, sum: sha256.New()}, info, err
}

func (h *hashing) Read(b []byte) (int, error) {
	n, err := h.f.ReadAt(b, h.off)
	h.off += int64(n)
	if large := regular.Fits(h.name, h.off, regular.State); large != nil {
		return 0, large
	}
	h.sum.Write(b[:n])
	if need := len(note) - len(h.head); need > 0 {
		h.head = append(h.head, b[:min(n, need)]...)
	}
	if n > 0 && errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// readContent reads and decodes an open state file. It returns errors of the disk; errors in the content are in the
// result.
func (w *workspace) readContent(f File, name string) (*content, error) {
	in, info, err := newHashing(f, name)
	if err != nil {
		return nil, err
	}
	c := &content{info: info}
	var damage *state.DecodeError
	if w.o.Cipher == nil {
		if c.state, err = state.Read(in); err != nil && !errors.As(err, &damage) {
			return nil, err
		}
		c.err = err
	} else if err := c.open(in, w.o.Cipher); err != nil {
		return nil, err
	}
	if _, err := io.Copy(io.Discard, in); err != nil {
		return nil, err
	}
	c.size = in.off
	c.hash = hex.EncodeToString(in.sum.Sum(nil))
	c.noted = len(in.head) > 0 && in.head[0] == note[0]
	if c.state != nil {
		c.serial = c.state.Serial
		if isNothing(c.state) {
			c.state = nil
		}
	}
	return c, nil
}

// open reads and decodes a state that may be encrypted. The note of a rewrite and the placeholder of Lock are not
// encrypted.
func (c *content) open(in *hashing, cipher *encryption.Cipher) error {
	b, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	if len(b) > 0 && b[0] != note[0] && hashOf(b) != placeholderHash {
		if b, c.outdated, c.err = cipher.Open(context.Background(), b); c.err != nil {
			return nil
		}
	}
	c.state, c.err = state.Decode(b)
	return nil
}

// isNothing reports whether a content is the placeholder that Lock writes if there is no state: a valid, empty
// document.
func isNothing(s *state.State) bool {
	return s.Lineage == "" && s.Serial == 0 && s.IsEmpty() && len(s.Checks()) == 0
}

// readContentAt is like readContent for a file that may be missing.
func (w *workspace) readContentAt(name string) (*content, error) {
	f, err := w.o.Files.Open(name, os.O_RDONLY, 0)
	if isMissing(err) {
		return &content{}, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return w.readContent(f, name)
}

// rescueFiles returns the contents of the journal's rescue files.
func (w *workspace) rescueFiles(j *journal.Parsed) (all [][]byte, err error) {
	for _, path := range rescuePaths(j.Header.Rescue, w.p, j.Nonce) {
		b, err := ReadFile(w.o.Files, path, regular.State)
		if err != nil {
			return nil, err // the file may contain results
		}
		all = append(all, b)
	}
	return all, nil
}

// view is the combined content of a workspace's files.
type view struct {
	journal.Overlay
	content *content
	base    *state.State // the content of the state file, or its content after the repair
	mark    journal.Mark // the snapshot that the content is
	repair  bool         // the state file must be rewritten from the image
	blank   bool         // the state file has zero bytes, and no file shows that it ever had more
	foreign bool         // another program wrote the state after the journal began
}

// view applies a journal to a content of the state file; j is nil if there is no journal. The first matching row
// applies:
//
//	state file              without a journal  with one
//	nothing, zero bytes     no state; blank,   all results, if the journal began without a state
//	                        or damaged
//	being rewritten                            the image, which was being written
//	nothing, to be restored                    the image
//	not readable            damaged            damaged
//	a content of the journal                   the results recorded after that content
//	nothing                                    an error: the state is gone
//	any other               the state          the results that fit, because another program wrote the state
//
// "Nothing" means no file, or the placeholder that Lock creates.
func (w *workspace) view(c *content, j *journal.Parsed) (*view, error) {
	v := &view{content: c, base: c.state, Overlay: journal.Overlay{State: c.state}}
	if j == nil {
		return w.viewAlone(v)
	}
	gone := c.hash == "" || c.hash == placeholderHash // Lock creates a placeholder
	mark := j.MarkOf(c.hash)
	switch {
	case saysNothing(c.hash) && saysNothing(j.Header.Base):
		v.mark = j.Marks[0]
	case c.noted, gone && mark == nil && w.reinstating(j):
		image, err := w.readContentAt(w.p.image)
		if err != nil {
			return nil, err
		}
		if image.hash != j.LastMark().Hash || image.err != nil {
			return nil, w.damaged(c, j)
		}
		v.repair, v.mark, v.base = true, *j.LastMark(), image.state
	case c.err != nil:
		return nil, w.damaged(c, j)
	case mark != nil:
		v.mark = *mark
	case gone:
		return nil, fmt.Errorf("the state %s no longer exists, but its journal %s, which was started when it "+
			"existed, does. Restore the state (%s), or remove the journal if the state was removed on purpose",
			w.p.out, w.p.journal, w.newest(j))
	default:
		v.foreign, v.mark = true, j.LastDone()
	}
	return v.withJournal(w, j)
}

// viewAlone completes the view of a state file without a journal.
func (w *workspace) viewAlone(v *view) (*view, error) {
	if v.content.hash == emptyHash {
		beside, err := w.companion(v.content.ours)
		if err != nil {
			return nil, err
		}
		if v.blank = beside == ""; v.blank {
			return v, nil
		}
		return nil, w.damaged(v.content, nil)
	}
	if v.content.err != nil {
		return nil, w.damaged(v.content, nil)
	}
	return v, nil
}

// withJournal applies the journal to the content of the state file.
func (v *view) withJournal(w *workspace, j *journal.Parsed) (*view, error) {
	o, err := j.Lay(v.base, v.mark, v.foreign)
	if err != nil {
		return nil, fmt.Errorf("journal %s: %w", w.p.journal, err)
	}
	v.Overlay = *o
	return v, nil
}

// saysNothing reports whether a hash is that of a missing state file, or of one without content.
func saysNothing(hash string) bool {
	return hash == "" || hash == placeholderHash || hash == emptyHash
}

// reinstating reports whether a run was about to restore a removed state file.
func (w *workspace) reinstating(j *journal.Parsed) bool {
	last := j.LastMark()
	if last.Done {
		return false
	}
	image, err := w.readContentAt(w.p.image)
	return err == nil && image.hash == last.Hash && image.err == nil
}

// companion returns the name of a file which shows that the state file had more than zero bytes, or "". If the state
// file is only written and not read, leftovers of other programs do not count.
func (w *workspace) companion(ours []string) (string, error) {
	for _, name := range []string{w.p.journal, w.p.image, w.p.lockInfo, w.p.out + ".backup"} {
		if slices.Contains(ours, name) {
			continue
		}
		if _, err := w.o.Files.Stat(name); !isMissing(err) {
			return name, err
		}
	}
	return "", nil
}

func (w *workspace) blankName(blank bool) string {
	if !blank || w.p.in != w.p.out {
		return "" // an empty output file is a new one
	}
	return w.p.out
}

// damaged returns the error for an invalid state file. It names the newest intact copy.
func (w *workspace) damaged(c *content, j *journal.Parsed) error {
	err := c.err
	if c.noted {
		err = fmt.Errorf("a run was killed while it rewrote the file, and the new content %s is missing or damaged",
			w.p.image)
	}
	return fmt.Errorf("cannot read the state %s: %w. %s", w.p.out, err, w.newest(j))
}

// newest returns the name of the newest intact copy of the state, and how to restore it.
func (w *workspace) newest(j *journal.Parsed) string {
	best, from, useless := (*content)(nil), "", ""
	for _, name := range []string{w.p.image, w.p.backup} {
		if name == "" {
			continue
		}
		c, err := w.readContentAt(name)
		if err != nil || c.hash == "" || name == w.p.image && j != nil && j.MarkOf(c.hash) == nil {
			continue
		}
		if c.err != nil {
			useless = name
			continue
		}
		if best == nil || c.serial > best.serial {
			best, from = c, name
		}
	}
	switch {
	case best == nil && useless != "":
		return fmt.Sprintf("%s, the copy next to it, cannot be read either", useless)
	case best == nil:
		return "There is no backup next to it"
	}
	return fmt.Sprintf("The newest good copy is %s (serial %d, written %s); to restore it: cp %s %s",
		from, best.serial, best.info.ModTime.Format(time.RFC3339), from, w.p.out)
}

// Read tries again while a run writes: the state and its journal are two files, and only match if the journal contains
// the hash of the state.
const (
	readTries  = 60
	errorTries = 10
	errorTime  = 3 * time.Second // do not read damage in a large file ten times
	readPause  = 2 * time.Millisecond
)

// Read implements state.Workspace.
func (w *workspace) Read(ctx context.Context) (*state.Snapshot, error) {
	if w.nowhere != nil {
		return nil, fmt.Errorf("read the state: %w", w.nowhere)
	}
	r, begun := w.reading(), time.Now()
	for try := 0; ; try++ {
		snapshot, settled, err := r.readOnce()
		if settled || try == readTries || errors.Is(err, regular.ErrSize) ||
			err != nil && (try == errorTries || time.Since(begun) > errorTime) {
			return snapshot, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(readPause):
		}
	}
}

// reading returns the workspace to read from, if it differs from the one to write to.
func (w *workspace) reading() *workspace {
	if w.p.in == w.p.out {
		return w
	}
	return &workspace{name: w.name, o: w.o, p: pathsOf(w.p.in, w.p.in, "")}
}

// readOnce reads the state, then the journal. The result is settled if both certainly match, or if no run is writing.
func (w *workspace) readOnce() (s *state.Snapshot, settled bool, err error) {
	_, before := w.o.Files.Stat(w.p.journal)
	c, err := w.readContentAt(w.p.out)
	if err != nil {
		return nil, false, err
	}
	j, running, err := w.readJournal()
	if err != nil {
		return nil, false, err
	}
	v, err := w.view(c, j)
	if err != nil {
		return nil, false, err
	}
	s = v.snapshot()
	s.Blank = w.blankName(v.blank)
	if j != nil {
		if running {
			s.Running = &v.Run
		}
		return s, !running || !v.foreign, nil
	}
	// No run existed before and after; a run in between would have changed the file's metadata.
	after, statErr := w.o.Files.Stat(w.p.out)
	same := isMissing(statErr) && c.hash == "" ||
		statErr == nil && c.hash != "" && SameFile(after, c.info) && after.ModTime.Equal(c.info.ModTime) &&
			after.Size == c.size
	return s, isMissing(before) && same, nil
}

func (v *view) snapshot() *state.Snapshot {
	return &state.Snapshot{State: v.State, InFlight: v.InFlight, Unfolded: v.Unfolded}
}

// readJournal reads the current journal, or returns nil if there is none. running reports whether a process has it
// open.
func (w *workspace) readJournal() (j *journal.Parsed, running bool, err error) {
	f, err := w.o.Files.Open(w.p.journal, os.O_RDONLY, 0)
	if isMissing(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	running, lockErr := f.Locked()
	if lockErr != nil && !errors.Is(lockErr, ErrNoLocks) {
		return nil, false, lockErr
	}
	j, err = w.parse(f)
	if err == nil && lockErr != nil {
		running = atWork(&j.Header)
	}
	return j, running, err
}

// atWork reports whether the process that began the journal is still running. Without locks, that is all that can be
// determined. A later process with the same ID is recognized by its start time, if both are known.
func atWork(h *journal.Header) bool {
	if h.Host != hostName() || h.PID == os.Getpid() || !alive(h.PID) {
		return false
	}
	now := processStart(h.PID)
	return h.Began == "" || now == "" || now == h.Began
}

func (w *workspace) parse(f File) (*journal.Parsed, error) {
	b, err := readAll(f, w.p.journal, regular.State)
	if err != nil {
		return nil, err
	}
	j, err := journal.Parse(b, w.o.Cipher, w.rescueFiles)
	if err != nil {
		return nil, fmt.Errorf("the journal %s of an interrupted run cannot be read: %w. It was damaged after it was "+
			"written. Keep a copy of it. To discard its records, remove it",
			w.p.journal, err)
	}
	return j, nil
}
