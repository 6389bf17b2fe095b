package serving_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/cli/command"
)

const configuration = `
variable "secret" {
  sensitive = true
}
variable "text" {
  default = "one"
}
resource "terraform_data" "a" {
  for_each = toset(["x", "y"])
  input    = "${var.text} <b>"
}
resource "terraform_data" "s" {
  input = var.secret
}
output "text" {
  value = var.text
}
output "secret" {
  value     = var.secret
  sensitive = true
}
`

// TestPlansAreApprovedOnAPage serves a project, approves a saved plan, and finds the result on the pages. A plan whose
// file has changed is refused, and so is one that is stale. No page has a secret.
func TestPlansAreApprovedOnAPage(t *testing.T) {
	project(t, map[string]string{"main.tf": configuration})
	must(t, "apply", "-auto-approve")
	if err := os.Mkdir("plans", 0o755); err != nil {
		t.Fatal(err)
	}
	must(t, "plan", "-var=text=two", "-out=plans/two.plan")
	must(t, "plan", "-var=text=three", "-out=plans/three.plan")
	s := serve(t, true, "-plans=plans", "-allow=approve", "-allow=drift")
	if page := s.get("state"); !strings.Contains(page, "one &lt;b&gt;") || !strings.Contains(page,
		"(sensitive value)") {
		t.Errorf("the state is shown as\n%s", page)
	}
	page := s.get("plan?name=two.plan")
	if !strings.Contains(page, "2 to change") || !strings.Contains(page, "the current one") {
		t.Errorf("the plan is shown as\n%s", page)
	}
	if status, _ := s.post(page, "approve", url.Values{"plan": {"two.plan"}, "hash": {"sha256:0"},
		"sure": {"yes"}}); status !=
		http.StatusForbidden {
		t.Errorf("without rights: status %d", status)
	}
	s.entitled()
	page = s.get("plan?name=two.plan")
	write(t, "plans/other", "PK\x03\x04 no plan")
	if status, page := s.do(http.MethodGet, "plan?name=other", nil); status != http.StatusUnprocessableEntity {
		t.Errorf("a file that is no plan: status %d\n%s", status, page)
	}
	status, run := s.post(page, "approve", url.Values{"sure": {"yes"}})
	if status != http.StatusOK || !strings.Contains(run, "Apply two.plan") {
		t.Fatalf("the approval answers %d\n%s", status, run)
	}
	id := regexp.MustCompile(`id=([\w-]+)`).FindStringSubmatch(s.until("runs", "outcome done"))[1]
	run = s.get("run?id=" + id)
	for _, want := range []string{`terraform_data.a[&#34;x&#34;]`, "Apply complete!",
		"0 added, 2 changed, 0 destroyed"} {
		if !strings.Contains(run, want) {
			t.Errorf("the run has no %q:\n%s", want, run)
		}
	}
	s.until("state", "two &lt;b&gt;")
	if page := s.get("history"); !strings.Contains(page, "+0 ~2 -0") {
		t.Errorf("the history is\n%s", page)
	}
	stale := s.get("plan?name=three.plan")
	if !strings.Contains(stale, "the state has serial") {
		t.Errorf("the other plan is shown as\n%s", stale)
	}
	if status, _ = s.post(stale, "approve", url.Values{"sure": {"yes"}}); status != http.StatusOK {
		t.Errorf("the approval of a stale plan: status %d", status)
	}
	s.until("runs", "outcome failed")
	id = regexp.MustCompile(`id=([\w-]+)`).FindStringSubmatch(s.get("runs"))[1]
	if run := s.get("run?id=" + id); !strings.Contains(run, "Saved plan is stale") {
		t.Errorf("the run of the stale plan has the log\n%s", run)
	}
	content, err := os.ReadFile("plans/two.plan")
	if err != nil {
		t.Fatal(err)
	}
	write(t, "plans/three.plan", string(content))
	if status, page := s.post(stale, "approve", url.Values{"sure": {"yes"}}); status != http.StatusConflict ||
		!strings.Contains(page, "has changed since the page was shown") {
		t.Errorf("the approval of another file: status %d\n%s", status, page)
	}
	if status, page := s.post(s.get("drift"), "drift", nil); status != http.StatusOK {
		t.Errorf("the check for drift: status %d\n%s", status, page)
	}
	s.until("drift", "No object has drifted.")
	s.lookForSecrets()
}

// waiting is a configuration whose apply waits for a file.
const waiting = `
resource "terraform_data" "w" {
  provisioner "local-exec" {
    command = "echo begun; while [ ! -e go ]; do sleep 0.05; done"
  }
}
`

// TestRunsAreShownLive checks the pages during a run. The server ends only after its run.
func TestRunsAreShownLive(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("needs sh")
	}
	project(t, map[string]string{"main.tf": waiting})
	if err := os.Mkdir("plans", 0o755); err != nil {
		t.Fatal(err)
	}
	must(t, "plan", "-out=plans/p")
	s := serve(t, true, "-plans=plans", "-allow=approve")
	s.entitled()
	page := s.get("plan?name=p")
	if status, page := s.post(page, "approve", url.Values{"sure": {"yes"}}); status != http.StatusOK {
		t.Fatalf("status %d\n%s", status, page)
	}
	s.until("", "is running, 1 operation in flight")
	state := s.until("state", "Operations in flight")
	for _, want := range []string{"terraform_data.w", "Apply", "apply, since"} {
		if !strings.Contains(state, want) {
			t.Errorf("during the run, the state has no %q:\n%s", want, state)
		}
	}
	if status, page := s.post(page, "approve", url.Values{"sure": {"yes"}}); status != http.StatusConflict ||
		!strings.Contains(page, "has not ended yet") {
		t.Errorf("a second run: status %d\n%s", status, page)
	}
	id := regexp.MustCompile(`id=([\w-]+)`).FindStringSubmatch(s.get("runs"))[1]
	s.until("run?id="+id, "begun")
	if run := s.get("run?id=" + id); !strings.Contains(run, "Create") && !strings.Contains(run, "create") ||
		!strings.Contains(run, "running") {
		t.Errorf("the run is\n%s", run)
	}
	s.cancel()
	for { // until it does not listen any more
		resp, err := s.http.Get(s.base)
		if err != nil {
			break
		}
		resp.Body.Close()
		time.Sleep(20 * time.Millisecond)
	}
	select {
	case <-s.ended:
		t.Error("the server has ended before its run")
	default:
	}
	write(t, "go", "")
	<-s.ended
	if out := must(t, "show"); !strings.Contains(out, "terraform_data") {
		t.Errorf("after the end, the state is\n%s", out)
	}
}

// TestUnitsAreShown serves a stack.
func TestUnitsAreShown(t *testing.T) {
	unit := "resource \"terraform_data\" \"%s\" {\n  input = 1\n}\n"
	project(t, map[string]string{"tombolo.hcl": "unit \"net\" {\n  source = \"live/net\"\n}\nunit \"app\" {\n  " +
		"source = " +
		"\"live/app\"\n}\n", "live/net/main.tf": fmt.Sprintf(unit, "n"), "live/app/main.tf": "not valid {"})
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir("live/net")
	must(t, "apply", "-auto-approve")
	t.Chdir(root)
	s := serve(t, true)
	page := s.get("")
	for _, want := range []string{">net<", "app", "closing brace", ">1<"} {
		if !strings.Contains(page, want) {
			t.Errorf("the first page has no %q:\n%s", want, page)
		}
	}
	if page := s.get("state?unit=net"); !strings.Contains(page, "terraform_data.n") {
		t.Errorf("the state of the unit is\n%s", page)
	}
}

// TestOnlyPlansAreListed puts links, folders and other files into the folder of the plans.
func TestOnlyPlansAreListed(t *testing.T) {
	project(t, map[string]string{"main.tf": configuration, "plans/note.txt": "no plan", "plans/.hidden": "PK\x03\x04",
		"plans/dir/p": "PK\x03\x04"})
	must(t, "plan", "-out=outside.plan")
	must(t, "plan", "-out=plans/inside.plan")
	for name, to := range map[string]string{"plans/link.plan": "../outside.plan", "plans/inner.plan": "inside.plan",
		"plans/up": ".."} {
		if err := os.Symlink(to, name); err != nil {
			t.Skip("needs symbolic links")
		}
	}
	s := serve(t, true, "-plans=plans")
	page := s.get("plans")
	if strings.Count(page, "/plan?name=") != 1 || !strings.Contains(page, "inside.plan") {
		t.Errorf("the list is\n%s", page)
	}
	for _, name := range []string{"link.plan", "inner.plan", "up/outside.plan", "../outside.plan", "note.txt",
		".hidden",
		"dir/p", "", "plans/inside.plan"} {
		if status, _ := s.do(http.MethodGet, "plan?name="+url.QueryEscape(name), nil); status != http.StatusNotFound {
			t.Errorf("%q: status %d", name, status)
		}
	}
	if status, _ := s.do(http.MethodGet, "rights", nil); status != http.StatusNotFound {
		t.Errorf("a server that only reads has a page for rights: status %d", status)
	}
	if status, _ := s.post(s.get("plan?name=inside.plan"), "approve", nil); status != http.StatusNotFound {
		t.Errorf("a server that only reads approves: status %d", status)
	}
}

// TestTheLastReportOfDriftIsShown serves the document of drift -json, with what was accepted.
func TestTheLastReportOfDriftIsShown(t *testing.T) {
	project(t, map[string]string{"main.tf": configuration,
		"drift.json": `{"format_version": "1.0", "objects": 3, "drifted":
		[{"address": "a.b", "gone": true, "differences": []}], "accepted": [{"address": "c.d", "gone": false, "differences":
		[{"path": "tags", "before": 1, "after": "` + canary + `"}], "acceptance": {"objects": "c.d", "reason": "The team",
		"until": "2027-01-31"}}], "unused": []}`})
	must(t, "apply", "-auto-approve")
	s := serve(t, true, "-drift=drift.json")
	page := s.get("drift")
	for _, want := range []string{"a.b", "gone", "tags", "The team (until 2027-01-31)"} {
		if !strings.Contains(page, want) {
			t.Errorf("the report has no %q:\n%s", want, page)
		}
	}
	if strings.Contains(page, canary) {
		t.Error("the report has a secret of the state")
	}
	write(t, "drift.json", "[]")
	if status, page := s.do(http.MethodGet, "drift", nil); status != http.StatusUnprocessableEntity {
		t.Errorf("another document: status %d\n%s", status, page)
	}
}

// TestOptionsThatDoNotFit are refused before the server listens.
func TestOptionsThatDoNotFit(t *testing.T) {
	project(t, map[string]string{"main.tf": configuration, "short": "abc", "token": strings.Repeat("t", 40),
		"file": ""})
	for args, want := range map[string]string{
		"-listen=0.0.0.0:0":         "needs TLS",
		"-listen=:8080":             "needs TLS",
		"-listen=[::]:0":            "needs TLS",
		"-listen=host.example:1":    "needs TLS",
		"-listen=192.0.2.1:1":       "needs TLS",
		"-listen=127.0.0.1":         "needs TLS", // it has no port
		"-tls-cert=x":               "belong together",
		"-tls-key=x":                "belong together",
		"-client-ca=x":              "needs TLS",
		"-allow=everything":         "is not a right",
		"-allow=approve":            "add -plans=DIR",
		"-accept=x":                 "add -allow=drift",
		"-token-file=short":         "at least 20 characters",
		"-token-file=missing":       "cannot be read",
		"-plans=missing":            "no such file",
		"-plans=file":               "is not a folder",
		"-tls-cert=file -tls-key=x": "cannot be read",
		"-listen=0.0.0.0:0 -tls-cert=file -tls-key=x":      "must know its users",
		"-token-file=token -rights-token-file=token":       "have the same token",
		"-listen=127.0.0.1:999999":                         "cannot be used",
		"-tls-cert=token -tls-key=token -token-file=token": "are not a certificate",
		"argument": "takes no arguments",
	} {
		out := newPrinted()
		if got := start(t.Context(), out, "serve", strings.Fields(args)...); got == command.Done {
			t.Errorf("%s: it ends well", args)
		}
		if text := strings.Join(strings.Fields(out.String()), " "); !strings.Contains(text, want) {
			t.Errorf("%s: no %q in\n%s", args, want, out)
		}
	}
}

// TestAServerWithTLSAsksForATokenOrACertificate uses a token from a file, and certificates of clients.
func TestAServerWithTLSAsksForATokenOrACertificate(t *testing.T) {
	token := strings.Repeat("token", 8)
	project(t, map[string]string{"main.tf": configuration, "token": token + "\n"})
	roots, client := certificates(t)
	args := []string{"-listen=127.0.0.1:0", "-tls-cert=cert.pem", "-tls-key=key.pem"}

	s := serve(t, false, append(args, "-token-file=token")...)
	trusting := &tls.Config{RootCAs: roots}
	s.http.Transport = &http.Transport{TLSClientConfig: trusting}
	if status, _ := s.do(http.MethodGet, "?token="+token, nil); status != http.StatusUnauthorized {
		t.Errorf("a token in the address: status %d", status)
	}
	if status, page := s.do(http.MethodPost, "login", url.Values{"token": {token}}); status != http.StatusOK ||
		!strings.Contains(page, "Working directory") {
		t.Errorf("the login: status %d\n%s", status, page)
	}
	for _, host := range []string{"tombolo.example", "evil.example"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.base, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host + ":" + strings.Split(s.origin, ":")[2]
		resp, err := s.http.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if got := resp.StatusCode != http.StatusMisdirectedRequest; got != (host == "tombolo.example") {
			t.Errorf("under the name %s, the server answers %d", host, resp.StatusCode)
		}
	}
	s.stop()

	s = serve(t, false, append(args, "-client-ca=ca.pem")...)
	s.http.Transport = &http.Transport{TLSClientConfig: trusting}
	if resp, err := s.http.Get(s.base); err == nil {
		resp.Body.Close()
		t.Errorf("a client without a certificate is answered with %d", resp.StatusCode)
	}
	s.http.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots,
		Certificates: []tls.Certificate{client}}}
	if page := s.get(""); !strings.Contains(page, "Working directory") {
		t.Errorf("a client with a certificate sees\n%s", page)
	}
}

// TestTheServerEndsWithOpenStreams cancels the command while pages are watching, and opens a second session before.
func TestTheServerEndsWithOpenStreams(t *testing.T) {
	project(t, map[string]string{"main.tf": configuration})
	s := serve(t, true)
	second := s.out.find(t, `For another session, open:\s+(\S+)\n`, s.ended)
	if status, page := s.do(http.MethodGet, second, nil); status != http.StatusOK || strings.Contains(page,
		"Token</label>") {
		t.Errorf("the second link: status %d\n%s", status, page)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.base+"events?page=overview", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := s.http.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := resp.Body.Read(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	s.stop()
	if _, err := io.ReadAll(resp.Body); err != nil {
		t.Errorf("the stream ends with %v", err)
	}
}
