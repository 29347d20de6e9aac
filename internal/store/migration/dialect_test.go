package migration_test

import (
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/store/migration"
)

func TestSpell(t *testing.T) {
	t.Parallel()
	const text = "a {{bytes}}\n{{sqlite}}only here\n{{postgres}}only there\n"
	for engine, want := range map[string]string{
		"sqlite": "a BLOB\nonly here\n", "postgres": "a BYTEA\nonly there\n",
	} {
		if got, err := migration.Spell([]byte(text), engine); err != nil || string(got) != want {
			t.Errorf("for %s it is %q, %v", engine, got, err)
		}
	}
	if _, err := migration.Spell([]byte("{{unknown}}"), "sqlite"); err == nil {
		t.Error("an unknown word has a spelling")
	}
}
