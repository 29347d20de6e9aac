package keys

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/osfile"
)

// Files stores keys in a folder that only the operating system user of this process may read. The file of a key is
// called <algorithm>-<microseconds since 1970>-<kid>.pem. If a file has another name, its modification time is the
// creation time of the key.
type Files struct{ Folder string }

const (
	pemType = "PRIVATE KEY"
	maxFile = 64 << 10 // bytes
)

// Load implements Store.
func (f Files) Load(context.Context) ([]Stored, error) {
	entries, err := os.ReadDir(f.Folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []Stored
	for _, entry := range entries {
		if entry.IsDir() || filepath.Ext(entry.Name()) != ".pem" {
			continue
		}
		s, err := f.stored(entry.Name())
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed in the meantime
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(f.Folder, entry.Name()), err)
		}
		list = append(list, s)
	}
	return list, nil
}

// stored returns the key of a file. The file is read later, by Open.
func (f Files) stored(name string) (s Stored, err error) {
	path := filepath.Join(f.Folder, name)
	stat, err := os.Stat(path)
	if err != nil {
		return s, err
	}
	if !osfile.Private(stat) {
		return s, fmt.Errorf("the key can be read by others; run: chmod 600 %s", path)
	}
	if stat.Size() > maxFile {
		return s, errors.New("the file is larger than 64 KiB and cannot be a signing key; remove it from the folder")
	}
	s = Stored{
		Name: name + " " + stat.ModTime().String(), CreatedAt: stat.ModTime(),
		Open: func(context.Context) ([]byte, error) { return readPEM(path) },
	}
	if parts := strings.SplitN(name, "-", 3); len(parts) == 3 { // the algorithm, the creation time, and the kid
		if created, err := strconv.ParseInt(parts[1], 10, 64); err == nil {
			s.CreatedAt = time.UnixMicro(created)
		}
	}
	return s, nil
}

// readPEM returns the content of the first PEM block of a file.
func readPEM(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil || block.Type != pemType {
		return nil, fmt.Errorf("%s: the file must contain a PEM block of the type %s (PKCS #8)", path, pemType)
	}
	return block.Bytes, nil
}

// Make implements Store. It writes a temporary file and renames it, so that no reader sees an incomplete key.
func (f Files) Make(ctx context.Context, algorithm string, created time.Time, first bool) error {
	if first {
		exists, err := f.has(ctx, algorithm)
		if exists || err != nil {
			return err
		}
	}
	pkcs8, kid, err := generate(algorithm)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(f.Folder, 0o700); err != nil {
		return err
	}
	temp, err := os.CreateTemp(f.Folder, ".key-*") // 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(temp.Name()) }() // fails once the file has been renamed
	err = pem.Encode(temp, &pem.Block{Type: pemType, Bytes: pkcs8})
	if err == nil {
		err = temp.Sync()
	}
	if closeErr := temp.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	name := algorithm + "-" + strconv.FormatInt(created.UnixMicro(), 10) + "-" + kid + ".pem"
	if err := os.Rename(temp.Name(), filepath.Join(f.Folder, name)); err != nil {
		return err
	}
	_ = osfile.SyncFolder(f.Folder) // some file systems cannot do it
	return nil
}

// has reports whether the folder contains a key of an algorithm.
func (f Files) has(ctx context.Context, algorithm string) (bool, error) {
	all, err := f.Load(ctx)
	if err != nil {
		return false, err
	}
	for _, key := range all {
		if k, err := parse(ctx, key); err == nil && k.Info.Algorithm == algorithm {
			return true, nil
		}
	}
	return false, nil
}

// Remove implements Store. A kid without a file is not an error.
func (f Files) Remove(_ context.Context, kid string) error {
	entries, err := os.ReadDir(f.Folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), "-"+kid+".pem") {
			return os.Remove(filepath.Join(f.Folder, entry.Name()))
		}
	}
	return nil
}
