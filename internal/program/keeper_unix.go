//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package program

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// keeperVariable, when it is set, makes a process a keeper.
const keeperVariable = "TOMBOLO_KEEP_ANSWER"

// keepingTask is the task that a keeper reads from standard input.
type keepingTask struct {
	Key   []byte `json:"key"`
	Token string `json:"token"`
	Limit int    `json:"limit"` // of an answer
	Input []byte `json:"input"` // of the program
}

// The exit statuses of a keeper, beside 0 and those of a program that crashes.
const (
	keeperFails = 10 + iota
	keeperOver  // the answer is beyond the limit
	keeperFull  // there was no room for more of the answer
)

// The files of a keeper, after the standard ones. Its standard input begins with its task; when that ends, the program
// has ended or whoever started both. On standard output it says that it begins, and then that it has written all that
// the program had said when standard input ended. Standard error is where it passes on what the program says there, for
// as long as somebody listens.
const (
	keeperOut     = 3 + iota // the file of the answer, locked
	keeperAnswer             // what the program writes to standard output
	keeperMessage            // and to standard error
	keeperInput              // what it reads
)

// Keeping reports whether this process was started as a keeper; see Sealing.
func Keeping() bool { return os.Getenv(keeperVariable) != "" }

// Keep is the life of a keeper. It returns the exit status.
func Keep() int {
	signal.Ignore(syscall.SIGPIPE)
	var task keepingTask
	if err := json.NewDecoder(os.Stdin).Decode(&task); err != nil {
		return keeperFails // whoever started it is gone, and so is the program
	}
	p, err := newParts(task.Key, task.Token)
	if err != nil {
		return keeperFails
	}
	out, input := os.NewFile(keeperOut, "answer"), os.NewFile(keeperInput, "input")
	answer, message := pumpFrom(keeperAnswer), pumpFrom(keeperMessage)
	if _, err := os.Stdout.Write([]byte{1}); err != nil {
		return keeperFails
	}
	go func() { // ends with this process at the latest: a program need not read its input
		_, _ = input.Write(task.Input)
		input.Close()
	}()
	go func() { // likewise
		_, _ = io.Copy(io.Discard, os.Stdin)
		answer.ask()
		message.ask()
		<-answer.reached
		<-message.reached
		_, _ = os.Stdout.Write([]byte{1})
	}()
	var messages sync.WaitGroup
	messages.Go(func() {
		message.run(func(text []byte) bool {
			_, _ = os.Stderr.Write(text) // nobody may listen any more, which the program must not notice
			return true
		})
	})
	status := keepParts(out, answer, p, task.Limit)
	out.Close() // releases the lock
	if status == 0 {
		messages.Wait()
	}
	return status
}

// pause is how long a keeper lets a program that says little at a time say more, before it seals that.
const pause = 5 * time.Millisecond

// keepParts seals an answer into a file, up to one byte beyond the limit.
func keepParts(out io.Writer, answer *pump, p *parts, limit int) (status int) {
	size := 0
	answer.run(func(text []byte) bool {
		text = text[:min(len(text), limit+1-size)]
		size += len(text)
		if _, err := out.Write(p.seal(text)); err != nil {
			status = keeperFull
		} else if size > limit {
			status = keeperOver
		}
		return status == 0
	})
	return status
}

// pump reads a pipe to its end. Asked once, it closes reached behind all that was in the pipe by then.
type pump struct {
	from    *os.File
	once    sync.Once
	reached chan struct{}
}

func pumpFrom(fd uintptr) *pump {
	_ = syscall.SetNonblock(int(fd), true) // for deadlines
	return &pump{from: os.NewFile(fd, "pipe"), reached: make(chan struct{})}
}

func (p *pump) ask() { _ = p.from.SetReadDeadline(time.Unix(1, 0)) }

// run hands on what it reads, until that fails.
func (p *pump) run(to func([]byte) bool) {
	defer p.once.Do(func() { close(p.reached) })
	buf := make([]byte, partSize)
	for {
		n, err := p.from.Read(buf)
		if n > 0 && !to(buf[:n]) {
			return
		}
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			for state := pipeMore; state == pipeMore; {
				if n, state = readNow(p.from, buf); n > 0 && !to(buf[:n]) {
					return
				}
			}
			p.once.Do(func() { close(p.reached) })
		case err != nil:
			return
		case n < partSize/16:
			time.Sleep(pause)
		}
	}
}

// keeper is a keeper that runs. It ends after the program whose outputs it has, and after all that hold these.
type keeper struct {
	messages *stream
	ended    chan struct{} // closed behind its end
	status   int           // then

	stdin, stdout, stderr *os.File // for the program
	control, ready        *os.File // its standard input and output
}

// readyWithin is how long a keeper may take to start.
const readyWithin = time.Minute

// startKeeper starts a keeper that writes to out, and passes messages on to a writer.
func startKeeper(task keepingTask, out *os.File, messages io.Writer) (_ *keeper, err error) {
	k := &keeper{ended: make(chan struct{})}
	var theirs []*os.File
	pipe := func() (r, w *os.File) {
		if err == nil {
			r, w, err = os.Pipe()
		}
		return r, w
	}
	control, toControl := pipe()
	fromReady, ready := pipe()
	k.control, k.ready = toControl, fromReady
	fromMessages, message := pipe()
	answerR, answerW := pipe()
	errorsR, errorsW := pipe()
	inputR, inputW := pipe()
	k.stdin, k.stdout, k.stderr = inputR, answerW, errorsW
	theirs = []*os.File{control, ready, message, answerR, errorsR, inputW}
	defer func() {
		closeAll(theirs)
		if err != nil {
			k.closePipes()
			closeAll([]*os.File{toControl, fromReady, fromMessages})
		}
	}()
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := &exec.Cmd{Path: self, Args: os.Args[:1], Env: append(os.Environ(), keeperVariable+"=1"), Stdin: control,
		Stdout: ready, Stderr: message, ExtraFiles: []*os.File{out, answerR, errorsR, inputW},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true}}
	if err = cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = cmd.Wait()
		k.status = cmd.ProcessState.ExitCode()
		close(k.ended)
	}()
	closeAll(theirs)
	theirs = nil
	if err = k.send(task); err != nil {
		_ = cmd.Process.Kill()
		<-k.ended
		return nil, err
	}
	k.messages = &stream{file: fromMessages, to: messages, done: make(chan struct{})}
	go k.messages.read()
	return k, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close() // a nil file was never opened
	}
}

func (k *keeper) closePipes() { closeAll([]*os.File{k.stdin, k.stdout, k.stderr}) }

// send sends a keeper its task, and waits until it has all of it: only then may the program begin.
func (k *keeper) send(task keepingTask) error {
	text, err := json.Marshal(task)
	if err != nil {
		return err
	}
	limit := time.Now().Add(readyWithin)
	if err := errors.Join(k.control.SetWriteDeadline(limit), k.ready.SetReadDeadline(limit)); err != nil {
		return err
	}
	if _, err := k.control.Write(text); err != nil {
		return err
	}
	if _, err := k.ready.Read(make([]byte, 1)); err != nil {
		return fmt.Errorf("it did not start: %w", err)
	}
	return nil
}

// catchUp has a keeper write, when it returns, all that the program has said: it has ended.
func (k *keeper) catchUp() {
	k.control.Close()
	_ = k.ready.SetReadDeadline(time.Now().Add(readyWithin))
	if _, err := k.ready.Read(make([]byte, 1)); errors.Is(err, io.EOF) {
		<-k.ended
	}
}

// end takes what messages there still are. It returns the exit status of the keeper, 0 while that runs on: something
// that the program started may hold its outputs.
func (k *keeper) end() int {
	k.messages.interrupt()
	k.messages.readPending()
	closeAll([]*os.File{k.control, k.ready, k.messages.file})
	select {
	case <-k.ended:
		return k.status
	default:
		return 0
	}
}
