package runevents

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// now is after all reports of the real set, which lie in March 2026.
var now = time.Date(2026, 4, 1, 12, 0, 0, 0, time.UTC)

// payload is a real report with the name of its file.
type payload struct {
	name string
	body []byte
}

// payloads are 89 reports of agents, as their servers submit them.
var payloads = sync.OnceValues(func() ([]payload, error) {
	f, err := os.Open("testdata/reports.tar.gz")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	unzip, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	var list []payload
	for r := tar.NewReader(unzip); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(r)
		if err != nil {
			return nil, err
		}
		list = append(list, payload{header.Name, body})
	}
})

func realReports(tb testing.TB) []payload {
	tb.Helper()
	list, err := payloads()
	if err != nil || len(list) != 89 {
		tb.Fatalf("%d real reports, %v", len(list), err)
	}
	return list
}

func realReport(tb testing.TB, name string) []byte {
	tb.Helper()
	for _, p := range realReports(tb) {
		if p.name == name {
			return p.body
		}
	}
	tb.Fatalf("no report %s", name)
	return nil
}

// testDatabase is a database that any number of services can share.
type testDatabase struct {
	dialect  store.Dialect
	location string // file or DSN
}

// onBoth runs the test on an empty database of each engine.
func onBoth(t *testing.T, test func(t *testing.T, p testDatabase)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, testDatabase{store.SQLite, filepath.Join(t.TempDir(), "test.db")})
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, testDatabase{store.Postgres, testenv.Postgres(t).DSN()})
	})
}

func (p testDatabase) open(tb testing.TB) *store.DB {
	tb.Helper()
	var db *store.DB
	var err error
	if p.dialect == store.Postgres {
		db, err = store.NewPostgres(store.PostgresOptions{DSN: p.location}, zap.NewNop())
	} else {
		db, err = store.NewSQLite(store.SQLiteOptions{Path: p.location, Synchronous: "NORMAL"}, zap.NewNop())
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = db.Close() })
	if err := db.Register(Schema()); err != nil {
		tb.Fatal(err)
	}
	testenv.Open(tb, db)
	return db
}

// start opens a service whose retention covers the real reports.
func (p testDatabase) start(tb testing.TB, setOptions ...func(*Options)) *Service {
	tb.Helper()
	o := Options{DB: p.open(tb), EventTTL: 365 * day, ReportTTL: 365 * day, Now: func() time.Time { return now }}
	for _, f := range setOptions {
		f(&o)
	}
	s, err := New(o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Close)
	return s
}

func (s *Service) storeRealReports(tb testing.TB) {
	tb.Helper()
	var wg sync.WaitGroup
	for _, p := range realReports(tb) {
		wg.Go(func() {
			if _, err := s.Process(tb.Context(), Command{Name: storeReport, Version: 8, Certname: "x", Payload: p.body}); err != nil {
				tb.Errorf("%s: %v", p.name, err)
			}
		})
	}
	wg.Wait()
	if err := s.Settle(tb.Context()); err != nil {
		tb.Fatal(err)
	}
}

// queryInt files the reports in the inbox, and returns the integer that a query selects.
func (s *Service) queryInt(tb testing.TB, text string, args ...any) (n int64) {
	tb.Helper()
	if err := s.Settle(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	err := s.db.Read(tb.Context(), func(c store.Conn) error {
		return c.Row(text, args...).Scan(&n)
	})
	if err != nil {
		tb.Fatal(err)
	}
	return n
}
