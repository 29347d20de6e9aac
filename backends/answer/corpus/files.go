package corpus

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/corpus/fileformat"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
)

// File is a file in a folder.
type File struct {
	// Name is the path of the file relative to the folder, with slashes.
	Name string
	// Stamp changes when the size or the modification time of the file, or of its description file (see
	// fileformat.MetaSuffix), changes.
	Stamp string

	file fileformat.File
}

// Files returns the files in a folder that Ingest would read, in the order in which Ingest reads them.
func Files(folder string) ([]File, error) {
	found, _, err := list(folder)
	if err != nil {
		return nil, err
	}
	files := make([]File, 0, len(found))
	for _, f := range found {
		name, err := filepath.Rel(folder, f.Path)
		if err != nil {
			return nil, err
		}
		stamp := fmt.Sprintf("%d:%d", f.Size, f.Modified.UnixNano())
		if info, err := os.Stat(f.Path + fileformat.MetaSuffix); err == nil {
			stamp += fmt.Sprintf(":%d:%d", info.Size(), info.ModTime().UnixNano())
		}
		files = append(files, File{Name: filepath.ToSlash(name), Stamp: stamp, file: f})
	}
	return files, nil
}

// IngestFiles ingests some of the files that Files has returned for a folder. Apart from that, it works like Ingest.
func (c *Corpus) IngestFiles(ctx context.Context, folder string, files []File, o IngestOptions) (*Report, error) {
	selected, size := make([]fileformat.File, len(files)), int64(0)
	for i, f := range files {
		selected[i] = f.file
		size += f.file.Size
	}
	return c.ingest(ctx, folder, selected, size, o)
}

// mediaTypes maps media types to file extensions. text/plain is not among them, because servers send other
// formats under it too.
var mediaTypes = map[string]string{
	"application/pdf": ".pdf", "text/html": ".html", "application/xhtml+xml": ".xhtml", "text/markdown": ".md",
	"text/csv": ".csv", "application/json": ".json",
	"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx",
	"application/vnd.ms-excel.sheet.macroenabled.12":                    ".xlsm",
}

// vagueMediaTypes lists the media types that servers send if they do not know the type.
var vagueMediaTypes = []string{"", "text/plain", "application/octet-stream", "binary/octet-stream"}

// Extension returns the file extension for the content of an HTTP response, with its dot, judged by its media type or
// else by the extension of its path. It returns the empty string for unknown formats and for lists of documents
// (JSONL).
func Extension(mediaType, urlPath string) string {
	if extension, ok := mediaTypes[strings.ToLower(mediaType)]; ok {
		return extension
	}
	if !slices.Contains(vagueMediaTypes, strings.ToLower(mediaType)) {
		return ""
	}
	extension := strings.ToLower(path.Ext(urlPath))
	// The formats without a limit are lists of documents.
	if f := fileformat.ByExtension(extension); f != nil && f.MaxSize > 0 {
		return extension
	}
	if mediaType == "text/plain" {
		return ".txt"
	}
	return ""
}

// IngestBody ingests body, the content of a file with the given extension, and calls notify with the result of each
// document. base has the fields of the documents that are known before reading. IngestBody returns an error only if the
// database fails or ctx ends.
func (c *Corpus) IngestBody(
	ctx context.Context, extension string, body []byte, base fileformat.Source, notify func(result DocumentResult),
) error {
	format := fileformat.ByExtension(extension)
	if format == nil || format.MaxSize > 0 && int64(len(body)) > format.MaxSize {
		notify(DocumentResult{URL: base.URL, Err: fileformat.Refuse("the format is not supported, or the document is too large")})
		return nil
	}
	var writeErr error // an error of the database, which ends the reading
	err := kernel.Caught(func() error {
		return format.Read(ctx, bytes.NewReader(body), base, func(s fileformat.Source, err error) error {
			var p *prepared
			if err == nil {
				p, err = prepare(s)
			}
			if err != nil { // the reading continues with the next document
				notify(DocumentResult{URL: s.URL, Err: err})
				return nil
			}
			outcomes, err := c.putAll(ctx, []*prepared{p})
			if err != nil {
				writeErr = err
				return err
			}
			notify(DocumentResult{URL: s.URL, Outcome: outcomes[0]})
			return nil
		})
	})
	switch {
	case writeErr != nil:
		return writeErr
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		notify(DocumentResult{URL: base.URL, Err: err})
	}
	return nil
}
