package answer

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	neturl "net/url"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/answer/accounts"
	"github.com/tollgate-gateway/tollgate/backends/answer/api"
	"github.com/tollgate-gateway/tollgate/backends/answer/corpus"
	"github.com/tollgate-gateway/tollgate/backends/answer/intake"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/library"
	"github.com/tollgate-gateway/tollgate/backends/answer/models"
	"github.com/tollgate-gateway/tollgate/backends/answer/pipeline"
	"github.com/tollgate-gateway/tollgate/backends/answer/retrieve"
	"github.com/tollgate-gateway/tollgate/backends/answer/web"
	"github.com/tollgate-gateway/tollgate/internal/counters"
	"github.com/tollgate-gateway/tollgate/internal/jobs"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/look"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Options configure a Server.
type Options struct {
	DB       *store.DB
	Counters counters.Store
	Logger   func() *zap.Logger
	Now      func() time.Time
	// Keyring returns the keyring that seals stored answers. A nil Keyring stores them in plain text.
	Keyring func() (keyring.Keyring, error)
	// BaseURL is the public URL of the service, without a slash at its end. The URLs of documents without a
	// public address, and of answers that are fetched later, begin with it. With an empty BaseURL they begin
	// with /v1.
	BaseURL string
	// Model writes and judges answers. With a nil Model answers are extracted from the passages by rules alone.
	Model models.Model
	// ExtractWhenDown makes the service extract answers while no model can be used. Such answers are not
	// remembered. Default: while no model can be used, the service is unavailable.
	ExtractWhenDown bool
	// Dense makes embedding vectors, by which passages are found in addition to their words. The vectors of the
	// corpus are made in the background. With a nil Dense passages are found by words alone.
	Dense retrieve.Embedder
	// Web searches the web in addition to the corpus. With a nil Web only the corpus is searched.
	Web retrieve.Web
	// Accounts, Running, Queued and LogQueries are described in the packages accounts and api.
	Accounts        accounts.Options
	Running, Queued int
	LogQueries      bool
	// Deadline is how long a question may take, including the time it waits in the queue. A reservation of quota
	// lasts one minute longer. Default: 115s.
	Deadline time.Duration
	// CompareMin is the least number of issuers in a comparison that counts as screening. Default: 2.
	CompareMin int
	// Remember is how long a repeated question gets its earlier answer, as long as the corpus does not change. With 0
	// answers are not remembered.
	Remember time.Duration
	// Watch is a folder whose files are ingested. Fetch is a list of addresses whose documents are ingested. Either may
	// be nil.
	Watch *Watch
	Fetch *Fetch
	// ObserveIntake is called for each document of Watch (source "watch") and Fetch (source "fetch") with its outcome.
	// It may be nil.
	ObserveIntake func(source, outcome string)
	// Observe is called for every question that was accepted, with the reason that package api defines. ObserveJob is
	// called for every run of a background job, with the number of items that it processed. Both may be nil.
	Observe    func(reason string, took time.Duration)
	ObserveJob func(job, outcome string, done int)
	// ObserveTrace is called with the trace of each question. ObserveReserved is called after each run of the
	// reap job with the number of answers that are reserved from quotas on all nodes. Both may be nil.
	ObserveTrace    func(t *pipeline.Trace)
	ObserveReserved func(n int)
	// Bar returns the content of the bar at the top of the pages for the sender of a request. Default: an empty bar.
	Bar func(*http.Request) look.Bar
}

// Watch is a watched folder. Its fields are described at intake.Folder.
type Watch struct {
	Path   string
	Every  time.Duration
	Remove bool
}

// Fetch is a list of addresses. Its fields are described at intake.List.
type Fetch struct {
	Path   string
	Every  time.Duration
	Client *http.Client
}

// Server is the answer service. Make it with New.
type Server struct {
	// Corpus holds the documents, Accounts the callers and their keys.
	Corpus   *corpus.Corpus
	Accounts *accounts.Accounts

	now        func() time.Time
	compareMin int // see Options.CompareMin
	retrieval  retrieve.Options
	bar        func(*http.Request) look.Bar

	api      *api.API
	jobs     *jobs.Runner
	stopJobs func() // nil before Start
}

const (
	// reapEvery is the interval at which the reservations of crashed processes are released.
	reapEvery  = 30 * time.Second
	purgeEvery = time.Hour
	// leaseExtra is added to a question's deadline to get the lifetime of its reservation.
	leaseExtra = time.Minute
	// purgeBatch is how many expired answers are deleted in one transaction.
	purgeBatch = 500
	// embedEvery is the interval at which passages without a vector are looked for. After embedLease without a sign of
	// life from the process that makes vectors, another process may take over.
	embedEvery, embedLease = 30 * time.Second, 3 * time.Minute
	// checkModelEvery is the interval at which the embedding model is checked for a change, unless a question reveals
	// the change earlier.
	checkModelEvery = time.Hour
	// After intakeLease without a sign of life from the process that ingests documents, another process may take over.
	intakeLease = 3 * time.Minute
	// fetchEvery is the longest interval at which the list of addresses is checked for addresses that are due.
	fetchEvery = time.Minute
	// sourceChunks is the largest number of a document's passages that the service shows.
	sourceChunks = 2000
)

// New returns a Server. It does nothing in the background before Start is called.
func New(o Options) *Server {
	o.Deadline = cmp.Or(o.Deadline, 115*time.Second)
	o.Accounts.Lease = o.Deadline + leaseExtra
	k := &kernel.Server{DB: o.DB, Logger: o.Logger, Now: o.Now}
	s := &Server{
		Corpus: corpus.New(k), Accounts: accounts.New(k, o.Accounts), now: o.Now, compareMin: o.CompareMin,
		retrieval: retrieve.Options{Dense: o.Dense, Web: o.Web}, bar: look.Always(o.Bar),
	}
	asks := pipeline.New(retrieve.New(s.Corpus, s.retrieval), s.Corpus.Issuers, o.Model, o.Now, pipeline.Options{
		Deadline: o.Deadline, CompareMin: o.CompareMin, ExtractWhenDown: o.ExtractWhenDown, Outside: o.Web != nil,
		SourceURL: func(url string) string { return sourceURL(o.BaseURL, url) },
	})
	var answerer api.Asker = asker{asks, o.ObserveTrace}
	if o.Remember > 0 {
		answerer = &remembering{
			Asker: answerer, lasts: o.Remember, now: o.Now, version: s.Corpus.Version,
			outcomes: make(map[string]remembered),
		}
	}
	s.api = api.New(api.Options{
		Kernel: k, Accounts: s.Accounts, Asker: answerer, Counters: o.Counters, Keyring: o.Keyring, Source: s.source,
		BaseURL: o.BaseURL,
		Library: library.New(k), Passages: s.Corpus.Passages,
		SourceURL: func(url string) string { return sourceURL(o.BaseURL, url) },
		Running:   o.Running, Queued: o.Queued, Deadline: o.Deadline, LogQueries: o.LogQueries, Observe: o.Observe,
	})
	work := []jobs.Job{
		{Name: "reap", Every: reapEvery, Run: func(ctx context.Context) (int, error) {
			return 0, s.reap(ctx, o.ObserveReserved)
		}},
		{Name: "purge", Every: purgeEvery, Run: func(ctx context.Context) (int, error) {
			n, err := s.Accounts.Purge(ctx, purgeBatch)
			return int(n), err
		}},
	}
	if o.Dense != nil {
		lease := &jobs.Lease{
			DB: o.DB, Table: "answer_leases", Name: "embed " + o.Dense.Model(), Holder: rand.Text(), Every: embedEvery,
			Lasts: embedLease, Now: o.Now,
		}
		work = append(work, jobs.Job{Name: "embed", Every: embedEvery, Run: s.embed(o.Dense, lease.Hold), Lease: lease})
	}
	work = append(work, s.intake(o)...)
	s.jobs = jobs.New(jobs.Options{Logger: o.Logger, Observe: o.ObserveJob, Jobs: work})
	return s
}

// intake returns the jobs that ingest documents: one for the watched folder and one for the list of addresses, if they
// are configured.
func (s *Server) intake(o Options) (work []jobs.Job) {
	// add adds a job. The parameter job is the name of the job in metrics, and name is the name of its lease.
	add := func(job, name string, every time.Duration, run func(intake.Options) func(context.Context) (int, error)) {
		lease := &jobs.Lease{
			DB: o.DB, Table: "answer_leases", Name: name, Holder: rand.Text(), Every: every,
			Lasts: intakeLease, Now: o.Now,
		}
		options := intake.Options{Corpus: s.Corpus, Hold: lease.Hold}
		if o.ObserveIntake != nil {
			options.Observe = func(outcome string) { o.ObserveIntake(job, outcome) }
		}
		work = append(work, jobs.Job{Name: job, Every: every, Run: run(options), Lease: lease})
	}
	if w := o.Watch; w != nil {
		add("watch", "watch "+w.Path, w.Every, func(options intake.Options) func(context.Context) (int, error) {
			return (&intake.Folder{Options: options, Path: w.Path, Remove: w.Remove}).Run
		})
	}
	if f := o.Fetch; f != nil {
		add("fetch", "fetch", min(f.Every, fetchEvery), func(options intake.Options) func(context.Context) (int, error) {
			return (&intake.List{Options: options, Path: f.Path, Every: f.Every, Client: f.Client}).Run
		})
	}
	return work
}

// reap releases the reservations of crashed processes. Unless observe is nil, reap calls it with the number of
// reservations that remain.
func (s *Server) reap(ctx context.Context, observe func(n int)) error {
	if err := s.Accounts.Reap(ctx); err != nil || observe == nil {
		return err
	}
	n, err := s.Accounts.Reserved(ctx)
	if err == nil {
		observe(n)
	}
	return err
}

// embedLogInterval is the interval of the log messages while vectors are made.
const embedLogInterval = 10 * time.Second

// embed returns a job that makes the missing vectors of passages. The job calls hold in each transaction to keep the
// lease, so that no other process does the same work. A run does nothing unless the corpus has changed, a question
// has found that the embedding model has changed, or the last check was at least checkModelEvery ago.
func (s *Server) embed(
	embedder retrieve.Embedder, hold func(c store.Conn) error,
) func(ctx context.Context) (int, error) {
	// The state of the job between its runs, which never overlap.
	complete := int64(-1) // the last version of the corpus in which all passages had a vector
	var lastCheck time.Time
	var doubts int64 // the result of Corpus.Doubts at lastCheck
	return func(ctx context.Context) (int, error) {
		version, err := s.Corpus.Version(ctx)
		if err != nil {
			return 0, err
		}
		modelChecked := s.Corpus.Doubts() == doubts && s.now().Sub(lastCheck) < checkModelEvery
		if version == complete && modelChecked { // looking through a million passages would take a while
			return 0, nil
		}
		lastCheck, doubts = s.now(), s.Corpus.Doubts()
		lastLog := time.Now()
		count, err := s.Corpus.Embed(ctx, embedder, func(c kernel.Conn, count int) error {
			if time.Since(lastLog) >= embedLogInterval {
				lastLog = time.Now()
				s.Corpus.Logger().Info("making vectors of passages", zap.String("model", embedder.Model()), zap.Int("made", count))
			}
			return hold(c)
		})
		if count > 0 {
			s.Corpus.Logger().Info("vectors of passages made", zap.String("model", embedder.Model()), zap.Int("made", count))
		}
		if err == nil {
			complete = version
		}
		return count, err
	}
}

// ServeHTTP serves the web page to browsers and the API to all other clients.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !web.Serve(w, r, s.bar(r)) {
		s.api.ServeHTTP(w, r)
	}
}

// Bar returns the content of the bar at the top of the pages for the sender of a request.
func (s *Server) Bar(r *http.Request) look.Bar { return s.bar(r) }

// Waiting returns how many questions are being worked on or waiting.
func (s *Server) Waiting() int { return s.api.Waiting() }

// Trace returns the outcome of a question and how it was reached, for operators. It returns accounts.ErrNoAnswer
// if there is no such answer.
func (s *Server) Trace(ctx context.Context, id string) (*api.Trace, error) {
	return s.api.Trace(ctx, id)
}

// Recent returns at most limit answers of all accounts, newest first and without their texts. The list begins after the
// answer with the id beforeID, or with the newest answer if beforeID is empty.
func (s *Server) Recent(ctx context.Context, beforeID string, limit int) ([]api.Trace, error) {
	return s.api.Recent(ctx, beforeID, limit)
}

// TracePage serves the trace of an answer as a web page, with the texts of those passages that are still in
// the corpus. It returns accounts.ErrNoAnswer if there is no such answer.
func (s *Server) TracePage(w http.ResponseWriter, r *http.Request, id string) error {
	found, err := s.api.Trace(r.Context(), id)
	if err != nil {
		return err
	}
	page, err := web.NewTrace(found)
	if err != nil {
		return err
	}
	passages, err := s.Corpus.Passages(r.Context(), page.Found())
	if err != nil {
		return err
	}
	return page.Serve(w, s.bar(r), passages)
}

// Start starts the background jobs. Further calls do nothing.
func (s *Server) Start() {
	if s.stopJobs == nil {
		s.stopJobs = s.jobs.Start()
	}
}

// Close cancels the questions that are under way, which are then not charged, and ends the background jobs.
func (s *Server) Close() {
	s.api.Close()
	if s.stopJobs != nil {
		s.stopJobs()
	}
}

// corpusScheme is the URL scheme of documents without a public address.
const corpusScheme = "corpus:"

// sourceURL returns the public URL of a document. url is the URL of the document in the corpus, and base is
// Options.BaseURL.
func sourceURL(base, url string) string {
	if id, private := strings.CutPrefix(url, corpusScheme); private {
		return base + "/v1/sources/" + (&neturl.URL{Path: id}).EscapedPath()
	}
	return url
}

// source returns a document that has no public address. Its URL in the corpus is corpusScheme followed by id. The
// text of the result consists of at most the first sourceChunks passages of the document. ok is false if there is no
// such document.
func (s *Server) source(ctx context.Context, id string) (source api.Source, ok bool, err error) {
	d, err := s.Corpus.Document(ctx, corpusScheme+id)
	if errors.Is(err, corpus.ErrNotFound) {
		return source, false, nil
	}
	if err != nil {
		return source, false, err
	}
	passages, err := s.Corpus.Text(ctx, d.ID, 0, sourceChunks)
	var text strings.Builder
	for _, p := range passages {
		text.WriteString(p.Text)
		text.WriteString("\n\n")
	}
	return api.Source{Title: d.Title, Text: text.String()}, true, err
}

// asker adapts a pipeline.Pipeline to api.Asker.
type asker struct {
	*pipeline.Pipeline
	record func(t *pipeline.Trace) // may be nil
}

// Ask implements api.Asker.
func (a asker) Ask(ctx context.Context, r pipeline.Request, progress func(stage string)) api.Outcome {
	o, trace := a.Pipeline.Ask(ctx, r, progress)
	if a.record != nil {
		a.record(trace)
	}
	out := api.Outcome{
		Reason: o.Reason, Answer: o.Answer, References: o.References, Subqueries: o.Subqueries, Asked: o.Asked,
		Makeshift: o.Makeshift, Trace: trace,
	}
	for _, c := range o.Claims {
		claim := api.Claim{Text: c.Text}
		for _, p := range c.Passages {
			if p.ID != 0 { // passages of the web have no id; their URL is among the references
				claim.Passages = append(claim.Passages, p.ID)
			}
		}
		out.Claims = append(out.Claims, claim)
	}
	return out
}

// Sealed lists the columns of the service that hold sealed texts.
var Sealed = api.Sealed
