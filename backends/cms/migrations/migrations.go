// Package migrations is the tables of the CMS.
package migrations

import (
	"embed"

	"github.com/tollgate-gateway/tollgate/internal/blob"
	"github.com/tollgate-gateway/tollgate/internal/jobs"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/webhook"
)

//go:embed *.sql
var files embed.FS

// Schemas are those of the service and of the rooms it shares with others.
func Schemas() []store.Schema {
	return []store.Schema{{Name: "cms", Migrations: files}, blob.Schema("cms"), webhook.Schema("cms"), jobs.Schema("cms")}
}
