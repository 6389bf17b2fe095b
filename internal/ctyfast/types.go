package ctyfast

import (
	"encoding/json"
	"strings"
	"sync"

	"github.com/zclconf/go-cty/cty"
)

// Every value of which the schema leaves the type open is stored with its type, and those of the instances of a block
// mostly have the same one. A type takes more memory than the values in it, and reading one longer than reading them.

const (
	maxTypes    = 512     // that are remembered
	maxTypeText = 1 << 12 // bytes of one
)

// typeCache remembers types by their JSON.
type typeCache struct {
	mu     sync.Mutex
	byText map[string]cty.Type
}

var writtenTypes typeCache

// read decodes a type; it reports whether it is one.
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

// Typed returns a value with a type that is equal to its own, so that many can share one.
func Typed(v cty.Value, ty cty.Type) (same cty.Value, ok bool) {
	own, raw := open(v)
	if !inside || !own.Equals(ty) {
		return v, false
	}
	return closed(ty, raw), true
}
