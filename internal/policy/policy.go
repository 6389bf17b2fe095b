// Package policy runs programs that check a plan.
//
// A policy is a program of the project. It reads the plan from standard input, in the form of show -json, and writes
// denials and warnings to standard output:
//
//	{"deny": [{"address": "aws_s3_bucket.logs", "message": "Buckets must not be public."}], "warn": ["It is Friday."]}
//
// Any other output is an error, so that a broken policy never accepts a plan.
package policy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/tombolo-iac/tombolo/internal/program"
)

// DefaultTimeout is the time limit of a policy that sets none.
const DefaultTimeout = time.Minute

const (
	maxAnswer = 4 << 20
	maxFound  = 1000 // maximum number of entries in one answer
	grace     = 2 * time.Second
)

// Policy is a program that checks plans.
type Policy struct {
	Name string
	// Command is the program and its arguments; relative names are relative to Dir.
	Command []string
	// Dir is the working directory of the program.
	Dir string
	// Env is the environment without TOMBOLO_POLICY; nil means the environment of this process.
	Env []string
	// Timeout is the time limit of the program; 0 means DefaultTimeout.
	Timeout time.Duration
}

// Entry is one denial or warning of a policy.
type Entry struct {
	// Address is the address of the object; empty if there is none.
	Address string
	Message string
}

// Verdict is the answer of a policy.
type Verdict struct {
	Deny, Warn []Entry
}

// Evaluate runs a policy on a plan document. An error means that there is no verdict: the program did not run, failed,
// took too long, or returned an invalid answer. It may contain output of the program.
func (p Policy) Evaluate(ctx context.Context, document []byte) (Verdict, error) {
	limit := p.Timeout
	if limit <= 0 {
		limit = DefaultTimeout
	}
	tooLong := fmt.Errorf("it took longer than its timeout of %s", limit)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, tooLong)
	defer cancel()
	env := p.Env
	if env == nil {
		env = os.Environ()
	}
	res, err := program.Run(ctx, program.Command{
		Argv: p.Command, Dir: p.Dir, Base: p.Dir, Env: append(env[:len(env):len(env)], "TOMBOLO_POLICY="+p.Name),
		Stdin: document, MaxStdout: maxAnswer, Detached: true, Final: true, Grace: grace,
	})
	switch {
	case errors.Is(err, tooLong):
		return Verdict{}, tooLong
	case err != nil:
		return Verdict{}, withOutput(err, res)
	case res.ExitCode != 0:
		return Verdict{}, withOutput(fmt.Errorf("it ended with %s; a policy must end with 0 even if it denies the plan",
			res.State), res)
	}
	v, err := Read(res.Stdout)
	if err != nil {
		return Verdict{}, withOutput(err, res)
	}
	return v, nil
}

// withOutput adds the end of the program's standard error to an error.
func withOutput(err error, res *program.Result) error {
	if res == nil {
		return err
	}
	const most = 2000
	text := strings.TrimSpace(string(res.Stderr))
	if len(text) > most {
		text = "..." + text[len(text)-most:]
	}
	if text == "" {
		return err
	}
	return fmt.Errorf("%w. It wrote:\n%s", err, text)
}

// Read decodes the answer of a policy: an object with the member deny, and optionally warn. Both are arrays of strings,
// or of objects with a message (or msg) and optionally an address.
func Read(answer []byte) (v Verdict, err error) {
	const expected = `expected an object such as {"deny": [], "warn": []}`
	if len(bytes.TrimSpace(answer)) == 0 {
		return v, errors.New("it printed nothing; " + expected)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(answer, &members); err != nil || members == nil {
		return v, fmt.Errorf("it answered %s; %s", program.Excerpt(answer), expected)
	}
	deny, ok := members["deny"]
	if !ok {
		return v, errors.New(`its answer has no member "deny"; ` + expected)
	}
	for name := range members {
		if name != "deny" && name != "warn" {
			return v, fmt.Errorf("its answer has an unknown member %q; %s", name, expected)
		}
	}
	if v.Deny, err = entries("deny", deny); err == nil {
		v.Warn, err = entries("warn", members["warn"])
	}
	if err != nil {
		return Verdict{}, err
	}
	return v, nil
}

func entries(name string, raw json.RawMessage) ([]Entry, error) {
	if raw == nil {
		return nil, nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil || list == nil {
		return nil, fmt.Errorf("the member %q of its answer is %s; expected an array", name, program.Excerpt(raw))
	}
	if len(list) > maxFound {
		return nil, fmt.Errorf("the member %q of its answer has %d entries; at most %d are allowed",
			name, len(list), maxFound)
	}
	var out []Entry
	for i, one := range list {
		e, err := entry(one)
		if err != nil {
			return nil, fmt.Errorf("%s[%d] of its answer %w", name, i, err)
		}
		out = append(out, e)
	}
	return out, nil
}

func entry(raw json.RawMessage) (Entry, error) {
	var text *string
	if json.Unmarshal(raw, &text) == nil && text != nil {
		return checked(Entry{Message: *text})
	}
	var e struct {
		Address, Message, Msg *string
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&e); err != nil {
		return Entry{}, fmt.Errorf("is %s; expected a string, or an object with \"message\" and \"address\"",
			program.Excerpt(raw))
	}
	var out Entry
	for _, s := range []*string{e.Msg, e.Message} {
		if s != nil {
			out.Message = *s
		}
	}
	if e.Address != nil {
		out.Address = *e.Address
	}
	return checked(out)
}

func checked(e Entry) (Entry, error) {
	if strings.TrimSpace(e.Message) == "" {
		return Entry{}, errors.New("has no message")
	}
	return e, nil
}
