package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/bench/forum"
	"github.com/tollgate-gateway/tollgate/bench/load"
	"github.com/tollgate-gateway/tollgate/bench/process"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// boardCaddyfile is a format string for the Caddyfile of a board. Its arguments are the address of the admin endpoint,
// the address of the board, and the database file. The configuration has no budgets, because the load would exhaust
// them.
const boardCaddyfile = globalOptions + `	tollgate {
		database sqlite "%[3]s"
	}
}

http://%[2]s {
	route {
		api_errors board
		api_auth board_token {
			guest
		}
		board
	}
}
`

// serveBoard starts the binary with the board in a database file, and measures it over HTTP.
func (b *bench) serveBoard(ctx context.Context, f *forum.Forum, file string) (lines []line, err error) {
	dir, err := os.MkdirTemp(b.dir, "board-")
	if err != nil {
		return nil, err
	}
	addresses, err := process.FreeAddresses(ctx, 2)
	if err != nil {
		return nil, err
	}
	if file, err = filepath.Abs(file); err != nil {
		return nil, err
	}
	s := &process.Server{Dir: dir, Admin: addresses[0], Config: fmt.Sprintf(boardCaddyfile, addresses[0], addresses[1],
		file)}
	if err := s.Start(ctx, b.binary, b.environment); err != nil {
		return nil, err
	}
	defer s.Stop()
	site := load.Site{Address: addresses[1]}
	if err := s.Await(ctx, &load.Load{Site: site, Request: site.Get("/api/v1/forums"), Check: isOK}); err != nil {
		return nil, fmt.Errorf("the server does not answer: %w\n%s", err, s.Said())
	}
	initialMemory, err := s.Resident()
	if err != nil {
		return nil, err
	}
	for _, kind := range []struct{ label, path string }{
		{"25 threads of a forum", "/api/v1/forums/" + strconv.Itoa(forum.First) + "/threads"},
		{"25 posts deep in a thread", fmt.Sprintf("/api/v1/threads/%d/posts?after=%d", forum.LongThread, f.Posts/2)},
	} {
		l := &load.Load{Site: site, Request: site.Get(kind.path), Check: isPage, Conns: conns}
		if o := l.Run(ctx, warmUp); o.Failure != nil {
			return nil, o.Failure
		}
		var rates, cpus []float64
		for range b.rounds {
			got, err := b.sample(ctx, s.Child, l)
			if err != nil {
				return nil, err
			}
			rates, cpus = append(rates, got.rate), append(cpus, got.cpu)
		}
		lines = append(lines,
			line{label: "HTTP: GET/s, " + kind.label + ", load beside", tollgate: number(median(rates))},
			line{label: "HTTP: GET/s a core of the server, the same", tollgate: number(1e6 / median(cpus))})
	}
	finalMemory, err := s.Resident()
	if err != nil {
		return nil, err
	}
	return append(lines, line{
		label: "HTTP: MB of the server's memory, before and after",
		plain: number(float64(initialMemory) / 1e6), tollgate: number(float64(finalMemory) / 1e6),
	}), nil
}

// isPage checks that a response is a page of threads or posts.
func isPage(got load.Reply) error {
	if got.Status != 200 || got.Bytes < 5000 {
		return fmt.Errorf("status %d with %d bytes instead of 200 with a page", got.Status, got.Bytes)
	}
	return nil
}

// maxOnPostgres is the maximum number of posts that are copied to PostgreSQL.
const maxOnPostgres = 1_000_000

// postgresBoard measures a board on PostgreSQL. If the address of a database is not set, it starts a PostgreSQL server
// on this machine, whose writes are not durable. In that case only the CPU time of this process and the comparison of
// pages are meaningful.
func postgresBoard(ctx context.Context, posts int64) (lines []line, err error) {
	dsn := os.Getenv(benchPostgresVariable)
	if dsn == "" {
		var stop func() error
		if dsn, stop, err = testenv.StartPostgres(); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, stop()) }()
	}
	db, err := store.NewPostgres(store.PostgresOptions{DSN: dsn}, zap.NewNop())
	db, service, err := startBoard(ctx, db, err)
	if err != nil {
		return nil, err
	}
	defer func() { service.Close(); err = errors.Join(err, db.Close()) }()
	f := forum.New(min(posts, maxOnPostgres))
	began := time.Now()
	if err := copyForum(ctx, f, db, dsn); err != nil {
		return nil, fmt.Errorf("making a forum: %w", err)
	}
	took := time.Since(began)
	if lines, err = askBoard(ctx, f, service); err != nil {
		return nil, err
	}
	lines = append([]line{{label: "seconds to copy a forum of " + strconv.FormatInt(f.Posts, 10) +
		" posts", tollgate: number(took.Seconds())}}, lines...)
	for i := range lines {
		lines[i].label = "PostgreSQL: " + lines[i].label
		if lines[i].ratio == "" { // the aims for durations apply to SQLite only
			lines[i].aim = ""
		}
	}
	return lines, nil
}

// copyForum fills the database with a forum, unless an earlier run has already filled it.
func copyForum(ctx context.Context, f *forum.Forum, db *store.DB, dsn string) error {
	var last int64
	err := db.Read(ctx, func(c store.Conn) error {
		return c.Row("SELECT COALESCE(max(post_id), 0) FROM board_search").Scan(&last)
	})
	if err != nil || last >= f.Posts {
		return err
	}
	registered, err := registeredGroup(ctx, db)
	if err != nil {
		return err
	}
	sink, err := forum.NewPostgres(ctx, dsn)
	if err != nil {
		return err
	}
	return errors.Join(f.Fill(ctx, registered, sink, progress(f.Posts)), sink.Close(ctx))
}
