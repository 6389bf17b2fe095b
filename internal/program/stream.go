package program

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

const (
	readSize = 32 << 10
	// roundSize limits one round of readPending, so that a flood cannot prevent its caller from checking the time.
	roundSize = 8 << 20
	// maxLine is the length at which a line of standard error is split for the live stream.
	maxLine = 64 << 10
)

// stream copies one pipe to a writer. The goroutine that runs read owns it; after interrupt has returned, its caller
// does.
type stream struct {
	file  *os.File
	to    io.Writer
	done  chan struct{} // closed when read has ended
	ended bool          // no process has the other end open
}

// read reads until the pipe ends or interrupt is called.
func (s *stream) read() {
	defer close(s.done)
	buf := make([]byte, readSize)
	for {
		n, err := s.file.Read(buf)
		s.to.Write(buf[:n])
		if err != nil {
			s.ended = !errors.Is(err, os.ErrDeadlineExceeded)
			return
		}
	}
}

// interrupt ends read, which leaves the rest in the pipe.
func (s *stream) interrupt() {
	s.file.SetReadDeadline(time.Unix(1, 0))
	<-s.done
}

// readPending reads the current content of the pipe, without waiting, and returns its size.
func (s *stream) readPending() (total int) {
	buf := make([]byte, readSize)
	for !s.ended && total < roundSize {
		n, state := readNow(s.file, buf)
		s.to.Write(buf[:n])
		total += n
		s.ended = state == pipeEnded
		if state == pipeEmpty {
			break
		}
	}
	return total
}

// pipeCopy copies a pipe to a writer: in the goroutine of read, and for callers that need everything written so far.
type pipeCopy struct {
	file *os.File
	mu   sync.Mutex // held from a read to the end of its write, to keep the order
	to   io.Writer
	buf  []byte
}

type pipeState int

const (
	pipeMore  pipeState = iota // some bytes were read, and there may be more
	pipeEmpty                  // empty now
	pipeEnded                  // no further bytes will come
)

// limited stores bytes up to a size, and closes over at the first byte beyond. With a negative size it stores nothing
// and never closes over.
type limited struct {
	buf  []byte
	max  int
	over chan struct{}
	full bool
}

func (l *limited) Write(b []byte) (int, error) {
	if l.max < 0 {
		return len(b), nil
	}
	n := min(len(b), l.max-len(l.buf))
	l.buf = append(l.buf, b[:n]...)
	if n < len(b) && !l.full {
		l.full = true
		close(l.over)
	}
	return len(b), nil
}

func (l *limited) exceeded() bool { return l.full }

// ends stores the first max bytes and the last max bytes that are written to it.
type ends struct {
	max     int
	head    []byte
	tail    []byte // a ring buffer once it has max bytes; next is the index of its oldest byte
	next    int
	dropped int64
}

func (e *ends) Write(b []byte) (int, error) {
	written := len(b)
	n := min(len(b), e.max-len(e.head))
	e.head = append(e.head, b[:n]...)
	b = b[n:]
	n = min(len(b), e.max-len(e.tail))
	e.tail = append(e.tail, b[:n]...)
	b = b[n:]
	e.dropped += int64(len(b))
	if skip := len(b) - e.max; skip > 0 {
		b = b[skip:]
	}
	for len(b) > 0 {
		n := copy(e.tail[e.next:], b)
		e.next = (e.next + n) % e.max
		b = b[n:]
	}
	return written, nil
}

func (e *ends) bytes() []byte {
	if e.dropped == 0 {
		return append(e.head, e.tail...)
	}
	var out bytes.Buffer
	out.Write(e.head)
	fmt.Fprintf(&out, "\n... %s left out here ...\n", byteCount(e.dropped))
	out.Write(e.tail[e.next:])
	out.Write(e.tail[:e.next])
	return out.Bytes()
}

// lines calls a function with each line that is written to it.
type lines struct {
	emit func(string)
	part []byte
	cut  bool // part begins in the middle of a line
}

func (l *lines) Write(b []byte) (int, error) {
	written := len(b)
	for len(b) > 0 {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			n := min(len(b), maxLine-len(l.part))
			l.part = append(l.part, b[:n]...)
			b = b[n:]
			if len(l.part) == maxLine {
				l.send()
				l.cut = true
			}
			continue
		}
		n := min(i, maxLine-len(l.part))
		l.part = append(l.part, b[:n]...)
		b = b[n:]
		if n < i {
			l.send()
			l.cut = true
			continue
		}
		b = b[1:]
		if len(l.part) > 0 || !l.cut {
			l.send()
		}
		l.cut = false
	}
	return written, nil
}

// flush reports a last line without a newline.
func (l *lines) flush() {
	if len(l.part) > 0 {
		l.send()
	}
}

func (l *lines) send() {
	l.emit(strings.ToValidUTF8(string(bytes.TrimSuffix(l.part, []byte("\r"))), "\uFFFD"))
	l.part = l.part[:0]
}

// Quota limits the messages of a program in one call, and counts those that exceed the limit. The zero value is unused.
type Quota struct {
	mu           sync.Mutex
	lines, text  int
	more, beyond int // lines and bytes that were dropped
}

const (
	quotaLines = 5000
	quotaText  = 1 << 20
)

// Take reports whether a line of this size is within the limit.
func (q *Quota) Take(size int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.more > 0 || q.lines == quotaLines || q.text+size > quotaText {
		q.more++
		q.beyond += size
		return false
	}
	q.lines++
	q.text += size
	return true
}

// Rest returns a final note about dropped messages, or "" if there are none. A flood is not read completely.
func (q *Quota) Rest() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.more == 0 {
		return ""
	}
	lines := "lines"
	if q.more == 1 {
		lines = "line"
	}
	return fmt.Sprintf("(too many messages of the program: at least %d more %s, %s, not shown)",
		q.more, lines, byteCount(q.beyond))
}

func byteCount[T int | int64](n T) string {
	if n >= 1<<20 && n%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}
