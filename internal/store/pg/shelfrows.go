package pg

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tombolo-iac/tombolo/addr"
)

// shelfRow is the stored form of an instance with its deposed objects, or of a root output value, which has no block.
type shelfRow struct {
	// Block is the beginning of the resource in the export, up to its instances.
	Block string `json:"block"`
	// Content is the elements of the list of instances, or the member of the outputs.
	Content string `json:"content"`
}

// shelfState is a state in rows.
type shelfState struct {
	data    []byte // what it was made from
	lineage string
	serial  int64
	checks  string
	rows    map[string]shelfRow
}

// rowsOf returns the rows of a state of version 4, by the addresses of instances and the names of outputs.
func rowsOf(data []byte) (*shelfState, error) {
	var doc struct {
		Version      int
		Lineage      string
		Serial       int64
		Outputs      map[string]json.RawMessage
		Resources    []json.RawMessage
		CheckResults json.RawMessage `json:"check_results"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, err
	}
	if doc.Version != 4 {
		return nil, fmt.Errorf("the state has version %d, expected 4", doc.Version)
	}
	s := &shelfState{data: data, lineage: doc.Lineage, serial: doc.Serial, checks: "null", rows: map[string]shelfRow{}}
	if len(doc.CheckResults) > 0 {
		s.checks = string(doc.CheckResults)
	}
	for name, value := range doc.Outputs {
		s.rows["output."+name] = shelfRow{Content: member(name, value)}
	}
	for _, r := range doc.Resources {
		if err := s.resource(r); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// member returns a member of a JSON object.
func member(name string, value json.RawMessage) string {
	quoted, err := json.Marshal(name)
	if err != nil {
		panic("pg: a name without a JSON form: " + err.Error())
	}
	return string(quoted) + ":" + string(value)
}

// resource adds the rows of a resource.
func (s *shelfState) resource(raw json.RawMessage) error {
	var head struct{ Module, Mode, Type, Name string }
	var members map[string]json.RawMessage
	var instances []json.RawMessage
	if err := json.Unmarshal(raw, &head); err != nil {
		return err
	}
	if err := json.Unmarshal(raw, &members); err != nil {
		return err
	}
	if err := json.Unmarshal(members["instances"], &instances); err != nil {
		return err
	}
	address := head.Type + "." + head.Name
	if head.Mode == "data" {
		address = "data." + address
	}
	if head.Module != "" {
		address = head.Module + "." + address
	}
	var block strings.Builder
	block.WriteByte('{')
	for _, name := range []string{"module", "mode", "type", "name", "provider"} {
		if value := members[name]; value != nil {
			if block.Len() > 1 {
				block.WriteByte(',')
			}
			block.WriteString(member(name, value))
		}
		delete(members, name)
	}
	if delete(members, "instances"); len(members) > 0 {
		return fmt.Errorf("%s has members that cannot be stored in rows: %v", address, members)
	}
	for _, instance := range instances {
		var key struct {
			Key any `json:"index_key"`
		}
		if err := json.Unmarshal(instance, &key); err != nil {
			return err
		}
		name := address
		switch k := key.Key.(type) {
		case string:
			name += addr.StringKey(k).String()
		case float64:
			name += addr.IntKey(int(k)).String()
		}
		row := shelfRow{Block: block.String(), Content: string(instance)}
		if before, ok := s.rows[name]; ok { // a deposed object
			row.Content = before.Content + "," + row.Content
		}
		s.rows[name] = row
	}
	return nil
}
