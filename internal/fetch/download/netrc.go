package download

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// maxNetrc bounds the netrc file.
const maxNetrc = 1 << 20

// netrc finds the password of a host in the file that other programs keep passwords in; nil when there is none.
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
	file, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the passwords in %s cannot be read: %w", name, err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxNetrc))
	if err != nil {
		return nil, fmt.Errorf("the passwords in %s cannot be read: %w", name, err)
	}
	return machine(string(text), host), nil
}

// machine reads the text of a netrc file: words, of which some are followed by a value, and comments and macros, which are left out.
func machine(text, host string) *url.Userinfo {
	var words []string
	macro := false
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if macro = macro && len(fields) > 0; macro {
			continue
		}
		for _, word := range fields {
			if strings.HasPrefix(word, "#") {
				break
			}
			if word == "macdef" {
				macro = true
				break
			}
			words = append(words, word)
		}
	}
	login, password, matches := "", "", false
	for i := 0; i < len(words); i++ {
		value := ""
		if i+1 < len(words) {
			value = words[i+1]
		}
		switch words[i] {
		case "machine", "default":
			if matches {
				return url.UserPassword(login, password)
			}
			if matches = words[i] == "default"; !matches {
				matches = value == host
				i++
			}
			login, password = "", ""
		case "login":
			login = value
			i++
		case "password":
			password = value
			i++
		case "account":
			i++
		}
	}
	if !matches {
		return nil
	}
	return url.UserPassword(login, password)
}

func (g *Getter) getenv(name string) string {
	value := ""
	for _, kv := range g.Environ {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			value = v
		}
	}
	return value
}
