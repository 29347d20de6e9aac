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
	maxFile = 64 << 10
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
	info, err := os.Stat(path)
	if err != nil {
		return s, err
	}
	if !osfile.Private(info) {
		return s, fmt.Errorf("the key can be read by others; run: chmod 600 %s", path)
	}
	if info.Size() > maxFile {
		return s, errors.New("this is larger than a key")
	}
	s = Stored{Name: name + " " + info.ModTime().String(), CreatedAt: info.ModTime(), Open: func(context.Context) ([]byte,
		error,
	) {
		return readPEM(path)
	}}
	if parts := strings.SplitN(name, "-", 3); len(parts) == 3 {
		if at, err := strconv.ParseInt(parts[1], 10, 64); err == nil {
			s.CreatedAt = time.UnixMicro(at)
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
		return nil, fmt.Errorf("%s: this is not a private key in PEM (PKCS #8)", path)
	}
	return block.Bytes, nil
}

// Make implements Store. It writes a temporary file and renames it, so that no reader sees an incomplete key.
func (f Files) Make(ctx context.Context, algorithm string, at time.Time, first bool) error {
	if first {
		there, err := f.has(ctx, algorithm)
		if there || err != nil {
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
	aside, err := os.CreateTemp(f.Folder, ".key-*") // 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(aside.Name()) }() // fails once the file has been renamed
	err = pem.Encode(aside, &pem.Block{Type: pemType, Bytes: pkcs8})
	if err == nil {
		err = aside.Sync()
	}
	if closing := aside.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return err
	}
	name := algorithm + "-" + strconv.FormatInt(at.UnixMicro(), 10) + "-" + kid + ".pem"
	if err := os.Rename(aside.Name(), filepath.Join(f.Folder, name)); err != nil {
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
	for _, other := range all {
		if k, err := parse(ctx, other); err == nil && k.Info.Algorithm == algorithm {
			return true, nil
		}
	}
	return false, nil
}

// Remove implements Store.
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
