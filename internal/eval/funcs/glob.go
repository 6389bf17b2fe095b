package funcs

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

var errBadPattern = errors.New("syntax error in pattern")

// glob returns the paths that match a pattern: * and ? within a name, [a-z] and [^a-z] for a character, {a,b} for
// alternatives within a name, ** for any number of directories, \ before a literal character. Links are followed.
//
// It is implemented here because the result must be the same in all engines, and later versions of the library that
// defined the rules (doublestar 1) differ from it. So its edge cases are kept: alternatives do not nest, only * may be
// left of a pattern at the end of a name, and an error in a pattern is found when matching reaches it.
func glob(pattern string, work *Work) ([]string, error) {
	dir := "."
	if filepath.IsAbs(pattern) {
		dir = filepath.VolumeName(pattern) + string(filepath.Separator)
		pattern = strings.TrimPrefix(pattern, dir)
	}
	s := &search{work: work}
	err := s.in(dir, strings.Split(filepath.ToSlash(pattern), "/"))
	return s.found, err
}

// search is one search for files. The number of visited files is limited: links to a parent directory form an infinite
// tree.
type search struct {
	work   *Work
	looked int
	found  []string
}

// in matches a pattern against the names in a directory.
func (s *search) in(dir string, names []string) error {
	name, rest := names[0], names[1:]
	last := len(rest) == 0
	switch {
	case name == "**" && last:
		return s.everyFile(dir)
	case name == "**":
		return s.below(dir, rest)
	case !strings.ContainsAny(name, `*?[{\`):
		path := filepath.Join(dir, name)
		if !last {
			return s.in(path, rest)
		}
		if _, err := os.Lstat(path); err == nil {
			s.found = append(s.found, path)
		}
		return nil
	}
	entries, err := s.readDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := s.look(0); err != nil {
			return err
		}
		matched, err := matchName(name, entry.Name())
		if err != nil {
			return err
		}
		path := filepath.Join(dir, entry.Name())
		switch {
		case !matched:
		case last:
			s.found = append(s.found, path)
		case isDir(path, entry):
			if err := s.in(path, rest); err != nil {
				return err
			}
		}
	}
	return nil
}

// below matches the rest of a pattern after ** in a directory and everything below it.
func (s *search) below(dir string, rest []string) error {
	if err := s.in(dir, rest); err != nil {
		return err
	}
	entries, err := s.readDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := s.look(0); err != nil {
			return err
		}
		if path := filepath.Join(dir, entry.Name()); isDir(path, entry) {
			if err := s.below(path, rest); err != nil {
				return err
			}
		}
	}
	return nil
}

// everyFile returns all files in a directory and below it, except for broken links.
func (s *search) everyFile(dir string) error {
	entries, err := s.readDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := s.look(0); err != nil {
			return err
		}
		path := filepath.Join(dir, entry.Name())
		if isDir(path, entry) {
			if err := s.everyFile(path); err != nil {
				return err
			}
		} else if _, err := os.Stat(path); err == nil {
			s.found = append(s.found, path)
		}
	}
	return nil
}

// fileSteps is the cost of visiting a file, in rounds of a loop.
const fileSteps = 1 << 6

// readDir treats a directory that cannot be read as an empty one. Its entries are sorted.
func (s *search) readDir(dir string) (entries []os.DirEntry, err error) {
	if err := s.look(1); err != nil {
		return nil, err
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() { // opening a pipe may block
		return nil, nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return nil, nil
	}
	defer f.Close()
	for err == nil {
		var some []os.DirEntry
		some, err = f.ReadDir(1 << 10)
		entries = append(entries, some...)
		if err := s.look(len(some)); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// look must be called before or after the given number of files is visited.
func (s *search) look(files int) error {
	if s.looked += files; s.looked > limits.elements {
		return errEntries()
	}
	return s.work.stoppedLong(int64(s.looked) * fileSteps)
}

// isDir follows links. (For a link to a parent directory, the system eventually reports too many links.)
func isDir(path string, entry os.DirEntry) bool {
	if entry.Type()&os.ModeSymlink == 0 {
		return entry.IsDir()
	}
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// matchName matches one name of a path.
func matchName(pattern, name string) (bool, error) {
	for pattern != "" {
		if name == "" {
			return strings.Trim(pattern, "*") == "", nil
		}
		char, size := utf8.DecodeRuneInString(name)
		switch pattern[0] {
		case '*':
			return matchStar(strings.TrimLeft(pattern, "*"), name)
		case '{':
			return matchAlternatives(pattern[1:], name)
		case '?':
			pattern = pattern[1:]
		case '[':
			matched, rest, err := matchClass(pattern[1:], char)
			if err != nil || !matched {
				return false, err
			}
			pattern = rest
		default:
			want, rest, ok := literal(pattern)
			if !ok || want != char {
				return false, nil
			}
			pattern = rest
		}
		name = name[size:]
	}
	return name == "", nil
}

func matchStar(pattern, name string) (bool, error) {
	if pattern == "" {
		return true, nil
	}
	for i := range name { // at the start of every character
		if matched, err := matchName(pattern, name[i:]); matched || err != nil {
			return matched, err
		}
	}
	return false, nil
}

// matchAlternatives matches a pattern that starts after an opening brace.
func matchAlternatives(pattern, name string) (bool, error) {
	var alternatives []string
	start := 0
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			i++
		case ',':
			alternatives = append(alternatives, pattern[start:i])
			start = i + 1
		case '}':
			for _, alternative := range append(alternatives, pattern[start:i]) {
				if matched, err := matchName(alternative+pattern[i+1:], name); matched || err != nil {
					return matched, err
				}
			}
			return false, nil
		}
	}
	return false, errBadPattern
}

// matchClass matches a pattern that starts after an opening bracket, and returns the rest after the closing one.
func matchClass(pattern string, char rune) (matched bool, rest string, err error) {
	if strings.HasPrefix(pattern, "]") {
		return false, "", errBadPattern
	}
	pattern, negated := strings.CutPrefix(pattern, "^")
	for pattern != "" {
		if pattern[0] == ']' {
			return matched != negated, pattern[1:], nil
		}
		low, after, ok := classMember(pattern)
		if !ok {
			break
		}
		high := low
		if strings.HasPrefix(after, "-") {
			if high, after, ok = classMember(after[1:]); !ok {
				break
			}
		}
		if low <= char && char <= high {
			matched = true
		}
		pattern = after
	}
	return false, "", errBadPattern
}

func classMember(pattern string) (char rune, rest string, ok bool) {
	if pattern == "" || pattern[0] == '-' || pattern[0] == ']' {
		return 0, "", false
	}
	return literal(pattern)
}

// literal splits the first character, which may be escaped, from a pattern.
func literal(pattern string) (char rune, rest string, ok bool) {
	pattern = strings.TrimPrefix(pattern, `\`)
	char, size := utf8.DecodeRuneInString(pattern)
	return char, pattern[size:], size > 0
}
