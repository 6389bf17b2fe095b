package journal

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/tombolo-iac/tombolo/internal/encryption"
	"github.com/tombolo-iac/tombolo/state"
)

// Saved is the first record of a rescue file: it names the run that wrote the file, and its journal.
type Saved struct {
	state.RunInfo
	Place string `json:",omitempty"` // of the state, in the form that names files on this machine
	Gone  bool   `json:",omitempty"` // the journal was removed during the run
	// Key is the key of the journal's records, encrypted like the state.
	Key json.RawMessage `json:",omitempty"`
}

// Orphaned returns the results in a rescue file whose journal was removed: no journal will read them. It returns none
// for other files. c decrypts the key of the records.
func Orphaned(b []byte, place string, c *encryption.Cipher) (results []state.Unfolded, err error) {
	if len(b) < PrefixSize || !bytes.HasPrefix(b, []byte(Magic)) {
		return nil, nil
	}
	var saved Saved
	var key *Key
	nonce := Nonce(b[len(Magic):PrefixSize])
	for at := PrefixSize; ; {
		r, size, ok := cutRecord(b[at:], nonce)
		if !ok {
			return results, nil
		}
		if at == PrefixSize {
			if r.Kind != KindRun || json.Unmarshal(r.Payload, &saved) != nil || !saved.Gone || saved.Place != place {
				return nil, nil
			}
			if key, err = openKey(c, saved.Key); err != nil {
				return nil, err
			}
		}
		at += size
		if err := key.open(nonce, &r); err != nil {
			return nil, err
		}
		u, err := r.late(&saved.RunInfo)
		if err != nil {
			return nil, fmt.Errorf("record %d: %w", r.Seq, err)
		}
		if u != nil {
			u.Why = "the journal of the run was removed during the run"
			results = append(results, *u)
		}
	}
}
