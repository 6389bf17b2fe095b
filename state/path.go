package state

import (
	"encoding/json"
	"fmt"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/tombolo-iac/tombolo/internal/ctyfast"
)

// pathStep is one step of a path in the form of the state file: {"type":"get_attr","value":"name"}, or "index" with a
// value that carries its own type.
type pathStep struct {
	Type  string          `json:"type"`
	Value json.RawMessage `json:"value"`
}

// EncodePath returns a path into a value in the form of the state file.
func EncodePath(p cty.Path) ([]byte, error) {
	steps := make([]pathStep, len(p))
	for i, step := range p {
		switch step := step.(type) {
		case cty.GetAttrStep:
			name, err := json.Marshal(step.Name)
			if err != nil {
				return nil, err
			}
			steps[i] = pathStep{"get_attr", name}
		case cty.IndexStep:
			key, err := ctyjson.Marshal(step.Key, cty.DynamicPseudoType)
			if err != nil {
				return nil, fmt.Errorf("path step %d: %w", i, err)
			}
			steps[i] = pathStep{"index", key}
		default:
			return nil, fmt.Errorf("path step %d: cannot write a %T", i, step)
		}
	}
	return json.Marshal(steps)
}

// ParsePath decodes the output of EncodePath.
func ParsePath(b []byte) (cty.Path, error) {
	var steps []pathStep
	if err := json.Unmarshal(b, &steps); err != nil {
		return nil, fmt.Errorf("a path must be a list of steps with type and value: %w", err)
	}
	p := make(cty.Path, len(steps))
	for i, step := range steps {
		switch step.Type {
		case "get_attr":
			var name *string
			if err := json.Unmarshal(step.Value, &name); err != nil || name == nil {
				return nil, fmt.Errorf("step %d: the value of get_attr must be the name of an attribute, found %s", i,
					step.Value)
			}
			p[i] = cty.GetAttrStep{Name: *name}
		case "index":
			key, err := unmarshal(step.Value, cty.DynamicPseudoType, ctyfast.UnmarshalJSON)
			if err != nil {
				return nil, fmt.Errorf("step %d: the value of index must be a value with its type, found %s", i,
					step.Value)
			}
			p[i] = cty.IndexStep{Key: key}
		default:
			return nil, fmt.Errorf("step %d has the unknown type %q: expected get_attr or index", i, step.Type)
		}
	}
	return p, nil
}
