package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pressly/goose/v3"
	"go.uber.org/zap"
	sqlitedriver "modernc.org/sqlite" // registers the driver "sqlite"
	sqlitelib "modernc.org/sqlite/lib"
)

// SQLiteOptions holds the settings of a SQLite database.
type SQLiteOptions struct {
	// Path is the database file. If it is missing it is made with mode 0600, and its folder with mode 0700. A relative
	// path is resolved against the working directory at the time of NewSQLite.
	Path string
	// Readers limits the connections that read at the same time, separately for Read and ReadBriefly. Default: the
	// number of CPUs, at least 4. At most 256.
	Readers int
	// Synchronous is "FULL" (an acknowledged write survives the loss of power) or "NORMAL" (it survives only the end of
	// the process). Default: FULL.
	Synchronous string
	// BusyTimeout is how long to wait for another process that writes. Default: 5s.
	BusyTimeout time.Duration
	// NoWAL uses a rollback journal instead of a write-ahead log, for file systems without shared memory. Commits and
	// readers then wait for each other. All processes that use a file must use the same setting.
	NoWAL bool
}

// The sizes below were measured; see docs/decisions/storage.md. All are in bytes.
const (
	// pageSize is the page size of new files: rows of some kilobytes, such as posts, fit within one page. An existing
	// file keeps its page size.
	pageSize = 16 << 10
	// walSizeLimit is the size to which the write-ahead log is truncated after a checkpoint, so that a burst does not
	// leave a huge file behind.
	walSizeLimit = 64 << 20
	// walCheckpoint is the size of the write-ahead log at which a commit checkpoints it, which delays that commit.
	walCheckpoint = 8 << 20
	// writerCache is the page cache of the writer, for pages that it changes repeatedly.
	writerCache = 32 << 20
	// mmapSize is how much of the file readers map into memory. The mapping is shared by all readers and other
	// processes, unlike a page cache. Connections of ReadBriefly do not map the file: the first read after a commit would
	// map it again, which costs more than copying a few pages.
	mmapSize = 1 << 30
)

// NewSQLite returns a DB on a SQLite file. It only checks the options; Start opens the file.
func NewSQLite(o SQLiteOptions, logger *zap.Logger) (*DB, error) {
	switch {
	case o.Path == "":
		return nil, errors.New("sqlite: path is missing")
	case strings.HasPrefix(o.Path, ":") || strings.HasPrefix(o.Path, "file:"):
		return nil, fmt.Errorf("sqlite: path %q must be a plain file name, not an in-memory database or a URI", o.Path)
	case strings.ContainsRune(o.Path, 0):
		return nil, errors.New("sqlite: path contains a zero byte")
	case o.Readers < 0 || o.Readers > 256:
		return nil, fmt.Errorf("sqlite: readers is %d, must be from 1 to 256", o.Readers)
	case o.BusyTimeout < 0:
		return nil, fmt.Errorf("sqlite: busy timeout is %s, must not be negative", o.BusyTimeout)
	}
	o.Synchronous = strings.ToUpper(o.Synchronous)
	switch o.Synchronous {
	case "":
		o.Synchronous = "FULL"
	case "FULL", "NORMAL":
	default:
		return nil, fmt.Errorf("sqlite: synchronous is %q, must be full or normal", o.Synchronous)
	}
	if o.Readers == 0 {
		o.Readers = max(4, runtime.NumCPU())
	}
	if o.BusyTimeout == 0 {
		o.BusyTimeout = 5 * time.Second
	}
	var err error
	if o.Path, err = filepath.Abs(o.Path); err != nil {
		return nil, fmt.Errorf("sqlite: path %q: %w", o.Path, err)
	}
	return newDB(SQLite, &sqlite{options: o, logger: logger}, logger), nil
}

// fileCheck is how often the engine checks that the file is still at its path.
const fileCheck = 3 * time.Second

// errMoved means that the file is no longer at its path. A process that still has the file open would write to it where
// nobody else can see the changes.
var errMoved = errors.New("the database file was removed or replaced")

// sqlite is the engine for a SQLite file. It has pools of readers, and a writer that groups changes.
type sqlite struct {
	options SQLiteOptions
	logger  *zap.Logger
	pools   atomic.Pointer[sqlitePools] // nil while not open
	retired []*sqlitePools              // pools of files that are gone; used by the keeper only
	opened  bool                        // the database has been open once; used by the keeper only
	log     os.FileInfo                 // the write-ahead log at the last check, or nil; used by the keeper only
}

// sqlitePools holds the connections to the file.
type sqlitePools struct {
	file    os.FileInfo // the file to which they are connected
	reading *sql.DB
	brief   *sql.DB // for ReadBriefly
	writer  *writer
}

// dsn returns the URI of the file with the settings of all connections and the additional settings in extra. It changes
// extra.
func (s *sqlite) dsn(extra url.Values) string {
	q := url.Values{
		"_error_rc":     {"true"},  // messages that belong to the error
		"_dqs":          {"false"}, // "x" is a name, never a string, as in PostgreSQL
		"_defensive":    {"true"},
		"_foreign_keys": {"on"},
		"_synchronous":  {s.options.Synchronous},
		"_time_format":  {"sqlite"},
		"_pragma": {
			pragma("journal_size_limit", walSizeLimit),
			pragma("fullfsync", 1), // only macOS needs it to get data out of the disk's cache
		},
	}
	q["_pragma"] = append(q["_pragma"], extra["_pragma"]...)
	delete(extra, "_pragma")
	maps.Copy(q, extra)
	return fileURI(s.options.Path) + "?" + q.Encode()
}

// pragma formats a PRAGMA with its value for the DSN.
func pragma(name string, value int) string { return name + "(" + strconv.Itoa(value) + ")" }

// fileURI returns the URI of an absolute path, with every character escaped that has a meaning in a URI.
func fileURI(file string) string {
	file = filepath.ToSlash(file)
	if !strings.HasPrefix(file, "/") { // a Windows drive
		file = "/" + file
	}
	return (&url.URL{Scheme: "file", Path: file}).String()
}

// busyTimeout returns the busy timeout in milliseconds, as the DSN holds it.
func (s *sqlite) busyTimeout() string {
	return strconv.FormatInt(s.options.BusyTimeout.Milliseconds(), 10)
}

// migrate implements engine. Its lock is a file beside the database. If the database does not exist, migrate makes it.
func (s *sqlite) migrate(ctx context.Context, schemas []*schema) error {
	if _, err := os.Stat(s.options.Path); s.opened && err != nil { // before the first opening, the file may be missing
		return fmt.Errorf(
			"the database file is gone: stop the server, put the file or a backup in its place, "+
				"remove the -wal and -shm files beside it, and start the server: %w", err)
	}
	if err := s.checkLog(); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(s.options.Path), 0o700); err != nil {
		return fmt.Errorf("making the database folder: %w", err)
	}
	if err := touch(s.options.Path); err != nil {
		return fmt.Errorf("making the database file: %w", err)
	}
	unlock, err := lockFile(ctx, s.options.Path+".migrate.lock", migrateLockWait)
	if err != nil {
		return fmt.Errorf("locking the database for migration: %w", err)
	}
	defer unlock()

	pool, err := sql.Open("sqlite", s.dsn(url.Values{
		"_busy_timeout": {s.busyTimeout()},
		"_txlock":       {"immediate"},
		"_pragma":       {pragma("page_size", pageSize)},
	}))
	if err != nil {
		return fmt.Errorf("opening sqlite: %w", err)
	}
	defer func() { _ = pool.Close() }()
	pool.SetMaxOpenConns(1)

	// The journal mode is a property of the file, so it is set here once, under the lock: changing it does not honour
	// the busy timeout.
	expected, mode := "wal", ""
	if s.options.NoWAL {
		expected = "delete"
	}
	if err := pool.QueryRowContext(ctx, "PRAGMA journal_mode = "+expected).Scan(&mode); err != nil {
		return fmt.Errorf("opening sqlite: %w", withFileName(s.options.Path, err))
	}
	switch {
	case mode == expected:
	case s.options.NoWAL:
		return fmt.Errorf("sqlite: %s keeps its write-ahead log (journal mode %q): another process has it open",
			s.options.Path, mode)
	default:
		return fmt.Errorf("sqlite: the file system at %s does not support write-ahead logging (journal mode %q)",
			filepath.Dir(s.options.Path), mode)
	}
	return applyAll(ctx, schemas, pool, goose.DialectSQLite3, s.logger)
}

// walFile returns the write-ahead log beside the file, or nil if there is none.
func (s *sqlite) walFile() os.FileInfo {
	log, err := os.Stat(s.options.Path + "-wal")
	if err != nil {
		return nil
	}
	return log
}

// checkLog returns an error if the file at the database's path is not the one to which the write-ahead log beside it
// belongs. SQLite would copy the log's pages into that file.
func (s *sqlite) checkLog() error {
	pools, log := s.pools.Load(), s.walFile()
	if pools == nil || s.log == nil || log == nil || !os.SameFile(log, s.log) {
		return nil
	}
	if file, err := os.Stat(s.options.Path); err != nil || os.SameFile(file, pools.file) {
		return nil
	}
	return fmt.Errorf(
		"the database file was replaced, but %[1]s-wal and %[1]s-shm belong to the previous file and would damage the new "+
			"one: move them away, and stop the server before you replace files", s.options.Path)
}

// touching is held while touch makes a file, so that no other goroutine opens and locks the file before touch has
// closed it.
var touching sync.Mutex

// touch makes the file, readable only by its owner, unless it exists. SQLite gives the other files of the database the
// same mode. An existing file is not opened: on POSIX systems, closing a file releases every lock that the process has
// on it, including the locks of SQLite's connections.
func touch(file string) error {
	touching.Lock()
	defer touching.Unlock()
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil
	case err != nil:
		return err
	}
	return f.Close()
}

// open implements engine.
func (s *sqlite) open(ctx context.Context) error {
	file, err := os.Stat(s.options.Path)
	if err != nil {
		return fmt.Errorf("opening sqlite: %w", err)
	}
	reading, err := s.openReaders(pragma("mmap_size", mmapSize))
	if err != nil {
		return err
	}
	bytesPerPage, err := checkReadable(ctx, reading)
	if err != nil {
		_ = reading.Close()
		return err
	}
	// The pool for ReadBriefly does not map the file into memory, because that would cost more than copying the few pages
	// it reads.
	brief, err := s.openReaders()
	if err != nil {
		_ = reading.Close()
		return err
	}
	// The writer waits for the lock in Go, see writer.begin. Without a write-ahead log a commit also waits for readers.
	busy := "0"
	if s.options.NoWAL {
		busy = s.busyTimeout()
	}
	writing, err := openPool(s.dsn(url.Values{
		"_busy_timeout": {busy},
		"mode":          {"rw"},
		"_pragma": {
			pragma("cache_size", -writerCache>>10), // negative: kibibytes
			pragma("wal_autocheckpoint", walCheckpoint/bytesPerPage),
			"temp_store(memory)",
		},
	}))
	if err != nil {
		_, _ = reading.Close(), brief.Close()
		return fmt.Errorf("opening sqlite: %w", err)
	}
	writer, err := newWriter(ctx, writing, s.options.BusyTimeout, s.logger)
	if err != nil {
		_, _, _ = reading.Close(), brief.Close(), writing.Close()
		return fmt.Errorf("opening sqlite: %w", err)
	}
	s.pools.Store(&sqlitePools{file, reading, brief, writer})
	s.opened, s.log = true, s.walFile()
	return nil
}

// openReaders opens a pool of read-only connections.
func (s *sqlite) openReaders(pragmas ...string) (*sql.DB, error) {
	pool, err := openPool(s.dsn(url.Values{
		"_busy_timeout": {s.busyTimeout()},
		"mode":          {"ro"},
		"_pragma":       pragmas,
	}))
	if err != nil {
		return nil, fmt.Errorf("opening sqlite: %w", err)
	}
	pool.SetMaxOpenConns(s.options.Readers)
	pool.SetMaxIdleConns(s.options.Readers)
	return pool, nil
}

// probe checks that the file at the path is still the opened file, and reads from it. It does not check whether another
// process holds the write lock, because reads go on meanwhile.
func (s *sqlite) probe(ctx context.Context) error {
	pools := s.pools.Load()
	if file, err := os.Stat(s.options.Path); err != nil || !os.SameFile(file, pools.file) {
		// While the pools have the log open, no other file can have the log's inode number. Once the pools are closed, a file
		// that is made later may get that number.
		if log := s.walFile(); s.log != nil && (log == nil || !os.SameFile(log, s.log)) {
			s.log = nil
		}
		s.retire(pools)
		return fmt.Errorf("%w: %s", errMoved, s.options.Path)
	}
	s.log = s.walFile()
	_, err := checkReadable(ctx, pools.reading)
	return err
}

// retire takes pools out of use after their file has gone from its path. It closes the writer. The readers' pools are
// closed with the engine, so that reads under way go on; until then they keep no idle connections.
func (s *sqlite) retire(pools *sqlitePools) {
	if slices.Contains(s.retired, pools) {
		return
	}
	s.retired = append(s.retired, pools)
	pools.reading.SetMaxIdleConns(-1)
	pools.brief.SetMaxIdleConns(-1)
	if err := pools.writer.close(); err != nil {
		s.logger.Warn("closing the connection to a database file that is gone", zap.Error(err))
	}
}

// probeEvery implements engine.
func (s *sqlite) probeEvery() time.Duration { return fileCheck }

// probeWrite sets user_version, an otherwise unused number in the file's header. This needs as much disk space as any
// small write, even if the value does not change.
func (s *sqlite) probeWrite(ctx context.Context) error {
	return s.write(ctx, func(ctx context.Context, tx querier, _ *pipeline, _ *ending) error {
		_, err := tx.ExecContext(ctx, "PRAGMA user_version = 0")
		return err
	})
}

// checkReadable reads the schema table, to see whether the file can be read, and returns the page size.
func checkReadable(ctx context.Context, pool *sql.DB) (bytesPerPage int, err error) {
	var tables int
	if err := pool.QueryRowContext(ctx, "SELECT (SELECT count(*) FROM sqlite_schema), page_size FROM pragma_page_size").
		Scan(&tables, &bytesPerPage); err != nil {
		return 0, fmt.Errorf("reading the database file: %w", err)
	}
	return bytesPerPage, nil
}

// readers implements engine.
func (s *sqlite) readers() *sql.DB { return s.pools.Load().reading }

// brief implements engine.
func (s *sqlite) brief() *sql.DB { return s.pools.Load().brief }

// write implements engine.
func (s *sqlite) write(ctx context.Context, fn writeFunc) error {
	return s.pools.Load().writer.write(ctx, fn)
}

// judge implements engine.
func (s *sqlite) judge(err error) verdict {
	switch sqliteCode(err) & 0xff { // the low byte of an extended code
	case sqlitelib.SQLITE_BUSY, sqlitelib.SQLITE_LOCKED, sqlitelib.SQLITE_PROTOCOL:
		return verdictContended
	case sqlitelib.SQLITE_CANTOPEN, sqlitelib.SQLITE_IOERR, sqlitelib.SQLITE_CORRUPT, sqlitelib.SQLITE_NOTADB:
		return verdictLost
	case sqlitelib.SQLITE_FULL, sqlitelib.SQLITE_READONLY:
		return verdictUnwritable
	}
	return verdictNone
}

// close implements engine.
func (s *sqlite) close() error {
	pools := s.pools.Load()
	if pools == nil {
		return nil
	}
	var errs []error
	for _, old := range s.retired {
		errs = append(errs, old.reading.Close(), old.brief.Close())
	}
	if !slices.Contains(s.retired, pools) {
		// The writer is closed last, because closing the last connection to the file checkpoints the write-ahead log,
		// which a reader cannot do.
		errs = append(errs, pools.reading.Close(), pools.brief.Close(), pools.writer.close())
	}
	return errors.Join(errs...)
}

// sqliteCode returns the extended result code of the SQLite error in err's chain, or 0 if there is none.
func sqliteCode(err error) int {
	if e, ok := errors.AsType[*sqlitedriver.Error](err); ok {
		return e.Code()
	}
	return 0
}
