package query_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// oddTexts is the content of a JSON string with characters that need care: U+0000, which PostgreSQL does not store, an
// unpaired surrogate, characters without a script, and characters with a special meaning in SQL.
const oddTexts = "a\\u0000b\\ud800\\uffff\\ufeff\\u202e\\ud834\\udd1e'\\\"\\\\%_$1"

// TestOddTexts checks that both engines store, show and find any text of a report.
func TestOddTexts(t *testing.T) {
	t.Parallel()
	var report map[string]any
	if err := json.Unmarshal([]byte(specialReport), &report); err != nil {
		t.Fatal(err)
	}
	var spoil func(v any) any
	spoil = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			for key, item := range v {
				if key != "type" && key != "timestamp" && key != "time" && !strings.HasSuffix(key, "_time") && !strings.HasSuffix(key, "_timestamp") {
					v[key] = spoil(item)
				}
			}
		case []any:
			for i, item := range v {
				v[i] = spoil(item)
			}
		case string:
			return v + "ODD"
		}
		return v
	}
	for _, name := range []string{"producer", "transaction_uuid", "catalog_uuid", "code_id", "cached_catalog_status", "job_id", "status"} {
		report[name] = "x"
	}
	body := []byte(strings.ReplaceAll(jsonText(spoil(report)), "ODD", oddTexts))
	var e engines
	for i, d := range []store.Dialect{store.SQLite, store.Postgres} {
		e[i] = open(t, d)
		e[i].submit(t, "store report", 8, body)
	}
	const shown = "a\uFFFDb\uFFFD\uFFFF\uFEFF\u202E\U0001D11E'\"\\%_$1"
	for _, path := range []string{"/events", "/nodes", "/environments", "/producers"} {
		if difference, a := e.compareAnswers(t, path, nil); difference != "" || !strings.Contains(a.body, jsonText(shown)[1:]) {
			t.Errorf("%s: %s\n%.300s", path, difference, a.body)
		}
	}
	for clause, want := range map[string]int{
		`["=","certname",` + jsonText("special.example.com"+shown) + `]`:                 4,
		`["in","resource_title",["array",[` + jsonText("b"+shown) + `]]]`:                1,
		`["=","containment_path",` + jsonText("Über"+shown) + `]`:                        1,
		`["=","old_value",` + jsonText("8"+shown) + `]`:                                  1,
		`["=","old_value","8` + oddTexts + `"]`:                                          1,
		`["~","message","\\ufffdb\\ufffd\\uffff\\ufeff\\u202e\\U0001d11e'"]`:             2,
		`["subquery","reports",["=","producer",` + jsonText("x"+shown) + `]]`:            4,
		`["subquery","reports",["=","transaction_uuid",` + jsonText("x"+shown) + `]]`:    4,
		`["subquery","environments",["=","name",` + jsonText("special"+shown) + `]]`:     4,
		`["=","configuration_version",` + jsonText(fmt.Sprint("special-1", shown)) + `]`: 4,
	} {
		for _, b := range e {
			if got := b.count(t, "/events", clause); got != want {
				t.Errorf("%s: %d rows, want %d", clause, got, want)
			}
		}
	}
	var hash string
	for i, b := range e {
		row := b.rows(t, "/reports")[0]
		if i == 0 {
			hash = row["hash"].(string)
		}
		wantEqual(t, "hash", row["hash"], any(hash))
		if text := b.get("/reports/" + hash + "/logs").body; !strings.Contains(text, "hello"+jsonText(shown)[1:]) {
			t.Errorf("log: %s", text)
		}
	}
}
