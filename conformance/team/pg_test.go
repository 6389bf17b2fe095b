//go:build unix

package team

import (
	"testing"

	"github.com/tombolo-iac/tombolo/internal/pgtest"
)

func TestPostgreSQLIsSharedWithTerraform(t *testing.T) {
	withPeers(t, func(t *testing.T, other string) {
		place{block: `backend "pg" {}`, env: []string{"PG_CONN_STR=" + pgtest.Database(t)}, lockEnds: true}.live(t,
			other)
	})
}
