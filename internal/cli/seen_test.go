package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/engine"
)

// seenWidths are the terminal widths for the scenes.
var seenWidths = []int{60, 80, 100, 160}

// TestScreens runs the scenes in testdata/seen and compares the screen after the last command: at several widths, with
// colors and a live display, and without. Each archive has a sentence about the scene, the commands as in
// TestErrorsOfNewUsers (one that must fail begins with an exclamation mark), the files, and the screens. Widths with
// equal screens share one. Colors are in angle brackets; a row that the terminal wrapped ends with an arrow.
//
// With -update the screens are written again. Review them completely: what would a person who has to approve this miss
// or misunderstand?
func TestScreens(t *testing.T) {
	names, err := filepath.Glob("testdata/seen/*.txtar")
	if err != nil || len(names) < 30 {
		t.Fatalf("%d scenes in testdata/seen (%v)", len(names), err)
	}
	home, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		path := filepath.Join(home, name)
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var want, got []txtar.File
			files := archive.Files[:0:0]
			for _, f := range archive.Files {
				if strings.HasPrefix(f.Name, "in ") {
					want = append(want, f)
				} else {
					files = append(files, f)
				}
			}
			archive.Files = files
			got = screens(t, home, archive)
			if *update {
				archive.Files = append(files, got...)
				if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			text := func(list []txtar.File) string { return string(txtar.Format(&txtar.Archive{Files: list})) }
			if diff := cmp.Diff(text(want), text(got)); diff != "" {
				t.Errorf("another screen (-want +got):\n%s", diff)
			}
		})
	}
}

// screens returns the final screens of a scene, with and without colours, at all widths, without duplicates.
func screens(t *testing.T, home string, archive *txtar.Archive) (list []txtar.File) {
	var s *scene
	for _, form := range []string{"colour", "black and white"} {
		first := len(list)
		for _, width := range seenWidths {
			if s == nil || s.lastWrites() {
				s = newScene(t, filepath.Join(home, "testdata", "seen", "provider"), archive)
			}
			text := []byte(s.last(width, form == "colour"))
			if n := len(list); n > first && bytes.Equal(list[n-1].Data, text) {
				list[n-1].Name += fmt.Sprintf(", %d", width)
				continue
			}
			list = append(list, txtar.File{Name: fmt.Sprintf("in %s at %d", form, width), Data: text})
		}
	}
	return list
}

// scene is an archive whose last command runs at a terminal.
type scene struct {
	*mistake
	command []string // the last one
}

// newScene runs all commands of an archive but the last one. The folder provider holds the scenes' provider.
func newScene(t *testing.T, provider string, archive *txtar.Archive) *scene {
	s := &scene{mistake: newMistake(t)}
	s.environ = []string{"PATH=" + os.Getenv("PATH"), "TERM=xterm", "HOME=" + s.dir, "HTTPS_PROXY=http://127.0.0.1:1"}
	for _, f := range archive.Files {
		s.sections[f.Name] = f.Data
		if f.Name != "commands" && f.Name[0] != '@' {
			s.write(f.Name, f.Data)
		}
	}
	if bytes.Contains(txtar.Format(archive), []byte(" \"cloud_")) {
		s.environ = append(s.environ, "TOMBOLO_PROGRAM_PROVIDERS=cloud=./cloud")
		if err := os.CopyFS("cloud", os.DirFS(provider)); err != nil {
			t.Fatal(err)
		}
	}
	lines := strings.Split(strings.TrimSpace(string(s.sections["commands"])), "\n")
	for _, line := range lines[:len(lines)-1] {
		line, fails := strings.CutPrefix(line, "! ")
		if text := s.line(line); text != "" && strings.HasSuffix(text, "[exit 0]\n") == fails {
			t.Fatalf("%s: %s", line, text)
		}
	}
	var err error
	if s.command, err = splitWords(lines[len(lines)-1]); err != nil || s.command[0] != "tombolo" {
		t.Fatalf("the last command is %q (%v)", s.command, err)
	}
	return s
}

// lastWrites reports whether the last command may change what it shows when it is repeated.
func (s *scene) lastWrites() bool { return s.command[1] == "apply" || s.command[1] == "destroy" }

// last runs the last command and returns its final screen.
func (s *scene) last(width int, colour bool) string {
	environ := slices.Clone(s.environ)
	if !colour {
		environ = append(environ, "NO_COLOR=1")
	}
	out := &watched{dir: s.dir}
	in, err := os.Open(os.DevNull)
	if err != nil {
		s.t.Fatal(err)
	}
	defer in.Close()
	a := &command.App{
		Surroundings: engine.Surroundings{Program: "tombolo", Title: "Tombolo", Environ: environ, StartDir: s.dir},
		In:           command.NewInput(in), Out: out, Err: out, OutTerminal: true, Width: width,
		Size: func() (columns, rows int) { return width, 40 },
	}
	code := catchPanic(a, func() command.Outcome { return start(s.t.Context(), a, s.command[1:]) }).ExitCode()
	terminal := screen{columns: width}
	if err := terminal.draw(steady(s.clean(string(out.text)))); err != nil {
		s.t.Fatal(err)
	}
	return ordered(terminal.String()) + fmt.Sprintf("[exit %d]\n", code)
}

var (
	atOnce = regexp.MustCompile(`: (Refreshing state|Reading|Read complete|Creating|Creation complete)`)
	layout = regexp.MustCompile("↩\n|<[a-z ]*>|</>")
	lasted = regexp.MustCompile(`\b(\d+m)?\d+s\b|\d+\.\ds`)
	slow   = regexp.MustCompile(`(?m)^.*: Still .*\n|^It took .*\n( +0s  .*\n)*`)
)

// steady replaces the times, which differ between runs.
func steady(text string) string {
	return slow.ReplaceAllString(lasted.ReplaceAllString(text, "0s"), "")
}

// ordered sorts the lines of a screen about concurrent operations. It is meant for a screen and not for raw output,
// where each line begins with sequences that erase the display.
func ordered(text string) string {
	var out, group []string
	end := func() {
		slices.Sort(group)
		out, group = append(out, group...), nil
	}
	line := ""
	for row := range strings.Lines(text) {
		if line += row; strings.HasSuffix(row, "↩\n") {
			continue // it is wrapped
		}
		if atOnce.MatchString(layout.ReplaceAllString(line, "")) {
			group = append(group, line)
		} else {
			end()
			out = append(out, line)
		}
		line = ""
	}
	end()
	return strings.Join(append(out, line), "")
}

// watched is a terminal that sends Ctrl-C when a program prints that it is half way, and lets the program continue,
// with the file "go", when the output reports the interrupt.
type watched struct {
	dir  string
	keys sync.Once

	mu   sync.Mutex // guards the fields below
	text []byte
}

func (w *watched) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, b...)
	if bytes.Contains(w.text, []byte("half way")) {
		var err error
		w.keys.Do(func() { err = interruptSelf() })
		if err != nil {
			return 0, err
		}
	}
	if bytes.Contains(w.text, []byte("Interrupt received")) {
		if err := os.WriteFile(filepath.Join(w.dir, "go"), nil, 0o600); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

// interruptSelf sends SIGINT to this process.
func interruptSelf() error {
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	return self.Signal(os.Interrupt)
}

// screen is a terminal that keeps all its rows.
type screen struct {
	columns  int
	rows     [][]cell
	row, col int
	style    string
}

type cell struct {
	r     rune
	style string
}

var sgr = map[string]string{"0": "", "1": "bold", "4": "underline", "31": "red", "32": "green", "33": "yellow",
	"36": "cyan", "90": "gray", "2": "faint"}

// draw interprets the output, and returns an error for unknown control sequences.
func (s *screen) draw(text string) error {
	for len(text) > 0 {
		if !strings.HasPrefix(text, "\x1b[") {
			r := []rune(text)[0]
			s.put(r)
			text = text[len(string(r)):]
			continue
		}
		n := 2 + strings.IndexFunc(text[2:], func(r rune) bool { return r >= '@' && r <= '~' })
		body, end := text[2:n], text[n]
		text = text[n+1:]
		switch {
		case end == 'm' && body == "0":
			s.style = ""
		case end == 'm' && sgr[body] != "":
			s.style = strings.TrimPrefix(s.style+" "+sgr[body], " ")
		case end == 'K':
			s.at()
			s.rows[s.row] = s.rows[s.row][:s.col]
		case end == 'J':
			s.at()
			s.rows[s.row] = s.rows[s.row][:s.col]
			s.rows = s.rows[:s.row+1]
		case end == 'A':
			var up int
			fmt.Sscanf(body, "%d", &up)
			s.row = max(0, s.row-up)
		case body == "?2026" || body == "?25":
		default:
			return fmt.Errorf("unknown sequence %q", body+string(end))
		}
	}
	return nil
}

// at adds rows and columns up to the cursor.
func (s *screen) at() {
	for len(s.rows) <= s.row {
		s.rows = append(s.rows, nil)
	}
	for len(s.rows[s.row]) < s.col {
		s.rows[s.row] = append(s.rows[s.row], cell{r: ' '})
	}
}

func (s *screen) put(r rune) {
	switch {
	case r == '\r':
		s.col = 0
		return
	case r == '\n':
		s.row, s.col = s.row+1, 0
		return
	case s.col >= s.columns:
		s.rows[s.row] = append(s.rows[s.row][:s.columns], cell{r: '↩'})
		s.row, s.col = s.row+1, 0
	}
	s.at()
	s.rows[s.row] = append(s.rows[s.row][:s.col], append([]cell{{r, s.style}},
		s.rows[s.row][min(s.col+1, len(s.rows[s.row])):]...)...)
	s.col++
}

// String returns the rows with their colours in angle brackets.
func (s *screen) String() string {
	var b strings.Builder
	for _, row := range s.rows {
		style := ""
		for _, c := range row {
			if c.style != style && style != "" {
				b.WriteString("</>")
			}
			if c.style != style && c.style != "" {
				b.WriteString("<" + c.style + ">")
			}
			style = c.style
			b.WriteRune(c.r)
		}
		if style != "" {
			b.WriteString("</>")
		}
		b.WriteByte('\n')
	}
	return b.String()
}
