package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
)

// usageRowsVariable is the environment variable with the number of records in the usage log. The full size is
// 10,000,000, which takes minutes and gigabytes.
const usageRowsVariable = "TOLLGATE_BENCH_USAGE_ROWS"

// usageReportRow fills the usage log of one user with a month of requests, in the way a server writes them. Then it
// measures how long reports over the log take.
func usageReportRow(ctx context.Context, b *bench) ([]line, error) {
	records, err := sizeFrom(usageRowsVariable, "records", 200_000, 1)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(b.dir, "usage")
	if err != nil {
		return nil, fmt.Errorf("making a folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // it may be large
	db, err := openDatabase(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }() // nothing in it is kept
	service, ledger, err := newKeychain(db, make([]byte, keyring.MasterKeySize))
	if err != nil {
		return nil, err
	}
	defer service.Close()
	began := time.Now()
	if err := fillUsage(ctx, ledger, service.KeyUses(), records); err != nil {
		return nil, fmt.Errorf("filling the usage log: %w", err)
	}
	filled := time.Since(began)
	info, err := os.Stat(filepath.Join(dir, database))
	if err != nil {
		return nil, fmt.Errorf("looking at the database: %w", err)
	}
	report, err := typical(func() error {
		_, err := ledger.Usage(ctx, usageUser, spending.UsageQuery{})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading a report: %w", err)
	}
	recent, err := typical(func() error {
		_, err := ledger.Recent(ctx, usageUser, 0, 100)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the log: %w", err)
	}
	suffix := fmt.Sprintf(" of %d records", records)
	return []line{
		{label: "seconds to write a usage log" + suffix, tollgate: number(filled.Seconds())},
		{label: "MB of a usage log" + suffix, tollgate: number(float64(info.Size()) / 1e6)},
		below("ms to report 30 days"+suffix, report, 100),
		below("ms to list the last 100"+suffix, recent, 10),
	}, nil
}

// below returns a line for a figure without a comparison, such as a duration in milliseconds. The figure should be less
// than aim.
func below(label string, ms, aim float64) line {
	return line{label: label, tollgate: number(ms), aim: "< " + number(aim), met: ms < aim}
}

// typical returns the median duration of 11 runs in milliseconds.
func typical(measured func() error) (float64, error) {
	took := make([]float64, 11)
	for i := range took {
		began := time.Now()
		if err := measured(); err != nil {
			return 0, err
		}
		took[i] = float64(time.Since(began).Microseconds()) / 1000
	}
	return median(took), nil
}

const usageUser = "bench"

// fillUsage writes requests of three keys and nine models, spread evenly over the last 30 days.
func fillUsage(ctx context.Context, ledger *spending.Ledger, uses spending.KeyUses, records int) error {
	const (
		month = 30 * 24 * time.Hour
		chunk = 50_000 // fewer records than the log keeps in memory
	)
	log := spending.NewLog(ledger, uses, zap.NewNop()).Start()
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // G404: not a secret
	start, tiers := time.Now().Add(-month), catalog.Tiers()
	for i := range records {
		r := spending.Record{
			At:        start.Add(time.Duration(float64(month) / float64(records) * float64(i))),
			RequestID: "req_0123456789abcdefghijklmn", UserID: usageUser,
			KeyID: fmt.Sprint("gk_", random.IntN(3)), Surface: "chat_completions", AskedModel: "keychain-high",
			Tier:     tiers[random.IntN(len(tiers))],
			Provider: fmt.Sprint("provider-", random.IntN(3)), Model: fmt.Sprint("model-", random.IntN(3)), Stream: true,
			Status: 200, Attempts: 1,
			InputTokens: random.Int64N(10_000), OutputTokens: random.Int64N(1000), UsageSource: "exact",
			CostMicroUSD: random.Int64N(10_000), CostKnown: true,
			Latency:    time.Duration(random.Int64N(int64(time.Minute))),
			FirstToken: time.Duration(random.Int64N(int64(time.Second))),
		}
		log.Add(r)
		if i%chunk == chunk-1 {
			if err := log.Flush(ctx); err != nil {
				return err
			}
		}
	}
	return log.Close(ctx)
}
