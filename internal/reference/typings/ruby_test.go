package typings

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// rbs reads the part of RBS that this package writes: a module with aliases of types.
type rbs struct {
	tokens        []string
	defined, used map[string]bool
	err           error
}

var rbsToken = regexp.MustCompile(`(?m)#[^\n]*|"(?:[^"\\\n]|\\.)*"|=>|[A-Za-z_][A-Za-z0-9_]*|[{}\[\],=|?]`)

// readRBS returns an error if a text is not in the form of RBS, or refers to a type that it does not define.
func readRBS(text string) error {
	if rest := strings.TrimSpace(rbsToken.ReplaceAllString(text, "")); rest != "" {
		return fmt.Errorf("unknown characters: %q", rest)
	}
	r := &rbs{defined: map[string]bool{}, used: map[string]bool{}}
	for _, token := range rbsToken.FindAllString(text, -1) {
		if token[0] != '#' {
			r.tokens = append(r.tokens, token)
		}
	}
	r.want("module")
	if name := r.next(); !regexp.MustCompile(`^[A-Z]\w*$`).MatchString(name) {
		r.fail("the module has the name %q", name)
	}
	for r.peek() == "type" {
		r.next()
		name := r.next()
		if !regexp.MustCompile(`^[a-z]\w*$`).MatchString(name) || r.defined[name] {
			r.fail("an alias has the name %q", name)
		}
		r.defined[name] = true
		r.want("=")
		r.types()
	}
	r.want("end")
	if len(r.tokens) > 0 {
		r.fail("%q follows the end", r.tokens[0])
	}
	for name := range r.used {
		if !r.defined[name] {
			r.fail("%q is not defined", name)
		}
	}
	return r.err
}

func (r *rbs) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
	r.tokens = nil
}

func (r *rbs) peek() string {
	if len(r.tokens) == 0 {
		return ""
	}
	return r.tokens[0]
}

func (r *rbs) next() string {
	token := r.peek()
	if token == "" {
		r.fail("it ends too early")
	} else {
		r.tokens = r.tokens[1:]
	}
	return token
}

func (r *rbs) want(token string) {
	if got := r.next(); got != token {
		r.fail("got %q, want %q", got, token)
	}
}

// types reads a type: a name, with types in brackets, or a record, perhaps optional, or several with | between.
func (r *rbs) types() {
	switch token := r.next(); {
	case token == "{":
		r.record()
	case token == "untyped", token == "bool":
	case token != "" && token[0] >= 'a' && token[0] <= 'z':
		r.used[token] = true
	case token == "String", token == "Integer", token == "BigDecimal":
	case token == "Array", token == "Hash":
		r.want("[")
		if r.types(); token == "Hash" {
			r.want(",")
			r.types()
		}
		r.want("]")
	default:
		r.fail("%q is no type", token)
	}
	if r.peek() == "?" {
		r.next()
	}
	if r.peek() == "|" {
		r.next()
		r.types()
	}
}

func (r *rbs) record() {
	keys := map[string]bool{}
	for {
		if r.peek() == "?" {
			r.next()
		}
		key := r.next()
		if _, err := strconv.Unquote(key); err != nil || keys[key] {
			r.fail("a record has the key %s", key)
		}
		keys[key] = true
		r.want("=>")
		if r.types(); r.peek() != "," {
			break
		}
		r.next()
	}
	r.want("}")
}

func TestTheReaderOfRBSFindsMistakes(t *testing.T) {
	for text, want := range map[string]string{
		`module A type b = { "c" => String? } end`: "", `module a end`: "the name", `module A type B = String end`: "name",
		`module A type b = c end`: "not defined", `module A type b = { "c" => String, } end`: "the key",
		`module A type b = { "c" String } end`: "want", `module A type b = Hash[String] end`: "want",
		`module A type b = { "c" => String, "c" => bool } end`: "the key", `module A`: "too early", `module A; end`: ";",
		`module A type b = bool type b = bool end`: "the name",
	} {
		if err := readRBS(text); (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}
