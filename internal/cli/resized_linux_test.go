package cli

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tombolo-iac/tombolo/internal/program/programtest"
	"github.com/tombolo-iac/tombolo/internal/view/live"
)

// terminal is a pseudoterminal with the text that was written to it.
type terminal struct {
	master, slave *os.File
	read          sync.WaitGroup

	mu   sync.Mutex // guards text
	text strings.Builder
}

func newTerminal(t *testing.T) *terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("needs pseudo terminals: %s", err)
	}
	t.Cleanup(func() { master.Close() })
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("needs pseudo terminals: %s", err)
	}
	tty := &terminal{master: master, slave: slave}
	tty.read.Go(func() {
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf)
			tty.mu.Lock()
			tty.text.Write(buf[:n])
			tty.mu.Unlock()
			if err != nil { // EIO after the other end was closed
				return
			}
		}
	})
	return tty
}

// resize changes the size, for which the kernel sends SIGWINCH to the foreground processes.
func (y *terminal) resize(t *testing.T, columns, rows int) {
	t.Helper()
	if err := unix.IoctlSetWinsize(int(y.master.Fd()), unix.TIOCSWINSZ,
		&unix.Winsize{Col: uint16(columns), Row: uint16(rows)}); err != nil {
		t.Fatal(err)
	}
}

// written returns the text that was written after an offset.
func (y *terminal) written(from int) string {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.text.String()[from:]
}

var (
	sequences = regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]")
	moved     = regexp.MustCompile("\x1b\\[[0-9]*A")
)

// await waits until text after an offset matches.
func (y *terminal) await(t *testing.T, from int, is *regexp.Regexp) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !is.MatchString(y.written(from)); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			text := y.written(from)
			t.Fatalf("nothing like %s is written: %q", is, text[max(0, len(text)-500):])
		}
	}
}

// A run continues when its terminal is resized. Each line of its log is written once and completely, and the display of
// operations in flight fits the current size.
func TestDisplayFitsAResizedTerminal(t *testing.T) {
	const objects = 6
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			s := newSignalled(t, seed)
			s.write("main.tf", fmt.Sprintf(`resource "terraform_data" "with_a_long_name_that_fits_on_no_narrow_terminal" {
  count = %d
  provisioner "local-exec" {
    command = "while ! [ -e done ]; do echo something that is said again and again; sleep 0.05; done"
  }
}
`, objects))
			if code, output := s.run(0, 0, "init"); code != 0 {
				t.Fatal(output)
			}
			tty := newTerminal(t)
			tty.resize(t, 100, 30)
			command := programtest.Bounded(t, s.program, "apply", "-auto-approve")
			command.Dir, command.Env = s.dir, append(s.env, "TERM=xterm", "TF_CLI_ARGS=") // with colors
			command.Stdin, command.Stdout, command.Stderr = tty.slave, tty.slave, tty.slave
			command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			tty.slave.Close()
			tty.await(t, 0, moved) // the display is redrawn
			r := rand.New(rand.NewPCG(seed, 1))
			for range 8 {
				columns, rows := 4+r.IntN(200), 2+r.IntN(60)
				if r.IntN(3) == 0 {
					columns, rows = 4+r.IntN(30), 2+r.IntN(4)
				}
				tty.resize(t, columns, rows)
				from := len(tty.written(0))
				// The first frame may have started before the resize.
				tty.await(t, from, regexp.MustCompile(moved.String()+"(?s:.*)"+moved.String()))
				at := moved.FindStringIndex(tty.written(from))[1]
				next := from + at + moved.FindStringIndex(tty.written(from + at))[0]
				tty.await(t, next+1, moved)
				frame := tty.written(next)
				frame = frame[:1+moved.FindStringIndex(frame[1:])[0]]
				for line := range strings.Lines(sequences.ReplaceAllString(frame, "")) {
					line = strings.Trim(line, "\r\n")
					if strings.Contains(line, "in flight") && live.Width(line) > columns {
						t.Errorf("a line of %d columns on a terminal of %d: %q", live.Width(line), columns, line)
					}
				}
			}
			s.write("done", "")
			if err := command.Wait(); err != nil {
				t.Error(err)
			}
			tty.read.Wait()
			log := sequences.ReplaceAllString(tty.written(0), "")
			for i := range objects {
				line := fmt.Sprintf("terraform_data.with_a_long_name_that_fits_on_no_narrow_terminal[%d]: Creation complete", i)
				if n := strings.Count(log, line); n != 1 {
					t.Errorf("%q is written %d times", line, n)
				}
			}
			if !strings.Contains(log, fmt.Sprintf("%d added", objects)) {
				t.Errorf("the end is missing: %q", log[max(0, len(log)-500):])
			}
		})
	}
}
