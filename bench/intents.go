package main

import (
	"errors"
	"os"
	"sync"
)

// intents is the least journal of an engine that loses no object when it is killed or the power fails: before a change,
// it writes down what it is about to do, and waits until that is durable. Results are written without waiting. All
// changes that wait at the same time share a sync.
type intents struct {
	file *os.File

	mu      sync.Mutex // guards the fields below
	turn    sync.Cond  // signals that a sync has ended
	written int64      // number of records
	durable int64      // number of those that are durable
	syncing bool
	err     error
}

func newIntents(path string) (*intents, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	j := &intents{file: file}
	j.turn.L = &j.mu
	return j, nil
}

// add writes a record.
func (j *intents) add(record []byte) (number int64, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, err := j.file.Write(record); err != nil {
		return 0, err
	}
	j.written++
	return j.written, nil
}

// wait returns when a record is durable.
func (j *intents) wait(number int64) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	for j.durable < number && j.err == nil {
		if j.syncing {
			j.turn.Wait()
			continue
		}
		j.syncing = true
		covered := j.written
		j.mu.Unlock()
		err := j.file.Sync()
		j.mu.Lock()
		j.syncing, j.err = false, err
		if err == nil {
			j.durable = covered
		}
		j.turn.Broadcast()
	}
	return j.err
}

// intent writes a record and waits until it is durable.
func (j *intents) intent(record []byte) error {
	number, err := j.add(record)
	if err != nil {
		return err
	}
	return j.wait(number)
}

// close makes everything durable.
func (j *intents) close() error {
	j.mu.Lock()
	last := j.written
	j.mu.Unlock()
	return errors.Join(j.wait(last), j.file.Close())
}
