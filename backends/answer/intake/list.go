package intake

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/answer/corpus"
	"github.com/tollgate-gateway/tollgate/backends/answer/corpus/fileformat"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
)

// List fetches the addresses in a file at intervals. It must be used by one goroutine only.
type List struct {
	Options
	// Path is the path of the file.
	Path string
	// Every is the time after which an address is fetched again.
	Every time.Duration
	// Client sends the requests. It must guard the addresses that it connects to, and must not follow redirects.
	Client *http.Client

	lastProblem string // the last problem of the file that was logged
}

// Bounds of lists and responses.
const (
	maxList      = 4 << 20 // bytes
	maxAddresses = 10_000
	maxAddress   = 2000     // bytes
	maxBody      = 64 << 20 // bytes
	maxRedirects = 5
	maxHeader    = 500 // bytes of a stored response header

	// FetchTimeout is how long a fetch may take, including redirects.
	FetchTimeout = 2 * time.Minute
)

// fetchSource is the value of the column source in the rows that say when an address was fetched, and with what result.
const fetchSource = "fetch"

// Run fetches the addresses that are due, one after another, and returns how many it fetched. It deletes the states of
// addresses that are no longer in the list. If the list cannot be read, or has lines that are not addresses, Run logs
// the problem and returns no error. It returns an error if the database fails, if the lease is lost, or if ctx ends.
func (l *List) Run(ctx context.Context) (int, error) {
	addresses, err := l.read()
	if err != nil {
		l.observe(OutcomeFailed)
		l.logProblem(err.Error())
		if addresses == nil { // otherwise the list was read, but has wrong lines
			return 0, nil
		}
	} else {
		l.logProblem("")
	}
	known, err := l.entries(ctx, fetchSource)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, address := range addresses {
		previous, ok := known[address]
		delete(known, address)
		// If the next attempt is farther away than l.Every, its time was set when a longer interval was configured, and
		// the address is fetched now.
		now := l.Corpus.Now() // fetching takes time, so each address is compared with the time of its turn
		if ok && previous.due > now.UnixMicro() && previous.due <= now.Add(l.Every).UnixMicro() {
			continue
		}
		if err := l.hold(ctx); err != nil {
			return n, err
		}
		updated, err := l.ingest(ctx, address, previous)
		if err != nil {
			return n, err
		}
		n++
		err = l.Corpus.Write(ctx, func(c kernel.Conn) error {
			if err := l.Hold(c); err != nil {
				return err
			}
			return putEntry(c, fetchSource, address, updated)
		})
		if err != nil {
			return n, err
		}
	}
	for address := range known {
		if err := l.Corpus.Write(ctx, func(c kernel.Conn) error { return forget(c, fetchSource, address) }); err != nil {
			return n, err
		}
	}
	return n, nil
}

// logProblem logs the problem of the list if it differs from that of the last call. The empty problem means that there
// is none.
func (l *List) logProblem(problem string) {
	if problem == l.lastProblem {
		return
	}
	l.lastProblem = problem
	message := "the list of addresses to fetch cannot be read in full"
	if problem == "" {
		message = "the list of addresses to fetch can be read in full again"
	}
	l.logger().Warn(message, zap.String("file", l.Path), zap.String("reason", problem))
}

// read reads the list; see parse.
func (l *List) read() ([]string, error) {
	f, err := os.Open(l.Path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return parse(f)
}

// parse parses a list of addresses, one per line. Empty lines and lines that begin with # are ignored. Lines that are
// not addresses are skipped, and the first ten of them are reported in the error, together with the addresses of the
// other lines. For a list that is too long or cannot be read it returns nil and an error.
func parse(r io.Reader) ([]string, error) {
	var wrong []error
	addresses, seen := []string{}, make(map[string]bool) // not nil, even without addresses
	limited := &io.LimitedReader{R: r, N: maxList + 1}
	lines := bufio.NewScanner(limited)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' || seen[line] {
			continue
		}
		u, err := url.Parse(line)
		if err != nil || !kernel.IsHTTP(u) || u.User != nil || len(line) > maxAddress ||
			line != stored(line) || strings.ContainsAny(line, " \t") {
			if len(wrong) < 10 {
				wrong = append(wrong, fmt.Errorf("line %d is not an http or https URL without a user name", n))
			}
			continue
		}
		if len(addresses) == maxAddresses {
			return nil, fmt.Errorf("the list has more than %d addresses", maxAddresses)
		}
		seen[line] = true
		addresses = append(addresses, line)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if limited.N == 0 {
		return nil, fmt.Errorf("the list has more than %d bytes", maxList)
	}
	return addresses, errors.Join(wrong...)
}

// ingest fetches an address, ingests its document, and returns the new state of the address. previous is its state
// before. ingest returns an error only if the database fails or ctx ends.
func (l *List) ingest(ctx context.Context, address string, previous entry) (entry, error) {
	updated, now := previous, l.Corpus.Now()
	f, err := l.fetch(ctx, address, previous)
	switch {
	case ctx.Err() != nil:
		return updated, ctx.Err()
	case err != nil:
		l.observe(OutcomeFailed)
		if problem := cut(err.Error()); problem != previous.problem {
			updated.problem = problem
			l.logger().Warn("address not fetched", zap.String("url", address), zap.Error(err))
		}
		updated.failures++
		updated.due = now.Add(pause(updated.failures, min(l.Every, longestPause))).UnixMicro()
		return updated, nil
	case f.unchanged:
		l.observe(corpus.Skipped.String())
		updated.failures, updated.due = 0, now.Add(l.Every).UnixMicro()
		return updated, nil
	}
	updated = entry{etag: f.etag, modified: f.modified, due: now.Add(l.Every).UnixMicro()}
	base := fileformat.Source{URL: address, Title: f.title}
	err = l.Corpus.IngestBody(ctx, f.extension, f.body, base, func(t corpus.DocumentResult) {
		if t.Err == nil {
			l.observe(t.Outcome.String())
			return
		}
		l.observe(OutcomeRefused)
		updated.problem = cut(t.Err.Error())
		if _, refused := errors.AsType[*fileformat.RefusedError](t.Err); !refused {
			updated.etag, updated.modified = "", "" // the next attempt may succeed
		}
		if updated.problem != previous.problem {
			l.logger().Warn("document not ingested", zap.String("url", address), zap.Error(t.Err))
		}
	})
	return updated, err
}

// fetched is the response from an address.
type fetched struct {
	unchanged      bool   // the document has not been modified; the other fields are empty
	etag, modified string // the response headers ETag and Last-Modified
	extension      string // the extension of a file of this kind, with the dot
	title          string // from the last part of the URL, or its host
	body           []byte
}

// fetch gets the document at an address if it has changed since the last successful fetch. previous is the stored
// state of the address. The error of fetch describes why the document could not be fetched; it does not contain the
// address.
func (l *List) fetch(ctx context.Context, address string, previous entry) (*fetched, error) {
	ctx, cancel := context.WithTimeout(ctx, FetchTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("User-Agent", "Tollgate")
	if previous.etag != "" {
		r.Header.Set("If-None-Match", previous.etag)
	}
	if previous.modified != "" {
		r.Header.Set("If-Modified-Since", previous.modified)
	}
	client := *l.Client
	client.CheckRedirect = func(r *http.Request, requests []*http.Request) error {
		if len(requests) > maxRedirects || !kernel.IsHTTP(r.URL) || r.URL.User != nil {
			return errors.New("too many redirects, or a redirect to something other than an http or https URL")
		}
		return nil
	}
	response, err := client.Do(r)
	if err != nil {
		if inner, ok := errors.AsType[*url.Error](err); ok { // its text would contain the address
			err = inner.Err
		}
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode == http.StatusNotModified {
		return &fetched{unchanged: true}, nil
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the server answered with status %d", response.StatusCode)
	}
	mediaType, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if err != nil {
		mediaType = ""
	}
	location := response.Request.URL.Path
	f := &fetched{
		etag: header(response, "ETag"), modified: header(response, "Last-Modified"),
		extension: corpus.Extension(mediaType, location),
	}
	if f.extension == "" {
		return nil, fmt.Errorf("documents of the media type %q are not supported", cut(mediaType))
	}
	f.title = strings.TrimSuffix(path.Base(location), path.Ext(location))
	if f.title == "" || f.title == "." || f.title == "/" {
		f.title = response.Request.URL.Hostname()
	}
	f.body, err = io.ReadAll(io.LimitReader(response.Body, maxBody+1))
	if err == nil && len(f.body) > maxBody {
		err = fmt.Errorf("the document has more than %d MiB", maxBody>>20)
	}
	return f, err
}

// header returns the value of a response header that a later request sends back. It returns the empty string if the
// value is too long or cannot be stored.
func header(r *http.Response, name string) string {
	if value := r.Header.Get(name); len(value) <= maxHeader && value == stored(value) {
		return value
	}
	return ""
}
