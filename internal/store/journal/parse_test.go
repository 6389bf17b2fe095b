package journal

import (
	"bytes"
	"slices"
	"testing"
)

func someJournal(f interface{ Fatal(...any) }) []byte {
	b := append([]byte(Magic), 1, 2, 3, 4, 5, 6, 7, 8)
	n := Nonce{1, 2, 3, 4, 5, 6, 7, 8}
	for i, r := range []Record{
		{Kind: KindHeader,
			Payload: []byte(`{"format":1,"lineage":"l","serial":3,"base":"aa","created":"2026-01-02T03:04:05Z"}`)},
		{Kind: KindRun, Payload: []byte(`{"ID":"r"}`)},
		{Kind: KindIntent,
			Payload: []byte(
				`{"op":"1","intent":{"id":"1","object":{"mode":"managed","type":"t","name":"a"},"action":"create"}}`)},
		{Kind: KindPartial, Payload: []byte(`{"op":"1","object":{"attributes":{"id":"early"}}}`)},
		{Kind: KindResult,
			Payload: []byte(
				`{"op":"1","edits":[{"put":{"mode":"managed","type":"t","name":"a","provider":"provider[\"h/t\"]","object":{"attributes":{"id":"1"}}}}]}`)},
		{Kind: KindCheckpoint, Payload: []byte(`{"serial":4,"hash":"bb","size":9,"covers":4}`)},
		{Kind: KindDone, Payload: []byte(`{"serial":4,"hash":"bb","size":9,"covers":4}`)},
		{Kind: KindUnfolded, Payload: []byte(`{"op":"2","run":{"ID":"q"},"edits":[],"why":"x"}`)},
		{Kind: KindResolve, Payload: []byte(`{"tokens":["q/2"],"edits":[]}`)},
	} {
		b = Append(b, n, uint64(i), r.Kind, r.Payload)
	}
	return b
}

func TestAJournalIsReadUpToWhereItIsValid(t *testing.T) {
	whole := someJournal(t)
	full, err := Parse(whole, nil, nil)
	if err != nil || len(full.Records) != 8 || full.End != int64(len(whole)) || len(full.Marks) != 2 ||
		!full.Marks[1].Done {
		t.Fatalf("%+v, %v", full, err)
	}
	headerEnd := int64(PrefixSize + FrameSize +
		len(`{"format":1,"lineage":"l","serial":3,"base":"aa","created":"2026-01-02T03:04:05Z"}`))
	for n := range whole {
		for what, b := range map[string][]byte{
			"cut":     whole[:n],
			"flipped": append(append(slices.Clone(whole[:n]), whole[n]^0x10), whole[n+1:]...),
			"zeroed":  append(slices.Clone(whole[:n]), make([]byte, len(whole)-n)...),
		} {
			p, err := Parse(b, nil, nil)
			switch {
			case int64(n) < headerEnd && err == nil:
				t.Fatalf("%s at %d: a damaged header was taken", what, n)
			case int64(n) >= headerEnd && err != nil:
				t.Fatalf("%s at %d: %v", what, n, err)
			case err == nil && p.End > int64(n):
				t.Fatalf("%s at %d: valid up to %d", what, n, p.End)
			}
			if err == nil {
				for i, r := range p.Records {
					if r.Kind != full.Records[i].Kind || !bytes.Equal(r.Payload, full.Records[i].Payload) {
						t.Fatalf("%s at %d: record %d is another", what, n, i)
					}
				}
			}
		}
	}
}

func TestRecordsOfAnEarlierJournalAreIgnored(t *testing.T) {
	whole := someJournal(t)
	other := slices.Clone(whole)
	other[len(Magic)]++ // another nonce makes all records invalid
	if _, err := Parse(other, nil, nil); err == nil {
		t.Error("records are valid under another nonce")
	}
	p := &Parsed{Nonce: Nonce(whole[len(Magic):PrefixSize]), End: int64(PrefixSize), Next: 1}
	if p.add(whole); len(p.Records) != 0 {
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
		p, err := Parse(b, nil, func(*Parsed) ([][]byte, error) { return [][]byte{b}, nil })
		if err != nil {
			return
		}
		if p.Own != len(p.Records) {
			t.Fatal("a journal rescued itself")
		}
		for _, foreign := range []bool{false, true} {
			o, err := p.Lay(nil, p.Marks[0], foreign)
			if err != nil {
				continue
			}
			if _, err := Carry(o.InFlight, o.Unfolded); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// FuzzRecords fuzzes payloads with valid checksums: a payload of any kind is either understood or an error.
func FuzzRecords(f *testing.F) {
	p, _ := Parse(someJournal(f), nil, nil)
	for _, r := range p.Records {
		f.Add(byte(r.Kind), r.Payload)
	}
	f.Fuzz(func(t *testing.T, k byte, payload []byte) {
		p, err := Parse(Append(someJournal(t), Nonce{1, 2, 3, 4, 5, 6, 7, 8}, 9, Kind(k), payload), nil, nil)
		if err != nil {
			return
		}
		if o, err := p.Lay(nil, p.Marks[0], false); err == nil {
			if _, err := Carry(o.InFlight, o.Unfolded); err != nil {
				t.Fatal(err)
			}
		}
	})
}
