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

// Spool is where the answer of a program outlives this process. The program's outputs are files then, its input is an
// unnamed file, and it runs in its own session: if this process is killed, the program completes its work undisturbed.
// The program holds a lock on its answer, which shows when it ends.
//
// The folder STATE.answers and its files are accessible to the users who may access the file STATE: one of them may
// have to continue where the run of another was killed. A caller that has stored the answer elsewhere calls
// RemoveSpooled.
//
// With a Sealing, the answer and the record are encrypted, and no file contains messages or input.
//
// The folder is in a project, whose files may be hostile: it must be a folder, not a link to one, and only regular
// files with names that this package chooses are read, written or removed.
type Spool struct {
	Dir   string // created if it is missing; "" means no spool
	Token string // identifies the call
	// Record is stored beside the answer, for the run that finds it.
	Record []byte
	// Sealing encrypts the files; nil leaves them unencrypted.
	Sealing *Sealing
}

// Spooled is the recovered answer of a call.
type Spooled struct {
	Record []byte
	// Stdout is the output up to the limit.
	Stdout []byte
	// Known means that the end of the program was observed; ExitCode is its status.
	Known    bool
	ExitCode int
	// Refused is the error for invalid output, as Run returns it: *LimitError or *FullError. It is stored beside the
	// answer, so that a later run decides as the waiting one.
	Refused error
}

// SpoolError means that the folder for answers is not a folder.
type SpoolError struct {
	Dir string
	Is  string // what it is, such as "a symbolic link"
}

const exchanged = "a file that was replaced while it was opened"

func (e *SpoolError) Error() string {
	return fmt.Sprintf("%s is %s, not a folder. Answers of programs are stored there, so it was neither read nor "+
		"removed. Find out what created it, and remove it", e.Dir, e.Is)
}

// FullError means that the disk was full when the program answered, so that its answer is not complete; or, with Ended,
// that the process that encrypts the answer was killed.
type FullError struct{ Ended bool }

func (e *FullError) Error() string {
	if e.Ended {
		return "the process that encrypts its answer was killed, so the answer is lost"
	}
	return "the disk was full when the program wrote its answer, so the answer is truncated: free some space"
}

// look is the interval of checks of a running program's output.
const look = 40 * time.Millisecond

const (
	spoolOut     = ".out"
	spoolErr     = ".err"
	spoolRecord  = ".record"
	spoolStatus  = ".status"
	spoolProcess = ".process"
	spoolKey     = ".key" // of an encrypted answer
)

var spoolKinds = []string{spoolOut, spoolErr, spoolRecord, spoolStatus, spoolProcess, spoolKey}

// spoolName matches the names of our files: those of a call, and the input of a program until it is unlinked.
var spoolName = regex.Lazy(`^(?:[A-Za-z0-9-]+\.[A-Za-z0-9-]+\.(?:out|err|record|status|process|key)|in-[0-9]+)$`)

// verdict is the stored exit status of a program.
type verdict struct {
	Exit int  `json:"exit"`
	Over int  `json:"over,omitempty"` // the limit that the output exceeds
	Full bool `json:"full,omitempty"` // the disk was full
	Lost bool `json:"lost,omitempty"` // the process that encrypts was killed
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

// refused returns the error from which the verdict was made.
func (v verdict) refused() error {
	switch {
	case v.Over > 0:
		return &LimitError{Limit: v.Over}
	case v.Full, v.Lost:
		return &FullError{Ended: v.Lost}
	}
	return nil
}

// file returns the name of a call's file in its folder. Tokens contain slashes.
func (s Spool) file(kind string) string { return strings.ReplaceAll(s.Token, "/", ".") + kind }

// openSpool opens the folder for answers. The error wraps fs.ErrNotExist if there is none.
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

// makeDir opens the folder for answers, and creates it if necessary.
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

// share grants the users of the state access to the answers. Without a state file only the current user has access.
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

// ours opens a file of a call. It refuses links, pipes and other kinds of files.
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

// AwaitSpooled returns the files of a call after its program has ended, or nil if there are none. While it waits, it
// calls tell once with the IDs of the processes for which it waits, as far as they are known. A program whose answer
// exceeds the limit is killed.
//
// The program has ended in one of these cases: no process has its answer open; its own process has ended, whatever it
// left behind, and the answer is complete; or that process has ended for as long as a run would wait for the rest.
func AwaitSpooled(ctx context.Context, s Spool, tell func(pids []int)) (*Spooled, error) {
	root, err := openSpool(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	w, reported, discarded := awaited{Spool: s, root: root}, false, int64(0)
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
		} else if !reported && w.gone.IsZero() {
			reported = true
			tell(holders)
		}
		out.Close()
		discarded = s.freeMessages(root, discarded)
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
	key  []byte    // of the answer; nil if it is not encrypted
	gone time.Time // when its process was first found to have ended
}

// freeMessages frees the disk space of the unread standard error of a program that outlived its run, and returns the
// offset up to which it is freed.
func (s Spool) freeMessages(root *os.Root, discarded int64) int64 {
	f, err := ours(root, s.file(spoolErr))
	if err != nil {
		return discarded
	}
	size := lengthOf(f)
	f.Close()
	if size-discarded <= roundSize {
		return discarded
	}
	if f, err = root.OpenFile(s.file(spoolErr), os.O_WRONLY, 0); err == nil {
		freeBefore(f, size)
		f.Close()
	}
	return size
}

// look reads the files of a call. Both results are nil while its program is running, and if there are no files.
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
	if held && !found.Known { // if there is a status, a process that the program left behind has it open
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
		if w.key != nil { // its keeper gets no more output, but may still be writing
			end(w.writer())
		}
		found.Refused = &LimitError{Limit: defaultMaxStdout}
		found.Known, found.ExitCode = true, -1
		w.evaluate(w.root, -1, found.Refused, w.key != nil)
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

// evaluate stores the verdict on a call, and truncates output beyond the limit.
func (s Spool) evaluate(root *os.Root, exit int, failure error, sealed bool) {
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
	if _, err := f.WriteAt(text, 0); err != nil { // space is reserved; the text after it is white space
		return
	}
	var limit *LimitError
	if errors.As(failure, &limit) && !sealed { // an encrypted answer is not written beyond the limit
		if out, err := root.OpenFile(s.file(spoolOut), os.O_WRONLY, 0); err == nil {
			_ = out.Truncate(int64(limit.Limit) + 1)
			out.Close()
		}
	}
}

// statusRoom is the number of bytes that are reserved for the verdict, so that it can be written to a full disk.
const statusRoom = 128

func blank() []byte { return bytes.Repeat([]byte(" "), statusRoom) }

func lengthOf(f *os.File) int64 {
	info, err := f.Stat()
	if err != nil {
		return 0
	}
	return info.Size()
}

// running identifies the process of a call, and the system on which its ID is valid.
type running struct {
	PID   int    `json:"pid"`
	Where string `json:"where"` // the system that assigned the ID
	Began string `json:"began"` // distinguishes it from a later process with the same ID
}

// process returns the process of a call, or the zero value if it is not known.
func (s Spool) process(root *os.Root) (p running) {
	if text, err := upTo(root, s.file(spoolProcess), 4<<10); err == nil {
		_ = json.Unmarshal(text, &p)
	}
	return p
}

// ended reports whether the process is known to have ended. One without a start time had already ended when it was
// recorded.
func (p running) ended() bool {
	return p.PID > 0 && p.here() && (p.Began == "" || began(p.PID) != p.Began)
}

func (p running) here() bool { return p.Where != "" && p.Where == numberedBy() }

// holders returns the processes that have an answer open, or else the one that is known to write it. For an encrypted
// answer the order is reversed, because its keeper has it open.
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

// RemoveSpooled removes the files of a call, and the folder if it is then empty.
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

// SweepSpool removes the files of all calls whose tokens are not in the list, and the folder if it is then empty. It
// does not remove foreign files.
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

// inSpool calls do with the folder for answers, if there is one, and removes the folder if it is empty.
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
		_ = os.Remove(dir) // fails while it contains files
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
