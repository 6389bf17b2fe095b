package settings_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/settings"
)

func loadText(t *testing.T, src string) (*settings.Settings, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.tfrc")
	if err := os.WriteFile(path, []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	s, diags := settings.Load(settings.Environment{Getenv: getenv(map[string]string{"TF_CLI_CONFIG_FILE": path})})
	if err := diags.Err(); err != nil {
		return s, err.Error()
	}
	return s, ""
}

func TestOnlyAllowedProgramsRunWhilePlanning(t *testing.T) {
	s, problem := loadText(t, "plan_programs {\n  commands = [\"jq ...\", \"./scripts/*.sh\", \"python3 ./x.py a*\", "+
		"\"cd sub && ./y\"]\n  providers = [\"example/*\"]\n}\n")
	if problem != "" {
		t.Fatal(problem)
	}
	for command, want := range map[string]bool{
		"jq": true, "jq .a -n": true, "./scripts/a.sh": true, "./scripts/b/a.sh": false, "./scripts/a.sh x": false,
		"python3 ./x.py abc": true, "python3 ./x.py": false,
		"python3 ./y.py a": false, "jqq": false, "cd sub && ./y": true, "./y": false, "cd evil && jq": false,
	} {
		err := s.PlanPrograms.Refusal(addr.Provider{}, strings.Fields(command))
		if (err == nil) != want {
			t.Errorf("%s: got %v", command, err)
		}
		if err != nil && (!strings.Contains(err.Error(), command) || !strings.Contains(err.Error(), "x.tfrc")) {
			t.Errorf("%s: the message does not say what to do: %v", command, err)
		}
	}
	for source, want := range map[string]bool{"example/a": true, "other/a": false, "example.com/example/a": false} {
		p, err := addr.ParseProvider(source)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.PlanPrograms.Refusal(p, nil); (got == nil) != want {
			t.Errorf("%s: got %v", source, got)
		}
	}
}

func TestMissingAndEmptyPlanPrograms(t *testing.T) {
	s, _ := loadText(t, "")
	if err := s.PlanPrograms.Refusal(addr.Provider{}, []string{"x"}); err != nil {
		t.Error(err)
	}
	s, problem := loadText(t, "plan_programs {}\n")
	if err := s.PlanPrograms.Refusal(addr.Provider{}, []string{"x"}); err == nil || problem != "" {
		t.Errorf("an empty block allows a program (%s)", problem)
	}
	for _, bad := range []string{"plan_programs { command = [\"x\"] }", "plan_programs { commands = \"x\" }",
		"plan_programs { commands = [\"[\"] }", "plan_programs { providers = [\"x\"] }"} {
		if _, problem := loadText(t, bad+"\n"); problem == "" {
			t.Errorf("%s: no error", bad)
		}
	}
}
