// Command archive packs files into a .tar.gz or .zip file, in one folder with the name of the archive. The same files
// give the same archive: their times are in 1980, the first year of zip, and they have no owner. `make package` calls
// it.
//
//	go run .tools/archive/main.go tollgate_1.2.3_linux_amd64.tar.gz tollgate=bin/tollgate LICENSE NOTICE
package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: archive <name.tar.gz or name.zip> [name=]file ...")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "archive:", err)
		os.Exit(1)
	}
}

// entry is a file of the archive.
type entry struct {
	name string
	mode os.FileMode
	data []byte
}

// modified is the time of every file.
var modified = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// run writes the archive. An argument is the path of a file, or name=path if the file gets another name.
func run(archive string, files []string) error {
	folder, zipped := strings.CutSuffix(filepath.Base(archive), ".zip")
	folder, tarred := strings.CutSuffix(folder, ".tar.gz")
	if zipped == tarred {
		return fmt.Errorf("%s is neither .tar.gz nor .zip", archive)
	}
	entries := make([]entry, 0, len(files))
	for _, file := range files {
		name, source, renamed := strings.Cut(file, "=")
		if !renamed {
			name, source = filepath.Base(file), file
		}
		info, err := os.Stat(source) //nolint:gosec // the files that the build names
		if err != nil {
			return err
		}
		data, err := os.ReadFile(source) //nolint:gosec // likewise
		if err != nil {
			return err
		}
		mode := os.FileMode(0o644)
		if info.Mode()&0o100 != 0 || strings.HasSuffix(name, ".exe") {
			mode = 0o755
		}
		entries = append(entries, entry{path.Join(folder, name), mode, data})
	}
	out, err := os.Create(archive) //nolint:gosec // likewise
	if err != nil {
		return err
	}
	write := writeTar
	if zipped {
		write = writeZip
	}
	return errors.Join(write(out, entries), out.Close())
}

// writeTar writes a compressed tar archive, whose bytes depend only on the entries.
func writeTar(out io.Writer, entries []entry) error {
	compressed, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err != nil {
		return err
	}
	w := tar.NewWriter(compressed)
	for _, e := range entries {
		header := tar.Header{Name: e.name, Mode: int64(e.mode), Size: int64(len(e.data)), ModTime: modified, Format: tar.FormatUSTAR}
		if err := w.WriteHeader(&header); err != nil {
			return err
		}
		if _, err := w.Write(e.data); err != nil {
			return err
		}
	}
	return errors.Join(w.Close(), compressed.Close())
}

// writeZip writes a zip archive, whose bytes depend only on the entries.
func writeZip(out io.Writer, entries []entry) error {
	w := zip.NewWriter(out)
	for _, e := range entries {
		header := zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: modified}
		header.SetMode(e.mode)
		file, err := w.CreateHeader(&header)
		if err != nil {
			return err
		}
		if _, err := file.Write(e.data); err != nil {
			return err
		}
	}
	return w.Close()
}
