package migration_test

import (
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/store/migration"
)

func TestIsAdditive(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		statements string
		want       bool
	}{
		"table":                       {"CREATE TABLE n (id BIGINT PRIMARY KEY, at BIGINT NOT NULL);", true},
		"virtual table":               {"CREATE VIRTUAL TABLE n USING fts5 (words);", true},
		"rows of a new table":         {"CREATE TABLE n (id BIGINT);\nINSERT INTO n (id) SELECT id FROM t;\nDELETE FROM n;", true},
		"unique index of a new table": {"CREATE TABLE n (id BIGINT);\nCREATE UNIQUE INDEX i ON n (id);", true},
		"changes of a new table":      {"CREATE TABLE n (id BIGINT);\nALTER TABLE n DROP COLUMN id;", true},
		"index":                       {"CREATE INDEX i ON t (a, b) WHERE a IS NOT NULL;", true},
		"column":                      {"ALTER TABLE t ADD COLUMN note TEXT;", true},
		"columns":                     {"ALTER TABLE t ADD COLUMN a NUMERIC(1, 2), ADD COLUMN b TEXT NOT NULL DEFAULT '';", true},
		"column with a default":       {"ALTER TABLE t ADD note TEXT NOT NULL DEFAULT ''; -- DROP TABLE t;", true},
		"reference":                   {"ALTER TABLE t ADD COLUMN u BIGINT REFERENCES users (id) ON DELETE SET NULL;", true},
		"reference to a new table":    {"CREATE TABLE n (id BIGINT);\nALTER TABLE t ADD COLUMN u BIGINT REFERENCES n (id);", true},
		"new column filled": {
			"ALTER TABLE t ADD COLUMN note TEXT;\nUPDATE t SET note = (SELECT a FROM u WHERE u.id = t.id) WHERE id > 1;", true,
		},

		"table dropped":              {"DROP TABLE t;", false},
		"column dropped":             {"ALTER TABLE t DROP COLUMN a;", false},
		"column added and dropped":   {"ALTER TABLE t ADD COLUMN a TEXT, DROP COLUMN b;", false},
		"column renamed":             {"ALTER TABLE t RENAME COLUMN a TO b;", false},
		"table renamed":              {"ALTER TABLE t RENAME TO u;", false},
		"type":                       {"ALTER TABLE t ALTER COLUMN a TYPE TEXT;", false},
		"column without a default":   {"ALTER TABLE t ADD COLUMN a TEXT NOT\n NULL;", false},
		"unique column":              {"ALTER TABLE t ADD COLUMN a TEXT UNIQUE;", false},
		"constraint":                 {"ALTER TABLE t ADD CONSTRAINT c CHECK (a > 0);", false},
		"check":                      {"ALTER TABLE t ADD CHECK (a > 0);", false},
		"unique index":               {"CREATE UNIQUE INDEX i ON t (a);", false},
		"reference that holds rows":  {"CREATE TABLE n (u BIGINT REFERENCES users (id));", false},
		"rows":                       {"INSERT INTO t (id) VALUES (1);", false},
		"rows deleted":               {"DELETE FROM t;", false},
		"old column filled":          {"UPDATE t SET a = 1;", false},
		"old column filled beside":   {"ALTER TABLE t ADD COLUMN n TEXT;\nUPDATE t SET n = (SELECT 1 FROM u), a = (2);", false},
		"trigger":                    {"CREATE TRIGGER g AFTER INSERT ON t BEGIN SELECT 1; END;", false},
		"function":                   {"-- +goose StatementBegin\nDO $$ BEGIN DROP TABLE t; END $$;\n-- +goose StatementEnd", false},
		"dropped behind a quotation": {"CREATE TABLE n (a TEXT DEFAULT '--'); DROP TABLE t;", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := migration.IsAdditive("-- +goose Up\n-- additive\n" + test.statements + "\n")
			if got != test.want || (err == nil) != test.want {
				t.Errorf("IsAdditive is %v, %v", got, err)
			}
			if marked, err := migration.IsAdditive("-- +goose Up\n" + test.statements + "\n"); marked || err != nil {
				t.Errorf("without the mark it is %v, %v", marked, err)
			}
		})
	}
}
