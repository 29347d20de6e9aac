// Command bench measures the cost of Tollgate compared with plain Caddy. It starts a mock provider and the built
// binary, and sends the same requests alternately to a site with only `reverse_proxy` and to a site with `tollgate
// gateway`. It prints a table of ratios. Rates depend on other programs on the machine, but the server's CPU time
// per request hardly depends on them.
//
//	cd bench && go run . [-only a,b] [-rounds 5] [-time 1.5s] [-requests 1000000] [-engine sqlite] [-npm <folder>]
//		[-profile <folder>]
//
// Row u at its full size, 30 million requests of 10,000 users, needs a separate command for each engine. Each command
// takes about ten minutes on an idle machine, and needs 8 GB in TMPDIR for SQLite and 18 GB for PostgreSQL:
//
//	go run . -only u -requests 30000000 -engine sqlite
//	go run . -only u -requests 30000000 -engine postgres
//
// The binary is TOLLGATE_BIN, or is built into a temporary folder. CPU times and memory are read from /proc, so the
// command needs Linux. It exits with 1 if anything could not be measured, regardless of the results.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/tollgate-gateway/tollgate/bench/mock"
	"github.com/tollgate-gateway/tollgate/bench/process"
)

// bench is one run of this command.
type bench struct {
	rounds   int
	slice    time.Duration // the length of one measurement
	profiles string        // the folder for profiles; empty if none are made
	binary   string        // the server under test
	npm      string        // the folder in which oidc-provider is installed, for row v
	requests int64         // the requests of a year in row u
	engine   string        // the only engine in row u; empty for both
	dir      string        // a temporary folder for configurations and databases
	upstream string        // host:port of the mock provider
	// environment is added to the minimal environment of servers.
	environment []string
}

func main() {
	var b bench
	provider := flag.Bool("mock", false, "be the mock provider; for this command's own use")
	letters := flag.String("only", "", "rows to measure, by letter, such as a,b,d; default: all")
	flag.IntVar(&b.rounds, "rounds", 5, "slices of each side, taken in turn; the median counts")
	flag.DurationVar(&b.slice, "time", 1500*time.Millisecond, "length of a slice")
	flag.Int64Var(&b.requests, "requests", defaultTeamRequests,
		"requests in the year of row u; 30000000 is the full size, which takes up to 18 GB in TMPDIR")
	flag.StringVar(&b.engine, "engine", "", "the engine that row u measures, sqlite or postgres; default: both")
	flag.StringVar(&b.npm, "npm", filepath.Join("..", "cmd", "tollgate", "testdata", "npm"),
		"folder of row v with the npm package oidc-provider in node_modules")
	flag.StringVar(&b.profiles, "profile", "",
		"folder for profiles of the server: CPU and allocations during rows a to d, j, l, n, q, s and v, heap and goroutines in e and k")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The load shares the machine with the server that it measures, so it trades memory for fewer garbage
	// collections.
	debug.SetGCPercent(400)
	var err error
	if *provider {
		err = mock.Serve(ctx, os.Stdin, os.Stdout)
	} else {
		err = b.run(ctx, *letters)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1)
	}
}

// run measures the chosen rows and prints the table.
func (b *bench) run(ctx context.Context, letters string) error {
	chosen, err := choose(letters)
	if err != nil {
		return err
	}
	if b.rounds < 1 || b.rounds > 99 || b.slice < 100*time.Millisecond || b.slice > time.Minute {
		return errors.New("-rounds must be from 1 to 99 and -time from 100ms to 1m")
	}
	if b.requests < minTeamRequests || b.requests > maxTeamRequests {
		return fmt.Errorf("-requests must be from %d to %d", minTeamRequests, maxTeamRequests)
	}
	if b.engine != "" && b.engine != "sqlite" && b.engine != "postgres" {
		return fmt.Errorf("-engine must be sqlite or postgres, not %q", b.engine)
	}
	if b.profiles != "" {
		if err := os.MkdirAll(b.profiles, 0o750); err != nil {
			return fmt.Errorf("making the folder of the profiles: %w", err)
		}
	}
	if b.dir, err = os.MkdirTemp("", "tollgate-bench-"); err != nil {
		return fmt.Errorf("making a temporary folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(b.dir) }() // it does no harm if the temporary folder remains
	if b.binary, err = process.Binary(ctx, b.dir); err != nil {
		return err
	}
	provider, err := mock.Start(ctx, b.dir)
	if err != nil {
		return err
	}
	defer provider.Stop()
	b.upstream = provider.Address

	var report report
	for _, row := range chosen {
		fmt.Fprintln(os.Stderr, "measuring", row.letter+":", row.title)
		lines, err := row.measure(ctx, b)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		report.add(row, lines, err)
	}
	report.print(os.Stdout, machine(b.binary))
	return report.failure()
}
