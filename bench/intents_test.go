package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestIntentsAreInTheFileWhenTheyAreDurable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j, err := newIntents(path)
	if err != nil {
		t.Fatal(err)
	}
	var writing sync.WaitGroup
	for i := range byte(20) {
		writing.Go(func() {
			for range 20 {
				record := bytes.Repeat([]byte{i}, 7)
				if err := j.intent(record); err != nil {
					t.Error(err)
				}
				if text, err := os.ReadFile(path); err != nil || !bytes.Contains(text, record) {
					t.Errorf("the record %d is not in the file: %v", i, err)
				}
			}
		})
	}
	writing.Wait()
	if err := j.close(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() != 20*20*7 {
		t.Errorf("the file has %v, %v", info, err)
	}
	if err := j.intent([]byte("late")); err == nil {
		t.Error("a record was written to a closed file")
	}
}

func TestOverheadIsThatOverBothKindsOfCalls(t *testing.T) {
	took := func(name string, wall time.Duration) cell {
		return cell{Contender: name, Samples: []sample{{Wall: wall, CPU: wall / 2}}}
	}
	rows := []row{{Step: "apply", Cells: []cell{took(bareCalls, time.Second), took(journaled, 2*time.Second),
		took("terraform", 9*time.Second), took("tombolo", 3*time.Second)}}}
	var out strings.Builder
	if err := writeOverhead(&out, rows); err != nil {
		t.Fatal(err)
	}
	want := "apply: 3.00 times the wall time and 3.00 times the CPU time of the bare calls\n" +
		"apply: 1.50 times the wall time and 1.50 times the CPU time of the calls with the least journal\n"
	if out.String() != want {
		t.Errorf("got %s\nwant %s", out.String(), want)
	}
}
