package program

import "encoding/json"

// Running is what is kept of the process of a call.
func Running(pid int) []byte {
	text, _ := json.Marshal(running{PID: pid, Where: numberedBy(), Began: began(pid)})
	return text
}
