package encryptiontest

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/encryption"
)

// Damage changes a sealed document at random places, n times: nothing of it is opened to something else, and nothing
// ends the program. Few changes have no effect: white space, and members that nobody reads.
func Damage(t testing.TB, c *encryption.Cipher, sealed, plain []byte, n int) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	same := 0
	for i := range n {
		b := damaged(r, sealed)
		got, _, err := c.Open(t.Context(), b)
		if err == nil && !bytes.Equal(got, plain) {
			t.Fatalf("change %d gives another document: %q from %q", i, got, b)
		}
		if err == nil {
			same++
		}
	}
	if same > n/20 {
		t.Errorf("%d of %d changes had no effect", same, n)
	}
}

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
