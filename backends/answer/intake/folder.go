package intake

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/answer/corpus"
	"github.com/tollgate-gateway/tollgate/backends/answer/corpus/fileformat"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
)

// Folder ingests the files of a watched folder. It must be used by one goroutine only.
type Folder struct {
	Options
	// Path is the absolute path of the folder.
	Path string
	// Remove removes the documents of files that have disappeared.
	Remove bool

	waiting     map[string]string // by file name, the stamps of the files that the previous round found to need reading
	missing     map[string]bool   // the files that were missing in the previous round
	lastProblem string            // the last problem that was logged
}

const (
	// filesAtOnce is how many files are read before their state is stored.
	filesAtOnce = 32
	// holdEvery is the interval at which the lease is renewed while files are read.
	holdEvery = 30 * time.Second
	// longestPause is the longest time that a file waits after it could not be read.
	longestPause = time.Hour
)

// Run makes one round and returns the number of files that it read. It reads files that are new, that have changed
// since they were read, or whose next attempt is due, but only if they have not changed since the previous round,
// because they may still be written. If the folder cannot be read, Run logs the problem and returns no error. It
// returns an error if the database fails, if the lease is lost, or if ctx ends.
func (f *Folder) Run(ctx context.Context) (int, error) {
	path, err := filepath.EvalSymlinks(f.Path)
	var files []corpus.File
	if err == nil {
		files, err = corpus.Files(path)
	}
	if err != nil {
		f.observe(OutcomeFailed)
		f.logProblem("the watched folder cannot be read", err.Error())
		return 0, nil
	}
	source := "watch:" + f.Path
	known, err := f.entries(ctx, source)
	if err != nil {
		return 0, err
	}
	now := f.Corpus.Micros()
	waiting := make(map[string]string) // the next f.waiting
	var changed []corpus.File          // the files to read in this round
	for _, file := range files {
		previous, ok := known[stored(file.Name)]
		isDue := previous.due != 0 && previous.due <= now
		if ok && previous.stamp == file.Stamp && !isDue {
			continue
		}
		if f.waiting[file.Name] == file.Stamp { // not changed since the previous round
			changed = append(changed, file)
		}
		waiting[file.Name] = file.Stamp
	}
	f.waiting = waiting
	if len(files) == 0 && len(known) > 0 { // the files would be taken for deleted
		f.logProblem("the watched folder is empty, so no documents are removed: it may not be mounted", "empty")
		return 0, nil
	}
	f.logProblem("the watched folder can be read again", "")
	for batch := range slices.Chunk(changed, filesAtOnce) {
		if err := f.ingest(ctx, path, source, batch, known); err != nil {
			return 0, err
		}
	}
	return len(changed), f.sweep(ctx, source, files, known)
}

// logProblem logs a message if the problem differs from that of the last call. problem is the reason why the folder
// cannot be read. It is empty if the folder can be read.
func (f *Folder) logProblem(message, problem string) {
	if problem != f.lastProblem {
		f.lastProblem = problem
		f.logger().Warn(message, zap.String("folder", f.Path), zap.String("reason", problem))
	}
}

// result is the result of reading a file.
type result struct {
	urls    []string // of its documents that are in the corpus
	problem string   // the reason why a document was not ingested, or empty
	retry   bool     // a later attempt may succeed
}

// ingest ingests files of the folder at path and stores their state under source. known are the stored states by name.
// While it works, it renews the lease every holdEvery; it ends if that fails.
func (f *Folder) ingest(ctx context.Context, path, source string, files []corpus.File, known map[string]entry) error {
	results := make(map[string]*result, len(files))
	for _, file := range files {
		results[file.Name] = new(result)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	lastHold := time.Now()
	_, err := f.Corpus.IngestFiles(ctx, path, files, corpus.IngestOptions{
		Document: func(t corpus.DocumentResult) {
			r := results[t.File]
			if t.Err == nil {
				f.observe(t.Outcome.String())
				r.urls = append(r.urls, t.URL)
				return
			}
			_, refused := errors.AsType[*fileformat.RefusedError](t.Err)
			r.retry = r.retry || !refused
			f.observe(OutcomeRefused)
			if r.problem != "" {
				return // only the first problem of a file with many documents is reported
			}
			r.problem = cut(t.Err.Error())
			if known[stored(t.File)].problem != r.problem || refused { // a repeated attempt logs a problem once
				f.logger().Warn("document not ingested", zap.String("file", t.File), zap.String("url", t.URL), zap.Error(t.Err))
			}
		},
		Progress: func(corpus.Progress) {
			if time.Since(lastHold) < holdEvery {
				return
			}
			lastHold = time.Now()
			if err := f.hold(ctx); err != nil {
				cancel(err)
			}
		},
	})
	if err != nil {
		return err
	}
	// The documents are removed before the new state is stored: after a crash in between, the files are read again.
	if f.Remove {
		if err := f.removeGone(ctx, source, results); err != nil {
			return err
		}
	}
	return f.store(ctx, source, files, results, known)
}

// removeGone removes the documents that files contained before and no longer contain. results holds the results of
// the files by name.
func (f *Folder) removeGone(ctx context.Context, source string, results map[string]*result) error {
	for name, r := range results {
		if r.problem != "" {
			continue // a document that cannot be read may still be in the file
		}
		goneURLs, err := f.soleURLs(ctx, source, stored(name))
		if err != nil {
			return err
		}
		goneURLs = slices.DeleteFunc(goneURLs, func(url string) bool { return slices.Contains(r.urls, url) })
		if err := f.remove(ctx, name, goneURLs); err != nil {
			return err
		}
	}
	return nil
}

// store stores the states of files after they were read. known are their states before, by name.
func (f *Folder) store(
	ctx context.Context, source string, files []corpus.File, results map[string]*result, known map[string]entry,
) error {
	return f.Corpus.Write(ctx, func(c kernel.Conn) error {
		if err := f.Hold(c); err != nil {
			return err
		}
		for _, file := range files {
			r, name := results[file.Name], stored(file.Name)
			e := entry{stamp: file.Stamp, problem: r.problem}
			if r.retry {
				e.failures = known[name].failures + 1
				e.due = f.Corpus.Now().Add(pause(e.failures, longestPause)).UnixMicro()
			}
			if err := putEntry(c, source, name, e); err != nil {
				return err
			}
			// Documents of a file that cannot be read still belong to it.
			if err := putURLs(c, source, name, r.urls, r.problem == ""); err != nil {
				return err
			}
		}
		return nil
	})
}

// sweep deletes the states of files that have been missing for two rounds, and removes their documents if f.Remove is
// set. files are the files of the folder. sweep deletes these from known, the stored states by name.
func (f *Folder) sweep(ctx context.Context, source string, files []corpus.File, known map[string]entry) error {
	for _, file := range files {
		delete(known, stored(file.Name))
	}
	missing := make(map[string]bool)
	for name := range known {
		if !f.missing[name] { // missing for the first time
			missing[name] = true
			continue
		}
		if f.Remove {
			urls, err := f.soleURLs(ctx, source, name)
			if err != nil {
				return err
			}
			if err := f.remove(ctx, name, urls); err != nil {
				return err
			}
		}
		err := f.Corpus.Write(ctx, func(c kernel.Conn) error {
			if err := f.Hold(c); err != nil {
				return err
			}
			return forget(c, source, name)
		})
		if err != nil {
			return err
		}
	}
	f.missing = missing
	return nil
}
