//go:build unix

package download_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/fetch/catalog"
	"github.com/tombolo-iac/tombolo/internal/fetch/download"
	"github.com/tombolo-iac/tombolo/internal/fetch/unpack"
	"github.com/tombolo-iac/tombolo/internal/fetch/web"
	"github.com/tombolo-iac/tombolo/internal/program/programtest"
)

// TestMain runs the test binary as an engine that is killed while it fetches a repository with a key, if the
// environment says so.
func TestMain(m *testing.M) {
	dir := os.Getenv("DOWNLOAD_TEST_ENGINE")
	if dir == "" {
		os.Exit(m.Run())
	}
	getter := &download.Getter{Web: web.New(web.Options{}), Environ: os.Environ(),
		Limits: unpack.Limits{Files: 40, Bytes: 1 << 20}}
	key := url.QueryEscape(base64.StdEncoding.EncodeToString([]byte("a key\n")))
	pkg := catalog.Package{Source: "git::ssh://git@git.example/a/b.git?sshkey=" + key}
	fmt.Println(getter.Fetch(context.Background(), pkg, filepath.Join(dir, "package")))
	os.Exit(1)
}

// slowGit prints its process IDs and the program that it would call for ssh. Before that it prints more than a pipe can
// hold, because its output is only read when it is guarded.
const slowGit = `#!/bin/sh
head -c 200000 /dev/zero >&2
sleep 600 & echo "$$ $! $GIT_SSH_COMMAND" >&3; wait
`

func TestAKilledEngineLeavesNeitherGitNorItsKey(t *testing.T) {
	bin, dir := t.TempDir(), t.TempDir()
	note := filepath.Join(t.TempDir(), "said")
	if err := syscall.Mkfifo(note, 0o600); err != nil {
		t.Fatal(err)
	}
	script := strings.Replace(slowGit, ">&3", ">'"+note+"'", 1)
	if err := os.WriteFile(filepath.Join(bin, "git"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	engine := exec.Command(os.Args[0])
	engine.Env = append(os.Environ(), "DOWNLOAD_TEST_ENGINE="+dir, "PATH="+bin+":"+os.Getenv("PATH"))
	if err := engine.Start(); err != nil {
		t.Fatal(err)
	}
	// For reading and writing, so that open does not block.
	pipe, err := os.OpenFile(note, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	if err := pipe.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(pipe).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	keys, _ := filepath.Glob(dir + "/*.key")
	if len(keys) != 1 || !strings.Contains(line, keys[0]) {
		t.Errorf("keys %v while git runs: %s", keys, line)
	}
	engine.Process.Kill()
	engine.Wait()
	for _, word := range strings.Fields(line)[:2] {
		if pid, err := strconv.Atoi(word); err != nil || !programtest.Ends(pid) {
			t.Errorf("process %s is still there (%v)", word, err)
		}
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if keys, _ := filepath.Glob(dir + "/*.key"); len(keys) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the key is still there")
		}
	}
}
