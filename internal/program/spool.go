package program

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tombolo-iac/tombolo/internal/regex"
	"github.com/tombolo-iac/tombolo/internal/regular"
)

// Spool is where the answer of a program survives the death of this process. The program's outputs are files then,
// its input is one without a name, and it is in its own session: when we are killed it ends its work as if nothing
// had happened. It holds a lock on its answer, by which its end is told.
//
// A folder STATE.answers, and what is in it, belongs to those who may use the file STATE: one of them may have to
// continue where another's run was killed. The caller that has stored the answer elsewhere calls
// RemoveSpooled.
//
// With a Sealing, the answer and the record are encrypted, and no message or input is in a file.
//
// The folder is in a project, whose files may be hostile: it must be a folder, not a link to one, and only regular
// files with names that this package gives are read, written or removed.
type Spool struct {
	Dir   string // made when it is missing; empty: no spool
	Token string // names the call
	// Record is kept beside the answer, for the run that finds it.
	Record []byte
	// Sealing encrypts; nil leaves all plain.
	Sealing *Sealing
}

// Spooled is the recovered answer of a call.
type Spooled struct {
	Record []byte
	// Stdout is the output up to the limit.
	Stdout []byte
	// Known means that the program was seen to end, with ExitCode.
	Known    bool
	ExitCode int
	// Refused is the verdict on an output that is no answer, as Run gives it: *LimitError or *FullError. It is stored
	// beside the answer, so that a later run decides as the waiting one.
	Refused error
}

// SpoolError means that the place of answers is not a folder of ours.
type SpoolError struct {
	Dir string
	Is  string // such as "a symbolic link"
}

const exchanged = "a file that was replaced while it was opened"

func (e *SpoolError) Error() string {
	return fmt.Sprintf("%s is %s, not a folder. Answers of programs are stored there, so it was neither read nor "+
		"removed. Find out what created it, and remove it", e.Dir, e.Is)
}

// FullError means that the disk was full when the program answered, so that its answer is not whole; or that the
// process that encrypts the answer was ended.
type FullError struct{ Ended bool }

func (e *FullError) Error() string {
	if e.Ended {
		return "the process that encrypts its answer was killed, so the answer is lost"
	}
	return "the disk was full when the program wrote its answer, so the answer is truncated: free some space"
}

// look is how often the output of a running program is checked.
const look = 40 * time.Millisecond

const (
	spoolOut     = ".out"
	spoolErr     = ".err"
	spoolRecord  = ".record"
	spoolStatus  = ".status"
	spoolProcess = ".process"
	spoolKey     = ".key" // of a sealed answer
)

var spoolKinds = []string{spoolOut, spoolErr, spoolRecord, spoolStatus, spoolProcess, spoolKey}

// spoolName is how our files are named: a call's, and the input of a program until its name is gone.
var spoolName = regex.Lazy(`^(?:[A-Za-z0-9-]+\.[A-Za-z0-9-]+\.(?:out|err|record|status|process|key)|in-[0-9]+)$`)

// verdict is the stored exit status of a program.
type verdict struct {
	Exit int  `json:"exit"`
	Over int  `json:"over,omitempty"` // the limit that the output is beyond
	Full bool `json:"full,omitempty"` // the disk was full
	Lost bool `json:"lost,omitempty"` // the process that encrypts was ended
}

func verdictOn(exit int, failure error) verdict {
	v := verdict{Exit: exit}
	var limit *LimitError
	var full *FullError
	if errors.As(failure, &limit) {
		v.Over = limit.Limit
	}
	if errors.As(failure, &full) {
		v.Full, v.Lost = !full.Ended, full.Ended
	}
	return v
}

// refused returns the error that the verdict was made of.
func (v verdict) refused() error {
	switch {
	case v.Over > 0:
		return &LimitError{Limit: v.Over}
	case v.Full, v.Lost:
		return &FullError{Ended: v.Lost}
	}
	return nil
}

// file names a file of a call in its folder. Tokens have slashes.
func (s Spool) file(kind string) string { return strings.ReplaceAll(s.Token, "/", ".") + kind }

// openSpool opens the folder of answers. The error wraps fs.ErrNotExist if there is none.
func openSpool(dir string) (*os.Root, error) {
	info, err := os.Lstat(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		is := "a file"
		if info.Mode()&fs.ModeSymlink != 0 {
			is = "a symbolic link"
		}
		return nil, &SpoolError{Dir: dir, Is: is}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	if opened, err := root.Stat("."); err != nil || !os.SameFile(info, opened) {
		root.Close()
		return nil, &SpoolError{Dir: dir, Is: exchanged}
	}
	return root, nil
}

// makeDir opens the folder of answers, and creates it if necessary.
func (s Spool) makeDir() (*os.Root, error) {
	err := os.MkdirAll(filepath.Dir(s.Dir), 0o700)
	if err == nil {
		err = os.Mkdir(s.Dir, 0o700)
	}
	made := err == nil
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	root, err := openSpool(s.Dir)
	if err != nil || !made {
		return root, err
	}
	dir, err := root.Open(".")
	if err == nil {
		err = errors.Join(s.share(dir), dir.Close())
	}
	if err != nil {
		root.Close()
		return nil, err
	}
	return root, nil
}

// share lets those who may use the state use the answers. Without a state they stay with the user.
func (s Spool) share(f *os.File) error {
	owner, ok := strings.CutSuffix(filepath.Clean(s.Dir), ".answers")
	if !ok {
		return nil
	}
	like, err := os.Lstat(owner)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !like.Mode().IsRegular() {
		return nil
	}
	if err != nil {
		return err
	}
	return regular.Share(f, like)
}

// ours opens a file of a call, but no link, pipe or anything else.
func ours(root *os.Root, name string) (*os.File, error) {
	info, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: filepath.Join(root.Name(), name), Err: regular.ErrKind}
	}
	f, err := regular.OpenIn(root, name)
	if err != nil {
		return nil, err
	}
	if opened, err := f.Stat(); err != nil || !os.SameFile(info, opened) {
		f.Close()
		return nil, &fs.PathError{Op: "open", Path: filepath.Join(root.Name(), name), Err: regular.ErrKind}
	}
	return f, nil
}

// upTo reads a file of a call up to a limit.
func upTo(root *os.Root, name string, limit int) ([]byte, error) {
	f, err := ours(root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, int64(limit)))
}

// AwaitSpooled returns what is there of a call once its program has ended; nil when nothing is. While it waits it tells
// once which processes it waits for, as far as that is known. A program that is beyond the limit of an answer is ended.
//
// The program has ended when nobody holds its answer any more; when its own process is gone, whatever it left behind,
// and the answer is whole; or when that process is gone for as long as a run would wait for the rest.
func AwaitSpooled(ctx context.Context, s Spool, tell func(pids []int)) (*Spooled, error) {
	root, err := openSpool(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	w, told, freed := awaited{Spool: s, root: root}, false, int64(0)
	if _, err := root.Lstat(s.file(spoolOut)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if w.key, err = s.key(root); err != nil {
		return nil, err
	}
	for {
		found, err := w.look()
		if found != nil || err != nil {
			return found, err
		}
		out, err := ours(root, s.file(spoolOut))
		if err != nil { // it was removed: there is nothing to wait for
			return nil, nil
		}
		if size, holders := lengthOf(out), w.holders(out); w.key == nil && size > defaultMaxStdout {
			end(holders)
		} else if !told && w.gone.IsZero() {
			told = true
			tell(holders)
		}
		out.Close()
		freed = s.freeMessages(root, freed)
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(2 * look):
		}
	}
}

// awaited is a call of another run.
type awaited struct {
	Spool
	root *os.Root
	key  []byte    // of the answer; nil if it is plain
	gone time.Time // since when its process is known to be
}

// freeMessages frees the disk space of the unread standard error of a program that outlived its run, and returns the
// offset up to which it has done so.
func (s Spool) freeMessages(root *os.Root, freed int64) int64 {
	f, err := ours(root, s.file(spoolErr))
	if err != nil {
		return freed
	}
	size := lengthOf(f)
	f.Close()
	if size-freed <= roundSize {
		return freed
	}
	if f, err = root.OpenFile(s.file(spoolErr), os.O_WRONLY, 0); err == nil {
		freeBefore(f, size)
		f.Close()
	}
	return size
}

// look reads the files of a call. Both results are nil while its program runs, and if there are none.
func (w *awaited) look() (*Spooled, error) {
	out, err := ours(w.root, w.file(spoolOut))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer out.Close()
	held, err := lockedFile(out)
	if err != nil {
		return nil, err
	}
	found := &Spooled{}
	if text, err := upTo(w.root, w.file(spoolStatus), 4<<10); err == nil {
		var v verdict
		if found.Known = json.Unmarshal(text, &v) == nil; found.Known {
			found.ExitCode, found.Refused = v.Exit, v.refused()
		}
	}
	size := lengthOf(out)
	dead := false
	if held && !found.Known { // with a status it is something that the program left behind
		if dead = w.process(w.root).ended(); !dead || w.key == nil && size > defaultMaxStdout {
			return nil, nil
		}
	}
	if found.Stdout, err = w.read(out, w.key, defaultMaxStdout+1); err != nil {
		return nil, err
	}
	over := len(found.Stdout) > defaultMaxStdout
	found.Stdout = found.Stdout[:min(len(found.Stdout), defaultMaxStdout)]
	if dead && !json.Valid(found.Stdout) {
		if w.gone.IsZero() {
			w.gone = time.Now()
		}
		if time.Since(w.gone) < defaultLinger {
			return nil, nil
		}
	}
	if found.Record, err = w.record(); err != nil {
		return nil, err
	}
	if over && found.Refused == nil {
		if w.key != nil { // its keeper hears no more of it, but it may be at work
			end(w.writer())
		}
		found.Refused = &LimitError{Limit: defaultMaxStdout}
		found.Known, found.ExitCode = true, -1
		w.judge(w.root, -1, found.Refused, w.key != nil)
	}
	return found, nil
}

// record returns the record of a call, or nil if there is none.
func (w *awaited) record() ([]byte, error) {
	text, err := upTo(w.root, w.file(spoolRecord), regular.Text)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && w.key != nil && len(text) > 0 {
		text, err = w.Sealing.Open(text)
	}
	return text, err
}

// judge stores the verdict on a call, and truncates output beyond the limit.
func (s Spool) judge(root *os.Root, exit int, failure error, sealed bool) {
	text, _ := json.Marshal(verdictOn(exit, failure))
	f, err := ours(root, s.file(spoolStatus))
	if err == nil {
		f.Close()
		f, err = root.OpenFile(s.file(spoolStatus), os.O_WRONLY, 0)
	} else if errors.Is(err, fs.ErrNotExist) {
		if f, err = root.OpenFile(s.file(spoolStatus), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
			_ = s.share(f)
		}
	}
	if err != nil {
		return // without it, only the output counts
	}
	defer f.Close()
	if _, err := f.WriteAt(text, 0); err != nil { // the file has room for it; what is behind it is white space
		return
	}
	var limit *LimitError
	if errors.As(failure, &limit) && !sealed { // what is sealed was not written beyond the limit
		if out, err := root.OpenFile(s.file(spoolOut), os.O_WRONLY, 0); err == nil {
			_ = out.Truncate(int64(limit.Limit) + 1)
			out.Close()
		}
	}
}

// statusRoom is how much is written where the verdict will stand, so that a full disk has room for it.
const statusRoom = 128

func blank() []byte { return bytes.Repeat([]byte(" "), statusRoom) }

func lengthOf(f *os.File) int64 {
	info, err := f.Stat()
	if err != nil {
		return 0
	}
	return info.Size()
}

// running is which process a call is, and where its number counts.
type running struct {
	PID   int    `json:"pid"`
	Where string `json:"where"` // the system that numbers it
	Began string `json:"began"` // tells it from another that has its number later
}

// process returns the process of a call; the zero value when it is not known.
func (s Spool) process(root *os.Root) (p running) {
	if text, err := upTo(root, s.file(spoolProcess), 4<<10); err == nil {
		_ = json.Unmarshal(text, &p)
	}
	return p
}

// ended reports whether the process is known to be gone. One without a beginning was gone already when it was recorded.
func (p running) ended() bool {
	return p.PID > 0 && p.here() && (p.Began == "" || began(p.PID) != p.Began)
}

func (p running) here() bool { return p.Where != "" && p.Where == numberedBy() }

// holders returns the processes that hold an answer, or else the one that is known to write it. Of a sealed answer that
// is the other way round: its keeper holds it.
func (w *awaited) holders(out *os.File) []int {
	list, writer := whoHas(out), w.writer()
	if len(list) > 0 && (w.key == nil || writer == nil) {
		return list
	}
	return writer
}

// writer returns the process that is known to write an answer.
func (w *awaited) writer() []int {
	if p := w.process(w.root); p.PID > 0 && p.here() && !p.ended() {
		return []int{p.PID}
	}
	return nil
}

// RemoveSpooled removes the files of a call, and the folder with the last one.
func RemoveSpooled(dir, token string) error {
	s := Spool{Dir: dir, Token: token}
	return inSpool(dir, func(root *os.Root) error {
		for _, kind := range spoolKinds {
			if err := removeOurs(root, s.file(kind)); err != nil {
				return err
			}
		}
		return nil
	})
}

// SweepSpool removes everything of calls that are not among the tokens, and the folder when nothing is left. What is
// not ours stays.
func SweepSpool(dir string, tokens []string) error {
	keep := map[string]bool{}
	for _, token := range tokens {
		s := Spool{Dir: dir, Token: token}
		for _, kind := range spoolKinds {
			keep[s.file(kind)] = true
		}
	}
	return inSpool(dir, func(root *os.Root) error {
		here, err := root.Open(".")
		if err != nil {
			return err
		}
		names, err := here.Readdirnames(-1)
		here.Close()
		if err != nil {
			return err
		}
		for _, name := range names {
			if !keep[name] && spoolName().MatchString(name) {
				if err := removeOurs(root, name); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// inSpool does something in the folder of answers, if there is one, and removes it when it is empty.
func inSpool(dir string, do func(root *os.Root) error) error {
	root, err := openSpool(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	err = do(root)
	root.Close()
	if err == nil {
		_ = os.Remove(dir) // fails while something is kept
	}
	return err
}

// removeOurs removes a regular file.
func removeOurs(root *os.Root, name string) error {
	info, err := root.Lstat(name)
	if err == nil && info.Mode().IsRegular() {
		err = root.Remove(name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
