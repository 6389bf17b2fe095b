package debugger_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/program/debugger"
)

func TestTheDebuggerReplacesTheFirstWord(t *testing.T) {
	for _, tt := range []struct{ variable, argv, want, wrong string }{
		{"", "python3 ./n.py", "python3 ./n.py", ""},
		{"other=node --inspect", "python3 ./n.py", "python3 ./n.py", ""},
		{"notes=python3 -m debugpy --listen 127.0.0.1:5678 --wait-for-client", "python3 ./n.py x",
			"python3 -m debugpy --listen 127.0.0.1:5678 --wait-for-client ./n.py x", ""},
		{"notes=dlv exec --headless --listen=127.0.0.1:2345 {} --", "/p/notes",
			"dlv exec --headless --listen=127.0.0.1:2345 /p/notes --", ""},
		{"notes=node --inspect=[::1]:9229", "node ./n.js", "node --inspect=[::1]:9229 ./n.js", ""},
		{"notes=node --inspect=10.0.0.0:9229", "node ./n.js", "node --inspect=10.0.0.0:9229 ./n.js", ""},
		{"notes=gdbserver", "/p/notes", "", "write {}"},
		{"notes", "node ./n.js", "", "NAME=COMMAND"},
		{"=node", "node ./n.js", "", "NAME=COMMAND"},
		{"notes=", "node ./n.js", "", "NAME=COMMAND"},
		{"notes=node --inspect=0.0.0.0:9229", "node ./n.js", "", "Use 127.0.0.1"},
		{"notes=python3 -m debugpy --listen 0.0.0.0:1", "python3 ./n.py", "", "Use 127.0.0.1"},
		{"notes=node --inspect=[::]:9229", "node ./n.js", "", "Use 127.0.0.1"},
		{"notes=dlv exec --headless --listen=:2345 {}", "/p/notes", "", "Use 127.0.0.1"},
		{"notes=dlv exec --headless -l :2345 {}", "/p/notes", "", "Use 127.0.0.1"},
	} {
		env := []string{"X=y", debugger.Variable + "=notes=overridden", debugger.Variable + "=" + tt.variable}
		got, err := debugger.Command(env, "notes", strings.Fields(tt.argv))
		switch {
		case tt.wrong != "":
			if err == nil || !strings.Contains(err.Error(), tt.wrong) {
				t.Errorf("%s: got %v %v, want an error with %q", tt.variable, got, err, tt.wrong)
			}
		case err != nil || !slices.Equal(got, strings.Fields(tt.want)):
			t.Errorf("%s: got %v %v, want %s", tt.variable, got, err, tt.want)
		}
		if asked := strings.HasPrefix(tt.variable, "notes"); debugger.Asked(env, "notes") != asked {
			t.Errorf("%s: asked for a debugger: %v", tt.variable, !asked)
		}
	}
	if argv, err := debugger.Command(nil, "notes", []string{"node"}); err != nil || len(argv) != 1 {
		t.Errorf("without the variable: %v %v", argv, err)
	}
}
