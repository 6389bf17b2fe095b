package plan

import (
	"encoding/json"

	"github.com/zclconf/go-cty/cty"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/internal/ctyfast"
)

// ReplaceTrigger is an evaluated reference in replace_triggered_by.
type ReplaceTrigger struct {
	// Instance is the object, or any instance of its resource if All is set; its key is then without meaning.
	Instance addr.AbsResourceInstance
	All      bool
	// Path is the attribute within the object, empty for the object as a whole.
	Path cty.Path
}

// Fires reports whether the change of an object that the trigger names requires the replacement: an update or a
// replacement of the object does, if there is a path only one that changes the value at the path. A nil change does
// not. Whether the change is one of such an object is not checked.
func (t ReplaceTrigger) Fires(c *Change) bool {
	if c == nil || c.Action != Update && !c.Action.IsReplace() {
		return false
	}
	if len(t.Path) == 0 {
		return true
	}
	before, err1 := t.Path.Apply(c.Before.Value)
	after, err2 := t.Path.Apply(c.After.Value)
	if err1 != nil || err2 != nil {
		return (err1 == nil) != (err2 == nil)
	}
	return !ctyfast.RawEquals(before, after)
}

type jsonReplaceTrigger struct {
	Address string          `json:"address"`
	All     bool            `json:"all,omitempty"`
	Path    json.RawMessage `json:"path,omitempty"`
}

func (e *encoder) replaceTriggers(list []ReplaceTrigger) (out []jsonReplaceTrigger) {
	for _, t := range list {
		j := jsonReplaceTrigger{Address: t.Instance.String(), All: t.All}
		if len(t.Path) > 0 {
			j.Path = e.paths([]cty.Path{t.Path})[0]
		}
		out = append(out, j)
	}
	return out
}

func (d *decoder) replaceTriggers(list []jsonReplaceTrigger) (out []ReplaceTrigger) {
	for _, j := range list {
		t := ReplaceTrigger{Instance: d.instance(j.Address), All: j.All}
		if len(j.Path) > 0 {
			t.Path = d.paths([]json.RawMessage{j.Path})[0]
		}
		out = append(out, t)
	}
	return out
}
