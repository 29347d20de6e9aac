// Package blob stores files that users send. It checks that their content matches their names and strips metadata from
// images. Content is stored under its SHA-256, in a folder or in the database, so stored content never changes and is
// stored only once. The service decides who may send and see a file, and how large it may be.
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

// Schema returns the schema of the table <prefix>_contents, for content in the database.
func Schema(prefix string) store.Schema { return store.Prefixed(migrations, "blob", prefix) }

// ErrGone means that content which should exist does not.
var ErrGone = errors.New("the content of this file is missing in the storage of files")

// File describes a file.
type File struct {
	Name      string
	MediaType string
	Size      int64  // in bytes
	Hash      string // SHA-256 of the content, in hex
	Width     int64  // in pixels; 0 unless it is an image
	Height    int64
}

// Inline reports whether browsers may display the file instead of downloading it. That is true for images only, because
// browsers run no code in them.
func (f *File) Inline() bool { return f.Width > 0 }

// Options are the settings of a Store.
type Options struct {
	// Folder is the folder for content, which is created with the first file. Default: content is stored in Table.
	Folder string
	// Table is the name of the table with the columns of Schema.
	Table string
	// Uses are the columns in which the service refers to content. Sweep removes content without a reference.
	Uses []Use
	// Now returns the time. Default: time.Now.
	Now func() time.Time
}

// Use is a column of the service that refers to content by its hash.
type Use struct {
	Table, Column string
	// Where is an SQL condition for the rows to consider. Default: all rows.
	Where string
}

// Store stores content. It is safe for concurrent use, also by several processes.
type Store struct {
	place place
}

// place is where content is stored: a folder or a table.
type place interface {
	// temporary creates a file for receiving content.
	temporary() (*os.File, error)
	// keep stores received content durably before it returns.
	keep(ctx context.Context, received *os.File, hash string) error
	// open opens the content with the given hash and size.
	open(ctx context.Context, hash string, size int64) (io.ReadSeekCloser, error)
	// sweep removes content that is older than cutoff and not used. It returns how many contents it removed.
	sweep(ctx context.Context, cutoff time.Time) (int, error)
}

// New returns a Store. It does not access the database or the folder yet.
func New(db *store.DB, o Options) *Store {
	if o.Now == nil {
		o.Now = time.Now
	}
	rows := table{db, o}
	if o.Folder != "" {
		return &Store{folder{o.Folder, rows.isUsed}}
	}
	return &Store{rows}
}

// Keep stores received content durably before it returns.
func (s *Store) Keep(ctx context.Context, r *Received) error {
	return s.place.keep(ctx, r.content, r.Hash)
}

// Open opens the content of a file. If the content does not exist the error is ErrGone, possibly only from the first
// read.
func (s *Store) Open(ctx context.Context, f *File) (io.ReadSeekCloser, error) {
	return s.place.open(ctx, f.Hash, f.Size)
}

// Sweep removes unused content, and received files that were never kept, if they are older than cutoff. Newer content
// may be unused only because the reference to it is stored a moment later. Sweep returns how many it removed.
func (s *Store) Sweep(ctx context.Context, cutoff time.Time) (int, error) {
	return s.place.sweep(ctx, cutoff)
}
