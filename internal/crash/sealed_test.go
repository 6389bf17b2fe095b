//go:build unix

package crash

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/encryption"
	"github.com/tombolo-iac/tombolo/internal/encryption/encryptiontest"
)

// hush is a program that reads a secret and prints another one, without containing it in its text. SECRET is its first
// half.
const hush = `in=$(cat)
secret=SECRET
secret=${secret}-said
echo "$1" >>"../log"
echo "made ${secret}" >&2
while ! [ -e "../go" ] && [ "$1" != data ]; do sleep 0.02; done
case $1,$in in
data,*) echo '{"state": {"text": "'"$secret"'"}}' ;;
create,*SECRET-read*) echo '{"state": {"id": "'"$secret"'", "serial": 1}, "private": {"etag": "'"$secret"'"}}' ;;
*) exit 1 ;;
esac
echo "done $1" >>"../log"
`

// hushed is the manifest of that program. The results of its data source may be stored for reuse.
var hushed = strings.Replace(spoolManifest, `"schema": {`, `"schema": {"data_source_schemas": {"slow_look": {
  "cache": "1h", "attributes": {"text": {"type": "string", "computed": true}}}},`, 1)

// If the state is encrypted, no file contains anything that a program reads or prints: neither in the project, nor in
// the folders for temporary files, nor in the shared memory of the machine; neither while the program is running, nor
// when the engine was killed, nor after the next run. Nevertheless the program's response outlives the engine, and
// reading it needs the key.
func TestEncryptedAnswersAreInNoFile(t *testing.T) {
	t.Setenv(encryption.Variable, encryptiontest.Settings)
	for _, name := range []string{"TMPDIR", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "HOME"} {
		t.Setenv(name, t.TempDir())
	}
	for name, ended := range map[string]bool{"killed while the program works": false,
		"killed when the program has ended": true} {
		t.Run(name, func(t *testing.T) {
			r := newSpoolProject(t)
			secret := "canary" + strconv.Itoa(os.Getpid()) + strconv.FormatInt(time.Now().UnixNano(), 36)
			text := strings.ReplaceAll(hush, "SECRET-read", "?"+secret[1:]+"-read")
			text = strings.ReplaceAll(text, "SECRET", secret)
			r.write("slow/slow.sh", strings.ReplaceAll(text, "../", r.dir+"/"))
			r.write("main.tf", strings.Replace(spoolConfig, `"TEXT"`,
				`base64decode("`+base64.StdEncoding.EncodeToString([]byte(secret+"-read"))+`")`, 1))
			r.write("slow/tombolo-provider.json", hushed)
			r.write("look.tf", `data "slow_look" "it" {}`+"\n")
			r.do("init")
			r.kill("create", ended, "apply", "-auto-approve")
			plainNowhere(t, "after the kill", r.dir, secret)
			r.write("go", "")
			r.wait("log", "done create\n")
			plainNowhere(t, "when the program has ended", r.dir, secret)
			cmd := r.command("plan", "-no-color")
			cmd.Env = append(cmd.Env, encryption.Variable+"=")
			if out, err := cmd.CombinedOutput(); err == nil || bytes.Contains(out, []byte(secret)) {
				t.Errorf("without the key: %v\n%s", err, out)
			}
			out := r.do("plan", "-no-color")
			if !strings.Contains(out, "Operation of an interrupted run has ended") {
				t.Errorf("nobody was told: %s", out)
			}
			plainNowhere(t, "after the next run", r.dir, secret)
			if state := r.do("state", "pull"); !strings.Contains(state, `"id": "`+secret+`-said"`) {
				t.Errorf("the answer is not in the state: %s", state)
			}
			r.clean()
		})
	}
}

// Keys may be replaced between a killed run and the next one: a response is accepted if its key is that of the state or
// of a fallback. Otherwise it is refused, and kept for a run that has the key.
func TestAnswersAreReadAfterKeyReplacement(t *testing.T) {
	for _, c := range []struct{ before, wrong, after []int }{
		{[]int{1}, []int{2}, []int{2, 1}},
		{[]int{1}, []int{2}, []int{0, 1}},
		{[]int{0}, []int{1}, []int{1, 0}},
	} {
		t.Run(fmt.Sprint(c.before, " to ", c.after), func(t *testing.T) {
			r := newSpoolProject(t)
			turn := func(keys []int) {
				t.Setenv(encryption.Variable, encryptiontest.TurnSettings(keys[0], keys[1:]...))
			}
			turn(c.before)
			r.kill("create", true, "apply", "-auto-approve")
			turn(c.wrong)
			if out, err := r.command("plan", "-no-color").CombinedOutput(); err == nil {
				t.Errorf("with another key: %s", out)
			}
			turn(c.after)
			if out := r.do("plan", "-no-color"); !strings.Contains(out, "Operation of an interrupted run has ended") {
				t.Errorf("nobody was told: %s", out)
			}
			if state := r.do("state", "pull"); !strings.Contains(state, `"id": "made"`) {
				t.Errorf("the answer is not in the state: %s", state)
			}
			r.clean()
		})
	}
}

// If the process that encrypts is killed, the response is lost, but not the record of the operation.
func TestKilledKeepersLoseOnlyTheAnswer(t *testing.T) {
	t.Setenv(encryption.Variable, encryptiontest.Settings)
	r := newSpoolProject(t)
	const find = "out=$(readlink /proc/$$/fd/1)\nfor p in /proc/[0-9]*; do\n" +
		"[ \"$(readlink $p/fd/4 2>/dev/null)\" = \"$out\" ] && kill -KILL ${p#/proc/}\ndone\n"
	r.write("slow/slow.sh", find+strings.ReplaceAll(spoolProgram, "../", r.dir+"/"))
	r.write("go", "")
	if runtime.GOOS != "linux" {
		t.Skip("runs on Linux, where a program finds that process")
	}
	out, err := r.command("apply", "-auto-approve", "-no-color").CombinedOutput()
	if err == nil {
		t.Errorf("the answer was not lost: %s", out)
	}
	again, err := r.command("apply", "-auto-approve", "-no-color").CombinedOutput()
	log, _ := os.ReadFile(filepath.Join(r.dir, "log"))
	if strings.Count("\n"+string(log), "\ncreate\n") != 1 || err == nil ||
		!strings.Contains(string(again), "Interrupted creation is not resolved") {
		t.Errorf("it was made again: %s\nafter %s\nlog %s", again, out, log)
	}
}

// plainNowhere reports an error for each file that contains a secret with one of its endings.
func plainNowhere(t *testing.T, when, project, secret string) {
	t.Helper()
	files := 0
	for _, dir := range []string{project, os.Getenv("TMPDIR"), os.Getenv("XDG_RUNTIME_DIR"), os.Getenv("HOME"),
		os.Getenv("XDG_CACHE_HOME"), "/dev/shm"} {
		err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
				return nil // a folder that does not exist on this system, or a file of another user
			}
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			if info, err := d.Info(); err != nil || info.Size() > 16<<20 {
				return nil
			}
			text, err := os.ReadFile(name)
			files++
			for _, ending := range []string{"-said", "-read"} {
				if bytes.Contains(text, []byte(secret+ending)) {
					t.Errorf("%s: %s has a secret that ends in %s", when, name, ending)
				}
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
				return err
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	if files < 5 {
		t.Errorf("%s: %d files were looked at", when, files)
	}
}
