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
)

// Files keeps keys in a folder that only this user can read, each in a file of its own
// with the name <algorithm>-<Unix microseconds>-<kid>.pem. A key of another name that is
// put there is as old as its file.
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
		s, err := f.read(entry.Name())
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed meanwhile
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(f.Folder, entry.Name()), err)
		}
		list = append(list, s)
	}
	return list, nil
}

func (f Files) read(name string) (s Stored, err error) {
	path := filepath.Join(f.Folder, name)
	info, err := os.Stat(path)
	if err != nil {
		return s, err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return s, fmt.Errorf("the key can be read by others; run: chmod 600 %s", path)
	}
	if info.Size() > maxFile {
		return s, errors.New("this is larger than a key")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return s, err
	}
	block, _ := pem.Decode(text)
	if block == nil || block.Type != pemType {
		return s, errors.New("this is no private key in PEM (PKCS #8)")
	}
	s = Stored{PKCS8: block.Bytes, CreatedAt: info.ModTime()}
	if parts := strings.SplitN(name, "-", 3); len(parts) == 3 {
		if at, err := strconv.ParseInt(parts[1], 10, 64); err == nil {
			s.CreatedAt = time.UnixMicro(at)
		}
	}
	return s, nil
}

// Add implements Store. The file has another name until it is whole.
func (f Files) Add(ctx context.Context, kid string, k Stored, first bool) error {
	if first {
		all, err := f.Load(ctx)
		if err != nil {
			return err
		}
		for _, other := range all {
			if parsed, err := parse(other); err == nil && parsed.Info.Algorithm == k.Algorithm {
				return nil
			}
		}
	}
	if err := os.MkdirAll(f.Folder, 0o700); err != nil {
		return err
	}
	aside, err := os.CreateTemp(f.Folder, ".key-*") // 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(aside.Name()) }() // it has its name by then
	err = pem.Encode(aside, &pem.Block{Type: pemType, Bytes: k.PKCS8})
	if err == nil {
		err = aside.Sync()
	}
	if closing := aside.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return err
	}
	name := k.Algorithm + "-" + strconv.FormatInt(k.CreatedAt.UnixMicro(), 10) + "-" + kid + ".pem"
	if err := os.Rename(aside.Name(), filepath.Join(f.Folder, name)); err != nil {
		return err
	}
	if folder, err := os.Open(f.Folder); err == nil { // the name survives the loss of power, where the system can do that
		_ = folder.Sync()
		_ = folder.Close()
	}
	return nil
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
