package policy_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/policy"
)

func TestPolicyAnswersAreDecodedOrRefused(t *testing.T) {
	one := func(address, message string) []policy.Entry {
		return []policy.Entry{{Address: address, Message: message}}
	}
	for answer, want := range map[string]policy.Verdict{
		`{"deny": []}`:                                           {},
		`{"deny": [], "warn": []}`:                               {},
		`{"deny": ["no"]}`:                                       {Deny: one("", "no")},
		`{"deny": [{"msg": "no"}], "warn": []}`:                  {Deny: one("", "no")},
		`{"deny": [], "warn": [{"message":"x"}]}`:                {Warn: one("", "x")},
		`{"deny": [{"address": "a.b", "message": "no"}]}` + "\n": {Deny: one("a.b", "no")},
	} {
		if got, err := policy.Read([]byte(answer)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v and %v, want %+v", answer, got, err, want)
		}
	}
	for answer, want := range map[string]string{
		``: "printed nothing", ` `: "printed nothing", `null`: "answered", `[]`: "answered",
		`{"deny": []} x`: "answered",
		`{}`:             `no member "deny"`, `{"warn": []}`: `no member "deny"`, `{"deny": [], "warning": []}`: `"warning"`,
		`{"deny": null}`: "expected an array", `{"deny": "no"}`: "expected an array",
		`{"deny": [1]}`: "deny[0]", `{"deny": [null]}`: "deny[0]",
		`{"deny": ["x", {}]}`: "deny[1] of its answer has no message",
		`{"deny": [""]}`:      "no message", `{"deny": [{"message": "x", "adress": "a.b"}]}`: "deny[0]",
		`{"deny": [], "warn": [[]]}`: "warn[0]", `{"deny": [` + strings.Repeat(`"x",`, 1000) + `"x"]}`: "1001 entries",
	} {
		if got, err := policy.Read([]byte(answer)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: got %+v and %v, want %s", answer, got, err, want)
		}
	}
}

func FuzzAnswers(f *testing.F) {
	for _, seed := range []string{`{"deny": []}`, `{"deny": [{"address": "a.b", "message": "no"}], "warn": ["x"]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		v, err := policy.Read(answer)
		if err != nil && len(v.Deny)+len(v.Warn) > 0 {
			t.Errorf("an error and a verdict: %v", err)
		}
		for _, e := range append(v.Deny, v.Warn...) {
			if strings.TrimSpace(e.Message) == "" {
				t.Error("an entry without a message")
			}
		}
	})
}

// evaluate runs a shell script as a policy.
func evaluate(t *testing.T, ctx context.Context, script string, timeout time.Duration) (policy.Verdict, error) {
	if runtime.GOOS == "windows" {
		t.Skip("needs sh, which Windows does not have")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "p.sh"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	return policy.Policy{Name: "p", Command: []string{"sh", "./p.sh"}, Dir: dir, Timeout: timeout}.
		Evaluate(ctx, []byte(`{"format_version":"1.2"}`))
}

func TestPoliciesWithoutAnswerAreErrors(t *testing.T) {
	for script, want := range map[string]string{
		`echo '{"deny": []}'; echo broken >&2; exit 1`: "exit status 1", `exit 0`: "printed nothing",
		`echo oops >&2; echo '{'`: "oops", `kill -9 $$`: "killed", `yes`: "", `while :; do :; done`: "timeout of 1s",
		`trap '' TERM; while :; do :; done`: "timeout of 1s",
	} {
		got, err := evaluate(t, t.Context(), script, time.Second)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %+v and %v, want %s", script, got, err, want)
		}
	}
	if _, err := (policy.Policy{Name: "p", Command: []string{"./none"}, Dir: t.TempDir()}).Evaluate(t.Context(),
		nil); err == nil {
		t.Error("a program that is not there has an answer")
	}
}

func TestPoliciesGetThePlanAndTheirName(t *testing.T) {
	got, err := evaluate(t, t.Context(), `printf '{"deny": [{"message": "%s %s"}]}' $TOMBOLO_POLICY $(wc -c)`, 0)
	if err != nil || len(got.Deny) != 1 || got.Deny[0].Message != "p 24" {
		t.Errorf("got %+v and %v", got, err)
	}
}

func TestInterruptsEndAPolicy(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("interrupted")
	go cancel(stop)
	if _, err := evaluate(t, ctx, `while :; do :; done`, time.Hour); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
}
