package program

import "encoding/json"

// Running holds the process of a call.
func Running(pid int) []byte {
	text, _ := json.Marshal(running{PID: pid, Where: numberedBy(), Began: began(pid)})
	return text
}
