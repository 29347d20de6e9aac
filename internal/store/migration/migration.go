// Package migration handles the text of a service's migrations, apart from any database: the names of the files, words
// that each engine spells differently, and whether older programs can still use the database after the migrations.
package migration

import (
	"bytes"
	"io"
	"io/fs"
	"regexp"
)

// FileName matches the name of a migration's file. Group 1 is the number, and group 2 the engine if the migration is
// for one engine only.
var FileName = regexp.MustCompile(`^([0-9]+)_[a-z0-9_]+(?:\.(sqlite|postgres))?\.sql$`)

// Rewrite returns a file system in which the text of each migration in files is replaced by the result of rewrite.
func Rewrite(files fs.FS, rewrite func(text []byte) ([]byte, error)) fs.FS {
	return rewriter{files, rewrite}
}

// rewriter is the file system of Rewrite.
type rewriter struct {
	fs.FS
	rewrite func(text []byte) ([]byte, error)
}

// Open implements fs.FS.
func (r rewriter) Open(name string) (fs.File, error) {
	file, err := r.FS.Open(name)
	if err != nil || !FileName.MatchString(name) {
		return file, err
	}
	text, err := io.ReadAll(file)
	if err == nil {
		text, err = r.rewrite(text)
	}
	if err != nil {
		_ = file.Close()
		return nil, &fs.PathError{Op: "read", Path: name, Err: err}
	}
	return rewrittenFile{file, bytes.NewReader(text)}, nil
}

// ReadDir implements fs.ReadDirFS.
func (r rewriter) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(r.FS, name) }

type rewrittenFile struct {
	fs.File
	text *bytes.Reader
}

// Read implements fs.File.
func (f rewrittenFile) Read(p []byte) (int, error) { return f.text.Read(p) }

// Stat implements fs.File.
func (f rewrittenFile) Stat() (fs.FileInfo, error) {
	info, err := f.File.Stat()
	return rewrittenInfo{info, f.text.Size()}, err
}

type rewrittenInfo struct {
	fs.FileInfo
	size int64
}

// Size implements fs.FileInfo.
func (i rewrittenInfo) Size() int64 { return i.size }
