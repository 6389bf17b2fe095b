//go:build unix

package author

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/internal/program/verify"
)

var misbehaving = flag.Int("misbehaving", 6, "how many random misbehaving programs to test")

// misbehavior is the first argument with which this binary is a program that misbehaves.
const misbehavior = "misbehave:"

func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == misbehavior {
		misbehave(os.Args[2], os.Args[3], os.Args[4:])
		return
	}
	os.Exit(m.Run())
}

const (
	password  = "correct-horse-battery"
	generated = "generated-token-of-"
)

// misbehave manages objects that are files in a folder. Its faults depend on the seed and on each call.
func misbehave(seed, dir string, args []string) {
	if len(args) > 0 {
		var params asked
		if err := json.NewDecoder(os.Stdin).Decode(&params); err != nil {
			os.Exit(1)
		}
		answer, failed := perform(seed, dir, args[0], params)
		fmt.Println(answer)
		if failed {
			os.Exit(1)
		}
		return
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var call struct {
			ID     *int
			Method string
			Params asked
		}
		if json.Unmarshal(lines.Bytes(), &call) != nil || call.ID == nil {
			continue
		}
		if call.Method == "initialize" {
			fmt.Printf(`{"jsonrpc":"2.0","id":%d,"result":{"protocol":1}}`+"\n", *call.ID)
			continue
		}
		answer, failed := perform(seed, dir, call.Method, call.Params)
		if failed {
			answer = fmt.Sprintf(`"error":{"code":1,"message":"it failed","data":%s}`, answer)
		} else {
			answer = `"result":` + answer
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%d,%s}`+"\n", *call.ID, answer)
	}
}

// asked has what the program needs of a request.
type asked struct {
	Planned, Prior, State map[string]any
}

// perform performs a call, well or with a fault. The answer to a failed call is its data.
func perform(seed, dir, action string, r asked) (answer string, failed bool) {
	text, _ := json.Marshal(r)
	hash := fnv.New64a()
	fmt.Fprint(hash, seed, action, string(text))
	random := rand.New(rand.NewPCG(hash.Sum64(), 0))
	fault := random.IntN(60) // most calls are performed well
	password := "a long text without secrets"
	for _, object := range []map[string]any{r.State, r.Prior, r.Planned} {
		if text, ok := object["password"].(string); ok && !strings.ContainsAny(text, "\"\\\r\n\t") {
			password = text
		}
	}
	fmt.Fprintf(os.Stderr, "%s with %s\n", action, password)
	switch fault {
	case 0:
		os.Exit(3) // which means that nothing was created
	case 1:
		return `{}`, true
	case 2:
		fmt.Println("using the password", password)
	case 3:
		return `{"diagnostics":[{"severity":"error","summary":"It is ` + password + `","detail":"` + password + `"}]}`, false
	case 4:
		return `{"state":{"nmae":"` + password + `"}}`, false
	case 5:
		return "]", true
	}
	id, _ := r.State["id"].(string)
	if id == "" {
		id, _ = r.Prior["id"].(string)
	}
	switch action {
	case "create":
		f, err := os.CreateTemp(dir, "object-")
		if err != nil {
			os.Exit(1)
		}
		f.Close()
		id = filepath.Base(f.Name())
		switch fault {
		case 10, 11:
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // nobody learns of the object
			select {}
		case 12, 13:
			return fmt.Sprintf(`{"state":{"id":%q,"token":"%[2]s%[1]s"}}`, id, generated), true
		case 14:
			return fmt.Sprintf(`{"state":{"id":%q,"name":"other"}}`, id), false
		case 15:
			return `{"state":{"id":""}}`, false
		}
		return fmt.Sprintf(`{"state":{"id":%q,"token":"%[2]s%[1]s"}}`, id, generated), false
	case "read":
		if _, err := os.Stat(filepath.Join(dir, id)); err != nil || fault == 20 {
			return "null", false
		}
		if fault == 21 {
			return `{"state":{"name":"drifted","token":"` + generated + `new"}}`, false
		}
	case "delete":
		if fault > 20 && fault < 30 {
			return `{"diagnostics":[{"severity":"error","summary":"It is in use"}]}`, true
		}
		_ = os.Remove(filepath.Join(dir, id))
	}
	return "{}", false
}

// TestMisbehavingProgramsAreTestedToTheEnd tests random programs that misbehave in many ways, sometimes. The test
// always ends; each object that remains is listed, or one is whose creation gave no answer; no output has a secret.
func TestMisbehavingProgramsAreTestedToTheEnd(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	first := rand.IntN(1_000_000)
	for i := range *misbehaving {
		seed := first + i
		mode := []string{"session", "session", "one-shot"}[i%3]
		t.Run(fmt.Sprint(mode, " ", seed), func(t *testing.T) {
			t.Parallel()
			dir, objects := t.TempDir(), t.TempDir()
			described := fmt.Sprintf(`{"protocol": 1, "name": "p", "mode": %q, "command": [%q, %q, "%d", %q], "schema": {
"resource_schemas": {"p_a": {"attributes": {"id": {"type": "string", "computed": true, "stable": true},
"name": {"type": "string", "optional": true}, "password": {"type": "string", "required": true, "sensitive": true},
"token": {"type": "string", "computed": true, "stable": true, "sensitive": true}}}}}}`, mode, own, misbehavior, seed,
				objects)
			values := `{"resources": [{"type": "p_a", "config": {"name": "a{n}", "password": "` + password + `"},
"updates": [{"name": "b{n}"}]}]}`
			for name, text := range map[string]string{manifest.FileName: described, verify.FileName: values} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			c, out := quiet()
			report := filepath.Join(t.TempDir(), "results.xml")
			_ = try(t.Context(), c, dir, testOptions{junit: report, timeout: 10 * time.Minute, generate: 5})
			document, err := os.ReadFile(report)
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			text := out.String()
			if all := text + string(document); strings.Contains(all, password) || strings.Contains(all, generated) {
				t.Errorf("a secret is in the output:\n%s\n%s", text, document)
			}
			left, err := os.ReadDir(objects)
			if err != nil {
				t.Fatal(err)
			}
			unknown := 0
			for _, one := range left {
				if !strings.Contains(text, one.Name()) {
					unknown++
				}
			}
			if perhaps := strings.Count(text, "LEFT BEHIND, perhaps: p_a"); unknown > perhaps {
				t.Errorf("%d objects remain, %d of them are not named, and only %d may remain:\n%s", len(left), unknown,
					perhaps, text)
			}
		})
	}
}
