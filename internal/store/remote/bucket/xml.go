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
func Missing(a *web.Answer) bool {
	code, _ := Said(a)
	return a.Status == http.StatusNotFound && (code == "NoSuchKey" || code == "" && len(a.Body) == 0)
}

// Tag returns a tag without its quotes, which not all answers have.
func Tag(text string) string { return strings.Trim(text, `"`) }

// maxPages limits a list that does not end.
const maxPages = 10_000

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
	for range maxPages {
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
		for _, o := range page.Contents {
			name, ok := p.plain(o.Key)
			if !ok {
				return wrong("the answer has names that are not escaped")
			}
			if !each(objects.Entry{Name: name, Tag: Tag(o.ETag)}) {
				return nil
			}
		}
		next, ok := p.plain(page.NextMarker)
		if !ok {
			return wrong("the answer has names that are not escaped")
		}
		if !page.IsTruncated || next == "" {
			return nil
		}
		query.Set("marker", next)
	}
	return wrong("the list does not end")
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
