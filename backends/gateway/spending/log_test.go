package spending

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/backends/gateway/schema/schematest"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// quietLog returns a log without the background writer, for tests that flush it themselves.
func quietLog(n *node) *Log { return NewLog(n.Ledger, &n.used, n.logger) }

func record(i int) Record {
	return Record{At: start.Add(time.Duration(i) * time.Second), RequestID: fmt.Sprint("r", i), UserID: "alice", KeyID: "gk", Surface: "chat_completions", Status: 200}
}

// ids returns the request ids of the newest records, newest first.
func ids(t *testing.T, n *node, limit int) []string {
	t.Helper()
	records, err := n.Recent(t.Context(), "alice", 0, limit)
	if err != nil {
		t.Fatal(err)
	}
	all := make([]string, 0, len(records))
	for _, r := range records {
		all = append(all, r.RequestID)
	}
	return all
}

func TestUsageRecords(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		n := p.start(t)
		full := Record{
			At: start.Add(123456 * time.Microsecond), RequestID: "req_1", UserID: "alice", KeyID: "gk_1", Surface: "chat_completions",
			AskedModel: "keychain-high", Tier: catalog.High, Provider: "alpha", Model: "large", Stream: true, Status: 502,
			Code: "all_providers_failed", Attempts: 2,
			FailedAttempts: []apierror.Attempt{{Provider: "alpha", Model: "large", Status: 500, Code: "server_error", Message: "no", LatencyMS: 5}, {Provider: "beta"}},
			InputTokens:    1 << 40, CachedTokens: 2, OutputTokens: 3, ReasoningTokens: 4, UsageSource: "estimated",
			CostMicroUSD: 1 << 50, CostKnown: true, Latency: 1234567 * time.Microsecond, FirstToken: 89 * time.Microsecond,
		}
		bare := Record{At: start, UserID: "alice"}
		log := quietLog(n)
		log.Add(full)
		log.Add(bare)
		log.Add(Record{At: start, UserID: "bob"})
		if got := log.Pending(); got != 3 {
			t.Errorf("%d pending", got)
		}
		if err := log.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := log.Pending(); got != 0 {
			t.Errorf("%d pending", got)
		}
		got, err := n.Recent(t.Context(), "alice", 0, 10)
		if err != nil || len(got) != 2 {
			t.Fatalf("%+v, error %v", got, err)
		}
		bare.ID, full.ID = got[0].ID, got[1].ID
		if !reflect.DeepEqual(got, []Record{bare, full}) {
			t.Errorf("got  %+v\nwant %+v", got, []Record{bare, full})
		}
	})
}

func TestUsageBatches(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		n := p.start(t)
		log := quietLog(n)
		const many = 2*batchRows + insertRows + 3
		for i := range many {
			log.Add(record(i))
		}
		if err := log.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if log.Pending() != 0 || log.taken != nil || log.pending != nil {
			t.Errorf("%d pending", log.Pending())
		}
		next, before := many-1, int64(0)
		for {
			page, err := n.Recent(t.Context(), "alice", before, 400)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range page {
				if r.RequestID != fmt.Sprint("r", next) || (before > 0 && r.ID >= before) {
					t.Fatalf("%s with id %d, want r%d", r.RequestID, r.ID, next)
				}
				next, before = next-1, r.ID
			}
			if len(page) < 400 {
				break
			}
		}
		if next != -1 {
			t.Errorf("%d are missing", next+1)
		}
		for limit, want := range map[int]int{-1: 1, 0: 1, 1: 1, 7: 7, 500: 500, 501: 500} {
			if got := len(ids(t, n, limit)); got != want {
				t.Errorf("limit %d: %d records, want %d", limit, got, want)
			}
		}
	})
}

// TestUsageWaitsForTheDatabase adds records before the database is open.
func TestUsageWaitsForTheDatabase(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		db := p.Open(t)
		n := newNode(db)
		log := quietLog(n)
		n.used.at = map[string]int64{"gk": schema.Micros(start)}
		const many = batchRows + 200
		for i := range many {
			log.Add(record(i))
			if i%300 == 0 {
				wantUnavailable(t, log.Flush(t.Context()))
			}
		}
		if got := log.Pending(); got != many {
			t.Fatalf("%d of %d pending", got, many)
		}
		testenv.Open(t, db)
		key := n.user(t, "alice")
		n.sql(t, "UPDATE gateway_keys SET id = 'gk' WHERE id = ?", key.ID)
		if err := log.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		var count int
		err := n.db.Read(t.Context(), func(c store.Conn) error {
			return c.Row("SELECT count(*) FROM gateway_usage").Scan(&count)
		})
		if err != nil || count != many {
			t.Errorf("%d of %d written, error %v", count, many, err)
		}
		newest := ids(t, n, 500)
		if newest[0] != fmt.Sprint("r", many-1) || newest[499] != fmt.Sprint("r", many-500) {
			t.Errorf("from %s to %s", newest[0], newest[499])
		}
		var used int64
		err = n.db.Read(t.Context(), func(c store.Conn) error {
			return c.Row("SELECT coalesce(max(last_used_at), 0) FROM gateway_keys WHERE id = 'gk'").Scan(&used)
		})
		if err != nil || used != schema.Micros(start) {
			t.Errorf("the use of the key is forgotten: %d, error %v", used, err)
		}
	})
}

// TestUsageIsWrittenOnce checks that a batch is not written and counted again if the confirmation of its commit was
// lost.
func TestUsageIsWrittenOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		n := p.start(t)
		log := quietLog(n)
		for i := range 5 {
			log.Add(record(i))
		}
		flush := func() {
			t.Helper()
			if err := log.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		flush()
		for i := range 3 {
			log.Add(record(5 + i))
		}
		batch, last := log.nextBatch(2)
		if err := log.write(t.Context(), batch, last, nil); err != nil {
			t.Fatal(err)
		}
		log.unresolved = true // as Flush sets it if a commit's result is unknown
		log.Add(record(8))
		flush()
		log.unresolved = true
		log.Add(record(9))
		flush()
		log.Add(record(10))
		batch, last = log.nextBatch(1)
		if err := log.write(t.Context(), batch, last, nil); err != nil { // it is committed later
			t.Fatal(err)
		}
		if err := log.Flush(t.Context()); err == nil {
			t.Error("a batch is written although the one before it was committed late")
		}
		flush()
		var rows, counted int
		err := n.db.Read(t.Context(), func(c store.Conn) error {
			return c.Row("SELECT (SELECT count(*) FROM gateway_usage), (SELECT sum(requests) FROM gateway_usage_hours)").Scan(&rows, &counted)
		})
		if err != nil || rows != 11 || counted != 11 || log.Pending() != 0 {
			t.Errorf("%d records are written, %d counted, %d wait, want 11, 11 and 0; error %v", rows, counted, log.Pending(), err)
		}
	})
}

// TestUsageAfterRestore checks that the log goes on writing to a database that has lost the last batches, such as a
// restored backup or a standby.
func TestUsageAfterRestore(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		n := p.start(t)
		log := quietLog(n)
		add := func(first, end int) {
			t.Helper()
			for i := first; i < end; i++ {
				log.Add(record(i))
			}
			if err := log.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		add(0, 5)
		for _, lost := range []string{"UPDATE gateway_usage_writers SET records = 2", "DELETE FROM gateway_usage_writers"} {
			err := n.db.Write(t.Context(), func(c store.Conn) error {
				_, err := c.Exec(lost)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			add(5, 8)
			log.unresolved = true
			add(8, 10)
		}
		var rows, counted int
		err := n.db.Read(t.Context(), func(c store.Conn) error {
			return c.Row("SELECT (SELECT count(*) FROM gateway_usage), (SELECT max(records) FROM gateway_usage_writers)").Scan(&rows, &counted)
		})
		if err != nil || rows != 15 || counted != 15 || log.Pending() != 0 {
			t.Errorf("%d records are written, %d counted, %d wait, want 15, 15 and 0; error %v", rows, counted, log.Pending(), err)
		}
	})
}

func TestUsageIsBounded(t *testing.T) {
	t.Parallel()
	n := newNode(place{schematest.Place{Location: t.TempDir() + "/test.db"}}.Open(t))
	log := quietLog(n)
	for i := range maxPending + 5 {
		log.Add(record(i))
	}
	if got := log.Pending(); got != maxPending {
		t.Errorf("%d pending", got)
	}
	wantUnavailable(t, log.Flush(t.Context()))
	lines := n.logs.FilterMessageSnippet("were dropped").All()
	if len(lines) != 1 || lines[0].ContextMap()["dropped"] != int64(5) {
		t.Errorf("logged %+v", lines)
	}
	if err := log.Close(t.Context()); err == nil || !strings.Contains(err.Error(), "lost") {
		t.Errorf("error %v", err)
	}
	if n.logs.FilterMessage("usage records are lost").Len() != 1 {
		t.Error("the loss is not logged")
	}
}

// TestUsageWriter checks that the background writer writes after its interval, when a batch is full, and on Close.
func TestUsageWriter(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		n := p.start(t)
		log := NewLog(n.Ledger, &n.used, n.logger).Start()
		log.Add(record(0)) // written after the interval
		schematest.Eventually(t, "one record is written", func() bool { return len(ids(t, n, 500)) == 1 })
		var all sync.WaitGroup
		for i := range 10 {
			all.Go(func() {
				for j := range batchRows {
					log.Add(record(i*batchRows + j))
				}
			})
		}
		all.Wait()
		schematest.Eventually(t, "full batches are written", func() bool { return log.Pending() < batchRows })
		log.Add(record(999_999))
		for range 2 {
			if err := log.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if got := ids(t, n, 1); got[0] != "r999999" {
			t.Errorf("the last record is %v", got)
		}
		seen := make(map[string]bool)
		for before := int64(0); ; {
			page, err := n.Recent(t.Context(), "alice", before, 500)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range page {
				seen[r.RequestID], before = true, r.ID
			}
			if len(page) < 500 {
				break
			}
		}
		if len(seen) != 10*batchRows+1 { // r0 twice
			t.Errorf("%d different records are written", len(seen))
		}
	})
}

// TestFlushEnds checks that Flush returns while records are still being added.
func TestFlushEnds(t *testing.T) {
	t.Parallel()
	n := place{schematest.Place{Location: t.TempDir() + "/test.db"}}.start(t)
	log := quietLog(n)
	var stop atomic.Bool
	var all sync.WaitGroup
	all.Go(func() {
		for i := 0; !stop.Load() && i < maxPending; i++ {
			log.Add(record(i))
			time.Sleep(10 * time.Microsecond)
		}
	})
	schematest.Eventually(t, "there is a record", func() bool { return log.Pending() > 0 })
	for range 5 {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		if err := log.Flush(ctx); err != nil {
			t.Error(err)
		}
		cancel()
	}
	stop.Store(true)
	all.Wait()
}

// TestAddDoesNotWait checks that Add returns while a write hangs.
func TestAddDoesNotWait(t *testing.T) {
	t.Parallel()
	n := place{schematest.Place{Location: t.TempDir() + "/test.db"}}.start(t)
	log := quietLog(n)
	entered, leave := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		_ = n.db.Write(context.Background(), func(store.Conn) error {
			close(entered)
			<-leave
			return nil
		})
	})
	<-entered
	log.Add(record(0))
	all.Go(func() {
		if err := log.Flush(context.Background()); err != nil {
			t.Error(err)
		}
	})
	added := make(chan struct{})
	go func() {
		for i := range 3 * batchRows {
			log.Add(record(i + 1))
		}
		close(added)
	}()
	select {
	case <-added:
	case <-time.After(2 * time.Minute):
		t.Error("Add waits for the database")
	}
	close(leave)
	all.Wait()
	if err := log.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if got := ids(t, n, 500); got[0] != fmt.Sprint("r", 3*batchRows) {
		t.Errorf("the last one is %s", got[0])
	}
}

// TestHostileTexts adds records with texts that the database would refuse.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		n := p.start(t)
		log := quietLog(n)
		r := record(0)
		r.RequestID, r.AskedModel, r.Model, r.Code = "a\x00b\xff", strings.Repeat("é", 300)+"x", "m\xf0\x28", "c\x00"
		r.FailedAttempts = []apierror.Attempt{{Message: "\x00\xff';--"}}
		log.Add(r)
		log.Add(record(1))
		if err := log.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		got, err := n.Recent(t.Context(), "alice", 0, 2)
		if err != nil || len(got) != 2 {
			t.Fatalf("%v, error %v", got, err)
		}
		if g := got[1]; g.RequestID != "ab" || g.AskedModel != strings.Repeat("é", 250) || g.Model != "m(" || g.Code != "c" {
			t.Errorf("%+v", g)
		}
	})
}

func BenchmarkUsageAdd(b *testing.B) {
	n := newNode(place{schematest.Place{Location: b.TempDir() + "/test.db"}}.Open(b))
	log := quietLog(n)
	r := record(0)
	b.ReportAllocs()
	for b.Loop() {
		log.Add(r)
		if len(log.pending) == batchRows {
			log.pending = nil // as after a flush
		}
	}
}

// typicalRecord returns the record of a successful stream.
func typicalRecord() Record {
	return Record{
		At: start, RequestID: "req_0123456789abcdefghijklmn", UserID: "alice", KeyID: "gk_0123456789abcdef", Surface: "chat_completions",
		AskedModel: "keychain-high", Tier: catalog.High, Provider: "alpha", Model: "large-2026-01-01", Stream: true, Status: 200, Attempts: 1,
		InputTokens: 1234, CachedTokens: 1024, OutputTokens: 567, ReasoningTokens: 321, UsageSource: "exact",
		CostMicroUSD: 4321, CostKnown: true, Latency: 1234567 * time.Microsecond, FirstToken: 345678 * time.Microsecond,
	}
}

func BenchmarkUsageFlush(b *testing.B) {
	n := place{schematest.Place{Location: b.TempDir() + "/test.db"}}.start(b)
	log := quietLog(n)
	log.logger = zap.NewNop()
	r := typicalRecord()
	b.ReportAllocs()
	for b.Loop() {
		for range batchRows {
			log.Add(r)
		}
		if err := log.Flush(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*batchRows), "ns/record")
}
