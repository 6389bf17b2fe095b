// Guest is a provider whose objects are files in the folder /objects. The tests compile it to a WASI module. With the
// argument of an action it answers one call, and without one it holds a session.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"strings"
	"time"
	"unsafe"
)

type object = map[string]any

func main() {
	if len(os.Args) > 1 {
		var params object
		if err := json.NewDecoder(os.Stdin).Decode(&params); err != nil {
			fail(err.Error())
		}
		result, message := answer(os.Args[1], params)
		if message != "" {
			fail(message)
		}
		print(result)
		return
	}
	for lines := bufio.NewReader(os.Stdin); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		serve(line)
	}
}

func serve(line []byte) {
	var call struct {
		ID     *int64
		Method string
		Params object
	}
	if err := json.Unmarshal(line, &call); err != nil {
		fail(err.Error())
	}
	if call.ID == nil {
		return // a notification
	}
	result, message := answer(call.Method, call.Params)
	if call.Method == "initialize" {
		result, message = object{"protocol": 1}, ""
	}
	if message != "" {
		print(object{"jsonrpc": "2.0", "id": *call.ID, "error": object{"code": 1, "message": message}})
		return
	}
	print(object{"jsonrpc": "2.0", "id": *call.ID, "result": result})
}

// answer returns the result of a call, or a message.
func answer(action string, params object) (any, string) {
	switch action {
	case "create", "update":
		planned := params["planned"].(object)
		text := planned["text"].(string)
		fmt.Fprintln(os.Stderr, "[INFO] wrote", len(text), "bytes")
		id, ok := planned["id"].(string)
		if !ok {
			id = fmt.Sprintf("%016x", rand.Uint64())
		}
		if message := misbehave(text); message != "" {
			return nil, message
		}
		if err := os.WriteFile("/objects/"+id, []byte(text), 0o600); err != nil {
			return nil, err.Error()
		}
		return stored(id)
	case "read":
		return stored(params["state"].(object)["id"].(string))
	case "delete":
		err := os.Remove("/objects/" + params["state"].(object)["id"].(string))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err.Error()
		}
		return object{}, ""
	case "data":
		return object{"state": object{"files": reach(), "env": os.Environ()}}, ""
	case "call":
		text := params["args"].([]any)[0].(string)
		if strings.Contains(text, "://") {
			return object{"result": send(text)}, ""
		}
		return object{"result": strings.ToUpper(text)}, misbehave(text)
	}
	return nil, "there is no action " + action
}

// stored returns an object, whose state is null if it does not exist.
func stored(id string) (any, string) {
	text, err := os.ReadFile("/objects/" + id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ""
	}
	if err != nil {
		return nil, err.Error()
	}
	return object{"state": object{"id": id, "text": string(text), "upper": strings.ToUpper(string(text))}}, ""
}

//go:wasmimport tombolo http_send
func httpSend(at unsafe.Pointer, size uint32) uint32

//go:wasmimport tombolo http_read
func httpRead(at unsafe.Pointer, capacity uint32) uint32

// send sends a GET request with a credential, and returns the answer of the host.
func send(url string) string {
	text, err := json.Marshal(object{"url": url, "headers": object{"X-Api-Key": "hunter2"}})
	if err != nil {
		fail(err.Error())
	}
	answer := make([]byte, httpSend(unsafe.Pointer(&text[0]), uint32(len(text))))
	return string(answer[:httpRead(unsafe.Pointer(&answer[0]), uint32(len(answer)))])
}

// reach returns what of the machine the program can see.
func reach() []string {
	found := []string{}
	for _, name := range []string{"/", "/etc/passwd", "..", "/proc/self/environ", "/objects/..", "/objects/link",
		"/objects/../secret", "/objects/inner/../../secret"} {
		if _, err := os.Stat(name); err == nil {
			found = append(found, name)
		}
	}
	for _, name := range []string{"/left-behind", "/objects/../left-behind", "/objects/link"} {
		if os.WriteFile(name, nil, 0o600) == nil {
			found = append(found, name)
		}
	}
	if os.Symlink("/etc", "/objects/new") == nil || os.Symlink("..", "/objects/new") == nil {
		found = append(found, "a new link")
	}
	return found
}

// misbehave does what the text says, if it is one of a few words.
func misbehave(text string) string {
	switch text {
	case "loop":
		for n := 0; ; n++ {
			_ = n
		}
	case "sleep":
		time.Sleep(time.Hour)
	case "grow":
		var all [][]byte
		for {
			all = append(all, make([]byte, 1<<20))
		}
	case "flood":
		for {
			os.Stdout.Write(make([]byte, 1<<20))
		}
	case "exit":
		os.Exit(3)
	case "panic":
		panic("out of order")
	case "recurse":
		fmt.Fprintln(os.Stderr, depth(1))
	case "flood messages":
		for {
			os.Stderr.Write(bytes.Repeat([]byte("x"), 1<<20))
		}
	case "refuse":
		return "the text is refused"
	case "end", "half", "twice", "more", "no JSON", "deep", "large number", "no text", "nothing":
		fault = text
	}
	return ""
}

// fault is how the next answer is wrong.
var fault string

func depth(n int) int {
	if n == 0 {
		return 0
	}
	return depth(n+1) + 1
}

// spoilt returns what is written in place of an answer, which ends with a newline.
func spoilt(answer []byte) []byte {
	kind := fault
	fault = ""
	switch kind {
	case "end":
		os.Exit(0)
	case "half":
		os.Stdout.Write(answer[:len(answer)/2])
		os.Exit(0)
	case "twice":
		return append(answer, answer...)
	case "more":
		return append(answer, "and more\n"...)
	case "no JSON":
		return []byte("hello\n")
	case "deep":
		return append(append(bytes.Repeat([]byte("["), 1<<20), bytes.Repeat([]byte("]"), 1<<20)...), '\n')
	case "large number":
		return bytes.Replace(answer, []byte(`"upper":`), []byte(`"upper":1e999999999999,"x":`), 1)
	case "no text":
		return []byte("\"\xff\xfe\"\n")
	case "nothing":
		return []byte("\n")
	}
	return answer
}

func print(v any) {
	text, err := json.Marshal(v)
	if err != nil {
		fail(err.Error())
	}
	os.Stdout.Write(spoilt(append(text, '\n')))
}

func fail(message string) {
	fmt.Fprintln(os.Stderr, message)
	os.Exit(1)
}
