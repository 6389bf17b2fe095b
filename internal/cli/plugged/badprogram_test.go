//go:build unix

package plugged

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/tombolo-iac/tombolo/internal/world"
)

// badProgramName is the name under which the test binary is a program provider that misbehaves like badPlugin, as the
// variable BAD selects. It serves one call per process, or a session with BAD_SESSION.
const badProgramName = "bad-program"

func init() { roles[badProgramName] = badProgram }

// badManifest is the manifest of that provider.
const badManifest = `{
  "protocol": 1, "name": "world", "command": ["./bad-program"], "mode": "MODE",
  "schema": {
    "provider": { "attributes": { "dir": { "type": "string", "optional": true } } },
    "resource_schemas": { "world_object": { "implements": ["create", "read", "update", "delete"], "attributes": {
      "id":    { "type": "string", "computed": true },
      "name":  { "type": "string", "required": true },
      "value": { "type": "string", "optional": true },
      "behave": { "type": ["map", "string"], "optional": true }
    } } },
    "functions": { "join": { "parameters": [{ "name": "separator", "type": "string" }], "return_type": "string",
      "variadic_parameter": { "name": "texts", "type": "string" } } }
  }
}`

// badCall is a request to the program.
type badCall struct {
	action string
	Args   []string
	State  struct {
		ID   string
		Name string
	}
	Planned struct{ Name, Value string }
}

func badProgram() {
	notePID(os.Getpid())
	if os.Getenv("BAD_SESSION") == "" {
		call := badCall{action: os.Args[1]}
		if err := json.NewDecoder(os.Stdin).Decode(&call); err != nil {
			panic(err)
		}
		fmt.Println(call.answer())
		return
	}
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			if os.Getenv("BAD") == "deaf" {
				select {} // it continues when told to end
			}
			return
		}
		var message struct {
			ID     *int64
			Method string
			Params badCall
		}
		if err := json.Unmarshal([]byte(line), &message); err != nil {
			panic(err)
		}
		message.Params.action = message.Method
		if message.ID != nil {
			fmt.Printf(`{"jsonrpc":"2.0","id":%d,"result":%s}`+"\n", *message.ID, message.Params.answer())
		}
	}
}

// answer returns the response to a request, on one line.
func (c badCall) answer() string {
	switch c.action {
	case "initialize":
		return `{"protocol":1}`
	case "call":
		if os.Getenv("BAD") == "function-changes" {
			return fmt.Sprintf(`{"result":"call %d %s"}`, os.Getpid(), time.Now())
		}
		return `{"result":` + strconv.Quote(strings.Join(c.Args[1:], c.Args[0])) + `}`
	case "create":
		return c.create()
	case "read", "delete":
		return c.about()
	}
	return "{}"
}

func openWorld() *world.World {
	w, err := world.Open("w")
	if err != nil {
		panic(err)
	}
	return w
}

// about reads or deletes an object.
func (c badCall) about() string {
	w := openWorld()
	defer w.Close()
	if c.action == "delete" {
		if err := w.Remove(c.State.ID); err != nil {
			panic(err)
		}
		return "{}"
	}
	if o, err := w.Object(c.State.ID); err != nil || o == nil {
		return "null"
	}
	return `{"state":{}}`
}

func (c badCall) create() string {
	w := openWorld()
	defer w.Close()
	if c.Planned.Name == "bad" {
		if answer := c.misbehave(); answer != "" {
			return answer
		}
	}
	if c.Planned.Name == "slow" {
		if err := os.WriteFile("slow.begun", nil, 0o666); err != nil {
			panic(err)
		}
		time.Sleep(20 * time.Second)
	}
	o, err := w.Create(world.Object{Name: c.Planned.Name, Size: "1"})
	if err != nil {
		panic(err)
	}
	return `{"state":{"id":` + strconv.Quote(o.ID) + `}}`
}

// misbehave misbehaves in the creation of the object "bad" as the variable BAD selects. It may return a response.
func (c badCall) misbehave() string {
	switch os.Getenv("BAD") {
	case "apply-killed":
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case "apply-hang":
		if err := os.WriteFile(os.Getenv("PIDS")+".hung", []byte("bad"), 0o666); err != nil {
			panic(err)
		}
		select {}
	case "kill-others":
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			if _, err := os.Stat("slow.begun"); err == nil {
				break
			}
		}
		text, _ := os.ReadFile(os.Getenv("PIDS"))
		for _, word := range strings.Fields(string(text)) {
			if pid, err := strconv.Atoi(word); err == nil && pid != os.Getpid() {
				syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	case "nothing":
		return `{"state":null}`
	case "garbage":
		return "\x01\xff garbage"
	case "too-huge":
		return strings.Repeat(" ", 70<<20)
	case "remove-state":
		removeState()
	case "problems":
		one := `{"severity":"error","summary":"One of many","detail":"The same once more."},`
		return `{"state":null,"diagnostics":[` + strings.TrimSuffix(strings.Repeat(one, manyProblems), ",") + `]}`
	case "flood":
		chunk := []byte(strings.Repeat("x", 1<<20-1) + "\n")
		for range 100 {
			os.Stderr.Write(chunk)
		}
	}
	return ""
}
