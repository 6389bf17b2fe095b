package bucket

import (
	"context"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/tombolo-iac/tombolo/internal/store/remote/objects"
	"github.com/tombolo-iac/tombolo/internal/store/remote/web"
)

// Some services answer in XML as the first of them did: errors have a code and a message, and a list has pages.

// Said returns the service's description of an error: its code, and both as a text.
func Said(a *web.Answer) (code, text string) {
	var named struct{ Code, Message string }
	if xml.Unmarshal(a.Body, &named) != nil {
		return "", ""
	}
	return named.Code, strings.TrimSuffix(named.Code+": "+named.Message, ": ")
}

// Missing reports whether an answer means that the object does not exist. A missing bucket is an error.
// The answer to a HEAD request has no body. To any other the service says what is missing: an answer without words
// is that of something on the way, and not a state that is not there.
func Missing(a *web.Answer) bool {
	code, _ := Said(a)
	return a.Status == http.StatusNotFound && (code == "NoSuchKey" || a.Method == http.MethodHead && len(a.Body) == 0)
}

// Tag returns a tag without its quotes, which not all answers have.
func Tag(text string) string { return strings.Trim(text, `"`) }

// Limits of lists: the pages, the objects on one, whatever was asked for, and the bytes of a name. The services have
// lower ones.
const (
	MaxPages = 1000
	MaxPage  = 1000
	MaxName  = 1024
)

// Page counts the pages of a list, and returns an error for one that the service would not send: with more than was
// asked for, names of another prefix, or a next page that does not come behind this one. For pages that are not
// continued at a name, next is "".
type Page struct {
	Prefix, last string
	pages        int
}

// Follows judges a page, with the names on it and the name at which the next one begins.
func (p *Page) Follows(names []string, next string) error {
	if len(names) > MaxPage {
		return fmt.Errorf("a page of the list has %d objects, but at most %d were requested", len(names), MaxPage)
	}
	for _, name := range append(names, next) {
		if len(name) > MaxName {
			return fmt.Errorf("the list has a name of %d bytes, but at most %d are possible", len(name), MaxName)
		}
	}
	for _, name := range names {
		if !strings.HasPrefix(name, p.Prefix) {
			return fmt.Errorf("the list has the name %.100q, but names that begin with %q were requested",
				name, p.Prefix)
		}
	}
	if p.pages++; p.pages > MaxPages {
		return fmt.Errorf("more than %d objects have names that begin with %q, or the list does not end",
			MaxPages*MaxPage, p.Prefix)
	}
	if next != "" && next <= p.last {
		return fmt.Errorf("the list repeats: after %.100[2]q it continues at %.100[1]q", next, p.last)
	}
	p.last = next
	return nil
}

// Pages are the pages of a list.
type Pages struct {
	// Ask asks for a page. It returns the answer, or an error when that is not a page.
	Ask func(ctx context.Context, query url.Values) (*web.Answer, error)
	// Escaped names are asked for as they are in addresses.
	Escaped bool
	Service string // for people: "OSS"
	Name    func(name string) string
}

// Each calls a function for each object with the prefix, until it returns false. Most is how many are asked for.
func (p Pages) Each(ctx context.Context, prefix string, most int, each func(objects.Entry) bool) error {
	query := url.Values{"prefix": {prefix}, "max-keys": {strconv.Itoa(most)}}
	if p.Escaped {
		query.Set("encoding-type", "url")
	}
	wrong := func(what string) error {
		return &web.Problem{Text: fmt.Sprintf("list %s: %s. The server is not %s", p.Name(prefix), what, p.Service)}
	}
	pages := Page{Prefix: prefix}
	for {
		a, err := p.Ask(ctx, query)
		if err != nil {
			return err
		}
		var page struct {
			XMLName     xml.Name `xml:"ListBucketResult"`
			IsTruncated bool
			NextMarker  string
			Contents    []struct{ Key, ETag string }
		}
		if err := xml.Unmarshal(a.Body, &page); err != nil {
			return wrong("the answer is not a list of objects")
		}
		names := make([]string, len(page.Contents))
		next, ok := p.plain(page.NextMarker)
		for i, o := range page.Contents {
			var plain bool
			names[i], plain = p.plain(o.Key)
			ok = ok && plain
		}
		if !ok {
			return wrong("the answer has names that are not escaped")
		}
		if err := pages.Follows(names, next); err != nil {
			return wrong(err.Error())
		}
		for i, o := range page.Contents {
			if !each(objects.Entry{Name: names[i], Tag: Tag(o.ETag)}) {
				return nil
			}
		}
		if !page.IsTruncated || next == "" {
			return nil
		}
		query.Set("marker", next)
	}
}

// plain returns a name of a list as it is.
func (p Pages) plain(name string) (string, bool) {
	if !p.Escaped {
		return name, true
	}
	name, err := url.QueryUnescape(name)
	return name, err == nil
}

// First returns the first objects with the prefix.
func (p Pages) First(ctx context.Context, prefix string, most int) (all []objects.Entry, err error) {
	err = p.Each(ctx, prefix, most, func(e objects.Entry) bool {
		all = append(all, e)
		return len(all) < most
	})
	return all, err
}

// All calls a function for the names of all objects with the prefix.
func (p Pages) All(ctx context.Context, prefix string, each func(name string)) error {
	return p.Each(ctx, prefix, 1000, func(e objects.Entry) bool { each(e.Name); return true })
}
