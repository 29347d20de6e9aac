// Package migrations contains the database schema of the CMS.
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

// Schemas returns the schema of the CMS, followed by the schemas of the internal packages whose tables the CMS uses.
func Schemas() []store.Schema {
	return []store.Schema{{Name: "cms", Migrations: files}, blob.Schema("cms"), webhook.Schema("cms"), jobs.Schema("cms")}
}
