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

	"github.com/tollgate-gateway/tollgate/internal/osfile"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// format is the version of the layout of backups. It is raised when a change prevents older programs from reading them.
const format = 1

// Paths in a backup.
const (
	manifestFile = "manifest.json"
	// digestFile contains the digest of the manifest, in the format of sha256sum.
	digestFile = "manifest.sha256"
	keyFile    = "key/tollgate.key"
)

// filesOf returns the path in a backup of the folder with a service's files.
func filesOf(service string) string { return "files/" + service }

// Manifest describes the content of a backup.
type Manifest struct {
	Format    int            `json:"format"`
	Program   string         `json:"program"` // version of the program that wrote it
	Begun     time.Time      `json:"begun"`   // everything that was acknowledged before is included
	Ended     time.Time      `json:"ended"`
	Databases []DatabaseCopy `json:"databases"`
	Folders   []string       `json:"folders"`  // services that have files
	KeyFile   bool           `json:"key_file"` // the master key is included
	Files     []File         `json:"files"`    // all files except the manifest, sorted by path

	digest string // digest of the manifest itself, in hex
}

// DatabaseCopy is the copy of a database.
type DatabaseCopy struct {
	Name    string           `json:"name"`
	Engine  string           `json:"engine"`           // sqlite or postgres
	Schemas map[string]int64 `json:"schemas"`          // versions of the schemas
	Tables  []Table          `json:"tables,omitempty"` // on PostgreSQL only
}

// file returns the path of the file of a SQLite database.
func (c *DatabaseCopy) file() string { return "databases/" + c.Name + ".sqlite" }

// rows returns the path of the file with a table's rows, in the format of COPY.
func (c *DatabaseCopy) rows(t *Table) string { return "databases/" + c.Name + "/" + t.Name + ".copy" }

// Table is a table of a PostgreSQL database.
type Table struct {
	Name       string      `json:"name"`
	Columns    []string    `json:"columns"` // in the order of the rows' values
	Rows       int64       `json:"rows"`
	Partitions []Partition `json:"partitions,omitempty"`
	Sequences  []Sequence  `json:"sequences,omitempty"`
}

// Partition is a partition of a table, for values that are at least From and less than Until.
type Partition struct {
	Name  string `json:"name"`
	From  int64  `json:"from"`
	Until int64  `json:"until"`
}

// Sequence is the sequence that numbers a column.
type Sequence struct {
	Column string `json:"column"`
	Last   int64  `json:"last"`
	Called bool   `json:"called"` // Last was assigned to a row
}

// File is a file of a backup.
type File struct {
	Path   string `json:"path"` // with slashes
	Size   int64  `json:"size"` // in bytes
	SHA256 string `json:"sha256"`
}

// maxManifest is the limit for a manifest, in bytes.
const maxManifest = 1 << 30

// bytes returns the total size of all files.
func (m *Manifest) bytes() (n int64) {
	for _, f := range m.Files {
		n += f.Size
	}
	return n
}

// digestLine returns the content of digestFile.
func (m *Manifest) digestLine() string { return m.digest + "  " + manifestFile + "\n" }

// Size returns the total size in bytes of the files whose paths begin with one of the prefixes.
func (m *Manifest) Size(prefixes ...string) (n uint64) {
	for _, f := range m.Files {
		if slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(f.Path, prefix) }) {
			n += uint64(f.Size) //nolint:gosec // not negative
		}
	}
	return n
}

// writeManifest writes the manifest and its digest and makes them durable.
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
	return osfile.SyncFolder(root)
}

var (
	plainName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)
	hexDigest = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// readManifest reads the manifest of a backup and checks its digest and its format.
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
		return nil, fmt.Errorf("the backup is damaged: the digest of %s differs from that in %s", manifestFile, digestFile)
	}
	// The format is checked first, because a manifest of another format may have unknown members.
	var head struct{ Format int }
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, fmt.Errorf("%s: %w", manifestFile, err)
	}
	if head.Format != format {
		return nil, fmt.Errorf(
			"the backup has the format %d, this program reads the format %d: use the program that wrote it, or a newer one",
			head.Format, format)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(m); err != nil {
		return nil, fmt.Errorf("%s: %w", manifestFile, err)
	}
	return m, m.validate()
}

// validate returns an error for a name that is not safe in paths and statements, or a needed file that is not listed.
func (m *Manifest) validate() error {
	listed := make(map[string]bool)
	for _, f := range m.Files {
		if !filepath.IsLocal(filepath.FromSlash(f.Path)) || path.Clean(f.Path) != f.Path || listed[f.Path] ||
			f.Size < 0 || !hexDigest.MatchString(f.SHA256) {
			return fmt.Errorf("%s: the entry of the file %q is invalid", manifestFile, f.Path)
		}
		listed[f.Path] = true
	}
	needed := make(map[string]bool) // the files that the entries of the manifest imply
	if m.KeyFile {
		needed[keyFile] = true
	}
	names := append([]string{}, m.Folders...) // become parts of paths and statements
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
			return fmt.Errorf("%s: the name %q is invalid", manifestFile, name)
		}
	}
	for file := range needed {
		if !listed[file] {
			return fmt.Errorf("%s: the file %q is missing", manifestFile, file)
		}
	}
	return nil
}

// check reads all files and compares them with the manifest.
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
			return fmt.Errorf("the backup is damaged: the size or digest of %s differs from that in the manifest", f.Path)
		}
	}
	return nil
}

// readBounded reads a file of at most limit bytes.
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
