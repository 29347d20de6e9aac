package main

import (
	"context"
	"fmt"
	"time"
)

// usageRow looks at whether the usage log, which goes to SQLite in batches with
// a flush of the disk each, makes requests wait, and whether it keeps all.
func usageRow(ctx context.Context, b *bench) ([]line, error) {
	const length = 5 * time.Second
	s, err := b.serve(ctx)
	if err != nil {
		return nil, err
	}
	defer s.stop()
	body := chat(askWhole, false, 1<<10)
	var (
		got    [2]*outcome
		before int64
	)
	for i, to := range []site{s.plain, s.gateway} {
		l := &load{to: to, request: to.request(body), check: isWhole, conns: conns}
		l.run(ctx, warmUp)
		if before, err = settledRecords(ctx, s.dir); err != nil {
			return nil, err
		}
		if got[i] = l.run(ctx, length); got[i].failure != nil {
			return nil, got[i].failure
		}
	}
	after, err := settledRecords(ctx, s.dir)
	if err != nil {
		return nil, err
	}
	kept, asked := after-before, int64(got[1].requests)
	milliseconds := func(o *outcome, p float64) float64 { return float64(o.percentile(p).Microseconds()) / 1000 }
	return []line{
		beside("latency at full rate with the usage log, p99 in ms", milliseconds(got[0], 99), milliseconds(got[1], 99)),
		beside("latency at full rate with the usage log, p99.9 in ms", milliseconds(got[0], 99.9), milliseconds(got[1], 99.9)),
		{
			what: "requests answered, and of these in the usage log", plain: fmt.Sprint(asked), tollgate: fmt.Sprint(kept),
			aim: "all", met: kept == asked,
		},
	}, nil
}

// settledRecords counts the usage records when no more are being written.
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
