package pages

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/state"
)

// browser is a Chromium that the tests control over its debugging pipe.
type browser struct {
	t       *testing.T
	to      *os.File
	session string

	mu      sync.Mutex // guards the fields below
	next    int
	answers map[int]chan json.RawMessage
	// requests are the addresses of all requests, and complaints what the browser has reported, such as violations of
	// the policy and errors of scripts.
	requests, complaints []string
}

// newBrowser starts a browser with a new profile.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	name := ""
	for _, candidate := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(candidate); err == nil {
			name = path
			break
		}
	}
	if name == "" {
		t.Skip("needs chromium")
	}
	commands, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	from, results, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"--headless=new", "--remote-debugging-pipe", "--user-data-dir=" + t.TempDir(), "--disable-gpu",
		"--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"}
	if os.Geteuid() == 0 { // its sandbox does not work for root
		args = append(args, "--no-sandbox")
	}
	cmd := exec.Command(name, append(args, "about:blank")...)
	cmd.ExtraFiles = []*os.File{commands, results} // as 3 and 4
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	commands.Close()
	results.Close()
	b := &browser{t: t, to: to, answers: map[int]chan json.RawMessage{}}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.listen(from)
	}()
	t.Cleanup(func() {
		_, _ = b.send("Browser.close", nil)
		to.Close()
		<-ended // its end of the pipe is closed
		_ = cmd.Wait()
		from.Close()
	})
	var created struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &created)
	var attached struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": created.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Network", "Runtime", "Log"} {
		b.call(domain+".enable", nil, nil)
	}
	return b
}

// listen receives answers and events until the browser ends.
func (b *browser) listen(from *os.File) {
	r := bufio.NewReader(from)
	for {
		text, err := r.ReadBytes(0)
		if err != nil {
			b.mu.Lock()
			defer b.mu.Unlock()
			for _, answer := range b.answers {
				close(answer)
			}
			b.answers = nil
			return
		}
		var m struct {
			ID     int
			Method string
			Params struct {
				Request          struct{ URL string }
				Entry            struct{ Level, Text, URL string }
				ExceptionDetails json.RawMessage
			}
		}
		if json.Unmarshal(bytes.TrimRight(text, "\x00"), &m) != nil {
			continue
		}
		b.mu.Lock()
		switch m.Method {
		case "":
			if answer := b.answers[m.ID]; answer != nil {
				answer <- json.RawMessage(bytes.TrimRight(text, "\x00"))
				delete(b.answers, m.ID)
			}
		case "Network.requestWillBeSent":
			b.requests = append(b.requests, m.Params.Request.URL)
		case "Log.entryAdded":
			if e := m.Params.Entry; e.Level != "info" && e.Level != "verbose" {
				b.complaints = append(b.complaints, e.Text+" "+e.URL)
			}
		case "Runtime.exceptionThrown":
			b.complaints = append(b.complaints, string(m.Params.ExceptionDetails))
		}
		b.mu.Unlock()
	}
}

// send sends a command and returns its answer.
func (b *browser) send(method string, params any) (json.RawMessage, error) {
	b.mu.Lock()
	if b.answers == nil {
		b.mu.Unlock()
		return nil, fmt.Errorf("the browser has ended")
	}
	b.next++
	answer := make(chan json.RawMessage, 1)
	b.answers[b.next] = answer
	m := map[string]any{"id": b.next, "method": method}
	b.mu.Unlock()
	if params != nil {
		m["params"] = params
	}
	if b.session != "" && !strings.HasPrefix(method, "Browser.") && !strings.HasPrefix(method, "Target.") {
		m["sessionId"] = b.session
	}
	text, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	if _, err := b.to.Write(append(text, 0)); err != nil {
		return nil, err
	}
	got, ok := <-answer
	if !ok {
		return nil, fmt.Errorf("the browser has ended")
	}
	return got, nil
}

// call is send for a command that must succeed.
func (b *browser) call(method string, params, result any) {
	b.t.Helper()
	text, err := b.send(method, params)
	if err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
	var m struct {
		Result json.RawMessage
		Error  json.RawMessage
	}
	if err := json.Unmarshal(text, &m); err != nil || m.Error != nil {
		b.t.Fatalf("%s: %v %s", method, err, m.Error)
	}
	if result != nil {
		if err := json.Unmarshal(m.Result, result); err != nil {
			b.t.Fatalf("%s: %v", method, err)
		}
	}
}

// eval returns the value of an expression on the page.
func (b *browser) eval(expression string) any {
	b.t.Helper()
	var r struct {
		Result           struct{ Value any }
		ExceptionDetails json.RawMessage
	}
	b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true},
		&r)
	if r.ExceptionDetails != nil {
		b.t.Fatalf("%s: %s", expression, r.ExceptionDetails)
	}
	return r.Result.Value
}

// until waits until an expression is true. The time is only for tests that fail.
func (b *browser) until(expression string) {
	b.t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		text, err := b.send("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true})
		if err != nil {
			b.t.Fatal(err)
		}
		if strings.Contains(string(text), `"value":true`) {
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("%s is still not true; the page is\n%v", expression,
				b.eval("document.body.innerText.slice(0, 2000)"))
		}
	}
}

// open loads a page and waits until it is complete.
func (b *browser) open(address string) {
	b.t.Helper()
	b.eval("window.former = true")
	b.call("Page.navigate", map[string]any{"url": address}, nil)
	b.loaded()
}

// click clicks on the first element for a selector that leads to another page, and waits for it.
func (b *browser) click(selector string) {
	b.t.Helper()
	b.eval("window.former = true")
	b.eval(fmt.Sprintf("document.querySelector(%q).click()", selector))
	b.loaded()
}

func (b *browser) loaded() {
	b.t.Helper()
	b.until("!window.former && document.readyState === 'complete'")
}

// check checks that all requests went to the server and that the browser has not complained.
func (b *browser) check(server *httptest.Server) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.requests {
		if !strings.HasPrefix(r, server.URL+"/") && r != "about:blank" {
			b.t.Errorf("the browser has requested %s", r)
		}
	}
	all := slices.DeleteFunc(slices.Clone(b.complaints), func(text string) bool {
		return strings.Contains(text, "/favicon.ico") // browsers ask for it by themselves
	})
	if len(all) > 0 {
		b.t.Errorf("the browser complains: %q", all)
	}
}

// TestInABrowser opens the link, unfolds an object, sees a change at once, gets rights, approves a plan, and watches
// the run, with texts that would do harm as markup.
func TestInABrowser(t *testing.T) {
	b := newBrowser(t)
	const value = `<img src=x onerror=pwned=1><script>pwned=1</script>"'`
	o := everything(value, "s3cret")
	o.Access.Once = true
	o.Every = 50 * time.Millisecond
	place, runs := o.Places[0].(*fakePlace), o.Runs.(*fakeRuns)
	_, c := serving(t, o)
	b.open(c.server.URL + "/p/?token=" + linkToken)
	if at := b.eval("location.href"); at != c.server.URL+"/p/" {
		t.Errorf("the link leads to %v", at)
	}
	b.click(`main a[href*="workspace=default"]`)
	b.eval(`document.querySelector('details').open = true`)
	b.until(`document.getElementById('live').textContent !== ''`)
	name := b.eval(`document.querySelector('details').dataset.name`)
	place.set("default", &state.Snapshot{State: stateOf(77, "l", "the new value", "s3cret", "k", "z")})
	b.until(`document.querySelector('main').textContent.includes('the new value')`)
	if got := b.eval(`document.querySelector('details[open]')?.dataset.name`); got != name {
		t.Errorf("after the change, %v is unfolded, want %v", got, name)
	}
	for _, path := range paths {
		b.open(c.server.URL + path)
		if b.eval("'pwned' in window") != false || b.eval("document.images.length") != 0.0 {
			t.Fatalf("%s: a text became markup", path)
		}
	}
	b.dropComplaints() // pages that do not exist are errors in the log
	b.open(c.server.URL + "/p/rights")
	b.eval(fmt.Sprintf("document.getElementById('rights').value = %q", rightsToken))
	b.click("form.ask button")
	b.open(c.server.URL + "/p/plan?name=p.plan")
	b.eval("document.getElementById('sure').checked = true")
	b.click("form.note button")
	b.until(`document.querySelector('pre.log').textContent.includes('The run begins.')`)
	runs.change(func() { runs.runs[1].Log += "One operation is done.\n" })
	b.until(`document.querySelector('pre.log').textContent.includes('One operation is done.')`)
	runs.change(func() { runs.runs[1].Ended = time.Unix(1e9, 0) })
	b.until(`document.querySelector('.outcome.done') !== null`)
	if got := runs.effects(); got != 1 {
		t.Errorf("there were %d effects", got)
	}
	b.check(c.server)
}

func (b *browser) dropComplaints() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.complaints = nil
}

// TestReportsInABrowser opens both reports, whose scripts the policy of the server must allow.
func TestReportsInABrowser(t *testing.T) {
	b := newBrowser(t)
	o := everything("x", "s3cret")
	o.Access.Once = true
	_, c := serving(t, o)
	b.open(c.server.URL + "/p/?token=" + linkToken)
	for _, path := range []string{"/p/state/report", "/p/plan/report?name=p.plan"} {
		b.open(c.server.URL + path)
		b.until(`document.querySelectorAll('[role=tab]').length > 1`)
		b.until(`document.body.innerText.includes('t_x.x')`)
	}
	b.check(c.server)
}

// TestPagesInLightAndDark compares colors: text is readable on its background in both.
func TestPagesInLightAndDark(t *testing.T) {
	b := newBrowser(t)
	o := everything("x", "s3cret")
	o.Access.Once = true
	_, c := serving(t, o)
	b.open(c.server.URL + "/p/?token=" + linkToken)
	seen := map[any]bool{}
	for _, scheme := range []string{"light", "dark"} {
		b.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{
			{"name": "prefers-color-scheme", "value": scheme}}}, nil)
		for _, path := range []string{"/p/", "/p/state", "/p/plan?name=p.plan", "/p/drift"} {
			b.open(c.server.URL + path)
			if low := b.eval(contrasts); low != "" {
				t.Errorf("%s, %s: not readable: %v", path, scheme, low)
			}
		}
		seen[b.eval("getComputedStyle(document.body).backgroundColor")] = true
	}
	if len(seen) != 2 {
		t.Errorf("the backgrounds are %v", seen)
	}
}

// contrasts lists the texts whose contrast with their background is below 4.5.
const contrasts = `(() => {
  const parse = (c) => (c.match(/[\d.]+/g) ?? []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => v <= 0.03928 ? v / 12.92 :
    ((v + 0.055) / 1.055) ** 2.4).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const c = parse(getComputedStyle(e).backgroundColor);
      if (c.length === 3 || c[3] === 1) return c;
    }
    return [255, 255, 255];
  };
  const bad = [];
  for (const e of document.querySelectorAll('body *')) {
    if (![...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())) continue;
    const [a, b] = [light(parse(getComputedStyle(e).color)), light(behind(e))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) bad.push(e.tagName + '.' + e.className + ' ' + ratio.toFixed(2));
  }
  return bad.join(', ');
})()`

// TestPagesWithoutScripts reads pages and uses forms in a browser that runs no scripts.
func TestPagesWithoutScripts(t *testing.T) {
	b := newBrowser(t)
	o := everything("x", "s3cret")
	o.Access.Once = true
	_, c := serving(t, o)
	b.call("Emulation.setScriptExecutionDisabled", map[string]any{"value": true}, nil)
	b.open(c.server.URL + "/p/?token=" + linkToken)
	for path, want := range map[string]string{"/p/state": "t_x.x", "/p/plan?name=p.plan": "1 to change",
		"/p/history": "Compare two states", "/p/run?id=r0": "logx"} {
		b.open(c.server.URL + path)
		if got := fmt.Sprint(b.eval("document.body.innerText")); !strings.Contains(got, want) {
			t.Errorf("%s has no %q:\n%s", path, want, got)
		}
	}
	b.check(c.server)
}
