// Package backup copies the data of an installation to a folder while the installation serves, and restores such a copy
// where nothing exists yet. The data are the databases, the key file and the services' folders.
//
// A backup is a folder of files and a manifest with their sizes and digests, which is written last. The folder gets its
// final name when all files were written and have been read back. Each database is copied as it was at one moment
// after the backup began: on SQLite as a file, on PostgreSQL as the rows of one snapshot.
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
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/osfile"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// State describes the data of an installation.
type State struct {
	Databases []Database
	// Schemas are the schemas that the program knows, including those that no database has.
	Schemas []store.Schema
	// KeyFile is the file with the master key, or "" if no file has it.
	KeyFile string
	// Folders are the folders with the services' files outside of databases, by the service's name.
	Folders map[string]string
}

// Database is a database with its name.
type Database struct {
	Name string // unique; lower case letters, digits, - and _
	// DB is the database, on which Start was not called.
	DB *store.DB
}

// Options are options of Write and Restore.
type Options struct {
	// Program is the version of the program.
	Program string
	// Progress is called with the number of bytes processed since its last call, and the total number to process. The
	// total is an estimate at first and exact later. Default: none.
	Progress func(processed, total int64)
	// Now returns the time. Default: time.Now.
	Now func() time.Time
}

// complete sets the defaults.
func (o *Options) complete() {
	if o.Progress == nil {
		o.Progress = func(int64, int64) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
}

// Write writes a backup to the given folder. It includes all changes that were acknowledged before the call. The folder
// must not exist; missing parents are created.
func Write(ctx context.Context, folder string, s State, o Options) (*Manifest, error) {
	o.complete()
	if _, err := os.Lstat(folder); !errors.Is(err, fs.ErrNotExist) { //nolint:gosec // the operator names the folder
		return nil, fmt.Errorf("%s already exists: name a new folder for the backup", folder)
	}
	folder, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	parent := filepath.Dir(folder)
	if err := os.MkdirAll(parent, 0o700); err != nil { //nolint:gosec // the operator names the folder
		return nil, fmt.Errorf("creating the folder: %w", err)
	}
	unfinished, err := os.MkdirTemp(parent, filepath.Base(folder)+".unfinished-")
	if err != nil {
		return nil, fmt.Errorf("creating the folder: %w", err)
	}
	w := &writer{root: unfinished, files: make(map[string]File), options: o}
	manifest, err := w.write(ctx, s)
	if err == nil {
		err = os.Rename(unfinished, folder) //nolint:gosec // the operator names the folder
	}
	if err == nil {
		err = osfile.SyncFolder(parent)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(unfinished)) //nolint:gosec // the operator names the folder
	}
	return manifest, nil
}

// write copies all data to the folder of the backup and checks the copies.
func (w *writer) write(ctx context.Context, s State) (*Manifest, error) {
	m := &Manifest{Format: format, Program: w.options.Program, Begun: w.options.Now().UTC(), Folders: []string{}}
	folders := slices.Sorted(maps.Keys(s.Folders))
	if err := w.estimate(ctx, s); err != nil {
		return nil, err
	}
	copyFolders := func() error {
		for _, service := range folders {
			if err := w.folder(ctx, s.Folders[service], filesOf(service)); err != nil {
				return err
			}
		}
		return nil
	}
	// A service writes a file before a database refers to it, and removes the reference before it deletes the file. So the
	// folders must be copied after the databases. They are copied before the databases too, so that the second pass only
	// copies the files that were added meanwhile.
	if err := copyFolders(); err != nil {
		return nil, err
	}
	for _, d := range s.Databases {
		copied, err := w.database(ctx, d, s.Schemas)
		if err != nil {
			return nil, fmt.Errorf("database %s: %w", d.Name, err)
		}
		m.Databases = append(m.Databases, *copied)
	}
	if err := copyFolders(); err != nil {
		return nil, err
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
	slices.SortFunc(m.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	m.Ended = w.options.Now().UTC()
	if err := w.syncFolders(); err != nil {
		return nil, err
	}
	w.total = w.done + m.bytes()
	// Read the copies back and compare them with the digests of the originals.
	if err := check(ctx, w.root, m, w.progress); err != nil {
		return nil, err
	}
	return m, writeManifest(w.root, m)
}

// database copies a database.
func (w *writer) database(ctx context.Context, d Database, schemas []store.Schema) (*DatabaseCopy, error) {
	c := &DatabaseCopy{Name: d.Name, Engine: d.DB.Dialect().String()}
	copyDatabase := w.sqlite
	if d.DB.Dialect() == store.Postgres {
		copyDatabase = w.postgres
	}
	if err := copyDatabase(ctx, d.DB, schemas, c); err != nil {
		return nil, err
	}
	if len(c.Schemas) == 0 {
		return nil, errors.New("the database has no tables of this program")
	}
	return c, nil
}

// estimate sets w.total to an estimate of the number of bytes to process.
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
			bytes += 2 * info.Size() // a file is read again for its digest
			continue
		}
		size, err := sizeOfPostgres(ctx, d.DB)
		if err != nil {
			return fmt.Errorf("database %s: %w", d.Name, err)
		}
		bytes += size
	}
	w.total = 2 * bytes // all copies are read back
	return nil
}

// sqlite copies a database file and sets the schemas of c.
func (w *writer) sqlite(ctx context.Context, db *store.DB, _ []store.Schema, c *DatabaseCopy) error {
	path := c.file()
	dst, err := w.place(path)
	if err != nil {
		return err
	}
	if err := store.CopySQLite(ctx, db.File(), dst, w.progress); err != nil {
		return err
	}
	if c.Schemas, err = store.CheckSQLite(ctx, dst); err != nil {
		return err
	}
	return w.add(ctx, path)
}
