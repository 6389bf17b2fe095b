package program

import "encoding/json"

// Running returns a record of a call whose program has this process ID.
func Running(pid int) []byte {
	text, _ := json.Marshal(running{PID: pid, Where: numberedBy(), Began: began(pid)})
	return text
}
