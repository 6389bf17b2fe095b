package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// readStored decodes a stored object, which must be exactly one JSON object, to plain values for upgraders: numbers are
// float64 if that is exact, otherwise json.Number, so that numbers that an upgrader does not change keep their value.
func readStored(b []byte) (map[string]interface{}, error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var members map[string]interface{}
	if err := dec.Decode(&members); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is text after it")
	}
	if members == nil {
		return nil, errors.New("it is null")
	}
	for k, v := range members {
		members[k] = plainNumbers(v)
	}
	return members, nil
}

// plainNumbers converts the numbers that a float64 holds exactly to float64, which is what upgraders expect. Others
// keep their text.
func plainNumbers(v interface{}) interface{} {
	switch v := v.(type) {
	case json.Number:
		if f, err := v.Float64(); err == nil && sameNumber(v.String(), f) {
			return f
		}
	case []interface{}:
		for i, e := range v {
			v[i] = plainNumbers(e)
		}
	case map[string]interface{}:
		for k, e := range v {
			v[k] = plainNumbers(e)
		}
	}
	return v
}

// sameNumber reports whether a float has the given text as its shortest form.
func sameNumber(text string, f float64) bool {
	return strconv.FormatFloat(f, 'f', -1, 64) == text || strconv.FormatFloat(f, 'g', -1, 64) == text
}

// writeStored returns the JSON form of an upgraded object.
func writeStored(members map[string]interface{}) ([]byte, error) {
	if members == nil {
		return nil, errors.New("the upgrade returned nil")
	}
	b, err := json.Marshal(members)
	if err != nil {
		return nil, fmt.Errorf("the upgraded object has no JSON form: %w", err)
	}
	return b, nil
}
