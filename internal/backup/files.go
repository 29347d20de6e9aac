package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/osfile"
)

// writer fills the folder of a backup.
type writer struct {
	root    string               // the folder
	files   map[string]File      // the files written so far, by path
	copied  map[string]time.Time // modification times of the copied files of folders, by path
	options Options

	done, total int64 // bytes processed so far, and bytes to process
}

// progress counts processed bytes.
func (w *writer) progress(bytes int64) {
	w.done += bytes
	w.options.Progress(bytes, max(w.total, w.done))
}

// place returns the name of the file at a path in the backup, and creates the folder of that file.
func (w *writer) place(path string) (string, error) {
	name := filepath.Join(w.root, filepath.FromSlash(path))
	return name, os.MkdirAll(filepath.Dir(name), 0o700)
}

// create creates the file at a path in the backup, calls fill to write its content, and makes it durable.
func (w *writer) create(ctx context.Context, path string, fill func(dst io.Writer) error) error {
	dst, err := w.place(path)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(dst, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	hash := sha256.New()
	count := &counter{ctx: ctx, progress: w.progress}
	err = fill(io.MultiWriter(file, hash, count))
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	w.files[path] = File{path, count.bytes, hex.EncodeToString(hash.Sum(nil))}
	return nil
}

// add records an existing file of the backup, with its digest, and makes it durable.
func (w *writer) add(ctx context.Context, path string) error {
	file, err := os.OpenFile(filepath.Join(w.root, filepath.FromSlash(path)), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	sum, size, err := digest(ctx, file, w.progress)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	w.files[path] = File{path, size, sum}
	return nil
}

// file copies the file name to a path in the backup.
func (w *writer) file(ctx context.Context, name, path string) error {
	source, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }()
	return w.create(ctx, path, func(dst io.Writer) error {
		_, err := io.Copy(dst, source)
		return err
	})
}

// folder copies the files in a folder of a service to a path in the backup, except the files that were copied before
// and have not changed since. A missing folder counts as empty.
func (w *writer) folder(ctx context.Context, folder, folderPath string) error {
	if w.copied == nil {
		w.copied = make(map[string]time.Time)
	}
	return walk(ctx, folder, func(name string, info fs.FileInfo) error {
		path := folderPath + "/" + filepath.ToSlash(name)
		if previous, ok := w.copied[path]; ok && previous.Equal(info.ModTime()) && w.files[path].Size == info.Size() {
			return nil
		}
		err := w.file(ctx, filepath.Join(folder, name), path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // deleted since
		}
		w.copied[path] = info.ModTime()
		return err
	})
}

// syncFolders syncs the backup's folders, which makes the names of all files durable.
func (w *writer) syncFolders() error {
	return filepath.WalkDir(w.root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		return osfile.SyncFolder(path)
	})
}

// walk calls fn for the regular files in a folder and its subfolders. name is relative to the folder. A missing folder
// counts as empty, and files that are deleted meanwhile are left out.
func walk(ctx context.Context, folder string, fn func(name string, info fs.FileInfo) error) error {
	return filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err = errors.Join(err, ctx.Err()); err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		return fn(name, info)
	})
}

// digest reads r to the end and returns the SHA-256 of the content in hex, and its size in bytes.
func digest(ctx context.Context, r io.Reader, progress func(bytes int64)) (sum string, size int64, err error) {
	hash := sha256.New()
	count := &counter{ctx: ctx, progress: progress}
	_, err = io.Copy(io.MultiWriter(hash, count), r)
	return hex.EncodeToString(hash.Sum(nil)), count.bytes, err
}

// counter counts written bytes. Its writes fail after its context has ended.
type counter struct {
	ctx      context.Context // a counter lives as long as one copy
	progress func(bytes int64)
	bytes    int64
}

// Write implements io.Writer.
func (c *counter) Write(p []byte) (int, error) {
	c.bytes += int64(len(p))
	c.progress(int64(len(p)))
	return len(p), c.ctx.Err()
}

// writeWhole writes a file with the given content and makes it durable.
func writeWhole(name string, content io.Reader) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Sync(), file.Close())
}
