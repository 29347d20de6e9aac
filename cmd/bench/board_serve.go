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

	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// boardCaddyfile takes the addresses of admin and the board, and the database.
// There is no budget: the load would spend it.
const boardCaddyfile = `{
	admin %[1]s
	auto_https off
	persist_config off
	storage file_system caddy
	grace_period 5s
	log {
		level ERROR
	}
	tollgate {
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

// serveBoard measures the built binary over HTTP.
func (b *bench) serveBoard(ctx context.Context, f *forum, file string) (lines []line, err error) {
	dir, err := os.MkdirTemp(b.dir, "board-")
	if err != nil {
		return nil, err
	}
	addresses, err := freeAddresses(ctx, 2)
	if err != nil {
		return nil, err
	}
	if file, err = filepath.Abs(file); err != nil {
		return nil, err
	}
	s := &server{dir: dir, admin: addresses[0], config: fmt.Sprintf(boardCaddyfile, addresses[0], addresses[1], file)}
	config := filepath.Join(dir, "Caddyfile")
	if err := os.WriteFile(config, []byte(s.config), 0o600); err != nil {
		return nil, err
	}
	environment := []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	if s.child, err = launch(ctx, dir, "server", nil, nil, environment, b.binary, "run", "--config", config, "--adapter", "caddyfile"); err != nil {
		return nil, err
	}
	defer s.stop()
	to := site{addresses[1], ""}
	if err := s.awaitBoard(ctx, to); err != nil {
		return nil, fmt.Errorf("the server does not answer: %w\n%s", err, s.said())
	}
	before, err := s.resident()
	if err != nil {
		return nil, err
	}
	for _, kind := range []struct{ what, path string }{
		{"25 threads of a forum", "/api/v1/forums/" + strconv.Itoa(firstForum) + "/threads"},
		{"25 posts deep in a thread", fmt.Sprintf("/api/v1/threads/%d/posts?after=%d", longThread, f.posts/2)},
	} {
		l := &load{to: to, request: to.get(kind.path), check: isPage, conns: conns}
		if o := l.run(ctx, warmUp); o.failure != nil {
			return nil, o.failure
		}
		var rates, cpus []float64
		for range b.rounds {
			got, err := b.sample(ctx, s, l)
			if err != nil {
				return nil, err
			}
			rates, cpus = append(rates, got.rate), append(cpus, got.cpu)
		}
		lines = append(lines,
			line{what: "HTTP: GET/s, " + kind.what + ", load beside", tollgate: number(median(rates))},
			line{what: "HTTP: GET/s a core of the server, the same", tollgate: number(1e6 / median(cpus))})
	}
	after, err := s.resident()
	if err != nil {
		return nil, err
	}
	return append(lines, line{what: "HTTP: MB of the server's memory, before and after", plain: number(float64(before) / 1e6), tollgate: number(float64(after) / 1e6)}), nil
}

// get is a GET of a site.
func (s site) get(path string) []byte {
	return []byte("GET " + path + " HTTP/1.1\r\nHost: " + s.address + "\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n")
}

func isPage(got reply) error {
	if got.status != 200 || got.bytes < 5000 {
		return fmt.Errorf("status %d with %d bytes instead of 200 with a page", got.status, got.bytes)
	}
	return nil
}

// awaitBoard tries the board until it answers.
func (s *server) awaitBoard(ctx context.Context, to site) error {
	for deadline := time.Now().Add(30 * time.Second); ; {
		c := &client{address: to.address}
		got, err := c.do(ctx, to.get("/api/v1/forums"))
		c.close()
		if err == nil && got.status != 200 {
			err = fmt.Errorf("status %d", got.status)
		}
		if err == nil || time.Now().After(deadline) {
			return err
		}
		select {
		case <-s.done:
			return fmt.Errorf("it has ended: %w", err)
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// mostOnPostgres bounds what is copied to PostgreSQL.
const mostOnPostgres = 1_000_000

// postgresBoard measures a board on PostgreSQL. Without a database of its own it
// runs beside without care for its disk: what it costs this process and how pages
// compare is what counts then.
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
	if err != nil {
		return nil, err
	}
	db, service, err := startBoard(ctx, db)
	if err != nil {
		return nil, err
	}
	defer func() { service.Close(); err = errors.Join(err, db.Close()) }()
	f := newForum(min(posts, mostOnPostgres))
	began := time.Now()
	if err := copyForum(ctx, f, db, dsn); err != nil {
		return nil, fmt.Errorf("making a forum: %w", err)
	}
	took := time.Since(began)
	if lines, err = askBoard(ctx, f, service); err != nil {
		return nil, err
	}
	lines = append([]line{{what: "seconds to copy a forum of " + strconv.FormatInt(f.posts, 10) + " posts", tollgate: number(took.Seconds())}}, lines...)
	for i := range lines {
		// The aims are those of SQLite.
		lines[i].what, lines[i].aim = "PostgreSQL: "+lines[i].what, ""
	}
	return lines, nil
}

// copyForum fills the database, unless a run before has.
func copyForum(ctx context.Context, f *forum, db *store.DB, dsn string) error {
	var last int64
	err := db.Read(ctx, func(c store.Conn) error {
		return c.Row("SELECT COALESCE(max(post_id), 0) FROM board_search").Scan(&last)
	})
	if err != nil || last >= f.posts {
		return err
	}
	registered, err := registeredGroup(ctx, db)
	if err != nil {
		return err
	}
	to, err := newPostgresFill(ctx, dsn)
	if err != nil {
		return err
	}
	return errors.Join(f.fill(ctx, registered, to, progress(f.posts)), to.close(ctx))
}
