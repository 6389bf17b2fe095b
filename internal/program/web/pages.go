package web

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/internal/program/manifest"
)

// pages returns the items of a response and of its further pages.
func (v *visit) pages(a *ask, p *manifest.Pages, got *reply, vars manifest.Variables) (cty.Value, error) {
	var items []cty.Value
	size := len(got.body)
	seen := map[string]bool{a.url.String(): true}
	for n := 1; ; n++ {
		found, err := p.Items.Value(vars)
		if err != nil {
			return cty.NilVal, &Failure{State: fmt.Sprintf("its answer has no items: %s", err),
				Message: v.c.excerpt(got.body, v.secretNames())}
		}
		if !found.IsNull() && !isSequence(found) {
			return cty.NilVal, &Failure{State: "the items of its answer are not an array",
				Message: v.c.excerpt(got.body, v.secretNames())}
		}
		var page []cty.Value
		if !found.IsNull() {
			page = found.AsValueSlice()
		}
		items = append(items, page...)
		next, err := v.next(a, p, got, vars, n, len(page), len(items))
		if err != nil {
			return cty.NilVal, err
		}
		if limit := v.limit(); next == nil || v.call.Action == "list" && limit > 0 && len(items) >= limit {
			return cty.TupleVal(items), nil
		}
		switch {
		case n == p.Most:
			return cty.NilVal, &Failure{State: fmt.Sprintf("its answer has more than %d pages", p.Most),
				Message: `Its author can set a higher number as "most".`}
		case seen[next.url.String()]:
			return cty.NilVal, &Failure{State: "its pages form a cycle", Message: "The next page was read before."}
		}
		seen[next.url.String()] = true
		a = next
		if got, err = v.send(a, vars); err != nil {
			return cty.NilVal, err
		}
		if size += len(got.body); int64(size) > v.c.m.HTTP.MaxBody {
			return cty.NilVal, &Failure{State: fmt.Sprintf("its pages have more bytes in total than the %d that "+
				"\"max_body\" allows", v.c.m.HTTP.MaxBody), Message: "Request fewer objects."}
		}
		vars = withVariable(vars, "answer", got.value())
		if err := v.succeeded(a, got, vars); err != nil {
			return cty.NilVal, err
		}
	}
}

// next returns the request for the page after the nth one, or nil at the end. page is the number of items on the last
// page, and all the total number so far.
func (v *visit) next(a *ask, p *manifest.Pages, got *reply, vars manifest.Variables, n, page, all int) (*ask, error) {
	to := *a
	switch {
	case p.Next != nil, p.Link:
		link := nextLink(got.header.Values("Link"))
		if p.Next != nil {
			var err error
			if link, _, err = p.Next.Text(vars); err != nil {
				return nil, &Failure{State: "its answer has no address of the next page: " + err.Error()}
			}
		}
		if link == "" {
			return nil, nil
		}
		u, err := a.url.Parse(link)
		if err != nil {
			return nil, &Failure{State: "the address of the next page cannot be read"}
		}
		if !sameServer(a.server, u) {
			return nil, &Failure{State: "the next page is on another server, " + u.Host,
				Advice: "It is not read, because the request has credentials."}
		}
		to.url = u
		return &to, nil
	case p.Token != nil:
		token, ok, err := p.Token.Text(vars)
		if err != nil {
			return nil, &Failure{State: "its answer has no token of the next page: " + err.Error()}
		}
		if !ok || token == "" {
			return nil, nil
		}
		return to.with(p.Parameter, token), nil
	case page == 0:
		return nil, nil
	case p.Number:
		return to.with(p.Parameter, strconv.Itoa(p.First+n)), nil
	case p.Offset:
		return to.with(p.Parameter, strconv.Itoa(p.First+all)), nil
	}
	return nil, nil
}

// with returns the request with another value of a query parameter.
func (a ask) with(name, text string) *ask {
	u := *a.url
	query := u.Query()
	query.Set(name, text)
	u.RawQuery = query.Encode()
	a.url = &u
	return &a
}

// nextLink returns the address with the relation next in Link headers (RFC 8288).
func nextLink(headers []string) string {
	for _, h := range headers {
		for h != "" {
			from := strings.IndexByte(h, '<')
			to := strings.IndexByte(h, '>')
			if from < 0 || to < from {
				break
			}
			address, rest := h[from+1:to], h[to+1:]
			end := strings.IndexByte(rest, '<')
			if end < 0 {
				end = len(rest)
			}
			for _, param := range strings.FieldsFunc(rest[:end], func(c rune) bool { return c == ';' || c == ',' }) {
				name, rel, _ := strings.Cut(strings.TrimSpace(param), "=")
				isRel := strings.EqualFold(strings.TrimSpace(name), "rel")
				if isRel && strings.EqualFold(strings.Trim(rel, `" `), "next") {
					if _, err := url.Parse(address); err == nil {
						return address
					}
				}
			}
			h = rest[end:]
		}
	}
	return ""
}
