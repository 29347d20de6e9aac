package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// format is the number of how backups are laid out, which changes when an older program
// could not read them any more.
const format = 1

// Where what is in a backup.
const (
	manifestFile = "manifest.json"
	// digestFile has the digest of the manifest, as sha256sum writes and reads it.
	digestFile = "manifest.sha256"
	keyFile    = "key/tollgate.key"
)

// filesOf is where the files of a service are.
func filesOf(service string) string { return "files/" + service }

// Manifest says what is in a backup.
type Manifest struct {
	Format    int            `json:"format"`
	Program   string         `json:"program"` // version of the one that wrote it
	Begun     time.Time      `json:"begun"`   // all that was acknowledged before is in it
	Ended     time.Time      `json:"ended"`
	Databases []DatabaseCopy `json:"databases"`
	Folders   []string       `json:"folders"`  // the services that have files
	KeyFile   bool           `json:"key_file"` // the master key is in it
	Files     []File         `json:"files"`    // all but the manifest, by path

	digest string // of the manifest itself, hex
}

// DatabaseCopy is the copy of one database.
type DatabaseCopy struct {
	Name    string           `json:"name"`
	Engine  string           `json:"engine"`           // sqlite or postgres
	Schemas map[string]int64 `json:"schemas"`          // their versions
	Tables  []Table          `json:"tables,omitempty"` // of PostgreSQL
}

// file is where a SQLite database is.
func (c *DatabaseCopy) file() string { return "databases/" + c.Name + ".sqlite" }

// rows is where the rows of a table are, as COPY writes and reads them.
func (c *DatabaseCopy) rows(t *Table) string { return "databases/" + c.Name + "/" + t.Name + ".copy" }

// Table is one of a PostgreSQL database.
type Table struct {
	Name       string      `json:"name"`
	Columns    []string    `json:"columns"` // in the order of the rows' values
	Rows       int64       `json:"rows"`
	Partitions []Partition `json:"partitions,omitempty"`
	Sequences  []Sequence  `json:"sequences,omitempty"`
}

// Partition is one of a table: rows from one value until before another.
type Partition struct {
	Name  string `json:"name"`
	From  int64  `json:"from"`
	Until int64  `json:"until"`
}

// Sequence is what numbers a column.
type Sequence struct {
	Column string `json:"column"`
	Last   int64  `json:"last"`
	Called bool   `json:"called"` // Last was given
}

// File is one file of a backup.
type File struct {
	Path   string `json:"path"` // with slashes
	Size   int64  `json:"size"` // bytes
	SHA256 string `json:"sha256"`
}

// maxManifest bounds a manifest, in bytes.
const maxManifest = 1 << 30

func (m *Manifest) bytes() (n int64) {
	for _, f := range m.Files {
		n += f.Size
	}
	return n
}

// digestLine is what is in the file beside the manifest.
func (m *Manifest) digestLine() string { return m.digest + "  " + manifestFile + "\n" }

// Size is how many bytes the files have whose paths begin with one of these.
func (m *Manifest) Size(beginnings ...string) (n uint64) {
	for _, f := range m.Files {
		if slices.ContainsFunc(beginnings, func(b string) bool { return strings.HasPrefix(f.Path, b) }) {
			n += uint64(f.Size) //nolint:gosec // not negative
		}
	}
	return n
}

// writeManifest writes the manifest, durably.
func writeManifest(root string, m *Manifest) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	m.digest = hex.EncodeToString(sum[:])
	for _, f := range []struct{ name, text string }{
		{digestFile, m.digestLine()}, {manifestFile, string(text)},
	} {
		if err := writeWhole(filepath.Join(root, f.name), strings.NewReader(f.text)); err != nil {
			return err
		}
	}
	return syncFolder(root)
}

var (
	plainName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)
	hexDigest = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// readManifest reads the manifest of a backup and holds it to its digest and to the
// format.
func readManifest(root *os.Root) (*Manifest, error) {
	text, err := readBounded(root, manifestFile, maxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is not a backup, or an unfinished one: there is no %s", root.Name(), manifestFile)
	}
	if err != nil {
		return nil, err
	}
	line, err := readBounded(root, digestFile, 256)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	m := new(Manifest)
	m.digest = hex.EncodeToString(sum[:])
	if string(line) != m.digestLine() {
		return nil, fmt.Errorf("the backup is damaged: %s is not what %s says", manifestFile, digestFile)
	}
	var head struct{ Format int }
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, fmt.Errorf("%s: %w", manifestFile, err)
	}
	if head.Format != format {
		return nil, fmt.Errorf("the backup has the format %d, this program reads the format %d: use the program that wrote it, or a newer one", head.Format, format)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(m); err != nil {
		return nil, fmt.Errorf("%s: %w", manifestFile, err)
	}
	return m, m.sound()
}

// sound checks what paths and statements are made of.
func (m *Manifest) sound() error {
	there := make(map[string]bool)
	for _, f := range m.Files {
		if !filepath.IsLocal(filepath.FromSlash(f.Path)) || path.Clean(f.Path) != f.Path || there[f.Path] || f.Size < 0 || !hexDigest.MatchString(f.SHA256) {
			return fmt.Errorf("%s: the file %q is not sound", manifestFile, f.Path)
		}
		there[f.Path] = true
	}
	needed := make(map[string]bool)
	if m.KeyFile {
		needed[keyFile] = true
	}
	names := append([]string{}, m.Folders...)
	for i := range m.Databases {
		c := &m.Databases[i]
		names = append(names, c.Name)
		switch c.Engine {
		case store.SQLite.String():
			needed[c.file()] = true
		case store.Postgres.String():
			for j := range c.Tables {
				t := &c.Tables[j]
				needed[c.rows(t)] = true
				names = append(names, t.Name)
				names = append(names, t.Columns...)
				for _, p := range t.Partitions {
					names = append(names, p.Name)
				}
				for _, s := range t.Sequences {
					names = append(names, s.Column)
				}
			}
		default:
			return fmt.Errorf("%s: there is no engine %q", manifestFile, c.Engine)
		}
	}
	for _, name := range names {
		if !plainName.MatchString(name) {
			return fmt.Errorf("%s: the name %q is not sound", manifestFile, name)
		}
	}
	for file := range needed {
		if !there[file] {
			return fmt.Errorf("%s: the file %q is missing", manifestFile, file)
		}
	}
	return nil
}

// check reads all files and holds them to the manifest.
func check(ctx context.Context, folder string, m *Manifest, progress func(bytes int64)) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	for _, f := range m.Files {
		file, err := root.Open(filepath.FromSlash(f.Path))
		if err != nil {
			return fmt.Errorf("the backup is damaged: %w", err)
		}
		sum, size, err := digest(ctx, file, progress)
		_ = file.Close()
		if err != nil {
			return fmt.Errorf("reading %s: %w", f.Path, err)
		}
		if size != f.Size || sum != f.SHA256 {
			return fmt.Errorf("the backup is damaged: %s is not what the manifest says", f.Path)
		}
	}
	return nil
}

func readBounded(root *os.Root, name string, limit int64) ([]byte, error) {
	file, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("%s is longer than %d bytes", name, limit)
	}
	return text, err
}
