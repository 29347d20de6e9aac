package board

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	slash "path" // the tests have a path of their own
	"path/filepath"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// fileStore keeps the content of attachments by its SHA-256, so that what is
// there never changes.
type fileStore interface {
	// temporary makes a file to receive content in.
	temporary() (*os.File, error)
	// keep stores what was received, durably, before it returns.
	keep(ctx context.Context, received *os.File, hash string) error
	open(ctx context.Context, hash string, size int64) (io.ReadSeekCloser, error)
	// sweep removes what is older than a time and not used.
	sweep(ctx context.Context, before time.Time, used func(hash string) (bool, error)) (int, error)
}

func (s *Service) newFileStore(folder string) fileStore {
	if folder != "" {
		return folderFiles(folder)
	}
	return databaseFiles{s}
}

// errContent is of a row whose content is gone.
var errContent = errors.New("the content of this attachment is gone from where attachments are kept")

// folderFiles are files named by their hash, in folders of their first two
// digits.
type folderFiles string

const temporaryPrefix = "receiving-"

// inPlace is where content lies in the folder.
func inPlace(hash string) string { return slash.Join(hash[:2], hash) }

func (f folderFiles) path(hash string) string {
	return filepath.Join(string(f), filepath.FromSlash(inPlace(hash)))
}

func (f folderFiles) temporary() (*os.File, error) {
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return nil, err
	}
	return os.CreateTemp(string(f), temporaryPrefix+"*")
}

func (f folderFiles) keep(_ context.Context, received *os.File, hash string) error {
	if err := errors.Join(received.Sync(), received.Close()); err != nil {
		return err
	}
	to := f.path(hash)
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	// Also over the same content: it is new again, and is not swept.
	if err := os.Rename(received.Name(), to); err != nil {
		return err
	}
	now := time.Now()
	return errors.Join(os.Chtimes(to, now, now), syncFolder(filepath.Dir(to)), syncFolder(string(f)))
}

// syncFolder makes a new name in a folder survive the loss of power.
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

func (f folderFiles) open(_ context.Context, hash string, _ int64) (io.ReadSeekCloser, error) {
	file, err := os.Open(f.path(hash))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errContent
	}
	return file, err
}

func (f folderFiles) sweep(ctx context.Context, before time.Time, used func(hash string) (bool, error)) (n int, err error) {
	root, err := os.OpenRoot(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil // nothing was ever stored
	}
	if err != nil {
		return 0, err
	}
	defer func() { _ = root.Close() }()
	old := func(name string) bool {
		info, err := root.Stat(name)
		return err == nil && !info.IsDir() && info.ModTime().Before(before)
	}
	err = fs.WalkDir(root.FS(), ".", func(name string, _ fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil || !old(name):
			return nil //nolint:nilerr // it is gone already
		}
		hash := strings.TrimPrefix(slash.Base(name), temporaryPrefix)
		if len(hash) == 2*sha256.Size {
			if used, err := used(hash); used || err != nil {
				return errors.Join(err, back(root, name, hash))
			}
		} else if !strings.HasPrefix(slash.Base(name), temporaryPrefix) {
			return nil // not ours
		}
		// The same content may be stored again at any moment: what is out of its
		// place can be looked at once more, and nobody stores anything there.
		aside := temporaryPrefix + hash
		if err := root.Rename(name, aside); err != nil {
			return err
		}
		if !old(aside) {
			return root.Rename(aside, name)
		}
		n++
		return root.Remove(aside)
	})
	return n, err
}

// back puts content into its place, should it have been aside when a sweep ended.
func back(root *os.Root, name, hash string) error {
	if name == inPlace(hash) {
		return nil
	}
	return root.Rename(name, inPlace(hash))
}

// databaseFiles are rows, in parts: nodes that share the database share them.
type databaseFiles struct{ s *Service }

const contentPart = 256 << 10

func (databaseFiles) temporary() (*os.File, error) {
	file, err := os.CreateTemp("", "tollgate-"+temporaryPrefix+"*")
	if err == nil {
		_ = os.Remove(file.Name()) // where the system lets it, nothing is left of it after a crash
	}
	return file, err
}

func (d databaseFiles) keep(ctx context.Context, received *os.File, hash string) error {
	if _, err := received.Seek(0, io.SeekStart); err != nil {
		return err
	}
	data := make([]byte, contentPart)
	for part := 0; ; part++ {
		n, err := io.ReadFull(received, data)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		err = d.s.write(ctx, func(c store.Conn) error {
			_, err := c.Exec("INSERT INTO board_contents (sha256, part, data, stored_at) VALUES (?, ?, ?, ?)"+
				" ON CONFLICT (sha256, part) DO UPDATE SET data = excluded.data, stored_at = excluded.stored_at", hash, part, data[:n], d.s.micros())
			return err
		})
		if err != nil {
			return err
		}
	}
}

func (d databaseFiles) open(ctx context.Context, hash string, size int64) (io.ReadSeekCloser, error) {
	return &contentReader{ctx: ctx, s: d.s, hash: hash, size: size, part: -1}, nil
}

func (d databaseFiles) sweep(ctx context.Context, before time.Time, _ func(hash string) (bool, error)) (n int, err error) {
	for {
		var batch int64
		err := d.s.write(ctx, func(c store.Conn) (err error) {
			batch, err = c.Exec("DELETE FROM board_contents WHERE sha256 IN (SELECT sha256 FROM board_contents b WHERE b.part = 0 AND b.stored_at <= ?"+
				" AND NOT EXISTS (SELECT 1 FROM board_attachments t WHERE t.sha256 = b.sha256 AND t.removed_at IS NULL) LIMIT 20)", before.UnixMicro())
			return err
		})
		n += int(batch)
		if err != nil || batch == 0 {
			return n, err
		}
	}
}

// contentReader reads content part by part.
type contentReader struct {
	ctx  context.Context //nolint:containedctx // io.Reader has no other place for it
	s    *Service
	hash string
	size int64
	at   int64
	part int64 // that data is; -1: none
	data []byte
}

func (r *contentReader) Read(into []byte) (int, error) {
	if r.at >= r.size {
		return 0, io.EOF
	}
	if part := r.at / contentPart; part != r.part {
		err := r.s.read(r.ctx, func(c store.Conn) error {
			return c.Row("SELECT data FROM board_contents WHERE sha256 = ? AND part = ?", r.hash, part).Scan(&r.data)
		})
		if err != nil {
			return 0, errors.Join(errContent, err)
		}
		r.part = part
	}
	from := r.at % contentPart
	if from >= int64(len(r.data)) {
		return 0, errContent
	}
	n := copy(into, r.data[from:])
	r.at += int64(n)
	return n, nil
}

func (r *contentReader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.at
	case io.SeekEnd:
		offset += r.size
	}
	if offset < 0 {
		return 0, errors.New("seek before the begin")
	}
	r.at = offset
	return offset, nil
}

func (*contentReader) Close() error { return nil }
