package main

import (
	"context"
	"fmt"
	"time"

	"github.com/tollgate-gateway/tollgate/bench/load"
	"github.com/tollgate-gateway/tollgate/bench/mock"
)

// usageRow measures whether requests wait for the usage log, and whether the log keeps every record. The log is written
// to SQLite in batches, and each batch is flushed to the disk.
func usageRow(ctx context.Context, b *bench) ([]line, error) {
	const length = 5 * time.Second
	s, err := b.serve(ctx)
	if err != nil {
		return nil, err
	}
	defer s.Stop()
	body := mock.Chat(mock.Whole, false, 1<<10)
	var (
		got            [2]*load.Outcome
		initialRecords int64
	)
	for i, site := range []load.Site{s.Plain, s.Gateway} {
		l := &load.Load{Site: site, Request: site.Chat(body), Check: mock.IsWhole, Conns: conns}
		l.Run(ctx, warmUp)
		if initialRecords, err = settledRecords(ctx, s.Dir); err != nil {
			return nil, err
		}
		if got[i] = l.Run(ctx, length); got[i].Failure != nil {
			return nil, got[i].Failure
		}
	}
	finalRecords, err := settledRecords(ctx, s.Dir)
	if err != nil {
		return nil, err
	}
	records, requests := finalRecords-initialRecords, int64(got[1].Requests)
	milliseconds := func(o *load.Outcome, p float64) float64 { return float64(o.Percentile(p).Microseconds()) / 1000 }
	return []line{
		beside("latency at full rate with the usage log, p99 in ms", milliseconds(got[0], 99), milliseconds(got[1], 99)),
		beside("latency at full rate with the usage log, p99.9 in ms",
			milliseconds(got[0], 99.9), milliseconds(got[1], 99.9)),
		{
			label: "requests answered, and of these in the usage log",
			plain: fmt.Sprint(requests), tollgate: fmt.Sprint(records),
			aim: "all", met: records == requests,
		},
	}, nil
}

// settledRecords waits until the number of usage records has stopped growing, and returns this number.
func settledRecords(ctx context.Context, dir string) (int64, error) {
	for last := int64(-1); ; {
		n, err := usageRecords(ctx, dir)
		if err != nil || n == last {
			return n, err
		}
		last = n
		select {
		case <-time.After(2 * settle):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}
