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

// keeperVariable, if set, makes a process a keeper.
const keeperVariable = "TOMBOLO_KEEP_ANSWER"

// keepingTask is the task that a keeper reads from standard input.
type keepingTask struct {
	Key   []byte `json:"key"`
	Token string `json:"token"`
	Limit int    `json:"limit"` // maximum size of the answer
	Input []byte `json:"input"` // input of the program
}

// Exit statuses of a keeper, in addition to 0 and those of a crash.
const (
	keeperFails = 10 + iota
	keeperOver  // the answer exceeds the limit
	keeperFull  // the disk was full
)

// Files of a keeper, after the standard ones. Its standard input contains its task, and ends when the program, or the
// process that started both, has ended. On standard output the keeper reports that it is ready, and later that it has
// written all output of the program up to the end of standard input. It forwards the program's messages to standard
// error, while that has a reader.
const (
	keeperOut     = 3 + iota // file of the answer, locked
	keeperAnswer             // the program's standard output
	keeperMessage            // the program's standard error
	keeperInput              // the program's standard input
)

// Keeping reports whether this process was started as a keeper; see Sealing.
func Keeping() bool { return os.Getenv(keeperVariable) != "" }

// Keep is the main function of a keeper. It returns the exit status.
func Keep() int {
	signal.Ignore(syscall.SIGPIPE)
	var task keepingTask
	if err := json.NewDecoder(os.Stdin).Decode(&task); err != nil {
		return keeperFails // the process that started it has ended, and so has the program
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
	go func() { // ends with this process: a program need not read its input
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
			_, _ = os.Stderr.Write(text) // the program must not notice that the reader has gone
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

// pause is how long a keeper waits for further output of a program that writes a little at a time, before it encrypts
// that.
const pause = 5 * time.Millisecond

// keepParts encrypts an answer into a file, up to one byte beyond the limit.
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

// pump reads a pipe to its end. On request, it closes reached when it has read everything that was in the pipe at that
// time.
type pump struct {
	from    *os.File
	once    sync.Once
	reached chan struct{}
}

func pumpFrom(fd uintptr) *pump {
	_ = syscall.SetNonblock(int(fd), true) // enables deadlines
	return &pump{from: os.NewFile(fd, "pipe"), reached: make(chan struct{})}
}

func (p *pump) ask() { _ = p.from.SetReadDeadline(time.Unix(1, 0)) }

// run passes the data that it reads to a function, until that returns false.
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

// keeper is a running keeper. It ends after the program whose output it reads, and after all other processes that have
// the output open.
type keeper struct {
	messages *stream
	ended    chan struct{} // closed after its end
	status   int           // valid after its end

	stdin, stdout, stderr *os.File // for the program
	control, ready        *os.File // its standard input and output
}

// readyWithin is how long a keeper may take to start.
const readyWithin = time.Minute

// startKeeper starts a keeper that writes to out, and forwards messages to a writer.
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

// send sends a keeper its task, and waits until the keeper has read it: only then may the program start.
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

// catchUp waits until the keeper has written all output of the program, which has ended.
func (k *keeper) catchUp() {
	k.control.Close()
	_ = k.ready.SetReadDeadline(time.Now().Add(readyWithin))
	if _, err := k.ready.Read(make([]byte, 1)); errors.Is(err, io.EOF) {
		<-k.ended
	}
}

// end reads the remaining messages. It returns the exit status of the keeper, or 0 while it is running, because another
// process that the program started may have its output open.
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
