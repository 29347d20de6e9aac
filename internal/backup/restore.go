package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/osfile"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// target is a destination into which a part of a backup is restored.
type target interface {
	// look returns an error if the destination already has other content than the backup.
	look(ctx context.Context) error
	// prepare copies the part in such a way that nobody takes the copy for complete yet.
	prepare(ctx context.Context, r *restorer) error
	// finish puts the copied part into use, in one step.
	finish(ctx context.Context) error
	// close releases resources, after finish or an error.
	close()
}

// restorer restores a backup to a State.
type restorer struct {
	root     *os.Root // the folder of the backup
	manifest *Manifest
	state    State
	options  Options
	total    int64 // bytes to process
}

// progress reports processed bytes.
func (r *restorer) progress(bytes int64) { r.options.Progress(bytes, r.total) }

// open opens a file of the backup.
func (r *restorer) open(path string) (*os.File, error) { return r.root.Open(filepath.FromSlash(path)) }

// Restore restores the backup in the given folder. Its destinations, such as databases and folders, must be empty or
// missing. Restore changes nothing before the whole backup was read and matches its manifest. If it is interrupted it
// leaves databases that no server opens. A repeated call resumes and does not copy finished parts again.
func Restore(ctx context.Context, folder string, s State, o Options) (m *Manifest, err error) {
	o.complete()
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("opening the backup: %w", err)
	}
	defer func() { _ = root.Close() }()
	if m, err = readManifest(root); err != nil {
		return nil, err
	}
	// The total is for a restore that copies everything: each byte is read to check it, and again to copy it.
	r := &restorer{root: root, manifest: m, state: s, options: o, total: 2 * m.bytes()}
	targets, err := r.targets()
	if err != nil {
		return nil, err
	}
	defer func() {
		for _, t := range targets {
			t.close()
		}
	}()
	// Each step is completed for all targets before the next step begins, so that nothing is in use until everything has
	// been copied.
	for _, step := range []func(t target) error{
		func(t target) error { return t.look(ctx) },
		func(t target) error { return t.prepare(ctx, r) },
		func(t target) error { return t.finish(ctx) },
	} {
		for _, t := range targets {
			if err := step(t); err != nil {
				return nil, err
			}
		}
	}
	return m, nil
}

// targets returns the destinations of the backup's parts. The databases come last, so that no server uses them without
// the other parts.
func (r *restorer) targets() (destinations []target, err error) {
	// This target is the first, so that nothing is replaced unless the backup is complete and unchanged.
	destinations = append(destinations, &verified{r})
	if r.manifest.KeyFile && r.state.KeyFile != "" { // without a key file the keys are in the configuration
		destinations = append(destinations, r.newFiles(r.state.KeyFile, keyFile, false))
	}
	for _, service := range r.manifest.Folders {
		folder, ok := r.state.Folders[service]
		files := r.newFiles(folder, filesOf(service), true)
		if !ok && len(files.files) > 0 {
			return nil, fmt.Errorf("the backup has files of the service %s, but the configuration has no folder for them",
				service)
		}
		if ok {
			destinations = append(destinations, files)
		}
	}
	for i := range r.manifest.Databases {
		c := &r.manifest.Databases[i]
		j := slices.IndexFunc(r.state.Databases, func(d Database) bool { return d.Name == c.Name })
		if j < 0 {
			return nil, fmt.Errorf("the backup has the database %s, but the configuration has none of that name", c.Name)
		}
		db := r.state.Databases[j].DB
		if engine := db.Dialect().String(); engine != c.Engine {
			return nil, fmt.Errorf(
				"the database %s of the backup uses %s, but the configuration uses %s: restore it to the same engine",
				c.Name, c.Engine, engine)
		}
		if err := checkKnown(c.Schemas, r.state.Schemas, db.Dialect()); err != nil {
			return nil, fmt.Errorf("the database %s of the backup cannot be used: %w", c.Name, err)
		}
		var t target = &postgresTarget{db: db, copied: c, backup: r.manifest.digest}
		if file := db.File(); file != "" {
			t = &sqliteTarget{files: r.newFiles(file, c.file(), false)}
		}
		destinations = append(destinations, named{t, c.Name})
	}
	return destinations, nil
}

// named adds the name of the database to the errors of a target.
type named struct {
	target
	name string
}

func (n named) look(ctx context.Context) error { return n.wrap(n.target.look(ctx)) }

func (n named) prepare(ctx context.Context, r *restorer) error {
	return n.wrap(n.target.prepare(ctx, r))
}

func (n named) finish(ctx context.Context) error { return n.wrap(n.target.finish(ctx)) }

// wrap adds the name of the database to an error.
func (n named) wrap(err error) error {
	if err != nil {
		return fmt.Errorf("database %s: %w", n.name, err)
	}
	return nil
}

// verified is a target that copies nothing. Its prepare reads and checks the whole backup.
type verified struct{ r *restorer }

func (*verified) look(context.Context) error { return nil }

func (v *verified) prepare(ctx context.Context, r *restorer) error {
	return check(ctx, r.root.Name(), r.manifest, r.progress)
}

func (*verified) finish(context.Context) error { return nil }
func (*verified) close()                       {}

// files restores one file, or a folder of files. The field to is the destination path.
type files struct {
	r        *restorer
	to       string // destination of the file or folder
	prefix   string // beginning of the files' paths in the backup; for a single file, its whole path
	folder   bool   // a folder is restored, not one file
	files    []File
	restored bool // the files are in place already
}

// byPlace returns the files by their destinations.
func (f *files) byPlace() map[string]File {
	all := make(map[string]File, len(f.files))
	for _, file := range f.files {
		all[f.path(f.to, file)] = file
	}
	return all
}

// newFiles returns the target for a part of the backup. prefix is the path of the part in the backup: the path of one
// file or, if isFolder is set, of a folder, with all files in it.
func (r *restorer) newFiles(dst, prefix string, isFolder bool) *files {
	f := &files{r: r, to: dst, prefix: prefix, folder: isFolder}
	for _, file := range r.manifest.Files {
		if file.Path == prefix || isFolder && strings.HasPrefix(file.Path, prefix+"/") {
			f.files = append(f.files, file)
		}
	}
	return f
}

// path returns the destination of a file of the backup. place is the path to which f as a whole is restored.
func (f *files) path(place string, file File) string {
	return filepath.Join(place, filepath.FromSlash(strings.TrimPrefix(file.Path, f.prefix)))
}

// look returns an error if the destination has any content other than exactly the files in f.
func (f *files) look(ctx context.Context) error {
	existing, expected := 0, f.byPlace()
	err := walk(ctx, f.to, func(name string, info fs.FileInfo) error {
		existing++
		place := filepath.Join(f.to, name)
		listed, ok := expected[place]
		if !ok || listed.Size != info.Size() {
			return f.taken()
		}
		file, err := os.Open(place)
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }()
		sum, _, err := digest(ctx, file, func(int64) {})
		if err == nil && sum != listed.SHA256 {
			err = f.taken()
		}
		return err
	})
	if err == nil && existing > 0 && existing < len(f.files) { // finish makes all files appear at once
		err = f.taken()
	}
	f.restored = existing > 0
	return err
}

// taken returns the error for a destination with other content than the backup.
func (f *files) taken() error {
	return fmt.Errorf("%s already exists with other content than in the backup: nothing is overwritten", f.to)
}

// prepare copies the files to a path beside the destination.
func (f *files) prepare(ctx context.Context, r *restorer) error {
	if f.restored {
		return nil
	}
	copied := f.to + store.RestoringEnding
	if err := os.RemoveAll(copied); err != nil { // left by a run that was interrupted
		return err
	}
	if f.folder {
		if err := os.MkdirAll(copied, 0o700); err != nil {
			return err
		}
	}
	for _, file := range f.files {
		if err := f.copy(ctx, r, file, f.path(copied, file)); err != nil {
			return fmt.Errorf("restoring %s: %w", file.Path, err)
		}
	}
	return nil
}

// copy copies a file of the backup to the file dst.
func (f *files) copy(ctx context.Context, r *restorer, file File, dst string) error {
	source, err := r.open(file.Path)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }()
	if err := os.MkdirAll(filepath.Dir(dst), 0o700); err != nil {
		return err
	}
	if err := writeWhole(dst, io.TeeReader(source, &counter{ctx: ctx, progress: r.progress})); err != nil {
		return err
	}
	return osfile.SyncFolder(filepath.Dir(dst))
}

// finish renames the copy to the destination.
func (f *files) finish(context.Context) error {
	if f.restored {
		return nil
	}
	if f.folder { // an existing folder is empty
		if err := os.Remove(f.to); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := os.Rename(f.to+store.RestoringEnding, f.to); err != nil {
		return err
	}
	return osfile.SyncFolder(filepath.Dir(f.to))
}

func (*files) close() {}

// sqliteTarget restores a database file. Until finish is called, the copy that prepare has made beside the destination
// keeps servers from opening the database.
type sqliteTarget struct {
	*files
	release func() // unlocks the database file; nil if it is not locked
}

// look works like files.look. It also returns an error if a server uses the database, or if files of another database
// are beside the destination.
func (t *sqliteTarget) look(ctx context.Context) error {
	if _, err := os.Lstat(t.to + store.LockEnding); err == nil { // a server runs, or has run
		if err := t.hold(ctx); err != nil {
			return err
		}
	}
	if err := t.files.look(ctx); err != nil {
		return err
	}
	for _, ending := range []string{"-wal", "-shm", "-journal"} {
		if _, err := os.Lstat(t.to + ending); err == nil && !t.restored {
			return fmt.Errorf("%s%s belongs to another database and would damage the restored one: move it away", t.to, ending)
		}
	}
	return nil
}

// prepare checks the destination again, because a server may have started meanwhile, and copies the file.
func (t *sqliteTarget) prepare(ctx context.Context, r *restorer) error {
	if t.release == nil {
		if err := t.hold(ctx); err != nil {
			return err
		}
		if err := t.look(ctx); err != nil {
			return err
		}
	}
	return t.files.prepare(ctx, r)
}

// hold locks the database file, unless it is locked already. It returns an error if a server uses the file.
func (t *sqliteTarget) hold(ctx context.Context) (err error) {
	if t.release == nil {
		t.release, err = store.HoldSQLite(ctx, t.to)
	}
	return err
}

// close unlocks the database file.
func (t *sqliteTarget) close() {
	if t.release != nil {
		t.release()
	}
}
