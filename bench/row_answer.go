package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/answer/answertest/filings"
	"github.com/tollgate-gateway/tollgate/backends/answer/corpus"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/migrations"
	"github.com/tollgate-gateway/tollgate/backends/answer/pipeline"
	"github.com/tollgate-gateway/tollgate/backends/answer/retrieve"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

const (
	// answerVariable is the environment variable with the number of passages in the corpus. The default is 100,000, which
	// takes a few minutes. The full size is 1,000,000.
	answerVariable = "TOLLGATE_BENCH_CHUNKS"
	minPassages    = 10_000
	answerAsks     = 200 // requests of each kind
	answerIssuers  = 8   // the number of issuers that are ingested at once
	searchAim      = 40  // in milliseconds, as is answerAim
	answerAim      = 150
)

// answerRow ingests documents into the corpus of an answer API. Then it measures in this process how long searches and
// answers by rules take, on SQLite and, in the column "plain", on PostgreSQL.
func answerRow(ctx context.Context, b *bench) ([]line, error) {
	passages, err := sizeFrom(answerVariable, "passages", 100_000, minPassages)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(b.dir, "answer")
	if err != nil {
		return nil, fmt.Errorf("making a folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // it may be large
	return onBoth(ctx, dir, migrations.Schema(), func(db *store.DB) ([]line, error) {
		return measureAnswers(ctx, db, dir, passages)
	})
}

// measureAnswers fills a database and measures searches and answers.
func measureAnswers(ctx context.Context, db *store.DB, dir string, passages int) (lines []line, err error) {
	c := corpus.New(&kernel.Server{DB: db, Logger: zap.NewNop, Now: time.Now})
	count, rate, err := fillAnswers(ctx, c, dir, passages)
	if err != nil {
		return nil, fmt.Errorf("taking documents in: %w", err)
	}
	_, questions, err := filings.Load()
	if err != nil {
		return nil, err
	}
	issuers := max(count/filings.ManyPassages, 1)
	_, directory, err := c.Issuers(ctx)
	if err != nil {
		return nil, err
	}
	r := retrieve.New(c, retrieve.Options{})
	search := func(text string) error {
		f := kernel.Filters{}
		for _, m := range directory.Find(text) {
			f.Issuers = append(f.Issuers, m.Issuers...)
		}
		_, err := r.Search(ctx, retrieve.Query{Text: text, Filters: f})
		return err
	}
	p := pipeline.New(r, c.Issuers, nil, time.Now, pipeline.Options{})
	kinds := []struct {
		label string
		aim   int
		ask   func(n int) error
	}{
		{"search, an issuer named", searchAim, func(n int) error { return search(filings.Ask(questions, n, n%issuers)) }},
		{"search, none named", searchAim, func(n int) error {
			_, text, _ := strings.Cut(filings.Ask(questions, n, n%issuers), ": ")
			return search(text)
		}},
		{"answer by rules", answerAim, func(n int) error {
			o, _ := p.Ask(ctx, pipeline.Request{Text: filings.Ask(questions, n, n%issuers)}, nil)
			if o.Reason != pipeline.Answered && o.Reason != pipeline.FailedToAnswer {
				return errors.New(o.Reason)
			}
			return nil
		}},
	}
	lines = append(lines, line{label: fmt.Sprintf("ingest of %d passages, MB/s", count), tollgate: fmt.Sprintf("%.1f",
		rate)})
	for _, k := range kinds {
		took := make([]time.Duration, answerAsks)
		for n := range took {
			begun := time.Now()
			if err := k.ask(n); err != nil {
				return nil, fmt.Errorf("%s: %w", k.label, err)
			}
			took[n] = time.Since(begun)
		}
		slices.Sort(took)
		millis := func(share int) float64 { return float64(took[len(took)*share/100].Microseconds()) / 1000 }
		lines = append(lines, line{label: k.label + ", median ms", tollgate: fmt.Sprintf("%.1f", millis(50))},
			line{
				label: k.label + ", p95 ms", tollgate: fmt.Sprintf("%.1f", millis(95)), aim: fmt.Sprintf("<= %d", k.aim),
				met: millis(95) <= float64(k.aim),
			})
	}
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	size, err := db.Size(ctx)
	return append(lines,
		line{label: "memory in use after it, MB", tollgate: strconv.FormatUint(memory.HeapInuse>>20, 10)},
		line{label: "its database, MB", tollgate: strconv.FormatInt(size>>20, 10)}), err
}

// fillAnswers ingests reports until the corpus has at least minimum passages. It returns the number of passages and the
// rate in MB per second.
func fillAnswers(ctx context.Context, c *corpus.Corpus, dir string, minimum int) (count int, rate float64, err error) {
	var took time.Duration
	size := int64(0)
	for first := 0; count < minimum; first += answerIssuers {
		folder, err := os.MkdirTemp(dir, "reports")
		if err != nil {
			return 0, 0, err
		}
		if err := filings.Many(folder, first, answerIssuers); err != nil {
			return 0, 0, err
		}
		begun := time.Now()
		report, err := c.Ingest(ctx, folder, corpus.IngestOptions{})
		if err == nil && report.Refused > 0 {
			err = fmt.Errorf("refused: %v", report.Problems)
		}
		if err == nil {
			err = os.RemoveAll(folder)
		}
		if err != nil {
			return 0, 0, err
		}
		took += time.Since(begun)
		count, size = count+report.Chunks, size+report.Done
	}
	return count, float64(size) / 1e6 / took.Seconds(), nil
}
