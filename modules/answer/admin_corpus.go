package answer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/tollgate-gateway/tollgate/backends/answer"
	"github.com/tollgate-gateway/tollgate/backends/answer/corpus"
	"github.com/tollgate-gateway/tollgate/backends/answer/corpus/fileformat"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/internal/inbound"
)

// Bounds of a request to ingest documents.
const (
	maxUpload     = 1 << 30  // the bytes of a body with documents
	maxIngestBody = 64 << 10 // the bytes of a body that names files
	maxPaths      = 100
	maxWorkers    = 8
	// progressInterval is the shortest time between two progress reports of an ingest.
	progressInterval = 200 * time.Millisecond
)

// stats serves the numbers of documents, passages and facts in the corpus.
func stats(w http.ResponseWriter, r *http.Request) error {
	if err := checkMethod(r, http.MethodGet); err != nil {
		return err
	}
	n, err := soleNode()
	if err != nil {
		return err
	}
	counted, err := n.server.Corpus.Stats(r.Context())
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, shownStatsOf(counted))
}

// documents lists the documents, or describes or removes the document that the parameter url names.
func documents(w http.ResponseWriter, r *http.Request) error {
	if err := checkMethod(r, http.MethodGet, http.MethodDelete); err != nil {
		return err
	}
	n, err := soleNode()
	if err != nil {
		return err
	}
	query := r.URL.Query()
	switch {
	case r.Method == http.MethodDelete:
		if err = n.server.Corpus.Remove(r.Context(), query.Get("url")); err == nil {
			w.WriteHeader(http.StatusNoContent)
		}
	case query.Has("url"):
		var found corpus.Description
		if found, err = n.server.Corpus.Describe(r.Context(), query.Get("url")); err == nil {
			return writeJSON(w, http.StatusOK, describedOf(found))
		}
	default:
		return listDocuments(w, r, n.server)
	}
	if errors.Is(err, corpus.ErrNotFound) {
		return refuse(http.StatusNotFound, "there is no document with this url")
	}
	return err
}

// listDocuments lists the documents that the query of a request selects.
func listDocuments(w http.ResponseWriter, r *http.Request, server *answer.Server) error {
	query := r.URL.Query()
	q := corpus.ListQuery{Kind: kernel.Kind(query.Get("kind"))}
	var afterErr, limitErr error
	if text := query.Get("after"); text != "" {
		q.After, afterErr = strconv.ParseInt(text, 10, 32)
	}
	if text := query.Get("limit"); text != "" {
		if q.Limit, limitErr = strconv.Atoi(text); q.Limit < 1 {
			limitErr = strconv.ErrRange
		}
	}
	if afterErr != nil || limitErr != nil || q.After < 0 || q.Limit > 1000 {
		return refuse(http.StatusBadRequest, "after must be a whole number of at least 0, and limit from 1 to 1000")
	}
	list, err := server.Corpus.List(r.Context(), q)
	if err != nil {
		return err
	}
	shown := make([]shownDocument, len(list))
	for i, d := range list {
		shown[i] = shownDocumentOf(d)
	}
	return writeJSON(w, http.StatusOK, map[string]any{"documents": shown})
}

// ingesting is locked while an ingest over HTTP runs. Only one may run at a time.
var ingesting sync.Mutex

// ingestion is a request to ingest files.
type ingestion struct {
	Paths   []string `json:"paths"`   // files and folders on this machine
	Issuer  string   `json:"issuer"`  // the issuer of documents that do not name one
	Workers int      `json:"workers"` // the number of files read at the same time; 0 for the default
}

// progressLine is a line in the response to an ingest: the progress so far or, in the last line, the result.
type progressLine struct {
	Status string `json:"status"` // running, done or failed
	ingestResult
	Files int    `json:"files"`           // the number of files
	Read  int    `json:"read"`            // the number of files that have been read
	Bytes int64  `json:"bytes"`           // the total size of the files
	Done  int64  `json:"done"`            // the bytes that have been read
	Error string `json:"error,omitempty"` // the error that ended the ingest
}

// ingest ingests the documents in the body, one per line, or files of this machine, and answers with lines that report
// the progress; see progressLine. It stops when the client disconnects. If the client then repeats the request, the
// work continues where it stopped, because documents that are already in the corpus are skipped.
func ingest(w http.ResponseWriter, r *http.Request) error {
	if err := checkMethod(r, http.MethodPost); err != nil {
		return err
	}
	n, err := soleNode()
	if err != nil {
		return err
	}
	if !ingesting.TryLock() {
		return refuse(http.StatusConflict, "another ingest is already running")
	}
	defer ingesting.Unlock()
	if app := n.newest.App(); app != nil { // keeps the database open during a reload
		defer app.Acquire()()
	}
	source, removeBody, err := readIngestion(w, r)
	if err != nil {
		return err
	}
	defer removeBody()
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)

	w.Header().Set("Content-Type", "application/jsonl")
	w.Header().Set("Cache-Control", "no-store")
	out := json.NewEncoder(w)
	send := func(line *progressLine) {
		_ = out.Encode(line) // an error means that the client has left
		_ = http.NewResponseController(w).Flush()
	}
	line := &progressLine{Status: "running", ingestResult: ingestResult{Problems: []string{}}}
	lastSent := time.Now()
	send(line)
	for _, path := range source.Paths {
		base := *line // the progress of the earlier paths
		report, failed := n.server.Corpus.Ingest(ctx, path, corpus.IngestOptions{
			Workers: source.Workers, Source: fileformat.Source{Issuer: fileformat.Company{Name: source.Issuer}},
			Progress: func(p corpus.Progress) {
				if caddy.Exiting() {
					cancel(errors.New("the server is shutting down"))
				}
				*line = base.plus(p, nil)
				if time.Since(lastSent) >= progressInterval {
					lastSent = time.Now()
					send(line)
				}
			},
		})
		if report != nil {
			*line = base.plus(report.Progress, report.Problems)
		}
		if failed != nil { // the response has begun, so a line reports the error
			line.Status, line.Error = "failed", failed.Error()
			send(line)
			return nil
		}
	}
	line.Status = "done"
	send(line)
	return nil
}

// plus returns the line with the progress and the problems of one more file or folder added.
func (t progressLine) plus(p corpus.Progress, problems []string) progressLine {
	t.add(p, problems)
	t.Files += p.Files
	t.Read += p.Read
	t.Bytes += p.Bytes
	t.Done += p.Done
	return t
}

// readIngestion reads from the request what to ingest: either paths in a JSON object, or documents. It stores
// documents in a temporary file. If it returns no error, the caller must call removeBody, which removes this file.
func readIngestion(w http.ResponseWriter, r *http.Request) (source ingestion, removeBody func(), err error) {
	mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		mediaType = "" // is refused below
	}
	body := inbound.Default.Long(w, r) // allows more than the ten seconds that the admin endpoint gives a request
	switch mediaType {
	case "application/json":
		source, err = readPaths(body)
		removeBody = func() {} // there is no file to remove
	case "application/jsonl", "application/x-ndjson":
		var path string
		path, removeBody, err = storeBody(body)
		source.Paths = []string{path}
	default:
		err = refuse(http.StatusUnsupportedMediaType,
			"send documents as application/jsonl, or the paths of files as application/json")
	}
	if err == nil {
		body.Done()
	}
	return source, removeBody, err
}

// readPaths reads a body that names files.
func readPaths(body io.Reader) (source ingestion, err error) {
	decoder := json.NewDecoder(io.LimitReader(body, maxIngestBody))
	decoder.DisallowUnknownFields()
	if err = decoder.Decode(&source); err != nil {
		return source, refuse(http.StatusBadRequest,
			"the body must be a JSON object with paths and, optionally, issuer and workers: "+err.Error())
	}
	if n := len(source.Paths); n == 0 || n > maxPaths || source.Workers < 0 || source.Workers > maxWorkers {
		return source, refuse(http.StatusBadRequest,
			fmt.Sprintf("paths must have from 1 to %d elements, and workers must be from 0 to %d", maxPaths, maxWorkers))
	}
	return source, nil
}

// storeBody writes a body with documents to a file in a new temporary folder. It returns the path of the file, and the
// function that removes the folder if there is no error. The file's name is a digest of the body, so that a document
// without a URL is recognised when it is sent again. Errors about the body have the status for the client.
func storeBody(body io.Reader) (path string, remove func(), err error) {
	dir, err := os.MkdirTemp("", "tollgate-ingest-")
	if err != nil {
		return "", nil, err
	}
	removeDir := func() { _ = os.RemoveAll(dir) }
	defer func() {
		if err != nil {
			removeDir()
		}
	}()
	f, err := os.Create(filepath.Join(dir, "body"))
	if err != nil {
		return "", nil, err
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(f, sum), io.LimitReader(body, maxUpload+1))
	err = errors.Join(err, f.Close())
	switch {
	case inbound.TooSlow(err):
		return "", nil, refuse(http.StatusRequestTimeout, "the body was sent too slowly")
	case err != nil:
		return "", nil, err
	case n > maxUpload:
		return "", nil, refuse(http.StatusRequestEntityTooLarge,
			"the body has more than 1 GiB: send the documents in several requests")
	}
	path = filepath.Join(dir, "upload-"+hex.EncodeToString(sum.Sum(nil)[:8])+".jsonl")
	return path, removeDir, os.Rename(f.Name(), path)
}
