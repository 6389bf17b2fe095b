//go:build unix

package install_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tombolo-iac/tombolo/internal/fetch/fetchtest"
)

// TestServersCannotMoveFilesOfTheUser has pages and a registry name folders of this machine as the package, in every
// way in which that can be written.
func TestServersCannotMoveFilesOfTheUser(t *testing.T) {
	own := program(t)
	for i, pattern := range []string{
		"file::https://DIR/home//folder", "file::http://DIR/home//folder", "file::https:///DIR/home//folder",
		"file://DIR/home//folder", "file::DIR/home//folder",
		"file::ssh://x/DIR/home//folder", "git::file://DIR/home//folder", "git::DIR/home//folder",
		"https::file://DIR/home//folder", "DIR/home/folder",
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			net, registry := newInternet(t), &fetchtest.Modules{}
			s := newSite(t, own, net.Net)
			s.surroundings()
			said := strings.ReplaceAll(pattern, "DIR", s.dir)
			registry.Add("corp/net/aws", "1.0.0", said)
			net.Serve("modules.example", registry)
			net.Answer("web.example", "/page", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("X-Terraform-Get", said)
			})
			net.Answer("web.example", "/second", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("X-Terraform-Get", "https://web.example/page")
			})
			before := s.tree("home")
			for _, source := range []string{"https://web.example/page", "https://web.example/second",
				"https://web.example/page//sub", "modules.example/corp/net/aws"} {
				s.remove("work")
				s.write("work/main.tf", calls("x", source))
				output, code := s.run("init")
				if code == 0 {
					t.Errorf("%s from %s is installed: %s", said, source, output)
				}
				s.remove("work/main.tf", "work/.terraform")
				if output, code := s.run("init", "-from-module="+source); code == 0 {
					t.Errorf("%s from %s is copied: %s", said, source, output)
				}
			}
			if diff := cmp.Diff(before, s.tree("home")); diff != "" {
				t.Errorf("%s changes files of the user: %s", said, diff)
			}
		})
	}
}

// A cloned repository may bring a provider along, which has a command to prepare it. init asks, and without an answer
// runs nothing.
func TestInitRunsNothingThatCameWithTheDirectory(t *testing.T) {
	s := newSite(t, program(t), newInternet(t).Net)
	s.env = append(s.env, "XDG_CACHE_HOME="+filepath.Join(s.dir, "cache"))
	folder := "work/terraform.d/plugins/example.com/corp/thing/1.0.0/" + here + "/"
	s.write("work/main.tf", onlyThing)
	s.write(folder+"terraform-provider-thing", "#!/bin/sh\necho ran >>DIR/ran\nexit 1\n")
	s.write(folder+"tombolo-provider.json", `{"protocol": 1, "name": "thing", "command": ["true"], "prepare": ["sh", `+
		`"-c", "echo ran >>DIR/ran"], "schema": {}}`)
	output, code := s.run("init")
	has(t, output, "Provider program was not prepared", "echo ran")
	if ran := s.tree("ran"); code != 0 || len(ran) > 0 {
		t.Errorf("init exits with %d, ran: %v\n%s", code, ran, output)
	}
	// The lock file has the provider now, so that whoever runs init again has had the choice.
	if output, code := s.run("init"); code != 0 || len(s.tree("ran")) == 0 {
		t.Errorf("the second init exits with %d and prepares nothing: %s", code, output)
	}
	// One that is not what is locked is not installed, whatever it says.
	s.remove("ran", "cache", "work/.terraform")
	s.write(folder+"other", "x")
	if output, code := s.run("init"); code == 0 || len(s.tree("ran")) > 0 {
		t.Errorf("init exits with %d, ran: %v\n%s", code, s.tree("ran"), output)
	}
}

// TestWaitingForAnotherProcessIsSaidAndEnds holds the lock that another run would hold, and interrupts the run that
// waits for it.
func TestWaitingForAnotherProcessIsSaidAndEnds(t *testing.T) {
	s := newSite(t, program(t), newPlantedNet(t).Net)
	s.write("work/main.tf", calls("vpc", "https://web.example/vpc.zip"))
	modules := filepath.Join(s.dir, "work/.terraform/modules")
	if err := os.MkdirAll(modules, 0o755); err != nil {
		t.Fatal(err)
	}
	held, err := os.Open(modules)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := syscall.Flock(int(held.Fd()), syscall.LOCK_EX); err != nil {
		t.Skipf("needs locks of files: %s", err)
	}
	command := s.command("init")
	out := &watched{words: "Another process installs modules", seen: make(chan struct{})}
	command.Stdout, command.Stderr = out, out
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = command.Wait(); close(ended) }()
	select {
	case <-out.seen:
	case <-ended:
		t.Fatalf("it does not wait: %s", out.text.String())
	}
	if err := command.Process.Signal(os.Interrupt); err != nil {
		t.Error(err)
	}
	<-ended // programtest.Bounded ends it otherwise
	if code := command.ProcessState.ExitCode(); code != 1 {
		t.Errorf("it exits with %d: %s", code, out.text.String())
	}
	for name := range s.tree("work/.terraform/modules") {
		if name != "work/.terraform/modules" {
			t.Errorf("%s is there", name)
		}
	}
}

// watched waits until words have come.
type watched struct {
	words string
	seen  chan struct{}
	once  sync.Once
	text  bytes.Buffer
}

func (w *watched) Write(p []byte) (int, error) {
	n, err := w.text.Write(p)
	if strings.Contains(w.text.String(), w.words) {
		w.once.Do(func() { close(w.seen) })
	}
	return n, err
}

func TestPasswordsOfSourcesAreNotShown(t *testing.T) {
	f := newForge(t)
	s := newSite(t, program(t), f.Net)
	s.write("work/main.tf", calls("x", "git::https://me:s3cret@git.example/net.git?ref=v1"))
	for _, line := range []string{"init", "modules", "modules -json", "get -update", "validate"} {
		if output, code := s.run(strings.Fields(line)...); code != 0 || strings.Contains(output, "s3cret") {
			t.Errorf("%s exits with %d: %s", line, code, output)
		}
	}
	info, err := os.Stat(filepath.Join(s.dir, "work/.terraform/modules/modules.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the record of modules has the mode %v (%v)", info.Mode(), err)
	}
	s.write("work/main.tf", calls("x", "git::https://me:s3cret@git.example/other.git"))
	for _, line := range []string{"validate", "init"} {
		output, code := s.run(strings.Fields(line)...)
		// The line of the configuration itself is shown, as it stands in the file.
		output = strings.ReplaceAll(output, `source = "git::https://me:s3cret@git.example/other.git"`, "")
		if code == 0 || strings.Contains(output, "s3cret") {
			t.Errorf("%s exits with %d: %s", line, code, output)
		}
	}
}
