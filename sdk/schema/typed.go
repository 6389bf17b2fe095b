package schema

import (
	"reflect"

	"github.com/zclconf/go-cty/cty"
)

func structMembers(path cty.Path, v reflect.Value) (map[string]interface{}, error) {
	out := map[string]interface{}{}
	for i := range v.NumField() {
		if name, ok := v.Type().Field(i).Tag.Lookup("tombolo"); ok {
			out[name] = v.Field(i).Interface()
		}
	}
	return out, nil
}
