package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/tollgate-gateway/tollgate/bench/load"
	"github.com/tollgate-gateway/tollgate/bench/process"
)

// conns is the number of connections of a load. It is less than 32, the number of idle connections that reverse_proxy
// keeps to an upstream. With more connections, plain Caddy would also have to pay for dialing.
const conns = 16

const (
	// warmUp is the length of the load that precedes a measurement.
	warmUp = 300 * time.Millisecond
	// settle is the time to wait until the usage log is written, which happens every second.
	settle = 1100 * time.Millisecond
)

// sample is the result of one time slice of one side.
type sample struct {
	rate float64 // requests per second
	cpu  float64 // CPU time of the server per request, in microseconds
	late float64 // the 99th percentile of the latency, in milliseconds
}

// pair holds the samples of two sides that are compared. Samples with the same index belong to the same round.
type pair struct{ plain, other []sample }

// compare runs time slices of two loads in turn. The load that goes first changes with each round, so that a drift in
// the speed of the machine affects both loads.
func (b *bench) compare(ctx context.Context, s *process.Server, rounds int, plain, other *load.Load) (*pair, error) {
	return b.compareSides(ctx, rounds, side{s.Child, plain}, side{s.Child, other})
}

// side is one side of a comparison: a load and the process that answers it.
type side struct {
	child *process.Child
	load  *load.Load
}

// compareSides compares two loads in the same way as compare, but each load has its own process.
func (b *bench) compareSides(ctx context.Context, rounds int, plain, other side) (*pair, error) {
	for _, side := range []side{plain, other} {
		if o := side.load.Run(ctx, warmUp); o.Failure != nil {
			return nil, o.Failure
		}
	}
	var p pair
	for round := range rounds {
		sides := []side{plain, other}
		if round%2 == 1 {
			slices.Reverse(sides)
		}
		for _, side := range sides {
			got, err := b.sample(ctx, side.child, side.load)
			if err != nil {
				return nil, err
			}
			if side == plain {
				p.plain = append(p.plain, got)
			} else {
				p.other = append(p.other, got)
			}
		}
	}
	return &p, nil
}

// sample runs a load for one time slice and returns the result.
func (b *bench) sample(ctx context.Context, s *process.Child, l *load.Load) (sample, error) {
	initialCPU, err := s.CPU()
	if err != nil {
		return sample{}, err
	}
	o := l.Run(ctx, b.slice)
	if o.Failure != nil {
		return sample{}, fmt.Errorf("%d of %d requests failed: %w", o.Failed, o.Requests+o.Failed, o.Failure)
	}
	select {
	case <-time.After(l.Settle):
	case <-ctx.Done():
		return sample{}, ctx.Err()
	}
	finalCPU, err := s.CPU()
	if err != nil {
		return sample{}, err
	}
	return sample{
		o.Rate(), float64((finalCPU - initialCPU).Microseconds()) / float64(max(1, o.Requests)),
		o.Percentile(99).Seconds() * 1000,
	}, nil
}

// rateOf returns the rate of a sample.
func rateOf(s sample) float64 { return s.rate }

// cpuOf returns the CPU time per request in a sample.
func cpuOf(s sample) float64 { return s.cpu }

// lateOf returns the 99th percentile of the latency in a sample.
func lateOf(s sample) float64 { return s.late }

// medianOf returns the median of one figure over all samples of a side.
func medianOf(side []sample, figure func(sample) float64) float64 {
	values := make([]float64, len(side))
	for i, s := range side {
		values[i] = figure(s)
	}
	return median(values)
}

// ratio returns the median of the ratios of all rounds. It is steadier than the ratio of the medians, because the two
// slices of a round are close in time.
func (p *pair) ratio(figure func(sample) float64) float64 {
	values := make([]float64, len(p.plain))
	for i := range values {
		values[i] = figure(p.other[i]) / figure(p.plain[i])
	}
	return median(values)
}

// difference returns the median of the differences of all rounds.
func (p *pair) difference(figure func(sample) float64) float64 {
	values := make([]float64, len(p.plain))
	for i := range values {
		values[i] = figure(p.other[i]) - figure(p.plain[i])
	}
	return median(values)
}

// lines returns the two lines of a comparison: the rates with an aim, and the CPU times without an aim.
func (p *pair) lines(label string, aim float64) []line {
	cpu := beside(label+", server CPU µs a request", medianOf(p.plain, cpuOf), medianOf(p.other, cpuOf))
	cpu.ratio = fmt.Sprintf("%.2f", p.ratio(cpuOf))
	return []line{
		atLeast(label+", requests/s", medianOf(p.plain, rateOf), medianOf(p.other, rateOf), p.ratio(rateOf), aim),
		cpu,
	}
}

// median returns the median of values, or 0 if there are none.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	if len(sorted) == 0 {
		return 0
	}
	half := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[half]
	}
	return (sorted[half-1] + sorted[half]) / 2
}

// profileTime is the length of a profile. It is long enough to show functions that take a hundredth of the time.
const profileTime = 6 * time.Second

// profile saves CPU and allocation profiles of the server under a load. It runs the load in a separate time slice,
// because profiling takes time too.
func (b *bench) profile(ctx context.Context, s *process.Server, l *load.Load, name string) error {
	if b.profiles == "" {
		return nil
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan *load.Outcome, 1)
	go func() { ended <- l.Run(ctx, time.Hour) }()
	for _, kind := range [...]string{"profile", "allocs"} {
		if err := s.SaveProfile(ctx, kind, profileTime, filepath.Join(b.profiles, name+"."+kind)); err != nil {
			return err
		}
	}
	stop()
	return (<-ended).Failure
}
