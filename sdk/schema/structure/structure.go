// Package structure has functions for attributes whose text is a JSON document.
package structure

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/tombolo-iac/tombolo/sdk/schema"
)

// ExpandJsonFromString decodes a JSON object. Numbers are float64.
func ExpandJsonFromString(text string) (map[string]interface{}, error) {
	var members map[string]interface{}
	if err := json.Unmarshal([]byte(text), &members); err != nil {
		return nil, fmt.Errorf("the text is not a JSON object: %w", err)
	}
	return members, nil
}

// FlattenJsonToString encodes a JSON object, or returns "" for one without members.
func FlattenJsonToString(members map[string]interface{}) (string, error) {
	if len(members) == 0 {
		return "", nil
	}
	text, err := json.Marshal(members)
	return string(text), err
}

// NormalizeJsonString returns a JSON document without spaces and with sorted object members. It returns nil and empty
// strings as "", and an invalid document unchanged with an error. As a StateFunc, it makes different spellings of a
// document equal.
func NormalizeJsonString(document interface{}) (string, error) {
	text, _ := document.(string)
	if text == "" {
		return "", nil
	}
	v, err := decode(text)
	if err != nil {
		return text, fmt.Errorf("the text is not a JSON document: %w", err)
	}
	out, err := json.Marshal(v)
	return string(out), err
}

// SuppressJsonDiff is a DiffSuppressFunc: two texts of the same JSON document are equal.
func SuppressJsonDiff(_, oldValue, newValue string, _ *schema.ResourceData) bool {
	before, err := decode(oldValue)
	if err != nil {
		return false
	}
	after, err := decode(newValue)
	return err == nil && reflect.DeepEqual(before, after)
}

// decode keeps numbers as text: those of documents may be larger than any Go number.
func decode(text string) (v interface{}, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err = d.Decode(&v); err == nil && d.More() {
		err = fmt.Errorf("there is text after the document")
	}
	return v, err
}
