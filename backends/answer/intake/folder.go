package intake

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/answer/corpus"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
)

// Folder ingests the files of a watched folder. It is used by one goroutine.
type Folder struct {
	Options
	// Path is the absolute path of the folder.
	Path string
	// Remove removes the documents of files that have disappeared.
	Remove bool

	seen    map[string]string // the stamps of the files that were waiting to be read in the previous round
	missing map[string]bool   // the files that were missing in the previous round
	trouble string            // the last problem that was logged
}

const (
	// filesAtOnce is how many files are read before their state is stored.
	filesAtOnce = 32
	// holdEvery is the interval at which the lease is renewed while files are read.
	holdEvery = 30 * time.Second
	// longestPause is the longest time that a file waits after it could not be read.
	longestPause = time.Hour
)

// Run makes one round: it ingests the files that have changed since they were read, or whose next attempt is
// due, and that did not change since the previous round. It returns their number. A folder that cannot be
// read is logged and is no error.
func (f *Folder) Run(ctx context.Context) (int, error) {
	path, err := filepath.EvalSymlinks(f.Path)
	var files []corpus.File
	if err == nil {
		files, err = corpus.Files(path)
	}
	if err != nil {
		f.observe(OutcomeFailed)
		f.tell("the watched folder cannot be read", err.Error())
		return 0, nil
	}
	source := "watch:" + f.Path
	known, err := f.entries(ctx, source)
	if err != nil {
		return 0, err
	}
	now := f.Corpus.Micros()
	seen := make(map[string]string)
	var changed []corpus.File
	for _, file := range files {
		previous, ok := known[stored(file.Name)]
		if ok && previous.stamp == file.Stamp && (previous.due == 0 || previous.due > now) {
			continue
		}
		if f.seen[file.Name] == file.Stamp {
			changed = append(changed, file)
		}
		seen[file.Name] = file.Stamp
	}
	f.seen = seen
	if len(files) == 0 && len(known) > 0 {
		f.tell("the watched folder is empty: nothing is removed", "empty")
		return 0, nil
	}
	f.tell("the watched folder can be read again", "")
	for some := range slices.Chunk(changed, filesAtOnce) {
		if err := f.take(ctx, path, source, some, known); err != nil {
			return 0, err
		}
	}
	return len(changed), f.sweep(ctx, source, files, known)
}

// tell logs a problem of the folder when it begins and when it ends.
func (f *Folder) tell(message, trouble string) {
	if trouble != f.trouble {
		f.trouble = trouble
		f.logger().Warn(message, zap.String("folder", f.Path), zap.String("reason", trouble))
	}
}

// result is the result of reading a file.
type result struct {
	urls    []string
	problem string
	retry   bool
}

// take ingests files and stores their state.
func (f *Folder) take(ctx context.Context, path, source string, files []corpus.File, known map[string]entry) error {
	results := make(map[string]*result, len(files))
	for _, file := range files {
		results[file.Name] = new(result)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	last := time.Now()
	_, err := f.Corpus.IngestFiles(ctx, path, files, corpus.IngestOptions{
		Document: func(t corpus.Taken) {
			r := results[t.File]
			if t.Err == nil {
				f.observe(t.Outcome.String())
				r.urls = append(r.urls, t.URL)
				return
			}
			_, refused := errors.AsType[*corpus.RefusedError](t.Err)
			r.retry = r.retry || !refused
			if f.observe(OutcomeRefused); r.problem != "" {
				return // of a file with many documents, the first problem is reported
			}
			r.problem = cut(t.Err.Error())
			if known[stored(t.File)].problem != r.problem || refused {
				f.logger().Warn("document not taken in", zap.String("file", t.File), zap.String("url", t.URL), zap.Error(t.Err))
			}
		},
		Progress: func(corpus.Progress) {
			if time.Since(last) < holdEvery {
				return
			}
			last = time.Now()
			if err := f.hold(ctx); err != nil {
				cancel(err)
			}
		},
	})
	if err != nil {
		return err
	}
	if f.Remove {
		for name, r := range results {
			if r.problem != "" {
				continue // what cannot be read may still be in the file
			}
			gone, err := f.only(ctx, source, stored(name))
			if err != nil {
				return err
			}
			gone = slices.DeleteFunc(gone, func(url string) bool { return slices.Contains(r.urls, url) })
			if err := f.remove(ctx, name, gone); err != nil {
				return err
			}
		}
	}
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
			if err := put(c, source, name, e); err != nil {
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

// sweep forgets files that have been missing for two rounds, and removes their documents if f.Remove is set.
func (f *Folder) sweep(ctx context.Context, source string, files []corpus.File, known map[string]entry) error {
	for _, file := range files {
		delete(known, stored(file.Name))
	}
	missing := make(map[string]bool)
	for name := range known {
		if !f.missing[name] {
			missing[name] = true
			continue
		}
		if f.Remove {
			urls, err := f.only(ctx, source, name)
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
