// Package backup copies what an installation keeps, its databases, its key file and
// the folders of its services, to a folder while it serves, and puts such a copy back
// where there is nothing yet.
//
// A backup is a folder of files and a manifest with their sizes and digests, which is
// written last; the folder gets its name when all of it is there and has been read once
// more. Databases are copied each as it is at one moment after the begin: on SQLite as a
// file, on PostgreSQL as the rows of one snapshot.
package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// State is what an installation keeps.
type State struct {
	Databases []Database
	// Schemas are those that the program knows, whether a database has them or not.
	Schemas []store.Schema
	// KeyFile has the master key; empty: none is in a file.
	KeyFile string
	// Folders have files that are not in a database, by the name of the service.
	Folders map[string]string
}

// Database is one of the databases.
type Database struct {
	Name string // among the others: lower case letters, digits, - and _
	// DB is not started.
	DB *store.DB
}

// Options say how a backup is made, or put back.
type Options struct {
	// Program is the version of the program.
	Program string
	// Progress is told how many bytes were dealt with more, and how many there are to deal with:
	// first about, later on the point. Default: nobody is.
	Progress func(more, total int64)
	// Now is the time. Default: time.Now.
	Now func() time.Time
}

func (o *Options) complete() {
	if o.Progress == nil {
		o.Progress = func(int64, int64) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
}

// Write makes a backup. What was acknowledged before the call is in it. The folder must
// not be there; its parents are made.
func Write(ctx context.Context, to string, s State, o Options) (*Manifest, error) {
	o.complete()
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) { //nolint:gosec // the operator names the folder
		return nil, fmt.Errorf("%s is there already: a backup is written to a folder of its own", to)
	}
	to, err := filepath.Abs(to)
	if err != nil {
		return nil, err
	}
	parent := filepath.Dir(to)
	if err := os.MkdirAll(parent, 0o700); err != nil { //nolint:gosec // the operator names the folder
		return nil, fmt.Errorf("making the folder: %w", err)
	}
	unfinished, err := os.MkdirTemp(parent, filepath.Base(to)+".unfinished-")
	if err != nil {
		return nil, fmt.Errorf("making the folder: %w", err)
	}
	w := &writer{root: unfinished, files: make(map[string]File), options: o}
	manifest, err := w.write(ctx, s)
	if err == nil {
		err = os.Rename(unfinished, to) //nolint:gosec // the operator names the folder
	}
	if err == nil {
		err = syncFolder(parent)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(unfinished)) //nolint:gosec // the operator names the folder
	}
	return manifest, nil
}

// write fills the folder.
func (w *writer) write(ctx context.Context, s State) (*Manifest, error) {
	m := &Manifest{Format: format, Program: w.options.Program, Begun: w.options.Now().UTC(), Folders: []string{}}
	folders := slices.Sorted(maps.Keys(s.Folders))
	if err := w.estimate(ctx, s); err != nil {
		return nil, err
	}
	// Files are in place before a database refers to them, and go after it. So most are
	// copied before it, and what came meanwhile is behind it.
	for range 2 {
		for _, service := range folders {
			if err := w.folder(ctx, s.Folders[service], filesOf(service)); err != nil {
				return nil, err
			}
		}
		if m.Databases != nil {
			break
		}
		for _, d := range s.Databases {
			copied, err := w.database(ctx, d, s.Schemas)
			if err != nil {
				return nil, fmt.Errorf("database %s: %w", d.Name, err)
			}
			m.Databases = append(m.Databases, *copied)
		}
	}
	m.Folders = append(m.Folders, folders...)
	if s.KeyFile != "" {
		m.KeyFile = true
		if err := w.file(ctx, s.KeyFile, keyFile); err != nil {
			return nil, fmt.Errorf("key file: %w", err)
		}
	}
	for _, f := range w.files {
		m.Files = append(m.Files, f)
	}
	slices.SortFunc(m.Files, func(a, b File) int { return compare(a.Path, b.Path) })
	m.Ended = w.options.Now().UTC()
	if err := w.syncFolders(); err != nil {
		return nil, err
	}
	w.total = w.done + m.bytes()
	// What was written is read: by the digests of what it was made of.
	if err := check(ctx, w.root, m, w.progress); err != nil {
		return nil, err
	}
	return m, writeManifest(w.root, m)
}

// database copies one.
func (w *writer) database(ctx context.Context, d Database, schemas []store.Schema) (*DatabaseCopy, error) {
	c := &DatabaseCopy{Name: d.Name, Engine: d.DB.Dialect().String()}
	copied := w.sqlite
	if d.DB.Dialect() == store.Postgres {
		copied = w.postgres
	}
	if err := copied(ctx, d.DB, schemas, c); err != nil {
		return nil, err
	}
	if len(c.Schemas) == 0 {
		return nil, errors.New("it has no tables of this program")
	}
	return c, nil
}

// estimate sets about how much there is to do.
func (w *writer) estimate(ctx context.Context, s State) error {
	var bytes int64
	for _, folder := range s.Folders {
		err := walk(ctx, folder, func(_ string, info fs.FileInfo) error {
			bytes += info.Size()
			return nil
		})
		if err != nil {
			return err
		}
	}
	for _, d := range s.Databases {
		if file := d.DB.File(); file != "" {
			info, err := os.Stat(file)
			if err != nil {
				return err
			}
			bytes += 2 * info.Size() // it is read once more for its digest
			continue
		}
		size, err := sizeOfPostgres(ctx, d.DB)
		if err != nil {
			return fmt.Errorf("database %s: %w", d.Name, err)
		}
		bytes += size
	}
	w.total = 2 * bytes
	return nil
}

// sqlite copies a database file.
func (w *writer) sqlite(ctx context.Context, db *store.DB, _ []store.Schema, c *DatabaseCopy) error {
	path := c.file()
	to, err := w.place(path)
	if err != nil {
		return err
	}
	if err := store.CopySQLite(ctx, db.File(), to, w.progress); err != nil {
		return err
	}
	if c.Schemas, err = store.CheckSQLite(ctx, to); err != nil {
		return err
	}
	return w.add(ctx, path)
}
