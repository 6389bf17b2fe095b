package ctyfast

import (
	"encoding/json"
	"strings"
	"sync"

	"github.com/zclconf/go-cty/cty"
)

// Every value whose type the schema leaves open is stored with its type, and instances of a block mostly have the same
// one. A type takes more memory than its values, and more time to decode.

const (
	maxTypes    = 512     // maximum number of cached types
	maxTypeText = 1 << 12 // maximum size of one in bytes
)

// typeCache caches types by their JSON.
type typeCache struct {
	mu     sync.Mutex
	byText map[string]cty.Type
}

var writtenTypes typeCache

// read decodes a type; ok is false if the text is not a type.
func (c *typeCache) read(text string, ty *cty.Type) bool {
	c.mu.Lock()
	known, ok := c.byText[text]
	c.mu.Unlock()
	if ok {
		*ty = known
		return true
	}
	if json.Unmarshal([]byte(text), ty) != nil {
		return false
	}
	if len(text) > maxTypeText {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byText == nil || len(c.byText) >= maxTypes {
		c.byText = map[string]cty.Type{}
	}
	c.byText[strings.Clone(text)] = *ty // the text is part of a larger one
	return true
}

// Typed returns a value with a type that equals its own, so that many values can share one.
func Typed(v cty.Value, ty cty.Type) (same cty.Value, ok bool) {
	own, raw := open(v)
	if !inside || !own.Equals(ty) {
		return v, false
	}
	return closed(ty, raw), true
}
