package store

import (
	"bytes"
	"slices"
	"testing"
)

func someJournal(f interface{ Fatal(...any) }) []byte {
	b := append([]byte(magic), 1, 2, 3, 4, 5, 6, 7, 8)
	n := nonce{1, 2, 3, 4, 5, 6, 7, 8}
	for i, r := range []record{
		{kind: kindHeader,
			payload: []byte(`{"format":1,"lineage":"l","serial":3,"base":"aa","created":"2026-01-02T03:04:05Z"}`)},
		{kind: kindRun, payload: []byte(`{"ID":"r"}`)},
		{kind: kindIntent,
			payload: []byte(
				`{"op":"1","intent":{"id":"1","object":{"mode":"managed","type":"t","name":"a"},"action":"create"}}`)},
		{kind: kindPartial, payload: []byte(`{"op":"1","object":{"attributes":{"id":"early"}}}`)},
		{kind: kindResult,
			payload: []byte(
				`{"op":"1","edits":[{"put":{"mode":"managed","type":"t","name":"a","provider":"provider[\"h/t\"]","object":{"attributes":{"id":"1"}}}}]}`)},
		{kind: kindCheckpoint, payload: []byte(`{"serial":4,"hash":"bb","size":9,"covers":4}`)},
		{kind: kindDone, payload: []byte(`{"serial":4,"hash":"bb","size":9,"covers":4}`)},
		{kind: kindUnfolded, payload: []byte(`{"op":"2","run":{"ID":"q"},"edits":[],"why":"x"}`)},
		{kind: kindResolve, payload: []byte(`{"tokens":["q/2"],"edits":[]}`)},
	} {
		b = appendRecord(b, n, uint64(i), r.kind, r.payload)
	}
	return b
}

func TestAJournalIsReadUpToWhereItIsValid(t *testing.T) {
	whole := someJournal(t)
	full, err := parseJournal(whole, nil)
	if err != nil || len(full.records) != 8 || full.end != int64(len(whole)) || len(full.marks) != 2 ||
		!full.marks[1].done {
		t.Fatalf("%+v, %v", full, err)
	}
	headerEnd := int64(prefixSize + frameSize +
		len(`{"format":1,"lineage":"l","serial":3,"base":"aa","created":"2026-01-02T03:04:05Z"}`))
	for n := range whole {
		for what, b := range map[string][]byte{
			"cut":     whole[:n],
			"flipped": append(append(slices.Clone(whole[:n]), whole[n]^0x10), whole[n+1:]...),
			"zeroed":  append(slices.Clone(whole[:n]), make([]byte, len(whole)-n)...),
		} {
			p, err := parseJournal(b, nil)
			switch {
			case int64(n) < headerEnd && err == nil:
				t.Fatalf("%s at %d: a damaged header was taken", what, n)
			case int64(n) >= headerEnd && err != nil:
				t.Fatalf("%s at %d: %v", what, n, err)
			case err == nil && p.end > int64(n):
				t.Fatalf("%s at %d: valid up to %d", what, n, p.end)
			}
			if err == nil {
				for i, r := range p.records {
					if r.kind != full.records[i].kind || !bytes.Equal(r.payload, full.records[i].payload) {
						t.Fatalf("%s at %d: record %d is another", what, n, i)
					}
				}
			}
		}
	}
}

func TestRecordsOfAnEarlierJournalAreNotTaken(t *testing.T) {
	whole := someJournal(t)
	other := slices.Clone(whole)
	other[len(magic)]++ // another nonce: nothing of it is valid
	if _, err := parseJournal(other, nil); err == nil {
		t.Error("records are valid under another nonce")
	}
	p := &parsed{nonce: nonce(whole[len(magic):prefixSize]), end: int64(prefixSize), next: 1}
	if p.add(whole); len(p.records) != 0 {
		t.Error("records are taken out of order")
	}
}

func FuzzJournal(f *testing.F) {
	whole := someJournal(f)
	f.Add(whole)
	for i := range 5 {
		f.Add(whole[:len(whole)*i/5])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := parseJournal(b, func(*parsed) ([][]byte, error) { return [][]byte{b}, nil })
		if err != nil {
			return
		}
		if p.own != len(p.records) {
			t.Fatal("a journal rescued itself")
		}
		for _, foreign := range []bool{false, true} {
			o, err := p.lay(nil, p.marks[0], foreign)
			if err != nil {
				continue
			}
			if _, err := carry(o.inFlight, o.unfolded); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// FuzzRecords is FuzzJournal behind the checksums: any payload of any kind is an error or is understood.
func FuzzRecords(f *testing.F) {
	p, _ := parseJournal(someJournal(f), nil)
	for _, r := range p.records {
		f.Add(byte(r.kind), r.payload)
	}
	f.Fuzz(func(t *testing.T, k byte, payload []byte) {
		p, err := parseJournal(appendRecord(someJournal(t), nonce{1, 2, 3, 4, 5, 6, 7, 8}, 9, kind(k), payload), nil)
		if err != nil {
			return
		}
		if o, err := p.lay(nil, p.marks[0], false); err == nil {
			if _, err := carry(o.inFlight, o.unfolded); err != nil {
				t.Fatal(err)
			}
		}
	})
}
