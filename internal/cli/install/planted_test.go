//go:build unix

package install_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/fetch/fetchtest"
)

// planting is a path below the project that a run writes or deletes, and such a command.
type planting struct{ name, command string }

func plantings() (list []planting) {
	const corp = ".terraform/providers/example.com/corp/thing/1.3.0"
	for _, name := range []string{
		".terraform", ".terraform/modules", ".terraform/modules/modules.json", ".terraform/modules/vpc",
		".terraform/modules/.new-old", ".terraform/providers",
		".terraform/providers/example.com", ".terraform/providers/example.com/corp",
		".terraform/providers/example.com/corp/thing", corp, corp + "/" + here, corp + "/.install-old",
		".terraform/terraform.tfstate", ".terraform.lock.hcl",
	} {
		list = append(list, planting{name, "init"})
	}
	for _, name := range []string{".terraform", ".terraform/environment"} {
		list = append(list, planting{name, "workspace new other"})
	}
	const mirrored = "mirror/example.com/corp/thing"
	for _, name := range []string{
		"mirror/example.com", "mirror/example.com/corp", mirrored, mirrored + "/index.json", mirrored + "/1.3.0.json",
		mirrored + "/terraform-provider-thing_1.3.0_" + here + ".zip",
	} {
		list = append(list, planting{name, "providers mirror mirror"})
	}
	return append(list, planting{".terraform.lock.hcl", "providers lock"})
}

// kinds are the targets of planted links, relative to the site.
var kinds = []string{"home/file", "home/folder", "home/none", "/dev/null"}

// plant puts a link into the project of a site.
func (s *site) plant(name, to string) {
	s.t.Helper()
	path := filepath.Join(s.dir, "work", name)
	if !filepath.IsAbs(to) {
		to = filepath.Join(s.dir, to)
	}
	// if another link is in the way, that one suffices
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err == nil {
		_ = os.Symlink(to, path)
	}
}

// surroundings creates folders and files of the user, with names that runs use, and old enough to be cleaned up.
func (s *site) surroundings() {
	s.t.Helper()
	s.write("home/file", "mine")
	for _, name := range []string{"vpc", "other", ".new-old", ".install-old", here, "modules/vpc",
		"providers/example.com/corp/thing/1.3.0/" + here, "corp/thing", "1.3.0/" + here, "package"} {
		s.write("home/folder/"+name+"/mine", "mine")
	}
	s.write("home/folder/index.json", "mine")
	long := time.Now().Add(-100 * time.Hour)
	for _, name := range []string{"file", "folder/.new-old", "folder/.install-old", "folder"} {
		if err := os.Chtimes(filepath.Join(s.dir, "home", name), long, long); err != nil {
			s.t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(s.dir, "home/file"), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// hostileProject writes the files of a hostile repository, without its links.
func hostileProject(s *site, command string) {
	configuration := onlyThing
	if command == "init" { // other commands require installed modules
		configuration += calls("vpc", "https://web.example/vpc.zip")
	}
	s.write("work/main.tf", configuration)
	s.surroundings()
}

func newPlantedNet(t *testing.T) *internet {
	net := newInternet(t)
	content := fetchtest.Zip(map[string]string{"main.tf": ""})
	net.Answer("web.example", "/vpc.zip", text(string(content)))
	return net
}

// TestPlantedLinksAreNotFollowed puts a link at each path that a run writes or deletes, and at several random ones.
// Whether or not the run succeeds, nothing outside of the project changes.
func TestPlantedLinksAreNotFollowed(t *testing.T) {
	own, net := program(t), newPlantedNet(t)
	check := func(t *testing.T, command string, links [][2]string) {
		t.Parallel()
		s := newSite(t, own, net.Net)
		hostileProject(s, command)
		before := s.tree("home")
		for _, link := range links {
			s.plant(link[0], link[1])
		}
		s.env = append(s.env, "TF_REGISTRY_CLIENT_TIMEOUT=60")
		output, _ := s.run(strings.Fields(command)...)
		after := s.tree("home")
		for name, content := range before {
			if after[name] != content {
				t.Errorf("%s with %v: %s was %q and is %q:\n%s", command, links, name, content, after[name], output)
			}
		}
		for name := range after {
			if _, was := before[name]; !was && !strings.HasPrefix(name, "home/.terraform.d") {
				t.Errorf("%s with %v: made %s:\n%s", command, links, name, output)
			}
		}
	}
	all := plantings()
	for _, p := range all {
		for _, to := range kinds {
			t.Run(p.command+" "+strings.ReplaceAll(p.name, "/", "_")+" to "+filepath.Base(to), func(t *testing.T) {
				check(t, p.command, [][2]string{{p.name, to}})
			})
		}
	}
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 0))
		var links [][2]string
		for range 1 + r.IntN(4) {
			links = append(links, [2]string{all[r.IntN(len(all))].name, kinds[r.IntN(len(kinds))]})
		}
		command := all[r.IntN(len(all))].command
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { check(t, command, links) })
	}
}

// TestPipesAndDevicesDoNotHangCommands puts named pipes and devices at every path that commands read by default. Each
// command reports that and ends.
func TestPipesAndDevicesDoNotHangCommands(t *testing.T) {
	own, net := program(t), newInternet(t)
	plants := map[string]func(name string) error{
		"pipe":   func(name string) error { return syscall.Mkfifo(name, 0o600) },
		"device": func(name string) error { return os.Symlink("/dev/zero", name) },
	}
	lines := map[string][]string{
		"x.tf":                            {"validate", "init", "fmt"},
		"mod/x.tf.json":                   {"validate", "get"},
		"terraform.tfvars":                {"plan", "fmt -check"},
		"x.auto.tfvars.json":              {"plan"},
		"tests/x.tftest.hcl":              {"test", "init", "fmt -recursive"},
		"x.tfquery.hcl":                   {"query", "validate -query", "fmt x.tfquery.hcl"},
		"tests/x.tfmock.hcl":              {"fmt tests"},
		"terraform.tfstate":               {"plan", "state list"},
		".terraform.lock.hcl":             {"init", "providers lock"},
		".terraform/modules/modules.json": {"init", "validate", "modules"},
		".terraform/terraform.tfstate":    {"init", "plan"},
		".terraform/environment":          {"plan", "workspace show"},
	}
	for what, plant := range plants {
		for name, commands := range lines {
			t.Run(what+" "+strings.ReplaceAll(name, "/", "_"), func(t *testing.T) {
				t.Parallel()
				s := newSite(t, own, net.Net)
				s.write("work/main.tf", calls("m", "./mod"))
				s.write("work/mod/main.tf", "")
				if output, code := s.run("init"); code != 0 {
					t.Fatal(output)
				}
				path := filepath.Join(s.dir, "work", name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				_ = os.Remove(path)
				if err := plant(path); err != nil {
					t.Skipf("needs a system where such a file can be made: %s", err)
				}
				for _, command := range commands {
					output, code := s.run(strings.Fields(command)...)
					if code == 0 {
						t.Errorf("%s passes: %s", command, output)
					}
					has(t, output, "not a regular file")
				}
			})
		}
	}
}
