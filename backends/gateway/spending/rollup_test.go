package spending

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/backends/gateway/schema/schematest"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// fillStatement returns a query that computes the rows of a table of sums from the log.
func fillStatement(t *testing.T, p place, table string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/sums." + p.Dialect.String() + ".sql")
	if err != nil {
		t.Fatal(err)
	}
	_, after, ok := strings.Cut(string(text), "INSERT INTO "+table+"\n")
	fill, _, end := strings.Cut(after, ";")
	if !ok || !end {
		t.Fatalf("testdata has no INSERT INTO %s that ends with a semicolon", table)
	}
	return fill
}

// sumRows returns the rows of sums that a query selects, as text.
func (n *node) sumRows(t *testing.T, query string) []string {
	t.Helper()
	var all []string
	err := n.db.Read(t.Context(), func(c store.Conn) error {
		rows, err := c.Rows(query + " ORDER BY 1, 2, 3, 4, 5, 6")
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			values := make([]any, daily.width)
			for i := range values {
				values[i] = new(string)
			}
			if err := rows.Scan(values...); err != nil {
				return err
			}
			var line strings.Builder
			for _, v := range values {
				line.WriteString(*v.(*string) + " ")
			}
			all = append(all, line.String())
		}
		return rows.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// wantSumsOfLog compares the tables of sums with sums that the database computes from the log.
func wantSumsOfLog(t *testing.T, p place, n *node) {
	t.Helper()
	for _, table := range []string{"gateway_usage_hours", "gateway_usage_days"} {
		got, want := n.sumRows(t, "SELECT * FROM "+table), n.sumRows(t, "SELECT f.*, 0 FROM ("+fillStatement(t, p, table)+") AS f") // no written tokens
		if len(want) == 0 {
			t.Error("the tables have no rows to compare")
		}
		equal(t, got, want)
	}
}

// anyRecord returns a random record. It chooses among few users, keys, models and hours.
func anyRecord(random *rand.Rand, i int) Record {
	pick := func(values ...string) string { return values[random.IntN(len(values))] }
	r := record(i)
	r.At = start.Add(time.Duration(random.IntN(50)) * time.Hour)
	r.UserID, r.KeyID = pick("alice", "bob"), pick("gk_1", "gk_2", "")
	r.Provider, r.Model, r.Tier = pick("alpha", "beta", ""), pick("large", "mid\x00", "é\xff"), []catalog.Tier{0, catalog.Low, catalog.Medium, catalog.High}[random.IntN(4)]
	r.Status = []int{200, 200, 499, 502}[random.IntN(4)]
	if r.Status != 200 {
		r.Code = pick("client_closed_request", "server_error")
	}
	for range random.IntN(3) {
		r.FailedAttempts = append(r.FailedAttempts, apierror.Attempt{Provider: pick("alpha", "gamma"), Model: pick("large", "\xffmid"), Message: "no"})
	}
	r.InputTokens, r.CachedTokens, r.OutputTokens, r.ReasoningTokens = random.Int64N(1000), random.Int64N(100), random.Int64N(500), random.Int64N(50)
	r.CostMicroUSD, r.CostKnown = random.Int64N(10_000), random.IntN(3) > 0
	if !r.CostKnown {
		r.CostMicroUSD = 0
	}
	r.Latency, r.FirstToken = time.Duration(random.Int64N(int64(time.Minute))), time.Duration(random.Int64N(3))*time.Second
	return r
}

func TestSumsMatchLog(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		n := p.start(t)
		log := quietLog(n)
		random := rand.New(rand.NewPCG(1, 2))
		for i := range 3 * batchRows {
			log.Add(anyRecord(random, i))
			if i%700 == 0 {
				if err := log.Flush(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		// Two such numbers overflow a sum.
		for _, many := range []int64{1<<63 - 1, -1 << 63} {
			for i := range 3 {
				r := record(i)
				r.Provider = "vast"
				r.InputTokens, r.CachedTokens, r.OutputTokens, r.ReasoningTokens, r.CostMicroUSD, r.CostKnown = many, many, many, many, many, true
				r.Latency, r.FirstToken = time.Duration(many), time.Duration(many)
				log.Add(r)
			}
		}
		if err := log.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantSumsOfLog(t, p, n)
	})
}

// TestSumsAndLogAreAtomic makes each step of writing a batch fail. Neither the log nor the sums may keep any part of
// it.
func TestSumsAndLogAreAtomic(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		n := p.start(t)
		log := quietLog(n)
		log.Add(record(0))
		if err := log.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		log.Add(record(1))
		for _, table := range []string{"gateway_usage_hours", "gateway_usage_days", "gateway_usage_writers", "gateway_keys"} {
			n.sql(t, "ALTER TABLE "+table+" RENAME TO away")
			n.purses.tracked.Store(1)
			n.used.at = map[string]int64{"gk": schema.Micros(start)}
			if err := log.Flush(t.Context()); err == nil {
				t.Errorf("it writes without %s", table)
			}
			n.sql(t, "ALTER TABLE away RENAME TO "+table)
			if got := ids(t, n, 10); len(got) != 1 {
				t.Errorf("without %s the log has %v", table, got)
			}
			wantSumsOfLog(t, p, n)
		}
		if err := log.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := ids(t, n, 10); len(got) != 2 {
			t.Errorf("in the end the log has %v", got)
		}
		wantSumsOfLog(t, p, n)
	})
}

// placeOfChild is the environment variable by which the test binary knows that it is the child process. It names the
// database to which the child writes until it is killed.
const placeOfChild = "KEYCHAIN_TEST_WRITE_TO"

// TestKilledWriter kills a process while it writes, and checks that the sums match the log. It runs in the parent and
// in the child process.
func TestKilledWriter(t *testing.T) {
	if text, child := os.LookupEnv(placeOfChild); child {
		writeForever(t, text)
		return
	}
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		n := p.start(t)
		for round := range 3 {
			before := len(n.sumRows(t, "SELECT * FROM gateway_usage_hours"))
			child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledWriter$")
			child.Env = append(os.Environ(), fmt.Sprintf("%s=%d %d %s", placeOfChild, p.Dialect, round, p.Location))
			if err := child.Start(); err != nil {
				t.Fatal(err)
			}
			schematest.Eventually(t, "the child has written", func() bool { return len(n.sumRows(t, "SELECT * FROM gateway_usage_hours")) > before+20 })
			if err := child.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			if exit, ok := errors.AsType[*exec.ExitError](child.Wait()); !ok || exit.Exited() {
				t.Fatalf("the child ended by itself: %v", exit)
			}
			// The server may still be running the last transaction of the killed client.
			n.sql(t, "UPDATE gateway_usage_hours SET requests = requests")
			wantSumsOfLog(t, p, n)
		}
	})
}

func writeForever(t *testing.T, text string) {
	t.Helper()
	var p place
	var seed uint64
	if _, err := fmt.Sscanf(text, "%d %d", &p.Dialect, &seed); err != nil {
		t.Fatal(err)
	}
	p.Location = strings.SplitN(text, " ", 3)[2]
	n := p.start(t)
	log := quietLog(n)
	log.logger = zap.NewNop()
	random := rand.New(rand.NewPCG(seed, 0))
	for i := 0; ; i++ {
		r := anyRecord(random, i)
		r.At = r.At.Add(time.Duration(i) * time.Hour)
		log.Add(r)
		if i%20 == 0 {
			if err := log.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestSumsOfManyNodes writes the same rows from several nodes at the same time.
func TestSumsOfManyNodes(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		n := p.start(t)
		done := make(chan error)
		const nodes = 4
		for seed := range uint64(nodes) {
			other := p.start(t)
			go func() {
				log := quietLog(other)
				random := rand.New(rand.NewPCG(seed, 7))
				for i := range batchRows {
					log.Add(anyRecord(random, i))
				}
				var err error
				for range 20 { // as the writer does: another one may hold the lock for long
					if err = log.Flush(context.Background()); !errors.Is(err, store.ErrUnavailable) {
						break
					}
				}
				done <- err
			}()
		}
		for range nodes {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if got := len(n.sumRows(t, "SELECT * FROM gateway_usage_hours")); got < 100 {
			t.Errorf("only %d rows", got)
		}
		wantSumsOfLog(t, p, n)
	})
}

func BenchmarkRollUp(b *testing.B) {
	batch := make([]Record, batchRows)
	for i := range batch {
		batch[i] = typicalRecord()
	}
	b.ReportAllocs()
	for b.Loop() {
		if sums := rollUp(batch); len(sums.hours) != 1 || len(sums.days) != 1 {
			b.Fatal(len(sums.hours), len(sums.days))
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*batchRows), "ns/record")
}

// BenchmarkFlushOfManyRows measures the worst case, in which no two records of a batch belong to the same row.
func BenchmarkFlushOfManyRows(b *testing.B) {
	n := place{schematest.Place{Location: b.TempDir() + "/test.db"}}.start(b)
	log := quietLog(n)
	log.logger = zap.NewNop()
	batch := make([]Record, batchRows)
	for i := range batch {
		batch[i] = typicalRecord()
		batch[i].KeyID = fmt.Sprint("gk_", i)
	}
	b.ReportAllocs()
	for b.Loop() {
		for i := range batch {
			log.Add(batch[i])
		}
		if err := log.Flush(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*batchRows), "ns/record")
}

// TestDisconnectIsNoFailure checks that an attempt does not count as failed when the client disconnected.
func TestDisconnectIsNoFailure(t *testing.T) {
	t.Parallel()
	hours := rollUp([]Record{{
		At: start, UserID: "alice", Provider: "beta", Model: "mid", Status: 499, Code: codeClientLeft, InputTokens: 7, UsageSource: "estimated", Attempts: 2,
		FailedAttempts: []apierror.Attempt{{Provider: "alpha", Model: "large", Code: "timeout"}, {Provider: "beta", Model: "mid", Code: codeClientLeft}},
	}}).hours
	if len(hours) != 2 || hours[0].provider != "alpha" || hours[0].sums[sumFailedAttempts] != 1 ||
		hours[1].provider != "beta" || hours[1].sums[sumFailedAttempts] != 0 || hours[1].sums[sumCancelled] != 1 || hours[1].sums[sumInput] != 7 {
		t.Errorf("%+v %+v", *hours[0], *hours[len(hours)-1])
	}
}
