package suite

import "sync"

// turns orders the reports about concurrent runs by the indexes of the runs. Reports about the first run that has not
// ended are sent immediately, and others when it is their turn.
type turns struct {
	mu    sync.Mutex // held during a report
	now   int
	held  [][]func()
	ended []bool
}

func newTurns(n int) *turns { return &turns{held: make([][]func(), n), ended: make([]bool, n)} }

// tell calls f, immediately or when it is the turn of i.
func (t *turns) tell(i int, f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i == t.now {
		f()
	} else {
		t.held[i] = append(t.held[i], f)
	}
}

// tellNow calls f if it is the turn of i.
func (t *turns) tellNow(i int, f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i == t.now {
		f()
	}
}

// end ends the turn of i: no more reports follow.
func (t *turns) end(i int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended[i] = true
	for i == t.now && t.ended[t.now] {
		t.now++
		if i = t.now; i == len(t.ended) {
			return
		}
		for _, f := range t.held[i] {
			f()
		}
		t.held[i] = nil
	}
}
