package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	sqlitelib "modernc.org/sqlite/lib"
)

// lockPoll is the pause between two attempts to take a lock that another process holds.
const lockPoll = 20 * time.Millisecond

// lockFile takes a lock that also excludes other processes, and that ends with this process even after a crash. It
// waits for at most maxWait. The lock is an exclusive transaction on an empty SQLite file, so it needs no
// system-specific code. The file is not removed: otherwise a third process could make and lock a new file while this
// one is locked.
func lockFile(ctx context.Context, file string, maxWait time.Duration) (unlock func(), err error) {
	if err := touch(file); err != nil {
		return nil, err
	}
	q := url.Values{"_busy_timeout": {"0"}, "_txlock": {"exclusive"}, "mode": {"rw"}, "_error_rc": {"true"}}
	pool, err := sql.Open("sqlite", fileURI(file)+"?"+q.Encode())
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = pool.Close()
		}
	}()

	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	ticker := time.NewTicker(lockPoll)
	defer ticker.Stop()
	for {
		// The transaction does not use ctx, because the end of ctx would end the transaction.
		tx, err := pool.BeginTx(context.WithoutCancel(ctx), nil)
		switch {
		case err == nil:
			return func() { _ = tx.Rollback(); _ = pool.Close() }, nil
		case sqliteCode(err)&0xff != sqlitelib.SQLITE_BUSY: // the low byte is the primary result code
			return nil, withFileName(file, err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("held by another process: %w", ctx.Err())
		}
	}
}

// HeldError is the error of HoldSQLite for a database that another process serves.
type HeldError struct {
	File    string
	Process int64 // its process id; 0 if unknown
}

func (e *HeldError) Error() string {
	if e.Process == 0 {
		return fmt.Sprintf("the database %s is in use by another process", e.File)
	}
	return fmt.Sprintf("the database %s is in use by process %d", e.File, e.Process)
}

// ReadableSQLite returns an error if the file exists but cannot be read as a database.
func ReadableSQLite(ctx context.Context, file string) error {
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && info.IsDir() {
		return errors.New("it is a folder")
	}
	pool, err := openSingle(fileURI(file) + "?mode=ro&_busy_timeout=5000&_error_rc=true")
	if err != nil {
		return err
	}
	defer func() { _ = pool.Close() }()
	_, err = checkReadable(ctx, pool)
	return err
}

// holdTries is how often holdLock tries to take the lock while other processes try too.
const holdTries = 10

// LockEnding is the ending of the file that HoldSQLite locks. The file is not removed after use.
const LockEnding = ".lock"

// HoldSQLite marks a SQLite file as in use by this process, which serves or restores it. The mark lasts until release
// is called or the process ends, even by a crash. If another process holds the file, the error is a [HeldError].
// Commands use the database without holding it.
//
// The mark is the write lock of a second SQLite file beside the first, as described at lockFile. The second file also
// records which process holds it.
func HoldSQLite(ctx context.Context, file string) (release func(), err error) {
	lock := file + LockEnding
	if err := os.MkdirAll(filepath.Dir(lock), 0o700); err != nil {
		return nil, fmt.Errorf("making the database folder: %w", err)
	}
	if err := touch(lock); err != nil {
		return nil, fmt.Errorf("locking the database: %w", err)
	}
	pool, err := openSingle(fileURI(lock) + "?mode=rw&_busy_timeout=0&_txlock=immediate&_synchronous=OFF&_error_rc=true")
	if err != nil {
		return nil, err
	}
	tx, err := holdLock(ctx, pool, file)
	if err != nil {
		_ = pool.Close()
		return nil, fmt.Errorf("locking the database: %w", withFileName(lock, err))
	}
	return func() { _ = tx.Rollback(); _ = pool.Close() }, nil
}

// holdLock takes the write lock of the lock file, which pool has opened, and holds it as long as the returned
// transaction stays open. The lock protects the database in the given file. holdLock returns a HeldError if another
// process has the lock.
func holdLock(ctx context.Context, pool *sql.DB, file string) (*sql.Tx, error) {
	for range holdTries {
		tx, err := takeLock(ctx, pool)
		if errors.Is(err, errOvertaken) {
			continue // the other process may have the lock by now, or give up too
		}
		if sqliteCode(err)&0xff != sqlitelib.SQLITE_BUSY { // also without an error
			return tx, err
		}
		var holder int64
		if pool.QueryRowContext(ctx, "PRAGMA user_version").Scan(&holder) == nil { // takeLock stores the process id there
			return nil, &HeldError{file, holder}
		}
	}
	return nil, &HeldError{File: file}
}

// errOvertaken means that another process recorded its id before this one had the lock.
var errOvertaken = errors.New("another process takes the lock")

// takeLock makes one attempt of holdLock. It first commits the process id to the lock file, so that other processes
// can read the id. It then begins the transaction that is the lock, and returns this transaction. The error is
// errOvertaken if another process changed the id in between, or an error of SQLite, such as SQLITE_BUSY if another
// process has the lock.
func takeLock(ctx context.Context, pool *sql.DB) (*sql.Tx, error) {
	pid := int64(os.Getpid())
	if _, err := pool.ExecContext(ctx, "PRAGMA user_version = "+strconv.FormatInt(pid, 10)); err != nil {
		return nil, err
	}
	// The transaction does not use ctx, because the end of ctx would end the transaction.
	tx, err := pool.BeginTx(context.WithoutCancel(ctx), nil)
	if err != nil {
		return nil, err
	}
	var recorded int64
	err = tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&recorded)
	if err == nil && recorded != pid {
		err = errOvertaken
	}
	if err != nil {
		_ = tx.Rollback()
		return nil, err
	}
	return tx, nil
}

// withFileName adds the file name and the usual reason to an error of opening a file, because SQLite's error has
// neither. It returns other errors unchanged.
func withFileName(file string, err error) error {
	switch sqliteCode(err) & 0xff {
	case sqlitelib.SQLITE_CANTOPEN, sqlitelib.SQLITE_READONLY:
		return fmt.Errorf("%s, which may belong to another user: %w", file, err)
	}
	return err
}
