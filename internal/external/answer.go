package external

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/program"
)

// request is the input of a program that manages an object.
type request struct {
	ID           string          `json:"id,omitempty"` // not for create
	Arguments    json.RawMessage `json:"arguments"`
	OldArguments json.RawMessage `json:"old_arguments,omitempty"` // for update and delete
}

func (r request) encode() []byte {
	b, err := json.Marshal(r)
	if err != nil {
		panic("external: a request has no JSON form: " + err.Error())
	}
	return b
}

// answer is the output of such a program.
type answer struct {
	id        string
	arguments map[string]string
	result    map[string]string
	gone      bool
}

// readAnswer decodes the output of create, read and update.
func readAnswer(stdout []byte) (answer, error) {
	object, err := program.ReadObject(stdout)
	if err != nil {
		return answer{}, err
	}
	if object == nil {
		return answer{gone: true}, nil
	}
	var a answer
	if a.id, err = readID(object); err != nil {
		return answer{}, err
	}
	if a.id == "" {
		return answer{gone: true}, nil
	}
	if a.arguments, err = readMap(object, "arguments"); err != nil {
		return answer{}, err
	}
	if a.result, err = readMap(object, "result"); err != nil {
		return answer{}, err
	}
	return a, nil
}

// readID decodes the member "id", which may be null.
func readID(object map[string]json.RawMessage) (string, error) {
	raw, err := member(object, "id")
	if err != nil {
		return "", err
	}
	var id *string
	if json.Unmarshal(raw, &id) != nil {
		return "", fmt.Errorf(`"id" must be a string, not %s`, program.Kind(raw))
	}
	if id == nil {
		return "", nil
	}
	return *id, nil
}

// readMap decodes a member that must be an object of strings. It omits null values, as requests do.
func readMap(object map[string]json.RawMessage, name string) (map[string]string, error) {
	raw, err := member(object, name)
	if err != nil {
		return nil, err
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil || members == nil {
		return nil, fmt.Errorf("%q must be an object of strings, not %s", name, program.Kind(raw))
	}
	values := make(map[string]string, len(members))
	for _, k := range slices.Sorted(maps.Keys(members)) {
		var v *string
		if json.Unmarshal(members[k], &v) != nil {
			return nil, fmt.Errorf("%q in %q must be a string, not %s", k, name, program.Kind(members[k]))
		}
		if v != nil {
			values[k] = *v
		}
	}
	return values, nil
}

func member(object map[string]json.RawMessage, name string) (json.RawMessage, error) {
	raw, ok := object[name]
	if !ok {
		return nil, fmt.Errorf("there is no %q.%s", name, diag.DidYouMean(name, slices.Sorted(maps.Keys(object))))
	}
	return raw, nil
}

// salvageID finds the ID in invalid output, so that a created object can be tracked. It decodes the first JSON value,
// and the text from the last line that begins with a brace, for programs that print something else first. It prefers an
// object that has other members of an answer as well.
func salvageID(stdout []byte) string {
	id := ""
	for _, text := range [][]byte{stdout, lastObject(stdout)} {
		var object map[string]json.RawMessage
		if json.NewDecoder(bytes.NewReader(text)).Decode(&object) != nil {
			continue
		}
		found := looseID(object["id"])
		if found != "" && (object["arguments"] != nil || object["result"] != nil) {
			return found
		}
		if id == "" {
			id = found
		}
	}
	return id
}

// lastObject returns the output from its last line that begins with a brace.
func lastObject(stdout []byte) []byte {
	return stdout[bytes.LastIndex(stdout, []byte("\n{"))+1:]
}

// looseID decodes an ID that may be a number, as in many systems: a string is required, but the object is identified.
func looseID(raw json.RawMessage) string {
	switch program.Kind(raw) {
	case "a string":
		var id string
		_ = json.Unmarshal(raw, &id) // valid: it was decoded as part of the object
		return id
	case "a number":
		return string(bytes.TrimSpace(raw))
	}
	return ""
}

// importID is the long form of an import ID.
type importID struct {
	id                   string
	program, interpreter cty.Value
	arguments            map[string]string // nil if not set
}

// readImportID decodes the long form. It returns false for an ID that is not a JSON object, which is used unchanged.
func readImportID(text string) (importID, bool, error) {
	if !json.Valid([]byte(text)) || program.Kind([]byte(text)) != "an object" {
		return importID{}, false, nil
	}
	object, err := program.ReadObject([]byte(text))
	if err != nil {
		return importID{}, true, err
	}
	known := []string{"id", "program", "interpreter", "arguments"}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if !slices.Contains(known, name) {
			return importID{}, true, fmt.Errorf("the member %q is unknown.%s", name, diag.DidYouMean(name, known))
		}
	}
	in := importID{interpreter: cty.NullVal(cty.DynamicPseudoType)}
	if in.id, err = readID(object); err != nil {
		return importID{}, true, err
	}
	if in.id == "" {
		return importID{}, true, fmt.Errorf(`"id" is empty`)
	}
	if in.program, err = readWords(object, "program"); err != nil {
		return importID{}, true, err
	}
	if object["interpreter"] != nil {
		if in.interpreter, err = readWords(object, "interpreter"); err != nil {
			return importID{}, true, err
		}
	}
	if object["arguments"] != nil {
		if in.arguments, err = readMap(object, "arguments"); err != nil {
			return importID{}, true, err
		}
	}
	return in, true, nil
}

// readWords decodes a member that must be a string or an array of strings, as a value of a configuration.
func readWords(object map[string]json.RawMessage, name string) (cty.Value, error) {
	raw, err := member(object, name)
	if err != nil {
		return cty.NilVal, err
	}
	var one string
	var many []string
	if program.Kind(raw) == "a string" && json.Unmarshal(raw, &one) == nil {
		return cty.StringVal(one), nil
	}
	if program.Kind(raw) != "an array" || json.Unmarshal(raw, &many) != nil {
		return cty.NilVal, fmt.Errorf("%q must be a string or an array of strings", name)
	}
	words := make([]cty.Value, len(many))
	for i, w := range many {
		words[i] = cty.StringVal(w)
	}
	return cty.TupleVal(words), nil
}
