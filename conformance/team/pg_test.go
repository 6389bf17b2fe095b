//go:build unix

package team

import (
	"testing"

	"github.com/tombolo-iac/tombolo/internal/pgtest"
)

func TestPostgreSQLIsSharedWithTerraform(t *testing.T) {
	other := theirs(t, "terraform", "TOMBOLO_TERRAFORM")
	place{block: `backend "pg" {}`, env: []string{"PG_CONN_STR=" + pgtest.Database(t)}}.live(t, other)
}
