package journal

import (
	"bytes"
	"testing"
)

// plainKinds are records that say nothing of objects: who runs, what is durable, which content the state has.
var plainKinds = map[Kind]bool{KindHeader: true, KindRun: true, KindCheckpoint: true, KindDone: true, KindClose: true,
	KindDurable: true, KindSeal: true}

// With a key no record with anything of an object is readable, and each opens only where it was written.
func TestRecordsOfObjectsAreSealedInTheirPlace(t *testing.T) {
	key, err := keyOf(make([]byte, keySize), nil)
	if err != nil {
		t.Fatal(err)
	}
	n, payload := Nonce{1, 2, 3}, []byte(`{"edits":[{"secret":"canary"}]}`)
	for kind := KindHeader; kind <= KindSeal; kind++ {
		framed := key.Append(nil, n, 7, kind, payload)
		if got := bytes.Contains(framed, []byte("canary")); got != plainKinds[kind] {
			t.Errorf("a record of the kind %d is plain: %v", kind, got)
		}
		for seq := range uint64(9) {
			r := Record{Kind: kind, Seq: seq, Payload: bytes.Clone(framed[FrameSize:])}
			err := key.open(n, &r)
			if opened := err == nil && bytes.Equal(r.Payload, payload); opened != (seq == 7 || plainKinds[kind]) {
				t.Errorf("a record of the kind %d, written as number 7, opens as number %d: %v", kind, seq, err)
			}
		}
	}
}
