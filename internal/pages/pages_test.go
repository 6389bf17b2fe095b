package pages

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/tombolo-iac/tombolo/internal/view/report/reporttest"
	"github.com/tombolo-iac/tombolo/state"
)

// hostile are pieces of texts that would do harm as markup, script or address.
var hostile = []string{"<script>pwned=1</script>", "<img src=x onerror=pwned=1>", `"><b onclick="pwned=1">`,
	"' onload='x",
	"</pre></td></table>", "<!--", "-->", "]]>", "&lt;b&gt;", "javascript:pwned=1", "<base href=//evil>", "</title>",
	"</style><style>*{}", "\x1b[31m", "\x00", "\u202e", "\u200b", "<svg/onload=x>", "\\", "`", "${x}", "%3Cb%3E",
	"data:x", "{{.}}",
	"<form action=//evil><input>", "\t", "é漢"}

func hostileText(r *rand.Rand) string {
	var b strings.Builder
	for range 1 + r.IntN(4) {
		b.WriteString(hostile[r.IntN(len(hostile))])
		if r.IntN(3) == 0 {
			fmt.Fprint(&b, r.IntN(100))
		}
	}
	return b.String()
}

// shape returns the elements of a page and the names of their attributes, in order.
func shape(t *testing.T, page string) string {
	var b strings.Builder
	for _, e := range elements(t, page) {
		b.WriteString(e.Data)
		for _, a := range e.Attr {
			b.WriteString(" " + a.Key)
			if e.Data != "option" && (a.Key == "class" || a.Key == "type" || a.Key == "method" || a.Key == "rel") {
				b.WriteString("=" + a.Val)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// paths are pages whose addresses do not depend on texts.
var paths = []string{"/p/", "/p/state", "/p/state?workspace=other", "/p/state?unit=unit", "/p/history",
	"/p/history/state?id=2", "/p/history/state?id=1", "/p/history/changes?id=2", "/p/history/changes?id=1&from=2",
	"/p/plans", "/p/plan?name=p.plan", "/p/runs", "/p/run?id=r0", "/p/drift", "/p/rights", "/p/nothing",
	"/p/state?unit=none", "/p/state?workspace=none", "/p/history?unit=unit"}

// A page with hostile texts has exactly the elements and attributes of the same page with harmless texts, and all
// addresses in it are on the server.
func TestTextsNeverBecomeMarkup(t *testing.T) {
	_, harmless := serving(t, everything("harmless", "s3cret"))
	harmless.login()
	want := map[string]string{}
	for _, path := range paths {
		_, page := harmless.do(http.MethodGet, path, nil)
		want[path] = shape(t, page)
	}
	for seed := range uint64(25) {
		r := rand.New(rand.NewPCG(seed, 1))
		value := hostileText(r)
		_, c := serving(t, everything(value, "s3cret"))
		c.login()
		for _, path := range paths {
			_, page := c.do(http.MethodGet, path, nil)
			if got := shape(t, page); got != want[path] {
				t.Fatalf("seed %d, %q: the elements of %s are\n%s\nwant\n%s\nin\n%s", seed, value, path, got,
					want[path], page)
			}
			checkAddresses(t, path, page)
		}
	}
}

// The same holds for texts in requests.
func TestTextsOfRequestsNeverBecomeMarkup(t *testing.T) {
	_, c := serving(t, everything("x", "s3cret"))
	c.login()
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 2))
		text := url.QueryEscape(hostileText(r))
		for _, path := range []string{"/p/state?unit=", "/p/state?workspace=", "/p/state?search=", "/p/state?from=",
			"/p/history/state?id=", "/p/history/changes?id=2&from=", "/p/plan?name=", "/p/run?id=", "/p/events?page="} {
			_, plain := c.do(http.MethodGet, path+"unknown", nil)
			_, page := c.do(http.MethodGet, path+text, nil)
			if got, want := shape(t, page), shape(t, plain); got != want {
				t.Fatalf("seed %d: the elements of %s are\n%s\nwant\n%s", seed, path+text, got, want)
			}
			checkAddresses(t, path, page)
		}
	}
}

func checkAddresses(t *testing.T, path, page string) {
	t.Helper()
	for _, e := range elements(t, page) {
		for _, a := range e.Attr {
			switch {
			case strings.HasPrefix(a.Key, "on"), a.Key == "style":
				t.Fatalf("%s: <%s> has the attribute %s", path, e.Data, a.Key)
			case a.Key == "href", a.Key == "src", a.Key == "action", a.Key == "data-events":
				if !strings.HasPrefix(a.Val, "/p/") && !strings.HasPrefix(a.Val, "#") {
					t.Fatalf("%s: <%s> leads to %q", path, e.Data, a.Val)
				}
			}
		}
		if e.Data == "script" && (e.FirstChild != nil || attribute(e, "src") != "/p/live.js") {
			t.Fatalf("%s: a script has text, or another source than live.js", path)
		}
	}
}

// No page that a link leads to, and no report, has a secret: neither where it is declared nor where it was copied.
func TestNoPageHasASecret(t *testing.T) {
	const canary = "t0ps3cretvalue"
	o := everything("a copy of "+canary, canary)
	// These texts come from people or programs, not from values. What they would reveal is in the state anyway; here
	// only their own places count.
	p := o.Places[0].(*fakePlace)
	reading := p.states["default"]
	reading.Snapshot.InFlight[0].Object, reading.Snapshot.InFlight[0].ID = object("x", ""), "1"
	reading.Snapshot.InFlight[0].Run.ID, reading.Snapshot.Unfolded, reading.Snapshot.Running = "r", nil, nil
	st := stateOf(3, "lineage", "a copy of "+canary, canary, "k", "l")
	reading.Snapshot.State, reading.Holder = st, nil
	p.states = map[string]Reading{"default": reading}
	p.where, p.past[0].Revision.Who, p.past[0].Revision.Commit, p.past[0].Revision.Run.Command = "local", "", "", ""
	p.stored = map[string]*state.State{"2": st, "1": stateOf(1, "lineage", "a copy of "+canary, canary, "k")}
	o.Places, o.Runs = []Place{p}, &fakeRuns{}
	o.Drift = fakeDrift(`{"format_version":"1.0","drifted":[{"address":"a","differences":[{"path":"b","before":"copy of ` +
		canary + `","after":["` + canary + `"]}]}],"accepted":[],"unused":[{"reason":"` + canary + `"}]}`)
	_, c := serving(t, o)
	pages := c.login().crawl()
	if len(pages) < 14 {
		t.Errorf("only %d pages were found", len(pages))
	}
	reports := 0
	for path, page := range pages {
		if strings.Contains(path, "/report") {
			reports++
			page = reporttest.Text(t, page)
		}
		if at := strings.Index(page, canary); at >= 0 {
			t.Errorf("%s has a secret: ...%s", path, page[max(0, at-200):at+len(canary)])
		}
		if strings.Contains(path, "/p/state?") && !strings.Contains(page, "(sensitive value)") {
			t.Errorf("%s does not say that a value is sensitive", path)
		}
	}
	if reports != 2 {
		t.Errorf("%d reports were found, want one of the plan and one of the state", reports)
	}
}

// Every page has one heading of the first level and no gaps in the levels, tables with captions and headers, and labels
// for all fields.
func TestPagesAreAccessible(t *testing.T) {
	_, c := serving(t, everything("x", "s3cret"))
	_, ask := c.do(http.MethodGet, "/p/", nil)
	c.login()
	if status, _ := c.do(http.MethodPost, "/p/rights", url.Values{"csrf": {c.csrf()},
		"token": {rightsToken}}); status != 200 {
		t.Fatalf("the rights answer %d", status)
	}
	all := c.crawl()
	all["ask"] = ask
	for path, page := range all {
		if strings.Contains(path, "/report") {
			continue
		}
		labels, level, ids := map[string]bool{}, 0, map[string]bool{}
		list := elements(t, page)
		for _, e := range list {
			if e.Data == "label" {
				labels[attribute(e, "for")] = true
			}
			if id := attribute(e, "id"); id != "" {
				if ids[id] {
					t.Errorf("%s: the ID %q is there twice", path, id)
				}
				ids[id] = true
			}
		}
		for _, e := range list {
			switch e.Data {
			case "h1", "h2", "h3":
				now := int(e.Data[1] - '0')
				if now > level+1 || now == 1 && level != 0 {
					t.Errorf("%s: <%s> follows level %d", path, e.Data, level)
				}
				level = now
			case "table":
				if e.FirstChild.Data != "caption" {
					t.Errorf("%s: a table has no caption", path)
				}
			case "th":
				if attribute(e, "scope") == "" {
					t.Errorf("%s: a header has no scope", path)
				}
			case "input", "select":
				if attribute(e, "type") != "hidden" && !labels[attribute(e, "id")] {
					t.Errorf("%s: the field %q has no label", path, attribute(e, "id"))
				}
			case "html":
				if attribute(e, "lang") != "en" {
					t.Errorf("%s: the language is %q", path, attribute(e, "lang"))
				}
			case "a":
				if strings.TrimSpace(textOf(e)) == "" {
					t.Errorf("%s: a link has no text", path)
				}
			}
		}
		if level == 0 {
			t.Errorf("%s has no heading", path)
		}
	}
}

func textOf(e *html.Node) string {
	var b strings.Builder
	for n := range e.Descendants() {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
		}
	}
	return b.String()
}

// Large states are shown in parts, of which each object is in exactly one, and a search finds the others.
func TestLargeStatesAreShownInParts(t *testing.T) {
	o := everything("x", "s3cret")
	p := o.Places[0].(*fakePlace)
	var keys []string
	for i := range 2*perPage + 10 {
		keys = append(keys, fmt.Sprintf("key%04d", i))
	}
	p.set("default", &state.Snapshot{State: stateOf(1, "l", "x", "s3cret", keys...)})
	_, c := serving(t, o)
	c.login()
	seen := map[string]int{}
	address := "/p/state"
	for parts := 0; address != ""; parts++ {
		if parts > 5 {
			t.Fatal("the parts do not end")
		}
		page := c.get(address)
		address = ""
		for _, e := range elements(t, page) {
			if e.Data == "details" {
				seen[attribute(e, "data-name")]++
			}
			if e.Data == "a" && textOf(e) == "Next objects" {
				address = attribute(e, "href")
			}
		}
	}
	for _, key := range keys {
		if n := seen[`t_x.x["`+key+`"]`]; n != 1 {
			t.Fatalf("%s is shown %d times", key, n)
		}
	}
	if page := c.get("/p/state?search=key0123"); strings.Count(page, "<details") != 1 || !strings.Contains(page,
		"key0123") {
		t.Errorf("the search shows\n%s", page)
	}
}

// What the pages show is what the sources have.
func TestPagesShowTheirSources(t *testing.T) {
	o := everything("x", "s3cret")
	_, c := serving(t, o)
	c.login()
	for path, wants := range map[string][]string{
		"/p/": {"Working directory", "workspace other", "mex, Applyx",
			"applyx is running, 1 operation in flight", "cannot be reached: x"},
		"/p/state": {"lineagex", "Serial", "shown", "(sensitive value)", "Operations in flight",
			"runx/1x", `t_x.x[&#34;k&#34;]`, "Results that do not fit"},
		"/p/history":                     {"applyx", "another program", "Compare two states"},
		"/p/history/changes?id=2":        {"What changed from 1 to 2", "create", "delete"},
		"/p/history/changes?id=1":        {"The first stored state, 1"},
		"/p/history/changes?id=1&from=2": {"What changed from 2 to 1"},
		"/p/plans":                       {"p.plan"},
		"/p/plan?name=p.plan":            {"1 to change", "of another state", "sha256:1234", "get the rights"},
		"/p/run?id=r0":                   {"logx", "create", "done"},
		"/p/drift":                       {"gone", "(sensitive value)", "Accepted"},
		"/p/rights":                      {"Approve: apply saved plans"},
	} {
		page := c.get(path)
		for _, want := range wants {
			if !strings.Contains(page, want) {
				t.Errorf("%s does not show %q:\n%s", path, want, page)
			}
		}
	}
	for path, want := range map[string]string{"/p/history?unit=unit": "No former states",
		"/p/state?unit=unit": "cannot be reached", "/p/plan?name=q": "no plan with this name",
		"/p/run?id=q": "no run with"} {
		if status, page := c.do(http.MethodGet, path, nil); status < 400 || !strings.Contains(page, want) {
			t.Errorf("%s: status %d\n%s", path, status, page)
		}
	}
}
