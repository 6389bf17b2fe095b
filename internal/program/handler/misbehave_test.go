package handler_test

import (
	"strings"
	"time"
)

// misbehave does what an object asks for, if it is meant for this action: "create: sleep".
func misbehave(action, what string, v object) (code int, done bool) {
	of, what, ok := strings.Cut(what, ": ")
	if !ok || of != action {
		return 0, false
	}
	switch what {
	case "sleep":
		time.Sleep(time.Minute)
	}
	return 0, true
}
