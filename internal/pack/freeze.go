package pack

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"slices"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/program/handler"
	"github.com/tombolo-iac/tombolo/internal/program/manifest"
	"github.com/tombolo-iac/tombolo/internal/program/strictjson"
)

// freeze returns the packed manifest, which contains the schema. A program that reports its schema is called for it
// now, so that validation needs no interpreter and the schema of a release does not change.
func freeze(ctx context.Context, m *manifest.Manifest) (*manifest.Manifest, []byte, diag.List) {
	text, err := os.ReadFile(m.File)
	if err != nil {
		return m, nil, diag.FromError(badPackage, err)
	}
	if m.Schema != nil {
		return m, text, nil
	}
	recorder := &recordingCaller{Caller: handler.NewCaller(m, handler.Surroundings{Granted: []string{"*"}})}
	p := handler.New(m, recorder, handler.Options{})
	_, diags := p.Schema(ctx)
	if err := p.Close(); err != nil {
		diags = diags.Warnf(nil, "A provider did not stop cleanly", "%s.", err)
	}
	if diags.HasErrors() {
		return m, nil, diags
	}
	if text, err = withSchema(text, recorder.answer); err != nil {
		return m, nil, diags.AppendError(badPackage, err)
	}
	frozen, more := manifest.Parse(text, m.File, m.Dir)
	if frozen == nil {
		frozen = m
	}
	return frozen, text, diags.Extend(more)
}

// recordingCaller records the program's responses, which the provider has already validated.
type recordingCaller struct {
	handler.Caller
	answer []byte
}

func (t *recordingCaller) Call(ctx context.Context, c handler.Call) (*handler.Answer, error) {
	a, err := t.Caller.Call(ctx, c)
	if a != nil && c.Action == "schema" {
		t.answer = a.Result
	}
	return a, err
}

// withSchema inserts the member "schema" of a response into the text of a manifest, and removes the action from
// "implements".
func withSchema(text, answer []byte) ([]byte, error) {
	whole, err := strictjson.Parse(text)
	if err != nil {
		return nil, err
	}
	recorder, err := strictjson.Parse(answer)
	if err != nil {
		return nil, err
	}
	schema := recorder.Get("schema")
	var out bytes.Buffer
	out.WriteByte('{')
	put := func(name string, value []byte) error {
		key, err := json.Marshal(name)
		if out.Len() > 1 {
			out.WriteByte(',')
		}
		out.Write(key)
		out.WriteByte(':')
		out.Write(value)
		return err
	}
	for _, m := range whole.Members {
		value := text[m.Value.Offset:m.Value.End]
		switch m.Name {
		case "schema":
			continue
		case "implements":
			var list []string
			if err := json.Unmarshal(value, &list); err != nil {
				return nil, err
			}
			list = slices.DeleteFunc(list, func(action string) bool { return action == "schema" })
			if value, err = json.Marshal(list); err != nil {
				return nil, err
			}
		}
		if err := put(m.Name, value); err != nil {
			return nil, err
		}
	}
	if err := put("schema", answer[schema.Offset:schema.End]); err != nil {
		return nil, err
	}
	out.WriteByte('}')
	var nice bytes.Buffer
	if err := json.Indent(&nice, out.Bytes(), "", "  "); err != nil {
		return nil, err
	}
	return append(nice.Bytes(), '\n'), nil
}
