package store_test

import (
	"path/filepath"
	"testing"

	"github.com/tombolo-iac/tombolo/internal/store"
	"github.com/tombolo-iac/tombolo/internal/store/mem"
	"github.com/tombolo-iac/tombolo/state"
	"github.com/tombolo-iac/tombolo/state/storetest"
)

func TestLocalStoreKeepsThePromisesOfStores(t *testing.T) {
	storetest.Run(t, func(t *testing.T) (a, b state.Store) {
		dir := t.TempDir()
		open := func() state.Store {
			return store.New(store.Options{Path: filepath.Join(dir, "terraform.tfstate"),
				WorkspaceDir: filepath.Join(dir, "terraform.tfstate.d")})
		}
		return open(), open()
	})
}

func TestMemoryStoreKeepsThePromisesOfStores(t *testing.T) {
	storetest.Run(t, func(t *testing.T) (a, b state.Store) {
		s := mem.New()
		return s, s
	})
}
