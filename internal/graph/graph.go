// Package graph runs interdependent work and finds cycles. It does not depend on configuration or providers: callers
// pass functions.
//
// A Runner holds nodes and the edges between them. A node becomes ready when all of its dependencies have succeeded;
// ready work waits in one queue, which a bounded number of workers processes. A running node may add further nodes,
// make nodes that have not started depend on them, and fan out over many items, which the workers share. There is no
// recursion, and no goroutine waits for another: a chain of a hundred thousand nodes takes a hundred thousand queue
// entries.
//
// If a node fails, all its dependents fail without being run, with that node as the cause.
//
// Run owns its goroutines, which have all ended when it returns. A panic in a task stops the run: running tasks are
// awaited, and then Run panics with a *diag.PanicError in the goroutine of its caller. The same happens if a task ends
// its goroutine.
package graph

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/tombolo-iac/tombolo/diag"
)

// ID names a node of one Runner.
type ID int32

// Task is the work of a node. An error fails the node and skips its dependents.
type Task func(n *Node) error

// Status is the result of a node.
type Status uint8

// The statuses.
const (
	Pending Status = iota
	Running
	Done
	Failed
	Skipped // a dependency failed, or the run was stopped
)

type node struct {
	task       Task
	waits      int32 // dependencies that have not ended
	status     Status
	cause      ID // for Skipped: the node that failed, or -1 if the run was stopped
	dependents []ID
	fanOut     *fanOut
}

// fanOut is the parallel part of a node.
type fanOut struct {
	n, next, ended int
	each           func(i int) error
	then           func() error
	err            error
	begun          bool // the task has returned
}

// Node is a running node, passed to its task.
type Node struct {
	r  *Runner
	id ID
}

// ID returns the node's id.
func (n *Node) ID() ID { return n.id }

// FanOut has the workers call f(0) ... f(count-1) after the task has returned, and then then, which may be nil. The
// node ends after that. The first error fails the node, but every item is run.
func (n *Node) FanOut(count int, f func(i int) error, then func() error) {
	n.r.mu.Lock()
	defer n.r.mu.Unlock()
	n.r.nodes[n.id].fanOut = &fanOut{n: count, each: f, then: then}
}

// Runner executes nodes. The zero value is not usable; see New.
type Runner struct {
	workers int

	ctx     context.Context // context of the run
	mu      sync.Mutex
	nodes   []node
	queue   []ID // ready nodes and nodes with fan items left, first in first out
	head    int
	open    int // nodes that have not ended
	busy    int // workers that run, or have been woken up to
	idle    int // workers that wait and have not been woken up
	called  int // workers that were woken up and do not run yet
	started bool
	stopped bool
	panic   *diag.PanicError // panic of the first task that panicked
	cut     bool             // stopping has skipped work
	wake    *sync.Cond
	wg      sync.WaitGroup
}

// New returns a Runner with at most the given number of goroutines.
func New(workers int) *Runner {
	r := &Runner{workers: max(1, workers)}
	r.wake = sync.NewCond(&r.mu)
	return r
}

// Add adds a node that runs when all of deps have succeeded. It may be called before Run and from running tasks;
// dependencies may have already ended. Nodes that a task adds after the run was stopped are skipped.
func (r *Runner) Add(task Task, deps ...ID) ID {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := ID(len(r.nodes))
	r.nodes = append(r.nodes, node{task: task, waits: 1, cause: -1}) // 1 holds it until all edges are added
	r.open++
	for _, d := range deps {
		r.edge(id, d)
	}
	if r.stopped {
		r.cut = true
		r.skip(id, -1)
		return id
	}
	r.release(id)
	return id
}

// Depend makes a node depend on another one. The node must not have started: call it before Run, or from a task that
// the node depends on.
func (r *Runner) Depend(id, on ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.nodes[id].status; s != Pending && s != Skipped {
		panic(fmt.Sprintf("graph: node %d gets a dependency after it started", id))
	}
	if r.nodes[id].status == Pending {
		r.edge(id, on)
	}
}

// Gate is a node between another one and that one's dependents.
type Gate struct{ Behind, Node ID }

// AddGates makes the dependents of a node also depend on its gate, which must depend on the node itself. Dependencies
// of the gate are excluded. Call it before Run, after all edges were added.
func (r *Runner) AddGates(gates []Gate) {
	if len(gates) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	needs := make([][]ID, len(r.nodes))
	for id := range r.nodes {
		for _, d := range r.nodes[id].dependents {
			needs[d] = append(needs[d], ID(id))
		}
	}
	for _, g := range gates {
		needed := map[ID]bool{g.Node: true}
		for stack := []ID{g.Node}; len(stack) > 0; {
			id := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			for _, n := range needs[id] {
				if !needed[n] {
					needed[n] = true
					stack = append(stack, n)
				}
			}
		}
		for _, d := range slices.Clone(r.nodes[g.Behind].dependents) {
			if !needed[d] {
				r.edge(d, g.Node)
				needs[d] = append(needs[d], g.Node)
			}
		}
	}
}

// edge adds a dependency; the caller holds mu, and id must be pending.
func (r *Runner) edge(id, on ID) {
	switch d := &r.nodes[on]; d.status {
	case Done:
	case Failed:
		r.skip(id, on)
	case Skipped:
		r.skip(id, d.cause)
	default:
		d.dependents = append(d.dependents, id)
		r.nodes[id].waits++
	}
}

// release decrements the number of pending dependencies of a node and queues it when none is left.
func (r *Runner) release(id ID) {
	n := &r.nodes[id]
	n.waits--
	if n.waits == 0 && n.status == Pending && r.started {
		r.push(id)
	}
}

func (r *Runner) push(id ID) {
	r.queue = append(r.queue, id)
	r.wakeWorker()
}

// wakeWorker wakes up a worker, or starts one if the limit allows it. A woken worker counts as busy immediately,
// although it runs later, so that the next call does not count it as idle.
func (r *Runner) wakeWorker() {
	switch {
	case r.idle > 0:
		r.idle--
		r.busy++
		r.called++
		r.wake.Signal()
	case r.busy+r.idle < r.workers:
		r.busy++
		r.wg.Add(1)
		go r.work()
	}
}

// skip ends a pending node, and all its dependents, without running them.
func (r *Runner) skip(id, cause ID) {
	stack := []ID{id}
	for len(stack) > 0 {
		id := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		n := &r.nodes[id]
		if n.status != Pending {
			continue
		}
		n.status, n.cause = Skipped, cause
		r.open--
		stack = append(stack, n.dependents...)
		n.dependents, n.task = nil, nil
	}
}

// Run runs all nodes and returns when they have ended. When ctx ends, nothing new starts; running tasks are awaited,
// and Run returns the error of ctx unless all work was done. Failed nodes are not errors of Run: see Status. A panic of
// a task also stops everything, and becomes a panic of Run.
func (r *Runner) Run(ctx context.Context) error {
	r.mu.Lock()
	if r.started {
		r.mu.Unlock()
		panic("graph: Run called twice")
	}
	r.started, r.ctx = true, ctx
	for id := range r.nodes {
		if n := &r.nodes[id]; n.waits == 0 && n.status == Pending {
			r.push(ID(id))
		}
	}
	r.mu.Unlock()

	// Workers check ctx before they begin a task; this is for waiting ones.
	unhook := context.AfterFunc(ctx, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.stop()
	})
	defer unhook()
	r.wg.Wait()

	r.mu.Lock()
	defer r.mu.Unlock()
	if r.panic != nil {
		panic(r.panic)
	}
	if r.cut {
		return context.Cause(ctx)
	}
	if r.open > 0 {
		panic(fmt.Sprintf("graph: %d nodes wait for each other", r.open))
	}
	return nil
}

// stop skips everything that has not started.
func (r *Runner) stop() {
	if r.open == 0 {
		return
	}
	r.stopped = true
	for id := range r.nodes {
		if r.nodes[id].status == Pending {
			r.cut = true
			r.skip(ID(id), -1)
		}
	}
	for id := range r.nodes {
		// Items of a fan that have not begun are skipped; running ones are awaited.
		if f := r.nodes[id].fanOut; f != nil && f.begun && f.next < f.n {
			f.ended += f.n - f.next
			f.next = f.n
			f.err, r.cut = context.Canceled, true
			if f.ended == f.n {
				f.then = nil
				r.end(ID(id), f.err)
			}
		}
	}
	r.queue, r.head = nil, 0
	r.wake.Broadcast()
}

// work is the loop of one worker. It returns when every node has ended.
func (r *Runner) work() {
	defer r.wg.Done()
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		for r.head == len(r.queue) {
			r.queue, r.head = r.queue[:0], 0
			r.busy--
			if r.busy == 0 {
				// No worker is left that could add work: all waiting ones may end.
				r.wake.Broadcast()
				return
			}
			r.idle++
			for r.called == 0 {
				r.wake.Wait()
				if r.busy == 0 {
					return
				}
			}
			r.called--
		}
		if !r.stopped && r.ctx.Err() != nil {
			r.stop() // the function registered for the end of ctx may run late
			continue
		}
		r.step(r.queue[r.head])
	}
}

// step runs the task of a node or one item of its fan. mu is held on entry and return.
func (r *Runner) step(id ID) {
	n := &r.nodes[id]
	if f := n.fanOut; f != nil {
		i := f.next
		f.next++
		if f.next == f.n {
			r.head++
		}
		r.mu.Unlock()
		err := r.guarded(func() error { return f.each(i) }, func(err error) {
			f.err, f.then = err, nil
			if f.ended++; f.ended == f.n {
				r.end(id, err)
			}
		})
		r.mu.Lock()
		if err != nil && f.err == nil {
			f.err = err
		}
		r.noteCanceled(err)
		f.ended++
		if f.ended == f.n {
			r.finishFan(id, f)
		}
		return
	}
	r.head++
	n.status = Running
	task := n.task
	n.task = nil
	r.mu.Unlock()
	err := r.guarded(func() error { return task(&Node{r: r, id: id}) }, func(err error) { r.end(id, err) })
	r.mu.Lock()
	r.noteCanceled(err)
	f := r.nodes[id].fanOut
	switch {
	case err != nil || f == nil:
		r.end(id, err)
	case r.stopped:
		r.cut = true
		r.end(id, context.Canceled)
	case f.n == 0:
		r.finishFan(id, f)
	default:
		f.begun = true
		r.queue = append(r.queue, id)
		for range min(f.n-1, r.workers) {
			r.wakeWorker()
		}
	}
}

// guarded calls a part of a task. A panic makes the task fail and stops the run. The same applies to the end of its
// goroutine, after which lost ends the node: the worker ends as well, and its deferred calls unlock mu.
func (r *Runner) guarded(call func() error, lost func(error)) (err error) {
	returned := false
	defer func() {
		value := recover()
		if returned {
			return
		}
		if value == nil {
			value = errGoexit
		}
		p := diag.AsPanic(value)
		r.mu.Lock()
		if r.panic == nil {
			r.panic = p
		}
		r.stop()
		if value != errGoexit {
			r.mu.Unlock()
			err = p
			return
		}
		lost(p)
		if r.busy--; r.busy == 0 {
			r.wake.Broadcast()
		}
	}()
	err = call()
	returned = true
	return err
}

// errGoexit is the error of a task that neither returned nor panicked.
var errGoexit = errors.New("a provider, a function or a sink of events ended its goroutine with runtime.Goexit, as " +
	"FailNow and Fatal of package testing do: return an error instead")

// noteCanceled stops the run if a task fails after its context has ended: the task may have stopped because of that,
// and may be the last one.
func (r *Runner) noteCanceled(err error) {
	if err != nil && r.ctx.Err() != nil {
		r.cut = true
		if !r.stopped {
			r.stop()
		}
	}
}

// finishFan runs the final function of a fan and ends the node.
func (r *Runner) finishFan(id ID, f *fanOut) {
	err := f.err
	if err == nil && f.then != nil {
		r.mu.Unlock()
		err = r.guarded(f.then, func(err error) { r.end(id, err) })
		r.mu.Lock()
		r.noteCanceled(err)
	}
	r.end(id, err)
}

// end records the result of a node and releases or skips its dependents.
func (r *Runner) end(id ID, err error) {
	n := &r.nodes[id]
	dependents := n.dependents
	n.dependents, n.fanOut = nil, nil
	r.open--
	if err != nil {
		n.status = Failed
		for _, d := range dependents {
			r.skip(d, id)
		}
		return
	}
	n.status = Done
	for _, d := range dependents {
		r.release(d)
	}
}

// Status returns the result of a node; for a skipped one, cause is the node that failed, or -1 if the run was stopped.
func (r *Runner) Status(id ID) (s Status, cause ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.nodes[id].status, r.nodes[id].cause
}
