package view

import (
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/tombolo-iac/tombolo/addr"
	"github.com/tombolo-iac/tombolo/event"
	"github.com/tombolo-iac/tombolo/internal/value"
	"github.com/tombolo-iac/tombolo/internal/view/live"
	"github.com/tombolo-iac/tombolo/plan"
	"github.com/tombolo-iac/tombolo/state"
)

// Lists shows a row for each object that was found, and names the lists without results.
func (t *text) Lists(lists []*plan.List) {
	var b strings.Builder
	var empty []string
	for _, l := range lists {
		if len(l.Found) == 0 {
			empty = append(empty, clean(l.Addr.String()))
			continue
		}
		rows, width := make([]string, len(l.Found)), 0
		for i, found := range l.Found {
			rows[i] = cleanLine(state.IdentityText(found.Identity))
			width = max(width, utf8.RuneCountInString(rows[i]))
		}
		for i, found := range l.Found {
			pad := strings.Repeat(" ", width-utf8.RuneCountInString(rows[i]))
			row := clean(l.Addr.String()) + "   " + rows[i] + pad + "   " + cleanLine(found.DisplayName)
			b.WriteString(strings.TrimRight(row, " ") + "\n")
		}
		b.WriteString("\n")
	}
	if len(empty) > 0 {
		fmt.Fprintf(&b, "Warning: list block(s) [%s] returned 0 results.\n", strings.Join(empty, ", "))
	}
	t.write(t.o.Out, b.String())
}

// list shows a running search on the live display, and reports whether e was an event of a search.
func (t *text) list(e event.Event) bool {
	switch e := e.(type) {
	case event.ListStart:
		if t.live != nil {
			t.live.Start(listKey(e.List), live.Task{
				Sign: " ", Name: cleanLine(e.List.Addr.String()), Verb: "searching"})
		}
	case event.ListFound:
	case event.ListDone:
		if t.live != nil {
			t.live.End(listKey(e.List), "")
		}
	default:
		return false
	}
	return true
}

// listKey returns the key of a search's task on the live display.
func listKey(l *plan.List) string { return "list " + l.Addr.String() }

// Lists writes nothing: a line for each object was written when its event arrived.
func (l *lines) Lists([]*plan.List) {}

// listLine is the payload of the lines of a search.
type listLine struct {
	Address      string   `json:"address"`
	ResourceType string   `json:"resource_type"`
	InputConfig  jsonText `json:"input_config,omitempty"`
	Total        *int     `json:"total,omitempty"`
	Secrets      []string `json:"sensitive_attribute_paths,omitempty"`
}

// foundLine is the payload of a line for an object.
type foundLine struct {
	Address         string   `json:"address"`
	DisplayName     string   `json:"display_name"`
	Identity        jsonText `json:"identity"`
	IdentityVersion int64    `json:"identity_version"`
	ResourceType    string   `json:"resource_type"`
	Object          jsonText `json:"resource_object,omitempty"`
	Secrets         []string `json:"sensitive_attribute_paths,omitempty"`
	Config          string   `json:"config,omitempty"`
	ImportConfig    string   `json:"import_config,omitempty"`
}

// jsonText is JSON that is written unchanged.
type jsonText []byte

// MarshalJSON implements json.Marshaler.
func (j jsonText) MarshalJSON() ([]byte, error) { return j, nil }

// list writes an event of a search as a line, and reports whether e was one.
func (l *lines) list(e event.Event) bool {
	switch e := e.(type) {
	case event.ListStart:
		config, secrets := withoutSecrets(e.List.Config)
		l.info(e.List.Addr.String()+": Starting query...", "list_start", "list_start",
			listLine{Address: e.List.Addr.String(), ResourceType: typeOf(e.List.Addr), InputConfig: config,
				Secrets: secrets})
	case event.ListFound:
		identity, _ := withoutSecrets(plan.Value{Value: e.Object.Identity})
		object, secrets := withoutSecrets(e.Object.Object)
		l.info(e.List.Addr.String()+": Result found", "list_resource_found", "list_resource_found",
			foundLine{Address: e.List.Addr.String(), DisplayName: e.Object.DisplayName, Identity: identity,
				IdentityVersion: e.Object.IdentityVersion, ResourceType: typeOf(e.List.Addr), Object: object,
				Secrets: secrets, Config: e.Object.GeneratedConfig, ImportConfig: e.Object.GeneratedImport})
	case event.ListDone:
		total := len(e.List.Found)
		l.info(e.List.Addr.String()+": List complete", "list_complete", "list_complete",
			listLine{Address: e.List.Addr.String(), ResourceType: typeOf(e.List.Addr), Total: &total})
	default:
		return false
	}
	return true
}

func typeOf(a addr.AbsResourceInstance) string { return a.Resource.Type }

// withoutSecrets returns a value as JSON, with null for sensitive parts, and the paths of these. It returns nil for a
// null value.
func withoutSecrets(v plan.Value) (doc jsonText, paths []string) {
	if v.Value == cty.NilVal || v.Value.IsNull() {
		return nil, nil
	}
	for _, path := range v.Sensitive {
		paths = append(paths, value.FormatPath(path))
	}
	sort.Strings(paths)
	shown, err := cty.Transform(v.Value, func(path cty.Path, part cty.Value) (cty.Value, error) {
		for _, secret := range v.Sensitive {
			if path.Equals(secret) {
				return cty.NullVal(part.Type()), nil
			}
		}
		return part, nil
	})
	if err != nil {
		return nil, paths
	}
	doc, err = ctyjson.Marshal(shown, shown.Type())
	if err != nil {
		return nil, paths
	}
	return doc, paths
}
