package retrieve_test

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/answer/answertest"
	"github.com/tollgate-gateway/tollgate/backends/answer/answertest/filings"
	"github.com/tollgate-gateway/tollgate/backends/answer/corpus"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
	"github.com/tollgate-gateway/tollgate/backends/answer/retrieve"
)

// benchChunks is how many passages the corpus of a benchmark has, or what
// TOLLGATE_BENCH_CHUNKS says.
const benchChunks = 20_000

// BenchmarkSearch finds passages for questions that name an issuer, with and without a
// year, and for some that name none. It reports the 95th percentile, and the rate at
// which the corpus was taken in. The issuers have three reports each.
func BenchmarkSearch(b *testing.B) {
	for engine, kernels := range map[string]func(testing.TB) answertest.Kernel{"sqlite": answertest.SQLite, "postgres": answertest.Postgres} {
		b.Run(engine, func(b *testing.B) {
			k := kernels(b)
			c := corpus.New(k.Server)
			want := benchChunks
			if set, err := strconv.Atoi(os.Getenv("TOLLGATE_BENCH_CHUNKS")); err == nil {
				want = set
			}
			rate := fillMany(b, c, want)
			measure(b, c, max(want/filings.ManyPassages, 1), rate)
		})
	}
}

// measure asks about so many issuers.
func measure(b *testing.B, c *corpus.Corpus, issuers int, rate float64) {
	b.Helper()
	_, questions, err := filings.Load()
	if err != nil {
		b.Fatal(err)
	}
	_, directory, err := c.Issuers(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	for _, kind := range []string{"issuer", "issuer and year", "no issuer"} {
		b.Run(kind, func(b *testing.B) {
			r := retrieve.New(c, retrieve.Options{})
			var took []time.Duration
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				text := filings.Ask(questions, i, i%issuers)
				i++
				f := kernel.Filters{}
				if kind == "no issuer" {
					_, text, _ = strings.Cut(text, ": ")
				} else {
					for _, m := range directory.Find(text) {
						f.Issuers = append(f.Issuers, m.Issuers...)
					}
				}
				if kind == "issuer and year" {
					for _, m := range metrics.Periods(text) {
						f.Periods = append(f.Periods, m.Period)
					}
				}
				begun := time.Now()
				if _, err := r.Search(b.Context(), retrieve.Query{Text: text, Filters: f}); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(begun))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
			b.ReportMetric(rate, "ingest-MiB/s")
		})
	}
}

// fillMany takes in reports of excerpts until there are as many passages as wanted, and returns the number of MiB
// taken in per second.
func fillMany(b *testing.B, c *corpus.Corpus, want int) float64 {
	b.Helper()
	const atOnce = 8 // issuers
	begun, size, passages := time.Now(), int64(0), 0
	for first := 0; passages < want; first += atOnce {
		folder := b.TempDir()
		if err := filings.Many(folder, first, atOnce); err != nil {
			b.Fatal(err)
		}
		report, err := c.Ingest(b.Context(), folder, corpus.IngestOptions{})
		if err != nil || report.Added != 3*atOnce {
			b.Fatal(report, err)
		}
		size += report.Done
		passages += report.Chunks
		if err := os.RemoveAll(folder); err != nil {
			b.Fatal(err)
		}
	}
	b.Logf("%d passages", passages)
	return float64(size) / (1 << 20) / time.Since(begun).Seconds()
}
