package handler_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// rpc is a message of a session.
type rpc struct {
	ID     *int64 `json:"id"`
	Method string `json:"method"`
	Params object `json:"params"`
}

// toySession is toy for many calls, each of which has its own goroutine.
type toySessionState struct {
	mu      sync.Mutex
	cancels map[int64]chan struct{}
}

// send prints a message.
func (s *toySessionState) send(v any) {
	text, _ := json.Marshal(v)
	s.mu.Lock()
	defer s.mu.Unlock()
	noteLine("< ", string(text))
	os.Stdout.Write(append(text, '\n'))
}

// noteLine records lines that were read ("> ") or printed ("< "), if the test has asked for that.
func noteLine(mark, line string) {
	if path := os.Getenv("TOY_WIRE"); path != "" {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			panic(err)
		}
		fmt.Fprintln(f, mark+strings.TrimSpace(line))
		f.Close()
	}
}

func (s *toySessionState) print(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Print(text)
}

func (s *toySessionState) answer(id int64, result any) {
	s.send(object{"jsonrpc": "2.0", "id": id, "result": result})
}

func (s *toySessionState) fail(id int64, code int, message string, data any) {
	e := object{"code": code, "message": message}
	if data != nil {
		e["data"] = data
	}
	s.send(object{"jsonrpc": "2.0", "id": id, "error": e})
}

func toySession() int {
	if os.Getenv("TOY_SESSION") == "trivial" {
		trivial()
		return 0
	}
	s := &toySessionState{cancels: map[int64]chan struct{}{}}
	if text := os.Getenv("TOY_HELLO"); text != "" {
		if text == "exit" {
			fmt.Fprintln(os.Stderr, "no module named nothing")
			return 3
		}
		if text == "hang" {
			time.Sleep(time.Minute)
		}
		fmt.Println(text)
	}
	if log := os.Getenv("TOY_LOG"); log != "" {
		f, _ := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		fmt.Fprintln(f, "start", os.Getpid())
		f.Close()
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			if os.Getenv("TOY_STAYS") != "" {
				time.Sleep(time.Minute)
			}
			return 0
		}
		noteLine("> ", line)
		var m rpc
		dec := json.NewDecoder(strings.NewReader(line))
		dec.UseNumber()
		if err := dec.Decode(&m); err != nil {
			s.send(object{"jsonrpc": "2.0", "id": nil, "error": object{"code": -32700, "message": err.Error()}})
			continue
		}
		if m.Method == "" {
			continue // the host's response to one of our calls
		}
		if m.Method == "$/cancelRequest" {
			id, _ := m.Params["id"].(json.Number).Int64()
			s.mu.Lock()
			if c := s.cancels[id]; c != nil {
				close(c)
				delete(s.cancels, id)
			}
			s.mu.Unlock()
			continue
		}
		s.mu.Lock()
		cancelled := make(chan struct{})
		s.cancels[*m.ID] = cancelled
		s.mu.Unlock()
		if strings.Contains(line, "create: shut") {
			os.Stdin.Close() // while no read is in progress, so that it is closed immediately
			s.call(*m.ID, m, cancelled)
			time.Sleep(time.Minute)
			return 0
		}
		go s.call(*m.ID, m, cancelled)
	}
}

func (s *toySessionState) call(id int64, m rpc, cancelled chan struct{}) {
	typ, _ := m.Params["type"].(string)
	if m.Method == "call" {
		typ, _ = m.Params["function"].(string)
	}
	if m.Method == "initialize" {
		if os.Getenv("TOY_HELLO") == "" {
			s.answer(id, object{"protocol": 1})
		}
		return
	}
	for _, of := range []string{"planned", "state", "config"} {
		if v, ok := m.Params[of].(object); ok && v["do"] != nil {
			if s.misbehave(id, m.Method, v["do"].(string), v, cancelled) {
				return
			}
			break
		}
	}
	out, err := answer(m.Method, typ, m.Params)
	if err != nil {
		s.fail(id, 1, err.Error(), nil)
		return
	}
	s.answer(id, lied(m.Method, out))
}

// sessionMisbehaviours are the faults of a session's program that an object selects. They return true if they have
// answered the call.
var sessionMisbehaviours = map[string]func(s *toySessionState, id int64, v object, cancelled chan struct{}) bool{
	"sleep": func(_ *toySessionState, _ int64, _ object, _ chan struct{}) bool {
		time.Sleep(time.Minute)
		return true
	},
	"cancellable": func(s *toySessionState, id int64, _ object, cancelled chan struct{}) bool {
		<-cancelled
		s.fail(id, -32800, "cancelled", nil)
		return true
	},
	"die": func(*toySessionState, int64, object, chan struct{}) bool {
		fmt.Fprintln(os.Stderr, "Traceback: this is the end")
		p, _ := os.FindProcess(os.Getpid())
		_ = p.Kill()
		time.Sleep(time.Minute)
		return true
	},
	"shut": func(*toySessionState, int64, object, chan struct{}) bool { return false },
	"exit": func(*toySessionState, int64, object, chan struct{}) bool { os.Exit(7); return true },
	"noise": func(s *toySessionState, _ int64, _ object, _ chan struct{}) bool {
		s.print("Connecting...\n")
		return false
	},
	"prompt": func(s *toySessionState, _ int64, _ object, _ chan struct{}) bool { s.print("> "); return false },
	"log": func(s *toySessionState, _ int64, _ object, _ chan struct{}) bool {
		s.print(`{"level":"info","msg":"x"}` + "\n")
		return false
	},
	"cut": func(s *toySessionState, id int64, _ object, _ chan struct{}) bool {
		s.print(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{`+"\n", id))
		return true
	},
	"nan": func(s *toySessionState, id int64, _ object, _ chan struct{}) bool {
		s.print(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"state":{"size":NaN}}}`+"\n", id))
		return true
	},
	"bare": func(s *toySessionState, _ int64, v object, _ chan struct{}) bool {
		s.send(object{"state": object{"id": "bare"}})
		return true
	},
	"array": func(s *toySessionState, id int64, v object, _ chan struct{}) bool {
		s.send([]object{{"id": id, "result": object{}}})
		return true
	},
	"text id": func(s *toySessionState, id int64, v object, _ chan struct{}) bool {
		s.send(object{"id": fmt.Sprint(id), "result": object{"state": object{"id": "odd"}}})
		return true
	},
	"null id": func(s *toySessionState, _ int64, v object, _ chan struct{}) bool {
		s.send(object{"id": nil, "error": object{"code": -32700, "message": "cannot parse"}})
		return true
	},
	"wrong id": func(s *toySessionState, id int64, v object, _ chan struct{}) bool {
		s.answer(id+1000, object{})
		return true
	},
	"old id": func(s *toySessionState, id int64, v object, _ chan struct{}) bool { s.answer(0, object{}); return true },
	"no result": func(s *toySessionState, id int64, v object, _ chan struct{}) bool {
		s.send(object{"id": id})
		return true
	},
	"both": func(s *toySessionState, id int64, v object, _ chan struct{}) bool {
		s.send(object{"id": id, "result": object{}, "error": object{"code": 1}})
		return true
	},
	"odd error": func(s *toySessionState, id int64, v object, _ chan struct{}) bool {
		s.send(object{"id": id, "error": "no"})
		return true
	},
	"missing": func(s *toySessionState, id int64, v object, _ chan struct{}) bool {
		s.fail(id, -32601, "no such method", nil)
		return true
	},
	"error": func(s *toySessionState, id int64, v object, _ chan struct{}) bool {
		s.fail(id, 1, "quota exceeded", nil)
		return true
	},
	"half": func(s *toySessionState, id int64, v object, _ chan struct{}) bool {
		s.fail(id, 1, "quota exceeded", object{"state": object{"id": "half", "serial": 7}, "diagnostics": []object{
			{"severity": "error", "summary": "No DNS"}}})
		return true
	},
	"close out": func(*toySessionState, int64, object, chan struct{}) bool {
		os.Stdout.Close()
		time.Sleep(time.Minute)
		return true
	},
	"flood": func(s *toySessionState, _ int64, _ object, _ chan struct{}) bool {
		block := strings.Repeat("x", 1<<20)
		for range 70 {
			s.print(block)
		}
		return true
	},
	"request": func(s *toySessionState, _ int64, _ object, _ chan struct{}) bool {
		s.send(object{"jsonrpc": "2.0", "id": 1, "method": "window/show", "params": object{}})
		return false
	},
	"odd notice": func(s *toySessionState, _ int64, _ object, _ chan struct{}) bool {
		s.send(object{"method": 7})
		s.send(object{"method": "$/other"})
		return false
	},
	"progress": func(s *toySessionState, id int64, _ object, _ chan struct{}) bool {
		fmt.Fprintln(os.Stderr, "[WARN] slowly")
		for _, params := range []any{object{"id": id, "message": "waiting for DNS", "fraction": 0.4}, object{"id": id},
			object{"id": 999, "message": "lost"}, "nonsense", nil} {
			s.send(object{"jsonrpc": "2.0", "method": "$/progress", "params": params})
		}
		// standard error has its own reader: messages belong to this call while it is in flight
		for n := 0; n < 6000; n++ {
			if _, err := os.Stat(os.Getenv("TOY_HEARD")); err == nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		return false
	},
	"say the name": func(_ *toySessionState, _ int64, v object, _ chan struct{}) bool {
		for i := range 50 {
			fmt.Fprintf(os.Stderr, "%s %d\n", v["name"], i)
		}
		return false
	},
	"half a gibibyte": func(s *toySessionState, id int64, _ object, _ chan struct{}) bool {
		halfGibibyte()
		s.fail(id, 1, "the end", nil)
		return true
	},
	"tell": func(s *toySessionState, id int64, _ object, _ chan struct{}) bool {
		s.send(object{"jsonrpc": "2.0", "method": "$/progress", "params": object{"id": id, "message": "waiting for DNS",
			"fraction": 0.4}})
		return false
	},
	"pretty": func(s *toySessionState, id int64, _ object, _ chan struct{}) bool {
		s.print(fmt.Sprintf("{\n  \"id\": %d,\n  \"result\": {}\n}\n", id))
		return true
	},
}

func (s *toySessionState) misbehave(id int64, action, what string, v object, cancelled chan struct{}) bool {
	of, what, ok := strings.Cut(what, ": ")
	if !ok || of != action {
		return false
	}
	f := sessionMisbehaviours[what]
	if f == nil {
		s.fail(id, 99, "no misbehaviour "+what, nil)
		return true
	}
	return f(s, id, v, cancelled)
}

// trivial is the smallest program of a session.
func trivial() {
	in, out := bufio.NewReader(os.Stdin), bufio.NewWriter(os.Stdout)
	var m struct {
		ID     int64           `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	for {
		line, err := in.ReadSlice('\n')
		if err == io.EOF {
			return
		}
		if err := json.Unmarshal(line, &m); err != nil {
			panic(err)
		}
		result := `{"result":"x"}`
		if m.Method == "initialize" {
			result = `{"protocol":1}`
		}
		fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%d,"result":%s}`+"\n", m.ID, result)
		if in.Buffered() == 0 {
			out.Flush()
		}
	}
}
