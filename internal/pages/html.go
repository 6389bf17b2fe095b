package pages

import (
	"bytes"
	"fmt"
	"html"
	"net/url"
	"strings"
	"time"

	"github.com/tombolo-iac/tombolo/internal/regex"
	"github.com/tombolo-iac/tombolo/internal/view"
)

// Pages are trees of elements. Texts and values of attributes are escaped where a tree is written, and nowhere else:
// nothing that comes from a state or a request can become markup.

// node is a part of a page.
type node interface{ write(b *bytes.Buffer) }

// list is several nodes in a row.
type list []node

func (l list) write(b *bytes.Buffer) {
	for _, n := range l {
		n.write(b)
	}
}

// text is text of any origin. Control characters and invisible characters become visible.
type text string

func (t text) write(b *bytes.Buffer) { b.WriteString(html.EscapeString(view.Clean(string(t)))) }

// attr is an attribute of an element.
type attr struct{ name, value string }

// element is an element with its attributes and its content.
type element struct {
	tag     string
	attrs   []attr
	content list
}

// void are the elements without an end tag.
var void = map[string]bool{"meta": true, "link": true, "input": true, "br": true}

func (e *element) write(b *bytes.Buffer) {
	b.WriteString("<" + e.tag)
	for _, a := range e.attrs {
		fmt.Fprintf(b, " %s=\"%s\"", a.name, html.EscapeString(view.Clean(a.value)))
	}
	b.WriteByte('>')
	if void[e.tag] {
		return
	}
	e.content.write(b)
	b.WriteString("</" + e.tag + ">")
}

// el returns an element. Parts are attributes, nodes, and strings, which become texts; nil is left out. The names of
// elements and attributes are constants.
func el(tag string, parts ...any) *element {
	e := &element{tag: tag}
	for _, p := range parts {
		switch p := p.(type) {
		case nil:
		case attr:
			e.attrs = append(e.attrs, p)
		case string:
			e.content = append(e.content, text(p))
		case *element:
			if p != nil {
				e.content = append(e.content, p)
			}
		case node:
			e.content = append(e.content, p)
		default:
			panic(fmt.Sprintf("pages: %T cannot be a part of an element", p))
		}
	}
	return e
}

func class(name string) attr { return attr{"class", name} }

// when returns a part if a condition holds.
func when(is bool, part any) any {
	if !is {
		return nil
	}
	return part
}

// table returns a table with a caption for screen readers. The first cell of each row is its header.
func table(caption string, columns []string, rows []list) node {
	head := el("tr")
	for _, c := range columns {
		head.content = append(head.content, el("th", attr{"scope", "col"}, c))
	}
	body := el("tbody")
	for _, cells := range rows {
		row := el("tr")
		for i, c := range cells {
			if i == 0 {
				row.content = append(row.content, el("th", attr{"scope", "row"}, c))
				continue
			}
			row.content = append(row.content, el("td", c))
		}
		body.content = append(body.content, row)
	}
	return el("div", class("scrolls"), attr{"tabindex", "0"}, attr{"role", "region"}, attr{"aria-label", caption},
		el("table", class("list"), el("caption", class("unseen"), caption), el("thead", head), body))
}

// facts returns a list of names and values. Facts without a value are left out.
func facts(pairs ...any) node {
	dl := el("dl", class("facts"))
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] == nil || pairs[i+1] == "" {
			continue
		}
		dl.content = append(dl.content, el("div", el("dt", pairs[i]), el("dd", pairs[i+1])))
	}
	return dl
}

// note returns a remark. The level is "", warning or error.
func note(level string, parts ...any) node {
	return el("div", append([]any{class(strings.TrimSpace("note " + level))}, parts...)...)
}

// moment returns a time.
func moment(t time.Time) node {
	if t.IsZero() {
		return text("-")
	}
	return el("time", attr{"datetime", t.UTC().Format(time.RFC3339)}, t.UTC().Format("2006-01-02 15:04:05 UTC"))
}

// code returns a text as code.
func code(s string) node { return el("code", view.CleanLine(s)) }

// link returns an address below the prefix, with a query of names and values.
func (s *Server) link(path string, query ...string) string {
	values := url.Values{}
	for i := 0; i < len(query); i += 2 {
		if query[i+1] != "" {
			values.Set(query[i], query[i+1])
		}
	}
	if len(values) == 0 {
		return s.o.Prefix + path
	}
	return s.o.Prefix + path + "?" + values.Encode()
}

// anchor returns a link.
func anchor(to string, parts ...any) node {
	return el("a", append([]any{attr{"href", to}}, parts...)...)
}

// colors are the classes of escape sequences, as in reports.
var colors = map[string]string{"1": "b", "4": "u", "31": "red", "32": "green", "33": "yellow", "36": "cyan",
	"90": "gray"}

var (
	escape = regex.Lazy(`\x1b\[(\d+)m`)
	sign   = regex.Lazy(`^\s*(-/\+|\+/-|\./\+|[-+~.]|<=)\s`)
)

// maxBlock limits how many bytes of a block are shown.
const maxBlock = 64 << 10

// block returns the text of an object, in which colors are escape sequences, as it is in reports.
func block(body string) node {
	body = strings.TrimRight(body, "\n")
	if len(body) > maxBlock {
		end := strings.LastIndexByte(body[:maxBlock], '\n')
		body = body[:max(end, 0)] + fmt.Sprintf("\n... and %d more bytes", len(body)-end)
	}
	pre := el("pre", class("diff"))
	classes := ""
	for line := range strings.Lines(body) {
		row := el("span", class("line"))
		plain := escape().ReplaceAllString(line, "")
		if found := sign().FindStringSubmatch(plain); found != nil {
			kind := map[string]string{"+": " add", "-": " del", "~": " chg"}[found[1]]
			if found[1] != "~" || !strings.ContainsAny(strings.TrimSpace(plain[len(plain)-min(2, len(plain)):]),
				"[{(") {
				row.attrs[0].value += kind
			}
		}
		at := 0
		part := func(s string) {
			switch {
			case s == "":
			case classes == "":
				row.content = append(row.content, text(s))
			default:
				row.content = append(row.content, el("span", class(classes), s))
			}
		}
		for _, m := range escape().FindAllStringSubmatchIndex(line, -1) {
			part(line[at:m[0]])
			at = m[1]
			if n := line[m[2]:m[3]]; n == "0" {
				classes = ""
			} else {
				classes = strings.TrimSpace(classes + " " + colors[n])
			}
		}
		part(line[at:])
		pre.content = append(pre.content, row)
	}
	return pre
}
