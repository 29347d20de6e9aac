package corpus

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/answer/corpus/fileformat"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// IngestOptions configure an ingest.
type IngestOptions struct {
	// Workers is how many files are read and divided at the same time. Their documents are written by one
	// goroutine. Default: one per CPU, at most 8.
	Workers int
	// Progress is called from time to time, never concurrently. It may be nil.
	Progress func(p Progress)
	// Source has defaults for fields that files do not state: kind, issuer, fiscal period and so on.
	Source fileformat.Source
	// Document is called with the result of each document, never concurrently. It may be nil.
	Document func(t DocumentResult)
}

// DocumentResult is the result of one document.
type DocumentResult struct {
	// File is the path of the document's file relative to the ingested folder. URL is the document's URL, or empty if
	// the document could not be read.
	File, URL string
	Outcome   Outcome
	// Err is the reason why the document was not ingested. It is a *RefusedError if the same document would be refused
	// again.
	Err error
}

// Progress is the progress of an ingest.
type Progress struct {
	Files, Read                       int   // all files, and the files read to the end
	Bytes, Done                       int64 // the bytes of all files, and of the files read to the end
	Added, Replaced, Skipped, Refused int   // documents by outcome; refused ones were not ingested because of an error
	Chunks                            int   // the chunks of added and replaced documents
}

// Documents returns how many documents were processed.
func (p Progress) Documents() int { return p.Added + p.Replaced + p.Skipped + p.Refused }

// Report is the result of an ingest.
type Report struct {
	Progress
	// Problems lists the first documents that were refused, each in the form "FILE URL: REASON". Without a known URL it
	// is "FILE: REASON".
	Problems []string
}

const (
	maxProblems = 100 // in a Report
	// A transaction has at most documentsAtOnce documents. It ends earlier if its documents have at least chunksAtOnce
	// chunks.
	documentsAtOnce = 64
	chunksAtOnce    = 2000
)

// readDocument is a document that was read from a file, or the error of reading it.
type readDocument struct {
	name   string // the name of the file, for problems
	source fileformat.Source
	err    error // the problem of the document
}

// Ingest ingests a file, or all files of known formats (see Formats) in a folder and the folders below it. It skips
// documents that the corpus has already, so that an interrupted ingest can be started again. Errors of single documents
// are in the report; Ingest returns only an error that ended the ingest, with the report so far if there is one.
func (c *Corpus) Ingest(ctx context.Context, path string, o IngestOptions) (*Report, error) {
	files, bytes, err := list(path)
	if err != nil {
		return nil, err
	}
	return c.ingest(ctx, path, files, bytes, o)
}

// ingest ingests files below a path. bytes is the total size of the files. Some goroutines read files, some divide
// documents into chunks, and the calling goroutine writes the documents.
func (c *Corpus) ingest(
	ctx context.Context, path string, files []fileformat.File, bytes int64, o IngestOptions,
) (*Report, error) {
	if o.Workers <= 0 {
		o.Workers = min(runtime.GOMAXPROCS(0), 8)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	run := &ingest{
		corpus: c, options: o, report: Report{Progress: Progress{Files: len(files), Bytes: bytes}},
		cancel: cancel,
	}

	// The files pass through three channels. queue leads to the readers, documents to the dividers, and ready to the
	// method write of run, which ends when ready is closed. Each stage closes the next channel when all of its
	// goroutines have ended.
	queue := make(chan fileformat.File)
	documents := make(chan readDocument, o.Workers)
	ready := make(chan *prepared, o.Workers) // a small buffer, because each may be large
	var readers, dividers sync.WaitGroup
	for range o.Workers {
		readers.Go(func() {
			for f := range queue {
				run.read(ctx, path, f, documents)
			}
		})
		dividers.Go(func() {
			for document := range documents {
				run.divide(ctx, document, ready)
			}
		})
	}
	go func() {
		defer close(queue)
		for _, f := range files {
			select {
			case queue <- f:
			case <-ctx.Done():
				return
			}
		}
	}()
	go func() { readers.Wait(); close(documents) }()
	go func() { dividers.Wait(); close(ready) }()
	run.write(ctx, ready)
	run.notify(true)
	c.updateStatistics(ctx, run.report.Chunks)
	if err := context.Cause(ctx); err != nil {
		return &run.report, err
	}
	return &run.report, nil
}

// updateStatistics updates the full-text index and the statistics of PostgreSQL after an ingest of many chunks. It
// empties the list of pending index entries, which every search would read. It analyzes the tables, because searches
// would otherwise be planned for an empty corpus. PostgreSQL does both itself, but later. An error is only logged.
func (c *Corpus) updateStatistics(ctx context.Context, chunks int) {
	if c.DB.Dialect() == store.SQLite || chunks < chunksAtOnce {
		return
	}
	err := c.Read(ctx, func(conn kernel.Conn) error {
		for _, statement := range []string{
			"SELECT gin_clean_pending_list('answer_search_words')", "ANALYZE answer_search",
			"ANALYZE answer_vectors", "ANALYZE answer_chunks",
		} {
			if _, err := conn.Exec(statement); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		c.Logger().Warn("updating the full-text index and the statistics of the database", zap.Error(err))
	}
}

// ingest is a running ingest. Different goroutines run its methods read, divide and write.
type ingest struct {
	corpus  *Corpus
	options IngestOptions
	cancel  context.CancelCauseFunc // ends the ingest with an error
	files   atomic.Int64            // the number of files read to the end
	bytes   atomic.Int64            // their size

	mu     sync.Mutex // guards report, and is held while options.Document is called
	report Report
}

// maxFiles bounds the files of one ingest.
const maxFiles = 1_000_000

// list returns the files of known formats at a path, in lexical order, and their total size. The path is that of a file
// or folder. Hidden files and folders, and description files, are left out.
func list(path string) (files []fileformat.File, bytes int64, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, 0, err
	}
	if !info.IsDir() {
		if fileformat.Of(path) == nil {
			return nil, 0, fmt.Errorf("%s: the file extension is not one of %s", path, strings.Join(fileformat.Extensions(), ", "))
		}
		return []fileformat.File{{Path: path, Size: info.Size(), Modified: info.ModTime()}}, info.Size(), nil
	}
	err = filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case strings.HasPrefix(entry.Name(), ".") && name != path:
			if entry.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case !entry.Type().IsRegular() || fileformat.Of(name) == nil || strings.HasSuffix(name, fileformat.MetaSuffix):
			return nil
		case len(files) == maxFiles:
			return fmt.Errorf("%s has more than %d files", path, maxFiles)
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		files = append(files, fileformat.File{Path: name, Size: info.Size(), Modified: info.ModTime()})
		bytes += info.Size()
		return nil
	})
	return files, bytes, err
}

// read sends the documents of a file to out. For a document or a file that cannot be read, it sends the error. root
// is the ingested file or folder.
func (run *ingest) read(ctx context.Context, root string, f fileformat.File, out chan<- readDocument) {
	name, err := filepath.Rel(root, f.Path)
	if err != nil || name == "." { // root is the file itself
		name = filepath.Base(f.Path)
	}
	name = filepath.ToSlash(name)
	send := func(document readDocument) bool {
		select {
		case out <- document:
			return true
		case <-ctx.Done():
			return false
		}
	}
	err = kernel.Caught(func() error {
		return fileformat.ReadFile(ctx, f, name, run.options.Source, func(s fileformat.Source, err error) error {
			if !send(readDocument{name, s, err}) {
				return context.Cause(ctx)
			}
			return nil
		})
	})
	if err != nil && ctx.Err() == nil {
		send(readDocument{name: name, err: err})
	}
	run.files.Add(1)
	run.bytes.Add(f.Size)
}

// divide prepares a document and sends it to out, or reports its problem. A document that the corpus has already is not
// divided.
func (run *ingest) divide(ctx context.Context, document readDocument, out chan<- *prepared) {
	if ctx.Err() != nil {
		return
	}
	known := false
	var p *prepared
	err := document.err
	if err == nil {
		err = kernel.Caught(func() (err error) {
			if p, err = checked(document.source); err != nil {
				return err
			}
			if known = run.corpus.isStored(ctx, p); known {
				return nil
			}
			return p.divide()
		})
	}
	switch {
	case err != nil:
		run.problem(document, err)
	case known:
		run.mu.Lock()
		run.report.Skipped++
		run.notifyDocument(DocumentResult{File: document.name, URL: document.source.URL, Outcome: Skipped})
		run.mu.Unlock()
	default:
		p.file = document.name
		select {
		case out <- p:
		case <-ctx.Done():
		}
	}
}

// isStored reports whether a document is stored at its URL. It returns false if the database fails, because the error
// will occur again when the document is written.
func (c *Corpus) isStored(ctx context.Context, p *prepared) (stored bool) {
	err := c.Read(ctx, func(conn kernel.Conn) error {
		return conn.Row("SELECT count(*) > 0 FROM answer_documents WHERE sha256 = ? AND id = "+documentAtURL,
			p.digest, p.source.URL, p.source.URL).Scan(&stored)
	})
	return err == nil && stored
}

// notifyDocument calls the Document function of the options. The caller must hold run.mu.
func (run *ingest) notifyDocument(result DocumentResult) {
	if run.options.Document != nil {
		run.options.Document(result)
	}
}

// problem records that a document is refused because of err.
func (run *ingest) problem(document readDocument, err error) {
	run.mu.Lock()
	defer run.mu.Unlock()
	run.report.Refused++
	run.notifyDocument(DocumentResult{File: document.name, URL: document.source.URL, Err: err})
	if len(run.report.Problems) < maxProblems {
		name := document.name
		if document.source.URL != "" {
			name += " " + document.source.URL
		}
		run.report.Problems = append(run.report.Problems, name+": "+err.Error())
	}
}

// write writes the documents from ready. A transaction has as many documents as are available, up to documentsAtOnce.
// If the database fails, write cancels the ingest.
func (run *ingest) write(ctx context.Context, ready <-chan *prepared) {
	var batch []*prepared // the documents of the next transaction
	chunks := 0           // of these documents
	flush := func() {
		if len(batch) == 0 || ctx.Err() != nil {
			return
		}
		outcomes, err := run.corpus.putAll(ctx, batch)
		if err != nil {
			run.cancel(fmt.Errorf("writing documents: %w", err))
			return
		}
		run.mu.Lock()
		for i, o := range outcomes {
			run.notifyDocument(DocumentResult{File: batch[i].file, URL: batch[i].source.URL, Outcome: o})
			switch o {
			case Added:
				run.report.Added++
			case Replaced:
				run.report.Replaced++
			case Skipped:
				run.report.Skipped++
				continue
			}
			run.report.Chunks += len(batch[i].chunks)
		}
		run.mu.Unlock()
		batch, chunks = batch[:0], 0
		run.notify(false)
	}
	for p := range ready {
		batch = append(batch, p)
		chunks += len(p.chunks)
		if len(batch) == documentsAtOnce || chunks >= chunksAtOnce || len(ready) == 0 { // or nothing more is available now
			flush()
		}
	}
	flush()
}

// notify calls the Progress function of the options. If last is true, it also sorts the problems of the report.
func (run *ingest) notify(last bool) {
	run.mu.Lock()
	run.report.Read, run.report.Done = int(run.files.Load()), run.bytes.Load()
	if last {
		slices.Sort(run.report.Problems)
	}
	p := run.report.Progress
	run.mu.Unlock()
	if run.options.Progress != nil {
		run.options.Progress(p)
	}
}
