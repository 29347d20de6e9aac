// Package blob keeps files that people send: it holds their content to what their
// names say, takes metadata out of images, and keeps content by its SHA-256 in a
// folder or in the database, so that what is there never changes and is there once.
// Who may send and see a file, and how large it may be, is the service's.
package blob

import (
	"context"
	"embed"
	"errors"
	"io"
	"os"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Schema is the table <prefix>_contents, where content is kept in the database.
func Schema(prefix string) store.Schema { return store.Prefixed(migrations, "blob", prefix) }

// ErrGone is of content that should be there and is not.
var ErrGone = errors.New("the content of this file is gone from where files are kept")

// File is what is known of a file.
type File struct {
	Name      string
	MediaType string
	Size      int64  // bytes
	Hash      string // SHA-256 of the content, hex
	Width     int64  // of an image, in pixels; 0: it is none
	Height    int64
}

// Inline reports whether a file may be shown in a page: images, and nothing that a
// browser could run.
func (f *File) Inline() bool { return f.Width > 0 }

// Options say where content is kept.
type Options struct {
	// Folder is where; it is made with the first file. Default: the table.
	Folder string
	// Table has the columns of Schema.
	Table string
	// Uses are where the service names content: what no row names is swept.
	Uses []Use
	// Now is the time. Default: time.Now.
	Now func() time.Time
}

// Use is a column of the service that names content by its hash.
type Use struct {
	Table, Column string
	// Where is an SQL condition of the rows that count. Default: all do.
	Where string
}

// Store keeps content. It is safe for concurrent use, by several processes, too.
type Store struct {
	place place
}

// place is a folder or a table.
type place interface {
	// temporary makes a file to receive content in.
	temporary() (*os.File, error)
	// keep stores what was received, durably, before it returns.
	keep(ctx context.Context, received *os.File, hash string) error
	open(ctx context.Context, hash string, size int64) (io.ReadSeekCloser, error)
	// sweep removes what is older than a time and not used.
	sweep(ctx context.Context, before time.Time) (int, error)
}

// New makes a store. It touches nothing yet.
func New(db *store.DB, o Options) *Store {
	if o.Now == nil {
		o.Now = time.Now
	}
	in := table{db, o}
	if o.Folder != "" {
		return &Store{folder{o.Folder, in.isUsed}}
	}
	return &Store{in}
}

// Keep stores what was received, durably, before it returns.
func (s *Store) Keep(ctx context.Context, r *Received) error {
	return s.place.keep(ctx, r.content, r.Hash)
}

// Open reads the content of a file. The error is ErrGone where there is none, which
// may show only with the first read.
func (s *Store) Open(ctx context.Context, f *File) (io.ReadSeekCloser, error) {
	return s.place.open(ctx, f.Hash, f.Size)
}

// Sweep removes content that nobody uses, and what was received and never kept, if
// it is older than a time: content is kept a moment before it is used. It tells how
// much that was.
func (s *Store) Sweep(ctx context.Context, before time.Time) (int, error) {
	return s.place.sweep(ctx, before)
}
