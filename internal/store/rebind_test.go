package store

import (
	"fmt"
	"strings"
	"testing"

	"go.uber.org/zap"
)

func TestNumberPlaceholders(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"":                               "",
		"SELECT 1":                       "SELECT 1",
		"?":                              "$1",
		"a = ? AND b = ? AND c IN (?,?)": "a = $1 AND b = $2 AND c IN ($3,$4)",
		"a = '?' AND b = ?":              "a = '?' AND b = $1",
		"a = 'it''s ?' AND b = ?":        "a = 'it''s ?' AND b = $1",
		`"a?" = ? AND "b""?" = ?`:        `"a?" = $1 AND "b""?" = $2`,
		`a = '\' AND b = ?`:              `a = '\' AND b = $1`,
		`a = E'\'?' AND b = ?`:           `a = E'\'?' AND b = $1`,
		`a = e'\\' AND b = ?`:            `a = e'\\' AND b = $1`,
		`name'\' ?`:                      `name'\' $1`,
		"a = ? -- why?\nAND b = ?":       "a = $1 -- why?\nAND b = $2",
		"a = ? -- why?":                  "a = $1 -- why?",
		"a - ? - ?":                      "a - $1 - $2",
		"a / ? /* ? /* ? */ ? */ / ?":    "a / $1 /* ? /* ? */ ? */ / $2",
		"/*/ ? */ ?":                     "/*/ ? */ $1",
		"? /* ? ":                        "$1 /* ? ",
		"$$ ? $$ ?":                      "$$ ? $$ $1",
		"$t$ ? $$ $x$ ? $t$ ?":           "$t$ ? $$ $x$ ? $t$ $1",
		"a$b$ ? c$b$ ?":                  "a$b$ $1 c$b$ $2",
		"$1 ?":                           "$1 $1",
		"'?":                             "'?",
		"é = '?' AND ü = ?":              "é = '?' AND ü = $1",
		strings.Repeat("?", 11):          "$1$2$3$4$5$6$7$8$9$10$11",
	} {
		if got := numberPlaceholders(query); got != want {
			t.Errorf("%q\n got %q\nwant %q", query, got, want)
		}
	}
}

func TestRebindCacheIsBounded(t *testing.T) {
	t.Parallel()
	db, err := NewPostgres(PostgresOptions{DSN: "host=localhost"}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	for i := range rebindCacheSize + 10 {
		if got, want := db.Rebind(fmt.Sprintf("SELECT %d, ?", i)), fmt.Sprintf("SELECT %d, $1", i); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
	count := 0
	db.rebinds.known.Range(func(any, any) bool { count++; return true })
	if count != rebindCacheSize {
		t.Fatalf("%d queries are kept, want %d", count, rebindCacheSize)
	}
}

func FuzzNumberPlaceholders(f *testing.F) {
	for _, seed := range []string{"a = ?", "'?", `E'\`, "$a$?$a$?", "/*/**/?", "--?\n?", `"?"`, "$", "e'", "/*"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, query string) {
		got := numberPlaceholders(query)
		// Undoing the replacement gives the query back, so nothing else was changed.
		n := 0
		for i := 0; i < len(query); {
			length := max(1, literalLength(query, i))
			if query[i] == '?' {
				n++
				number := fmt.Sprintf("$%d", n)
				if !strings.HasPrefix(got, number) {
					t.Fatalf("%q: %q does not begin with %s", query, got, number)
				}
				got = got[len(number):]
			} else {
				if !strings.HasPrefix(got, query[i:i+length]) {
					t.Fatalf("%q: %q does not begin with %q", query, got, query[i:i+length])
				}
				got = got[length:]
			}
			i += length
		}
		if got != "" {
			t.Fatalf("%q: %q is left over", query, got)
		}
	})
}
