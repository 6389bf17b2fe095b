package store_test

import (
	"path/filepath"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/encryption"
	"github.com/tombolo-iac/tombolo/internal/encryption/encryptiontest"
	"github.com/tombolo-iac/tombolo/internal/store"
	"github.com/tombolo-iac/tombolo/internal/store/mem"
	"github.com/tombolo-iac/tombolo/state"
	"github.com/tombolo-iac/tombolo/state/storetest"
)

func TestLocalStore(t *testing.T) {
	for name, cipher := range map[string]*encryption.Cipher{"plain": nil, "sealed": encryptiontest.Cipher()} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) (a, b state.Store) {
				dir := t.TempDir()
				open := func() state.Store {
					return store.New(store.Options{Path: filepath.Join(dir, "terraform.tfstate"),
						WorkspaceDir: filepath.Join(dir, "terraform.tfstate.d"), Cipher: cipher})
				}
				return open(), open()
			})
		})
	}
}

func TestMemoryStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) (a, b state.Store) {
		s := mem.New()
		return s, s
	})
}
