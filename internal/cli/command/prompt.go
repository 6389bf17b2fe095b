package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"

	"github.com/tombolo-iac/tombolo/internal/config"
	"github.com/tombolo-iac/tombolo/internal/view"
)

// Input reads answers from a stream, line by line. The rest of the buffer is kept for the next answer.
type Input struct {
	Reader *bufio.Reader
	file   *os.File // for terminals
	once   sync.Once
	asks   chan bool // true for a secret
	lines  chan answer
	asked  bool // a line is being read
}

type answer struct {
	text string
	err  error
}

// NewInput returns an Input that reads from a file.
func NewInput(f *os.File) *Input { return &Input{file: f, Reader: bufio.NewReader(f)} }

// line returns the next line, or an error when the context ends. It must not be called concurrently. A read that the
// context interrupted continues, and its line becomes the next answer.
func (i *Input) line(ctx context.Context, secret bool) (string, error) {
	i.once.Do(func() {
		i.asks, i.lines = make(chan bool, 1), make(chan answer, 1)
		go func() {
			for secret := range i.asks {
				text, err := i.read(secret)
				i.lines <- answer{text, err}
			}
		}()
	})
	restore := func() {}
	if secret && i.terminal() {
		if before, err := term.GetState(int(i.file.Fd())); err == nil {
			restore = func() { term.Restore(int(i.file.Fd()), before) }
		}
	}
	if !i.asked {
		i.asked = true
		i.asks <- secret
	}
	select {
	case a := <-i.lines:
		i.asked = false
		return a.text, a.err
	case <-ctx.Done():
		restore()
		return "", errInterrupted
	}
}

// All reads until the end of the input or of the context. At a terminal it prints what to type.
func (i *Input) All(ctx context.Context, what string, tell io.Writer) ([]byte, error) {
	if i.terminal() {
		fmt.Fprintf(tell, "Reading %s from the terminal. End it with Ctrl-D, or stop with Ctrl-C.\n", what)
	}
	type content struct {
		text []byte
		err  error
	}
	done := make(chan content, 1)
	go func() { // after an interrupt, it ends with the process
		text, err := io.ReadAll(i.Reader)
		done <- content{text, err}
	}()
	select {
	case all := <-done:
		return all.text, all.err
	case <-ctx.Done():
		return nil, errInterrupted
	}
}

var errInterrupted = errors.New("interrupted")

func (i *Input) terminal() bool { return i.file != nil && term.IsTerminal(int(i.file.Fd())) }

// Terminal returns the terminal on which answers are typed, or nil if the input is not a terminal.
func (i *Input) Terminal() *os.File {
	if i.terminal() {
		return i.file
	}
	return nil
}

func (i *Input) read(secret bool) (string, error) {
	if secret && i.terminal() && i.Reader.Buffered() == 0 {
		text, err := term.ReadPassword(int(i.file.Fd()))
		return string(text), err
	}
	text, err := i.Reader.ReadString('\n')
	if err == io.EOF && text != "" {
		err = nil
	}
	return strings.TrimRight(text, "\r\n"), err
}

// Ask shows a question and returns the answer. The question is printed verbatim in one write, because programs that
// drive the terminal expect the name and the prompt in one read.
func (c *Call) Ask(ctx context.Context, title, text string, secret bool) (string, error) {
	if c.JSON {
		return "", errors.New("questions are not possible with -json")
	}
	var question strings.Builder
	fmt.Fprintf(&question, "%s\n", c.Bold(view.Clean(title)))
	for _, line := range strings.Split(text, "\n") {
		if line != "" {
			fmt.Fprintf(&question, "  %s\n", view.Clean(line))
		}
	}
	if text != "" {
		question.WriteString("\n")
	}
	fmt.Fprintf(&question, "  %s", c.Bold("Enter a value: "))
	io.WriteString(c.Out, question.String())
	answer, err := c.In.line(ctx, secret)
	if err == nil {
		fmt.Fprintln(c.Out)
	}
	return answer, err
}

// askVariable asks for the value of an unset variable. Without an answer the variable stays unset, which is reported
// later.
func (c *Call) askVariable(ctx context.Context, v *config.Variable) (string, bool) {
	text, err := c.Ask(ctx, "var."+v.Name, v.Description, v.Sensitive || v.Ephemeral)
	if err != nil {
		fmt.Fprintln(c.Out)
	}
	return text, err == nil
}
