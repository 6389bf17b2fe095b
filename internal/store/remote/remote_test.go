package remote_test

import (
	"testing"
	"time"

	"github.com/tombolo-iac/tombolo/internal/encryption/encryptiontest"
	"github.com/tombolo-iac/tombolo/internal/store/remote"
	"github.com/tombolo-iac/tombolo/internal/store/remote/memory"
	"github.com/tombolo-iac/tombolo/state"
	"github.com/tombolo-iac/tombolo/state/storetest"
)

func over(t *testing.T, d remote.Driver) *remote.Store {
	return remote.New(remote.Options{Driver: d, Rescue: []string{t.TempDir()}, Pause: time.Millisecond,
		Beat: 5 * time.Millisecond, Who: "me@here", Cipher: encryptiontest.Asked()})
}

func TestStore(t *testing.T) {
	for _, sealed := range []string{"", "1"} {
		t.Run("sealed="+sealed, func(t *testing.T) {
			t.Setenv(encryptiontest.Variable, sealed)
			storetest.Run(t, func(t *testing.T) (a, b state.Store) {
				d := memory.New()
				return over(t, d), over(t, d)
			})
		})
	}
}
