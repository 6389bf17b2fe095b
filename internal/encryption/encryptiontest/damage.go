package encryptiontest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/encryption"
)

// Damage changes an encrypted document n times: alternately at random positions, and in the values of its JSON members.
// No change may decrypt to other content or cause a panic. A few changes at random positions have no effect: in white
// space, and in members that are not read.
func Damage(t testing.TB, c *encryption.Cipher, sealed, plain []byte, n int) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	same, refused := 0, 0
	for i := range n {
		change := damaged
		if i%2 == 1 {
			change = reworded
		}
		b := change(r, sealed)
		got, _, err := c.Open(t.Context(), b)
		switch {
		case err != nil:
			refused++
		case !bytes.Equal(got, plain):
			t.Fatalf("change %d gives another document: %q from %q", i, got, b)
		case i%2 == 0:
			same++
		}
	}
	t.Logf("%d changes: %d were refused, and the others had no effect, %d of these at random places", n, refused, same)
	if same > max(2, n/40) || refused < n/2 {
		t.Errorf("%d of %d changes had no effect, %d were refused", same, n, refused)
	}
}

// damaged changes up to three positions.
func damaged(r *rand.Rand, sealed []byte) []byte {
	b := bytes.Clone(sealed)
	for range 1 + r.IntN(3) {
		switch at := r.IntN(len(b)); r.IntN(4) {
		case 0:
			b[at] = byte(r.IntN(256))
		case 1:
			b = b[:at+1]
		case 2:
			b = append(b[:at:at], b[min(len(b), at+1+r.IntN(4)):]...)
		case 3:
			b = append(b[:at:at], append([]byte{byte(r.IntN(256))}, b[at:]...)...)
		}
		if len(b) == 0 {
			b = []byte("x")
		}
	}
	return b
}

// reworded changes up to three members, including those of key providers' metadata, and keeps the JSON valid.
func reworded(r *rand.Rand, sealed []byte) []byte {
	var document map[string]any
	if err := json.Unmarshal(sealed, &document); err != nil {
		panic(err) // it was encrypted by us
	}
	for range 1 + r.IntN(3) {
		change(r, document, 0)
	}
	b, err := json.Marshal(document)
	if err != nil {
		panic(err) // it was valid JSON
	}
	return b
}

// odd returns a replacement for the value of a member.
func odd(r *rand.Rand) any {
	all := []any{nil, true, 0, -1, 1, 1.5, 1e30, math.MaxInt64, "", "x", "v1", "AAAA", []any{}, []any{"AAAA"},
		map[string]any{}, map[string]any{"salt": "AAAA"}, strings.Repeat("A", 1<<12)}
	return all[r.IntN(len(all))]
}

// change changes one member somewhere in a value, and returns the changed value.
func change(r *rand.Rand, v any, depth int) any {
	switch v := v.(type) {
	case map[string]any:
		names := slices.Sorted(maps.Keys(v))
		if len(names) == 0 || depth > 0 && r.IntN(6) == 0 {
			break
		}
		name := names[r.IntN(len(names))]
		switch r.IntN(8) {
		case 0:
			delete(v, name)
		case 1:
			v[name+"2"], v[name] = v[name], nil
		case 2:
			v["more"] = v[name]
		default:
			v[name] = change(r, v[name], depth+1)
		}
		return v
	case string:
		b, err := base64.StdEncoding.DecodeString(v)
		if err != nil || len(b) == 0 || r.IntN(6) == 0 {
			break
		}
		var inner map[string]any
		if json.Unmarshal(b, &inner) == nil {
			b, _ = json.Marshal(change(r, inner, depth+1))
		} else {
			b = damaged(r, b)
		}
		return base64.StdEncoding.EncodeToString(b)
	}
	return odd(r)
}
