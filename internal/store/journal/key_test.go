package journal

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/encryption"
	"github.com/tombolo-iac/tombolo/internal/encryption/encryptiontest"
)

// plainKinds are records without data of objects: the run, the durable records, the hash of the state.
var plainKinds = map[Kind]bool{KindHeader: true, KindRun: true, KindCheckpoint: true, KindDone: true, KindClose: true,
	KindDurable: true, KindSeal: true}

// With a key, no record with data of objects is readable, and each can only be decrypted at its position.
func TestRecordsOfObjectsAreBoundToTheirPosition(t *testing.T) {
	key, err := keyOf(make([]byte, keySize), nil)
	if err != nil {
		t.Fatal(err)
	}
	n, payload := Nonce{1, 2, 3}, []byte(`{"edits":[{"secret":"canary"}]}`)
	for kind := KindHeader; kind < kindEnd; kind++ {
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

// A journal that was written with a key cannot be read without it or with another one: it would seem to be empty.
func TestEncryptedJournalsNeedTheirKey(t *testing.T) {
	key, err := NewKey(encryptiontest.Turn(1))
	if err != nil {
		t.Fatal(err)
	}
	n := Nonce{1, 2, 3}
	head, err := json.Marshal(map[string]any{"format": 1, "base": "aa", "key": key.Sealed})
	if err != nil {
		t.Fatal(err)
	}
	b := key.Append(append([]byte(Magic), n[:]...), n, 0, KindHeader, head)
	b = key.Append(b, n, 1, KindIntent, []byte(`{"op":"1","intent":{"id":"1"}}`))
	if p, err := Parse(b, encryptiontest.Turn(2, 1), nil); err != nil || len(p.Records) != 1 {
		t.Fatalf("%+v, %v", p, err)
	}
	for name, c := range map[string]*encryption.Cipher{"none": nil, "plain": encryptiontest.Turn(0),
		"another": encryptiontest.Turn(2)} {
		if p, err := Parse(b, c, nil); err == nil {
			t.Errorf("%s: it is read: %+v", name, p)
		}
	}
}
