package tochar

import (
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// TestTemplatesAsPostgres compares this package with to_char of PostgreSQL in the time zone UTC, for templates that
// combine patterns with everything that may surround them.
func TestTemplatesAsPostgres(t *testing.T) {
	t.Parallel()
	db, err := store.NewPostgres(store.PostgresOptions{DSN: testenv.Postgres(t).DSN()}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.Start(t.Context())
	dates := []string{
		"2026-03-20T10:01:02.123Z", "1969-12-31T23:59:59.999Z", "2000-02-29T00:00:00.000Z", "0001-01-01T12:00:00.000Z", "2021-01-03T13:13:13.013Z",
		"1900-11-11T11:11:11.111Z", "0099-12-22T22:22:22.222Z", "9999-12-31T23:00:00.001Z", "2024-12-30T01:02:03.400Z",
	}
	moments := make([]int64, 0, len(dates)+3)
	for _, year := range []int{0, -43, -100} {
		moments = append(moments, time.Date(year, 3, 15, 18, 0, 0, 0, time.UTC).UnixMilli())
	}
	for _, s := range dates {
		timestamp, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		moments = append(moments, timestamp.UnixMilli())
	}
	templates := []string{
		`abc`, `mOnth`, `Yyyy DaY`, `x\y \"a a"b\"c"`, `FMFMDD`, `FMTMMonth|`, `TMFMMonth|`, `TMDD THDD`, `DD""TH24`, `é "é" 5%`, `FMa TMa`, `ThDDTh`, `"` + `"`,
	}
	for _, p := range timePatterns {
		for _, format := range []string{"%s|", "FM%s|", "fm%s|", "%sTH|", "FM%sth|", "tm%s|", "%sSP|", "-%s%s"} {
			templates = append(templates, strings.ReplaceAll(format, "%s", p.name))
		}
		if p.named {
			templates = append(templates, "TM"+p.name+"|")
		}
	}
	for _, template := range templates {
		err := db.Read(t.Context(), func(c store.Conn) error {
			ctx := c.Context()
			tx, err := c.Pool().BeginTx(ctx, nil)
			if err != nil {
				return err
			}
			defer tx.Rollback()
			if _, err := tx.ExecContext(ctx, "SET LOCAL timezone = 'UTC'"); err != nil {
				return err
			}
			for _, ms := range moments {
				var want, got string
				timestamp := Timestamp("$1::bigint")
				if err := tx.QueryRowContext(ctx, "SELECT to_char(("+timestamp+") AT TIME ZONE 'UTC', $2), to_char("+timestamp+", $3)", ms, template, ForPostgres(template)).Scan(&want, &got); err != nil {
					return err
				}
				if goResult := Time(ms, template); goResult != want || got != want {
					t.Errorf("%s of %d: %q, by SQL %q, want %q", template, ms, goResult, got, want)
				}
			}
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", template, err)
		}
	}
}
