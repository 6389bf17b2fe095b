package download

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/tombolo-iac/tombolo/internal/regular"
)

// netrc returns the user and password for a host in the netrc file, or nil if there is none.
func (g *Getter) netrc(host string) (*url.Userinfo, error) {
	name := g.getenv("NETRC")
	if name == "" {
		home, base := g.getenv("HOME"), ".netrc"
		if runtime.GOOS == "windows" {
			home, base = g.getenv("USERPROFILE"), "_netrc"
		}
		if home == "" {
			return nil, nil
		}
		name = filepath.Join(home, base)
	}
	text, err := regular.Read(name, regular.Note)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the passwords in %s cannot be read: %w", name, err)
	}
	user, err := machine(string(text), host)
	if err != nil {
		return nil, fmt.Errorf("the passwords in %s cannot be used: %w", name, err)
	}
	return user, nil
}

// machine parses a netrc file: keywords, most of which are followed by a value. A # begins a comment where a keyword is
// expected, but not in place of a value. A macro ends at the next empty line. A value must be on the line of its
// keyword: otherwise a keyword on the next line could be taken for a value, and its password be sent to the wrong host.
func machine(text, host string) (*url.Userinfo, error) {
	login, password, matches, last, macro := "", "", false, false, false
	for number, line := range lines(text) {
		words := strings.Fields(line)
		if macro = macro && len(words) > 0; macro {
			continue
		}
		for len(words) > 0 && !strings.HasPrefix(words[0], "#") {
			keyword := words[0]
			words = words[1:]
			if keyword == "machine" || keyword == "default" {
				if last {
					return nil, fmt.Errorf("line %d has the keyword %s after default, which must be the last entry",
						number, keyword)
				}
				if matches {
					return url.UserPassword(login, password), nil
				}
				login, password, last = "", "", keyword == "default"
				matches = last
			}
			switch keyword {
			case "default":
				continue
			case "machine", "login", "password", "account", "macdef":
			default:
				return nil,
					fmt.Errorf("line %d has something other than machine, default, login, password, account or "+
						"macdef where one of these is expected", number)
			}
			if len(words) == 0 {
				return nil, fmt.Errorf("line %d ends after the keyword %s, where its value is expected", number,
					keyword)
			}
			value := words[0]
			words = words[1:]
			switch keyword {
			case "machine":
				matches = value == host
			case "login":
				login = value
			case "password":
				password = value
			case "macdef":
				macro, words = true, nil
			}
		}
	}
	if !matches {
		return nil, nil
	}
	return url.UserPassword(login, password), nil
}

// lines returns the lines of a text with their numbers.
func lines(text string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		number := 0
		for line := range strings.Lines(text) {
			if number++; !yield(number, line) {
				return
			}
		}
	}
}

func (g *Getter) getenv(name string) string { return lookup(g.Environ, name) }
