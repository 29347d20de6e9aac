package authserver_test

import (
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/authserver"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/store/storetest"
)

var databases = storetest.Fixture{Schemas: []store.Schema{authserver.Schema()}}

// TestSchema checks that the tables can be created on both engines, and that mail addresses are unique.
func TestSchema(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		insert := func(id, key string) error {
			return db.Write(t.Context(), func(c store.Conn) error {
				_, err := c.Exec("INSERT INTO authserver_users (id, email, email_key, created_at, updated_at) VALUES (?, ?, ?, 0, 0)", id, key, key)
				return err
			})
		}
		if err := insert("a", "ann@example.com"); err != nil {
			t.Fatal(err)
		}
		if err := insert("b", "ann@example.com"); !store.IsUniqueViolation(err) {
			t.Fatalf("the same address again: %v", err)
		}
	})
}
