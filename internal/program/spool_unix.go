//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package program

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/tombolo-iac/tombolo/internal/host/process/group"
)

// spooled is one program whose outputs are files. The goroutine that calls wait owns it.
type spooled struct {
	limits    Command
	cmd       *exec.Cmd
	group     *group.Group
	root      *os.Root // the folder
	out       *os.File
	err       *os.File // nil if the files are encrypted
	key       []byte   // of the answer; nil if it is not encrypted
	keeper    *keeper  // of an encrypted answer
	reserved  int64    // size of out up to which a write cannot fail
	full      bool     // there was no space for the rest of out
	lost      bool     // the keeper was killed
	read      int64    // of err
	discarded int64    // offset in err up to which disk space is freed
	message   *ends
	lines     *lines
}

// runSpooled is Run with a spool.
func runSpooled(ctx context.Context, path string, c Command) (*Result, error) {
	s, err := launching(path, c, launchSpooled)
	if err != nil {
		return nil, err
	}
	defer s.close()
	return s.wait(ctx)
}

func launchSpooled(path, dir string, c Command) (_ *spooled, err error) {
	s := &spooled{limits: c, message: &ends{max: max(1, c.MaxStderr/2)}}
	if c.Stderr != nil {
		s.lines = &lines{emit: c.Stderr}
	}
	defer func() {
		if err != nil {
			if s.keeper != nil {
				s.keeper.end()
			}
			s.close()
			_ = RemoveSpooled(c.Spool.Dir, c.Spool.Token)
		}
	}()
	if err := s.makeRoom(); err != nil {
		return nil, fmt.Errorf("create the file for its answer: %w", err)
	}
	if err := syscall.Flock(int(s.out.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, fmt.Errorf("lock the file of its answer: %w", err)
	}
	in, err := s.streams()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	s.cmd = &exec.Cmd{Path: path, Args: c.Argv, Dir: dir, Env: environment(dir, c.Env), Stdin: in, Stdout: s.out,
		Stderr: s.err}
	if k := s.keeper; k != nil {
		s.cmd.Stdout, s.cmd.Stderr = k.stdout, k.stderr
		defer k.closePipes()
	}
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	s.group = group.Of(s.cmd.Process)
	s.note()
	return s, nil
}

// streams returns the input of the program. If the files are encrypted, it starts a keeper, which has the other
// streams.
func (s *spooled) streams() (*os.File, error) {
	c := s.limits
	if s.key == nil {
		in, err := inputFile(c)
		if err != nil {
			return nil, fmt.Errorf("write its input: %w", err)
		}
		return in, nil
	}
	var to io.Writer = s.message
	if s.lines != nil {
		to = io.MultiWriter(s.message, s.lines)
	}
	var err error
	task := keepingTask{Key: s.key, Token: c.Spool.Token, Limit: c.MaxStdout, Input: c.Stdin}
	if s.keeper, err = startKeeper(task, s.out, to); err != nil {
		return nil, fmt.Errorf("start the process that encrypts its answer: %w", err)
	}
	return s.keeper.stdin, nil
}

// attempts limits how often the folder for answers is created, because other calls remove it when they end.
const attempts = 1000

// makeRoom creates the files of a call, with space for messages of usual size: a full disk is detected before the
// program begins, and if the disk fills up meanwhile, the answer can still be stored.
func (s *spooled) makeRoom() (err error) {
	c := s.limits.Spool
	create := func(kind string, text []byte) *os.File {
		var f *os.File
		if err == nil {
			f, err = s.root.OpenFile(c.file(kind), os.O_RDWR|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
		}
		if err == nil {
			err = c.share(f)
		}
		if err == nil && len(text) > 0 {
			_, err = f.Write(text)
		}
		return f
	}
	text, sealed, err := s.sealed()
	if err != nil {
		return err
	}
	var record *os.File
	for range attempts {
		if s.root, err = c.makeDir(); err == nil {
			record = create(spoolRecord, text)
		}
		var other *SpoolError
		if !errors.Is(err, fs.ErrNotExist) && !(errors.As(err, &other) && other.Is == exchanged) {
			break
		}
		if s.root != nil { // another call ended and removed the folder with its last file
			s.root.Close()
			s.root = nil
		}
	}
	if s.root == nil {
		return err
	}
	made := []*os.File{record, create(spoolStatus, blank()), create(spoolProcess, blank())}
	if s.key != nil {
		made = append(made, create(spoolKey, sealed)) // before the answer that it encrypts
	}
	for _, f := range made {
		f.Close()
	}
	s.out = create(spoolOut, nil)
	if s.key == nil {
		s.err = create(spoolErr, nil)
	}
	if err == nil {
		err = reserve(s.out, reserveOut)
	}
	if err == nil {
		s.reserved = reserveOut
	}
	if err == nil && s.err != nil {
		err = reserve(s.err, reserveErr)
	}
	return err
}

// sealed returns the record as it is stored and, if that is encrypted, a key for the answer.
func (s *spooled) sealed() (record, key []byte, err error) {
	c := s.limits.Spool
	if !c.Sealed() {
		return c.Record, nil, nil
	}
	s.key = newKey()
	if key, err = c.Sealing.Seal(s.key); err == nil && len(c.Record) > 0 {
		record, err = c.Sealing.Seal(c.Record)
	}
	return record, key, err
}

// Space that is reserved for the rest of an answer, and for the first messages, in bytes.
const (
	reserveOut = 256 << 10
	reserveErr = 64 << 10
)

// keepReserve reserves space for the rest of the answer, and records if there is none.
func (s *spooled) keepReserve(size int64) {
	if end := size + reserveOut/2; end > s.reserved {
		end = size + reserveOut
		if err := reserve(s.out, end); err != nil {
			s.full = true
			return
		}
		s.reserved = end
	}
}

// note stores the process of the call. Errors are ignored: without it, only the lock shows when the process ends.
func (s *spooled) note() {
	pid := s.cmd.Process.Pid
	text, _ := json.Marshal(running{PID: pid, Where: numberedBy(), Began: began(pid)})
	if f, err := s.root.OpenFile(s.limits.Spool.file(spoolProcess), os.O_WRONLY, 0); err == nil {
		_, _ = f.WriteAt(text, 0)
		f.Close()
	}
}

// inputFile creates the unnamed file that the program reads.
func inputFile(c Command) (*os.File, error) {
	in, err := os.CreateTemp(c.Spool.Dir, "in-*")
	if err != nil {
		return nil, err
	}
	if err = os.Remove(in.Name()); err == nil {
		_, err = in.Write(c.Stdin)
	}
	if err == nil {
		_, err = in.Seek(0, io.SeekStart)
	}
	if err != nil {
		in.Close()
	}
	return in, err
}

func (s *spooled) wait(ctx context.Context) (*Result, error) {
	exited := make(chan struct{})
	go func() {
		s.cmd.Wait() // ProcessState contains the result
		close(exited)
	}()
	failure := s.watch(ctx, exited)
	var stopped *StoppedError
	if errors.As(failure, &stopped) && stopped.Stuck {
		s.readKeeper()
		return &Result{Path: s.cmd.Path, Stderr: s.message.bytes(), State: "still running", ExitCode: -1}, failure
	}
	if failure != nil {
		s.group.Kill()
	}
	res := &Result{Path: s.cmd.Path, State: s.cmd.ProcessState.String(), ExitCode: s.cmd.ProcessState.ExitCode()}
	s.keepReserve(lengthOf(s.out))
	s.out.Close()
	if s.keeper != nil {
		s.keeper.catchUp()
	}
	s.linger(res)
	s.readKeeper()
	if s.lines != nil {
		s.lines.flush()
	}
	res.Stderr = s.message.bytes()
	if len(res.Stdout) > s.limits.MaxStdout {
		res.Stdout = res.Stdout[:s.limits.MaxStdout]
		failure = cmp.Or[error](failure, &LimitError{Limit: s.limits.MaxStdout})
	}
	if stopped != nil && res.ExitCode == 0 && s.limits.Whole(res.Stdout) {
		failure = nil
	}
	if failure == nil && (s.full || s.lost) && !s.limits.Whole(res.Stdout) {
		failure = &FullError{Ended: s.lost}
	}
	s.limits.Spool.evaluate(s.root, res.ExitCode, failure, s.key != nil)
	return res, failure
}

// readKeeper reads the remaining messages and the exit status of the keeper.
func (s *spooled) readKeeper() {
	if s.keeper == nil {
		s.tail()
		return
	}
	switch s.keeper.end() {
	case 0, keeperOver:
	case keeperFull:
		s.full = true
	default:
		s.lost = true
	}
}

// watch waits for the end of the program, and ends it when the context ends or its output exceeds the limit.
func (s *spooled) watch(ctx context.Context, exited chan struct{}) (failure error) {
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	cancelled := ctx.Done()
	var kill, giveUp <-chan time.Time
	over := func() {
		if failure == nil {
			failure = &LimitError{Limit: s.limits.MaxStdout}
			s.group.Kill()
			giveUp = time.After(killWait)
		}
	}
	var kept <-chan struct{}
	if s.keeper != nil {
		kept = s.keeper.ended
	}
	for {
		select {
		case <-exited:
			return failure
		case <-kept:
			if kept = nil; s.keeper.status == keeperOver {
				over()
			}
		case <-ticker.C:
			size := lengthOf(s.out)
			if s.keeper == nil {
				s.tail()
				if size > int64(s.limits.MaxStdout) {
					over()
				}
			}
			if failure == nil {
				s.keepReserve(size)
			}
		case <-cancelled:
			cancelled = nil
			if failure == nil {
				failure = &StoppedError{Err: context.Cause(ctx)}
				s.group.Terminate()
				kill = time.After(s.limits.Grace)
			}
		case <-kill:
			s.group.Kill()
			giveUp = time.After(killWait)
		case <-giveUp:
			return &StoppedError{Err: failure, Stuck: true}
		}
	}
}

// linger reads the answer. It waits for the rest while the answer is not complete and another process has it open.
func (s *spooled) linger(res *Result) {
	deadline := time.Now().Add(s.limits.Linger)
	for {
		res.Held, res.Stdout = s.answer()
		if !res.Held || res.ExitCode == 0 && s.limits.Whole(res.Stdout) || time.Now().After(deadline) ||
			len(res.Stdout) > s.limits.MaxStdout {
			return
		}
		time.Sleep(look / 2)
	}
}

// answer returns the answer so far, and whether a process still has it open.
func (s *spooled) answer() (held bool, text []byte) {
	f, err := ours(s.root, s.limits.Spool.file(spoolOut))
	if err != nil {
		return false, nil
	}
	defer f.Close()
	held, err = lockedFile(f)
	text, _ = s.limits.Spool.read(f, s.key, s.limits.MaxStdout+1)
	return held && err == nil, text
}

// tail reads new text on standard error; if there is too much, only its end.
func (s *spooled) tail() {
	if info, err := s.err.Stat(); err == nil && info.Size()-s.read > roundSize/2 {
		s.read = info.Size() - roundSize/2
	}
	buf := make([]byte, readSize)
	for range roundSize / readSize {
		n, err := s.err.ReadAt(buf, s.read)
		s.read += int64(n)
		s.message.Write(buf[:n])
		if s.lines != nil {
			s.lines.Write(buf[:n])
		}
		if err != nil || n == 0 {
			break
		}
	}
	if s.read-s.discarded > roundSize {
		freeBefore(s.err, s.read) // a flood must not fill the disk
		s.discarded = s.read
	}
}

func (s *spooled) close() {
	s.out.Close()
	s.err.Close()
	if s.root != nil {
		s.root.Close()
	}
}

// lockedFile reports whether a process holds a lock on an open file.
func lockedFile(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return true, nil
	}
	return false, err
}
