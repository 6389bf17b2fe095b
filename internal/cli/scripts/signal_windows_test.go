package scripts

import "github.com/rogpeppe/go-internal/testscript"

func sendSignal(ts *testscript.TestScript, neg bool, args []string) {
	ts.Fatalf("there are no signals here")
}
