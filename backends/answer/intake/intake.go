// Package intake ingests documents while the server runs: the files of a watched folder, and the documents at the
// addresses of a list. It stores the state of what it has read, so that neither the next round nor a restart reads a
// document again.
//
// A round looks once at all files or addresses. An entry is the stored state of one of them. The stamp of a file
// changes when the file does. A lease, which the rounds renew, ensures that only one node does the work.
//
// Choices where the specification is silent:
//   - The documents of a file that disappears stay in the corpus unless the operator wants them removed. Then
//     the file must be missing for two rounds. Nothing is removed while the whole folder is empty, because it may not
//     be mounted.
//   - A document that was removed by its address comes back when its file changes, not before.
//   - The document of an address that is removed from the list stays in the corpus.
package intake

import (
	"context"
	"errors"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/answer/corpus"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// Outcomes that Observe receives in addition to those of corpus.Outcome.
const (
	OutcomeRefused = "refused"
	OutcomeRemoved = "removed"
	// OutcomeFailed is for a file, an address or a whole folder that could not be read this time.
	OutcomeFailed = "failed"
)

// Options are common to folders and lists.
type Options struct {
	Corpus *corpus.Corpus
	// Hold renews the lease of the job within a transaction. The lease ensures that only one node reads a folder or a
	// list. An error of Hold ends the round.
	Hold func(c kernel.Conn) error
	// Observe is called with the outcome of each document. It may be nil.
	Observe func(outcome string)
}

// observe calls Observe if it is set.
func (o *Options) observe(outcome string) {
	if o.Observe != nil {
		o.Observe(outcome)
	}
}

// logger returns the current logger.
func (o *Options) logger() *zap.Logger { return o.Corpus.Logger() }

// hold renews the lease in a transaction of its own.
func (o *Options) hold(ctx context.Context) error { return o.Corpus.Write(ctx, o.Hold) }

// entry is the stored state of a file or an address. In the database it has a source, which is the folder or the list,
// and a name, which is the file or the address. For example, the source "watch:/srv/reports" has an entry with the name
// "2019/annual.pdf".
type entry struct {
	stamp          string // of a file: changes when the file changes
	etag, modified string // of an address: the response headers ETag and Last-Modified
	failures       int    // the number of consecutive failures
	problem        string // the last problem, or empty
	due            int64  // the time of the next attempt in microseconds; 0 if the file must change first
}

// maxProblem bounds the stored reason of a failure, in bytes.
const maxProblem = 500

// stored returns a text in a form that both databases accept, because file names and headers may contain any bytes.
func stored(s string) string { return text.Storable(strings.ToValidUTF8(s, "\uFFFD")) }

// cut returns the beginning of a reason, at most maxProblem bytes.
func cut(s string) string { return stored(s[:min(len(s), maxProblem)]) }

// pause returns how long to wait after a number of consecutive failures: a minute at first, doubling up to a
// limit.
func pause(failures int, limit time.Duration) time.Duration {
	p := time.Minute
	for ; failures > 1 && p < limit; failures-- {
		p *= 2
	}
	return min(p, limit)
}

// entries reads the states of all names in a source.
func (o *Options) entries(ctx context.Context, source string) (map[string]entry, error) {
	known := make(map[string]entry)
	err := o.Corpus.Read(ctx, func(c kernel.Conn) error {
		clear(known)
		return c.All("SELECT name, stamp, etag, modified, failures, problem, due FROM answer_intake WHERE source = ?",
			[]any{source}, func(r store.Row) error {
				var name string
				var e entry
				err := r.Scan(&name, &e.stamp, &e.etag, &e.modified, &e.failures, &e.problem, &e.due)
				known[name] = e
				return err
			})
	})
	return known, err
}

// putEntry stores an entry within a transaction.
func putEntry(c kernel.Conn, source, name string, e entry) error {
	_, err := c.Exec("INSERT INTO answer_intake (source, name, stamp, etag, modified, failures, problem, due) VALUES (?, ?, ?, ?, ?, ?, ?, ?) "+
		"ON CONFLICT (source, name) DO UPDATE SET stamp = excluded.stamp, etag = excluded.etag, modified = excluded.modified, "+
		"failures = excluded.failures, problem = excluded.problem, due = excluded.due",
		source, name, e.stamp, e.etag, e.modified, e.failures, e.problem, e.due)
	return err
}

// forget deletes the state of a name within a transaction.
func forget(c kernel.Conn, source, name string) error {
	if _, err := c.Exec("DELETE FROM answer_intake_documents WHERE source = ? AND name = ?", source, name); err != nil {
		return err
	}
	_, err := c.Exec("DELETE FROM answer_intake WHERE source = ? AND name = ?", source, name)
	return err
}

// putURLs stores the URLs of the documents of a file or an address, within a transaction. name is the name of the
// file or the address. If complete is true, urls are all URLs of the name, and putURLs first deletes the stored URLs
// of the name. The statements that are sent later (see store.Conn.Later) run in their order.
func putURLs(c kernel.Conn, source, name string, urls []string, complete bool) error {
	if complete {
		if _, err := c.Exec("DELETE FROM answer_intake_documents WHERE source = ? AND name = ?", source, name); err != nil {
			return err
		}
	}
	for _, url := range urls {
		err := c.Later("INSERT INTO answer_intake_documents (source, name, url) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
			source, name, url)
		if err != nil {
			return err
		}
	}
	return nil
}

// soleURLs returns the URLs of the documents that come from one source only, the file or address with the given name.
func (o *Options) soleURLs(ctx context.Context, source, name string) (urls []string, err error) {
	err = o.Corpus.Read(ctx, func(c kernel.Conn) error {
		urls, err = store.Column[string](c, "SELECT url FROM answer_intake_documents d WHERE source = ? AND name = ? AND NOT EXISTS "+
			"(SELECT 1 FROM answer_intake_documents e WHERE e.url = d.url AND (e.source <> d.source OR e.name <> d.name)) ORDER BY url", source, name)
		return err
	})
	return urls, err
}

// remove removes the documents with the given URLs from the corpus. name is the name of the file that contained them.
// Documents that the corpus does not have are skipped.
func (o *Options) remove(ctx context.Context, name string, urls []string) error {
	for _, url := range urls {
		err := o.Corpus.Remove(ctx, url)
		if errors.Is(err, corpus.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		o.observe(OutcomeRemoved)
		o.logger().Info("document removed because its file was deleted or no longer contains it",
			zap.String("file", name), zap.String("url", url))
	}
	return nil
}
