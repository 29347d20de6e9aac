package query

import (
	"bytes"
	"context"
	"database/sql"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/runevents/query/syntax"
)

// TestAppendTime compares with the library, leap days and all.
func TestAppendTime(t *testing.T) {
	t.Parallel()
	var got, want []byte
	check := func(ms int64) { // half a million times: without t.Helper, which looks at the stack each time
		got, want = syntax.AppendTime(got[:0], ms), time.UnixMilli(ms).UTC().AppendFormat(want[:0], "2006-01-02T15:04:05.000Z")
		if !bytes.Equal(got, want) {
			t.Errorf("%d: %s, want %s", ms, got, want)
		}
	}
	const length, era = 24 * 60 * 60 * 1000, 146_097 // days of 400 years, after which the calendar begins again
	for day := int64(-era); day < era+era/2; day++ {
		check(day * length)
	}
	for day := time.Unix(0, 0).UTC(); day.Year() < 10_000; day = day.AddDate(0, 1, 0) { // the ends of all months
		check(day.UnixMilli())
		check(day.UnixMilli() - length)
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range 10_000 {
		check(r.Int64N(syntax.MaxEpoch + length))
	}
	check(syntax.MaxEpoch)
	check(-1)
}

// TestFragments checks that the cache returns texts unchanged and is limited.
func TestFragments(t *testing.T) {
	t.Parallel()
	var f fragments
	text := func(n int64) []byte { return bytes.Repeat([]byte{byte('a' + n%26)}, int(n%fragmentMax)+1) }
	const used = 7
	for n := range int64(10_000) {
		if n%100 == 0 {
			if got, ok := f.get(used); n > 0 && (!ok || !bytes.Equal(got, text(used))) {
				t.Fatalf("after %d: %q of what is asked for again and again", n, got)
			}
		}
		f.put(n, text(n))
		if got, ok := f.get(n); !ok || !bytes.Equal(got, text(n)) {
			t.Fatalf("%d: %d bytes, %v", n, len(got), ok)
		}
		if size := len(f.young.text) + len(f.old.text); size > 2*generationBytes {
			t.Fatalf("after %d: %d bytes", n, size)
		}
	}
	if _, ok := f.get(1); ok {
		t.Error("the first text is still there")
	}
}

// TestParts writes rows whose parts are large, missing, or of one key.
func TestParts(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("sqlite", "file:"+t.TempDir()+"/test.db")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	large := strings.Repeat("x", fragmentMax+1)
	for _, s := range []string{
		"CREATE TABLE texts (id INTEGER PRIMARY KEY, name TEXT)",
		"INSERT INTO texts VALUES (1, 'one'), (2, NULL), (3, '" + large + "')",
	} {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	write := func(ctx context.Context, numbers []int) (string, error) {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return "", err
		}
		defer tx.Rollback()
		var out strings.Builder
		st := &statement{hashColumn: -1, parts: []part{{
			sql: "SELECT name, id FROM texts WHERE id IN (SELECT value FROM json_each($1))", cells: []cell{{key: "text", kind: cellText}},
		}}}
		rw := newRowWriter(&out, st, "")
		rw.allocate(rowsAtOnce, 1)
		p, err := newPartWriter(ctx, tx, st.parts[0])
		if err != nil {
			return "", err
		}
		rw.parts = append(rw.parts, p)
		list := make([]string, len(numbers))
		for i, n := range numbers {
			list[i] = strconv.Itoa(n)
		}
		st.sql = "SELECT value FROM json_each('[" + strings.Join(list, ",") + "]')"
		err = st.run(ctx, tx, rw.writeAll)
		return out.String(), err
	}
	numbers := make([]int, 0, 3*rowsAtOnce)
	want := "["
	for i := range 3 * rowsAtOnce {
		n := 1 + i%3
		numbers = append(numbers, n)
		if i > 0 {
			want += ","
		}
		want += `{"text":` + []string{`"one"`, "null", `"` + large + `"`}[n-1] + "}"
	}
	if got, err := write(t.Context(), numbers); err != nil || got != want+"]" {
		t.Errorf("%.100s… of %d bytes, want %d, %v", got, len(got), len(want)+1, err)
	}
	if got, err := write(t.Context(), nil); err != nil || got != "[]" {
		t.Errorf("none: %s, %v", got, err)
	}
	if got, err := write(t.Context(), []int{4, 1, 4, 2}); err != nil || got != `[{"text":"one"},{"text":null}]` {
		t.Errorf("a part that is not there: %s, %v", got, err)
	}
}
