package live

import (
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"
)

// screen is a small terminal emulator: it interprets what the display writes and rejects everything else.
type screen struct {
	columns, rows int

	mu       sync.Mutex // guards the fields below
	cells    [][]rune
	scrolled []string // lines that have scrolled off the top
	row, col int
	pending  bool // the last column was written: the next character starts a new line
	writes   int
	problem  error
}

func newScreen(columns, rows int) *screen {
	s := &screen{columns: columns, rows: rows}
	for range rows {
		s.cells = append(s.cells, s.blank())
	}
	return s
}

func (s *screen) size() (columns, rows int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.columns, s.rows
}

func (s *screen) blank() []rune { return []rune(strings.Repeat(" ", s.columns)) }

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	for i := 0; i < len(b); {
		if b[i] == '\x1b' {
			n := strings.IndexFunc(string(b[i+2:]), func(r rune) bool { return r >= '@' && r <= '~' })
			s.control(string(b[i+2 : i+2+n+1]))
			i += n + 3
			continue
		}
		r, size := utf8.DecodeRune(b[i:])
		s.put(r)
		i += size
	}
	return len(b), nil
}

func (s *screen) control(c string) {
	var n int
	switch {
	case c == "?2026h" || c == "?2026l" || strings.HasSuffix(c, "m"):
	case c == "K":
		copy(s.cells[s.row][s.col:], s.blank())
	case c == "J":
		copy(s.cells[s.row][s.col:], s.blank())
		for i := s.row + 1; i < s.rows; i++ {
			s.cells[i] = s.blank()
		}
	case strings.HasSuffix(c, "A"):
		fmt.Sscanf(c, "%dA", &n)
		s.row, s.pending = max(0, s.row-n), false
	default:
		s.problem = fmt.Errorf("unknown sequence %q", c)
	}
}

func (s *screen) put(r rune) {
	switch r {
	case '\r':
		s.col, s.pending = 0, false
	case '\n':
		s.col, s.pending = 0, false
		s.down()
	default:
		if s.pending || s.col+runeWidth(r) > s.columns {
			s.col = 0
			s.down()
		}
		s.cells[s.row][s.col] = r
		if runeWidth(r) == 2 {
			s.cells[s.row][s.col+1] = 0
		}
		s.col += runeWidth(r)
		if s.pending = s.col == s.columns; s.pending {
			s.col--
		}
	}
}

func (s *screen) down() {
	if s.row++; s.row < s.rows {
		return
	}
	s.row--
	s.scrolled = append(s.scrolled, rowText(s.cells[0]))
	s.cells = append(s.cells[1:], s.blank())
}

func rowText(cells []rune) string {
	return strings.TrimRight(strings.ReplaceAll(string(cells), "\x00", ""), " ")
}

// String returns the visible content, without empty rows at the end.
func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var rows []string
	for _, c := range s.cells {
		rows = append(rows, rowText(c))
	}
	return strings.TrimRight(strings.Join(rows, "\n"), "\n")
}

// all returns everything that was printed, including lines that have scrolled away.
func (s *screen) all() string {
	text := s.String()
	return strings.TrimLeft(strings.Join(s.scrolled, "\n")+"\n", "\n") + text
}

// narrow makes the terminal narrower, and wraps lines that are too long, as most terminals do.
func (s *screen) narrow(columns int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var rows [][]rune
	at := 0
	for i, c := range s.cells {
		text := []rune(rowText(c))
		if i > s.row {
			break
		}
		for {
			row := []rune(strings.Repeat(" ", columns))
			n := copy(row, text)
			rows = append(rows, row)
			if text = text[n:]; len(text) == 0 {
				break
			}
		}
		at = len(rows) - 1
	}
	s.columns = columns
	for at >= s.rows {
		s.scrolled = append(s.scrolled, rowText(rows[0]))
		rows, at = rows[1:], at-1
	}
	for len(rows) < s.rows {
		rows = append(rows, s.blank())
	}
	s.cells, s.row = rows, at
	s.col = min(len([]rune(rowText(rows[at]))), columns-1)
}
