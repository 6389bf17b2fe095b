package fetchtest

import (
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Modules serves modules as registries do.
type Modules struct {
	// InBody sends the location of packages in a JSON document instead of a header.
	InBody bool
	// OwnPackages is the member use_registry_credentials of documents, or nil for none.
	OwnPackages any

	mu       sync.Mutex // guards the fields below
	versions map[string][]string
	where    map[string]string
}

// Add adds a version of NAMESPACE/NAME/SYSTEM to the registry. where is the source of its package.
func (m *Modules) Add(module, version, where string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.where == nil {
		m.versions, m.where = map[string][]string{}, map[string]string{}
	}
	m.versions[module] = append(m.versions[module], version)
	m.where[module+"/"+version] = where
}

// ServeHTTP implements http.Handler.
func (m *Modules) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	rest, ok := strings.CutPrefix(q.URL.Path, "/v1/modules/")
	if q.URL.Path == "/.well-known/terraform.json" {
		JSON(w, map[string]any{"modules.v1": "/v1/modules/"})
		return
	}
	if module, found := strings.CutSuffix(rest, "/versions"); ok && found && m.versions[module] != nil {
		var list []any
		for _, v := range m.versions[module] {
			list = append(list, map[string]any{"version": v, "root": map[string]any{
				"providers": []any{}, "dependencies": []any{}}, "submodules": []any{}})
		}
		JSON(w, map[string]any{"modules": []any{map[string]any{"source": module, "versions": list}}})
		return
	}
	where := m.where[strings.TrimSuffix(rest, "/download")]
	switch {
	case where == "":
		http.NotFound(w, q)
	case m.OwnPackages != nil:
		JSON(w, map[string]any{"location": where, "use_registry_credentials": m.OwnPackages})
	case m.InBody:
		JSON(w, map[string]any{"location": where})
	default:
		w.Header().Set("X-Terraform-Get", where)
		w.WriteHeader(http.StatusNoContent)
	}
}

// Git serves repositories over HTTP. Their first commit has the tag v1, further ones v2 and so on.
type Git struct {
	t       testing.TB
	Dir     string // contains a bare repository NAME.git for each
	backend string
}

// NewGit creates a server without repositories. It skips the test if git is not installed.
func NewGit(t testing.TB) *Git {
	t.Helper()
	out, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Skipf("needs git: %v", err)
	}
	backend := filepath.Join(strings.TrimSpace(string(out)), "git-http-backend")
	if _, err := os.Stat(backend); err != nil {
		t.Skipf("needs the HTTP backend of git: %v", err)
	}
	return &Git{t: t, Dir: t.TempDir(), backend: backend}
}

// Add creates a repository with commits, each with all of its files. A content that begins with "-> " stands for a
// link.
func (g *Git) Add(name string, commits ...map[string]string) {
	g.t.Helper()
	work := g.t.TempDir()
	g.Run(work, "init", "--quiet", "--initial-branch=main")
	for i, files := range commits {
		g.Run(work, "rm", "-r", "-q", "--ignore-unmatch", ".")
		for file, content := range files {
			path := filepath.Join(work, filepath.FromSlash(file))
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				g.t.Fatal(err)
			}
			err := os.WriteFile(path, []byte(content), 0o644)
			if to, ok := strings.CutPrefix(content, "-> "); ok {
				err = os.Remove(path)
				if err == nil {
					err = os.Symlink(to, path)
				}
			}
			if err != nil {
				g.t.Fatal(err)
			}
		}
		g.Run(work, "add", "--all", "--force")
		g.Run(work, "commit", "--quiet", "--allow-empty", "--message=x")
		g.Run(work, "tag", "v"+string(rune('1'+i)))
	}
	g.Run(work, "branch", "feature/x", "v1")
	g.Run(work, "clone", "--quiet", "--bare", work, filepath.Join(g.Dir, name+".git"))
}

// Run calls git in a directory, without the configuration of the test's user.
func (g *Git) Run(dir string, args ...string) string {
	g.t.Helper()
	command := exec.Command("git", append([]string{"-c", "user.name=Test", "-c", "user.email=test@example.com", "-c",
		"protocol.file.allow=always"}, args...)...)
	command.Dir = dir
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	out, err := command.CombinedOutput()
	if err != nil {
		g.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// ServeHTTP implements http.Handler with git's own backend.
func (g *Git) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	backend := cgi.Handler{Path: g.backend, Env: []string{"GIT_PROJECT_ROOT=" + g.Dir, "GIT_HTTP_EXPORT_ALL=1",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_COUNT=1",
		"GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"}}
	backend.ServeHTTP(w, q)
}
