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

	"github.com/tollgate-gateway/tollgate/backends/board"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/bench/forum"
	"github.com/tollgate-gateway/tollgate/bench/process"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

const (
	// boardPostsVariable is the environment variable with the number of posts on the board. The full size is
	// 10,000,000, which takes half an hour and 25 GB.
	boardPostsVariable = "TOLLGATE_BENCH_POSTS"
	// benchDirVariable is the environment variable with the folder for generated data, which later runs use again.
	benchDirVariable = "TOLLGATE_BENCH_DIR"
	// benchPostgresVariable is the environment variable with the address of an empty PostgreSQL database (postgres://…).
	// The database also keeps the forum for later runs. By default, the row uses a temporary server.
	benchPostgresVariable = "TOLLGATE_BENCH_POSTGRES"
)

// boardFile returns the path of the database of a forum. It creates the database unless an earlier run has left it. The
// replies of each run remain in the database.
func (b *bench) boardFile(ctx context.Context, posts int64) (string, error) {
	dir := os.Getenv(benchDirVariable)
	if dir == "" {
		dir = b.dir
	} else if err := os.MkdirAll(dir, 0o750); err != nil { //nolint:gosec // G703: the person at the keyboard names the folder
		return "", err
	}
	file := filepath.Join(dir, fmt.Sprintf("board-%d.db", posts))
	if _, err := os.Stat(file); err == nil { //nolint:gosec // G703: the person at the keyboard names the folder
		return file, nil
	} else if !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	making := file + ".making"
	if err := os.Remove(making); err != nil && !errors.Is(err, os.ErrNotExist) { //nolint:gosec // G703: the person at the keyboard names the folder
		return "", err
	}
	db, service, err := openBoard(ctx, making)
	if err != nil {
		return "", err
	}
	registered, err := registeredGroup(ctx, db)
	service.Close()
	if err = errors.Join(err, db.Close()); err != nil {
		return "", err
	}
	sink, err := forum.NewSQLite(ctx, making)
	if err != nil {
		return "", err
	}
	err = errors.Join(forum.New(posts).Fill(ctx, registered, sink, progress(posts)), sink.Close())
	if err == nil {
		err = durable(making)
	}
	if err != nil {
		return "", err
	}
	return file, os.Rename(making, file) //nolint:gosec // G703: the person at the keyboard names the folder
}

// durable flushes a file to the disk, because the code that fills the file leaves flushing to the system. Without
// durable, the first flush after a later write would have to wait for all data of the fill.
func durable(file string) error {
	f, err := os.OpenFile(file, os.O_RDWR, 0) //nolint:gosec // G304: as in boardFile
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// progress returns a function that reports the progress of a fill with one line per million posts.
func progress(posts int64) func(done int64) {
	began, reported := time.Now(), int64(0)
	return func(done int64) {
		if done/1_000_000 == reported && done != posts {
			return
		}
		reported = done / 1_000_000
		fmt.Fprintf(os.Stderr, "  %d of %d posts, %.0f a second\n", done, posts, float64(done)/time.Since(began).Seconds())
	}
}

// openBoard opens a board on an SQLite file.
func openBoard(ctx context.Context, file string) (*store.DB, *board.Server, error) {
	db, err := store.NewSQLite(store.SQLiteOptions{Path: file}, zap.NewNop())
	return startBoard(ctx, db, err)
}

// startBoard opens a board on a database. The parameters db and err are the results of a constructor of package store.
func startBoard(ctx context.Context, db *store.DB, err error) (*store.DB, *board.Server, error) {
	if db, err = open(ctx, db, err, board.Schema()); err != nil {
		return nil, nil, err
	}
	service := board.New(db, kernel.Options{NoFlood: true}, zap.NewNop(), time.Now)
	if err := service.Ready(ctx); err != nil {
		service.Close()
		return nil, nil, errors.Join(err, db.Close())
	}
	return db, service, nil
}

// registeredGroup returns the id of the group of members.
func registeredGroup(ctx context.Context, db *store.DB) (id int64, err error) {
	err = db.Read(ctx, func(c store.Conn) error {
		return c.Row("SELECT id FROM board_groups WHERE kind = 'registered'").Scan(&id)
	})
	return id, err
}

// boardRow measures a large board: on SQLite in this process, on SQLite over HTTP, and on PostgreSQL.
func boardRow(ctx context.Context, b *bench) ([]line, error) {
	posts, err := sizeFrom(boardPostsVariable, "posts", int64(200_000), 1000)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	file, err := b.boardFile(ctx, posts)
	if err != nil {
		return nil, fmt.Errorf("making a forum: %w", err)
	}
	lines := []line{{label: "seconds to make a forum of " + strconv.FormatInt(posts, 10) +
		" posts", tollgate: number(time.Since(began).Seconds())}}
	info, err := os.Stat(file)
	if err != nil {
		return nil, fmt.Errorf("looking at the database: %w", err)
	}
	lines = append(lines, line{
		label:    "bytes a post in the database",
		tollgate: number(float64(info.Size()) / float64(posts)),
	})
	f := forum.New(posts)
	for _, part := range []func() ([]line, error){
		func() ([]line, error) { return fileBoard(ctx, f, file) },
		func() ([]line, error) { return b.serveBoard(ctx, f, file) },
		func() ([]line, error) { return postgresBoard(ctx, posts) },
	} {
		more, err := part()
		lines = append(lines, more...)
		if err != nil {
			return lines, err
		}
	}
	return lines, nil
}

// fileBoard measures a board on SQLite in this process.
func fileBoard(ctx context.Context, f *forum.Forum, file string) ([]line, error) {
	db, service, err := openBoard(ctx, file)
	if err != nil {
		return nil, fmt.Errorf("opening the database: %w", err)
	}
	defer func() { service.Close(); _ = db.Close() }() // nothing in it is kept
	return askBoard(ctx, f, service)
}

// askBoard measures reads, replies and searches on a board in this process.
func askBoard(ctx context.Context, f *forum.Forum, service *board.Server) ([]line, error) {
	c, err := newBoardClient(ctx, f, service)
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.close(ctx) }() // tokens that remain expire after a day
	var lines []line
	for _, part := range []func(context.Context) ([]line, error){c.ask, c.reply, c.search} {
		more, err := part(ctx)
		if err != nil {
			return nil, err
		}
		lines = append(lines, more...)
	}
	memory, err := process.Resident(os.Getpid())
	if err != nil {
		return nil, err
	}
	return append(lines, line{label: "MB of memory, with the load", tollgate: number(float64(memory) / 1e6)}), nil
}
