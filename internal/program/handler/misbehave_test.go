package handler_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// misbehaviours are the faults of the program that the attribute "do" of an object selects, such as "create: noise
// before". Those that only print something are in printed.
var misbehaviours = map[string]func(v object) (code int){
	"sleep":   func(object) int { time.Sleep(time.Minute); return 0 },
	"exit 3":  func(object) int { fmt.Fprintln(os.Stderr, "quota exceeded"); return 3 },
	"silence": func(object) int { return 1 },
	"exit 75": func(object) int { fmt.Fprintln(os.Stderr, "busy"); return 75 },
	"die": func(object) int {
		p, _ := os.FindProcess(os.Getpid())
		_ = p.Kill()
		time.Sleep(time.Minute)
		return 0
	},
	"half": func(v object) int {
		v["id"] = "half"
		_ = store(v)
		out, _ := json.Marshal(object{"state": object{"id": "half", "name": v["name"], "serial": 7}, "private": object{
			"step": 2},
			"diagnostics": []object{{"severity": "error", "summary": "No DNS", "detail": "The name is taken.",
				"attribute": []any{"ports", 1, "number"}}, {"severity": "warning", "summary": "Slow"}}})
		os.Stdout.Write(out)
		return 1
	},
	"many problems": func(object) int {
		list := make([]object, 5000)
		for i := range list {
			list[i] = object{"severity": "error", "summary": "One of many"}
		}
		list[0]["detail"] = strings.Repeat("x", 1<<20)
		out, _ := json.Marshal(object{"diagnostics": list})
		os.Stdout.Write(out)
		return 1
	},
	"noise around": func(v object) int {
		v["id"] = "noisy"
		_ = store(v)
		fmt.Println("Connecting...")
		_ = json.NewEncoder(os.Stdout).Encode(object{"state": v})
		fmt.Println("done")
		return 0
	},
	"flood stderr": func(v object) int {
		line := bytes.Repeat([]byte("all work and no play "), 1000)
		for range 3000 {
			os.Stderr.Write(line)
			os.Stderr.Write([]byte("\n"))
		}
		fmt.Fprintln(os.Stderr, "the end")
		return 1
	},
	"half a gibibyte": func(object) int {
		halfGibibyte()
		fmt.Fprintln(os.Stderr, "the end")
		return 1
	},
	"flood stdout": func(v object) int {
		block := bytes.Repeat([]byte(" "), 1<<20)
		for range 80 {
			os.Stdout.Write(block)
		}
		return 0
	},
	"daemon": func(v object) int {
		v["id"] = "daemonic"
		_ = store(v)
		daemon()
		_ = json.NewEncoder(os.Stdout).Encode(object{"state": v})
		return 0
	},
	"daemon instead of an answer": func(v object) int { daemon(); return 0 },
	"secret": func(v object) int {
		fmt.Fprintf(os.Stderr, "[WARN] the secret is %v\n", v["secret"])
		_ = json.NewEncoder(os.Stdout).Encode(object{
			"diagnostics": []object{{"severity": "error", "summary": fmt.Sprint("bad ", v["secret"]),
				"detail": fmt.Sprint("is ", v["secret"])}}})
		return 1
	},
	"secret in a bad answer": func(v object) int {
		_ = json.NewEncoder(os.Stdout).Encode(object{"debug": v["secret"], "state": object{"secrt": v["secret"]}})
		return 0
	},
	"secret in a failure": func(v object) int { fmt.Fprintln(os.Stderr, "Traceback:", v["secret"]); return 1 },
	"talk": func(v object) int {
		for _, line := range []string{"plain", "[DEBUG] for those who look", `{"@level":"warn","@message":"careful"}`,
			`{"@progress":0.25,"@message":"a quarter"}`, `{"@progress":-3}`, "[x] no level", "{not json"} {
			fmt.Fprintln(os.Stderr, line)
		}
		v["id"], v["serial"] = "talker", 1
		_ = json.NewEncoder(os.Stdout).Encode(object{"state": v})
		return 0
	},
	"floats": func(v object) int {
		// Mistakes of programs with only 64-bit floating-point numbers.
		var loose any
		text, _ := json.Marshal(object{"id": "a", "size": v["size"], "any": v["any"], "exact": v["exact"],
			"ports": v["ports"]})
		_ = json.Unmarshal(text, &loose)
		_ = json.NewEncoder(os.Stdout).Encode(object{"state": loose})
		return 0
	},
}

// printed are outputs of a program that ends with status 0.
var printed = map[string]string{
	"nothing":         "",
	"no json":         "created 42",
	"two values":      `{"state": {"id": "a"}} {"state": {"id": "b"}}`,
	"array":           `[{"state": {}}]`,
	"null":            `null`,
	"null state":      `{"state": null}`,
	"twice":           `{"state": {"id": "a", "id": "b"}}`,
	"latin1":          "{\"state\": {\"id\": \"caf\xe9\"}}",
	"surrogate":       `{"state": {"id": "\ud800"}}`,
	"unknown":         `{"state": {"id": "a", "nmae": "x"}}`,
	"wrong type":      `{"state": {"id": 42}}`,
	"string":          `{"state": "a"}`,
	"changed":         `{"state": {"id": "a", "name": "other"}}`,
	"huge number":     `{"state": {"id": "a", "serial": 1e999999999}}`,
	"large number":    `{"state": {"id": "a", "serial": 1e400}}`,
	"bad number":      `{"state": {"id": "a", "serial": "0x10"}}`,
	"bad diagnostics": `{"diagnostics": "oops"}`,
	"bad path":        `{"diagnostics": [{"severity": "error", "summary": "s", "attribute": ["nmae"]}]}`,
	"bad dynamic":     `{"state": {"id": "a", "any": 5}}`,
	"cut":             `{"state": {"id": "a", "name": "th`,
	"bom":             "\ufeff{\"state\": {\"id\": \"bom\", \"serial\": 1}}\r\n",
	"empty":           `{}`,
}

func misbehave(action, what string, v object) (code int, done bool) {
	of, what, ok := strings.Cut(what, ": ")
	if !ok || of != action {
		return 0, false
	}
	if text, ok := printed[what]; ok {
		fmt.Print(text)
		return 0, true
	}
	if what == "exit 75 once" {
		marker := filepath.Join(os.Getenv("TOY_DIR"), "tried")
		if _, err := os.Stat(marker); err == nil {
			return 0, false
		}
		_ = os.WriteFile(marker, nil, 0o600)
		return 75, true
	}
	f := misbehaviours[what]
	if f == nil {
		fmt.Fprintln(os.Stderr, "no misbehaviour", what)
		return 99, true
	}
	return f(v), true
}

// daemon leaves a child process that has standard output open.
func daemon() {
	cmd := exec.Command("sleep", "60")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	_ = cmd.Start()
}

// halfGibibyte prints 512 MiB to standard error.
func halfGibibyte() {
	block := bytes.Repeat(append(bytes.Repeat([]byte("all work and no play "), 48), '\n'), 1<<10)
	for sent := 0; sent < 512<<20; sent += len(block) {
		os.Stderr.Write(block)
	}
}
