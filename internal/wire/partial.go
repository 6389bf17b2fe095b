package wire

import (
	"sync"

	"github.com/zclconf/go-cty/cty"
)

// partial stores the object that a provider reported during a call of Apply. The protocol can only transport it in the
// response.
type partial struct {
	mu       sync.Mutex // guards the fields below
	reported bool
	state    cty.Value
	private  []byte
}

func (p *partial) record(state cty.Value, private []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reported, p.state, p.private = true, state, private
}

func (p *partial) last() (cty.Value, []byte, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state, p.private, p.reported
}
