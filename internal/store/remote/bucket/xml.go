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

// Several services respond in the XML format of the first such service: errors have a code and a message, and lists
// have pages.

// DescribeError returns the service's description of an error: its code, and a text with code and message.
func DescribeError(a *web.Answer) (code, text string) {
	var named struct{ Code, Message string }
	if xml.Unmarshal(a.Body, &named) != nil {
		return "", ""
	}
	return named.Code, strings.TrimSuffix(named.Code+": "+named.Message, ": ")
}

// Missing reports whether a response means that the object does not exist. A missing bucket is an error. The response
// to a HEAD request has no body. Other responses of the service contain an error code: without one, the response did
// not come from the service and does not mean that there is no state.
func Missing(a *web.Answer) bool {
	code, _ := DescribeError(a)
	return a.Status == http.StatusNotFound && (code == "NoSuchKey" || a.Method == http.MethodHead && len(a.Body) == 0)
}

// Tag returns an entity tag without its quotes, which not all responses have.
func Tag(text string) string { return strings.Trim(text, `"`) }

// Tagged returns the entity tag in a response about an object. The service sends one with each: a response without one
// came from something in between, such as a proxy.
func Tagged(service string, r web.Request, a *web.Answer) (string, error) {
	tag := Tag(a.Header.Get("ETag"))
	if tag == "" {
		return "", &web.Problem{Text: fmt.Sprintf("%s %s: the answer has no tag. The server is not %s, or a proxy "+
			"changes its answers", r.What, r.Name, service)}
	}
	return tag, nil
}

// Limits of lists: pages, objects on a page whatever was requested, and the size of a name in bytes. The limits of the
// services are lower.
const (
	MaxPages = 1000
	MaxPage  = 1000
	MaxName  = 1024
)

// Page counts the pages of a list, and returns an error for a page that the service would not send: one with too many
// objects, with names of another prefix, or with a next page that does not follow this one. If pages are not continued
// by name, next is "".
type Page struct {
	Prefix, last string
	pages        int
}

// Follows checks a page with its names and the name at which the next one begins.
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

// Pages reads lists page by page.
type Pages struct {
	// Ask requests a page. It returns an error if the response is not a page.
	Ask func(ctx context.Context, query url.Values) (*web.Answer, error)
	// Escaped requests URL-encoded names.
	Escaped bool
	Service string // for messages: "OSS"
	Name    func(name string) string
}

// Each calls each for the objects with the prefix, until it returns false. Most is the number of objects in each
// request.
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

// plain returns the decoded form of a name in a list.
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

// All calls each for the names of all objects with the prefix.
func (p Pages) All(ctx context.Context, prefix string, each func(name string)) error {
	return p.Each(ctx, prefix, 1000, func(e objects.Entry) bool { each(e.Name); return true })
}
