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
	"github.com/tollgate-gateway/tollgate/internal/sealed"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Options are what the service is made of.
type Options struct {
	DB       *store.DB
	Counters counters.Store
	Logger   func() *zap.Logger
	Now      func() time.Time
	// Keyring gives what seals stored answers; nil: they are stored as they are.
	Keyring func() (keyring.Keyring, error)
	// BaseURL is where the service is, without a slash at its end: references to documents
	// without a public address, and to answers that come later, begin with it. Default: they begin at /v1.
	BaseURL string
	// Model writes and judges; nil: answers are extracted, by rules alone.
	Model models.Model
	// ExtractWhenDown has answers extracted while no model can be used, which are not
	// remembered. Default: the service is unavailable.
	ExtractWhenDown bool
	// Dense makes vectors of meaning, by which passages are found, too; nil: words do. Those
	// of the corpus are made in the background.
	Dense retrieve.Embedder
	// Web searches the web, too; nil: nobody does.
	Web retrieve.Web
	// Accounts, Running, Queued and LogQueries are described at accounts and api.
	Accounts        accounts.Options
	Running, Queued int
	LogQueries      bool
	// Deadline is how long a question may take, its wait included; a reservation holds a
	// minute longer. Default: 115s.
	Deadline time.Duration
	// CompareMin is from how many issuers on a comparison is screening. Default: 2.
	CompareMin int
	// Remember is how long the same question has the same answer while the corpus does not
	// change; 0: it is worked out each time.
	Remember time.Duration
	// Watch is a folder whose files are taken in, Fetch a list of addresses; nil: there is none.
	Watch *Watch
	Fetch *Fetch
	// ObserveIntake counts documents of both, watch and fetch, by what became of them. A nil one is not called.
	ObserveIntake func(source, outcome string)
	// Observe is told of every question that was accepted, ObserveJob of every run of a
	// job; nil: nobody is.
	Observe    func(reason string, took time.Duration)
	ObserveJob func(job, outcome string, done int)
	// ObserveTrace is told how each question was worked on, ObserveReserved now and then how
	// many answers are reserved of quotas, on all nodes; nil: nobody is.
	ObserveTrace    func(t *pipeline.Trace)
	ObserveReserved func(n int)
	// Bar returns what the bar at the top of the pages shows to who asks. Default: nothing more.
	Bar func(*http.Request) look.Bar
}

// Watch is a folder that is watched; its fields are described at intake.Folder.
type Watch struct {
	Path   string
	Every  time.Duration
	Remove bool
}

// Fetch is a list of addresses; its fields are described at intake.List.
type Fetch struct {
	Path   string
	Every  time.Duration
	Client *http.Client
}

// Server is the service. Make it with New.
type Server struct {
	// Corpus is what it answers from, Accounts who asks.
	Corpus   *corpus.Corpus
	Accounts *accounts.Accounts

	now        func() time.Time
	compareMin int
	retrieval  retrieve.Options
	bar        func(*http.Request) look.Bar

	api  *api.API
	jobs *jobs.Runner
	end  func()
}

const (
	// reapEvery is how often what crashed processes have reserved is given back.
	reapEvery  = 30 * time.Second
	purgeEvery = time.Hour
	// leaseMore is how much longer than a question its reservation holds.
	leaseMore  = time.Minute
	purgeBatch = 500
	// embedEvery is how often passages without a vector are looked for, embedLease how long
	// others wait for a process that makes them and says nothing.
	embedEvery, embedLease = 30 * time.Second, 3 * time.Minute
	// embedAnew is how often it is asked whether the model that made the vectors still answers, where no question has
	// found out.
	embedAnew = time.Hour
	// intakeLease is how long others wait for a process that takes documents in and says nothing.
	intakeLease = 3 * time.Minute
	// fetchEvery is how often it is looked which addresses are due.
	fetchEvery = time.Minute
	// sourceChunks bounds the text of a document that is shown.
	sourceChunks = 2000
)

// New makes a server, which does nothing in the background before Start.
func New(o Options) *Server {
	o.Deadline = cmp.Or(o.Deadline, 115*time.Second)
	o.Accounts.Lease = o.Deadline + leaseMore
	k := &kernel.Server{DB: o.DB, Logger: o.Logger, Now: o.Now}
	s := &Server{Corpus: corpus.New(k), Accounts: accounts.New(k, o.Accounts), now: o.Now, compareMin: o.CompareMin, retrieval: retrieve.Options{Dense: o.Dense, Web: o.Web}, bar: look.Always(o.Bar)}
	asks := pipeline.New(retrieve.New(s.Corpus, s.retrieval), s.Corpus.Issuers, o.Model, o.Now, pipeline.Options{
		Deadline: o.Deadline, CompareMin: o.CompareMin, ExtractWhenDown: o.ExtractWhenDown, Outside: o.Web != nil, SourceURL: func(url string) string { return sourceURL(o.BaseURL, url) },
	})
	var from api.Asker = asker{asks, o.ObserveTrace}
	if o.Remember > 0 {
		from = &remembering{Asker: from, lasts: o.Remember, now: o.Now, version: s.Corpus.Version, outcomes: make(map[string]remembered)}
	}
	s.api = api.New(api.Options{
		Kernel: k, Accounts: s.Accounts, Asker: from, Counters: o.Counters, Keyring: o.Keyring, Source: s.source, BaseURL: o.BaseURL,
		Library: library.New(k), Passages: s.Corpus.Passages, SourceURL: func(url string) string { return sourceURL(o.BaseURL, url) },
		Running: o.Running, Queued: o.Queued, Deadline: o.Deadline, LogQueries: o.LogQueries, Observe: o.Observe,
	})
	work := []jobs.Job{
		{Name: "reap", Every: reapEvery, Run: func(ctx context.Context) (int, error) { return 0, s.reap(ctx, o.ObserveReserved) }},
		{Name: "purge", Every: purgeEvery, Run: func(ctx context.Context) (int, error) {
			n, err := s.Accounts.Purge(ctx, purgeBatch)
			return int(n), err
		}},
	}
	if o.Dense != nil {
		lease := &jobs.Lease{
			DB: o.DB, Table: "answer_leases", Name: "embed " + o.Dense.Model(), Holder: rand.Text(), Every: embedEvery, Lasts: embedLease, Now: o.Now,
		}
		work = append(work, jobs.Job{Name: "embed", Every: embedEvery, Run: s.embed(o.Dense, lease.Hold), Lease: lease})
	}
	work = append(work, s.intake(o)...)
	s.jobs = jobs.New(jobs.Options{Logger: o.Logger, Observe: o.ObserveJob, Jobs: work})
	return s
}

// intake returns the jobs that take documents in.
func (s *Server) intake(o Options) (work []jobs.Job) {
	add := func(job, name string, every time.Duration, run func(intake.Options) func(context.Context) (int, error)) {
		lease := &jobs.Lease{DB: o.DB, Table: "answer_leases", Name: name, Holder: rand.Text(), Every: every, Lasts: intakeLease, Now: o.Now}
		options := intake.Options{Corpus: s.Corpus, Hold: lease.Hold}
		if o.ObserveIntake != nil {
			options.Observe = func(outcome string) { o.ObserveIntake(job, outcome) }
		}
		work = append(work, jobs.Job{Name: job, Every: every, Run: run(options), Lease: lease})
	}
	if w := o.Watch; w != nil {
		add("watch", "watch "+w.Path, w.Every, func(with intake.Options) func(context.Context) (int, error) {
			return (&intake.Folder{Options: with, Path: w.Path, Remove: w.Remove}).Run
		})
	}
	if f := o.Fetch; f != nil {
		add("fetch", "fetch", min(f.Every, fetchEvery), func(with intake.Options) func(context.Context) (int, error) {
			return (&intake.List{Options: with, Path: f.Path, Every: f.Every, Client: f.Client}).Run
		})
	}
	return work
}

// reap gives back what crashed processes have reserved, and tells what is reserved still.
func (s *Server) reap(ctx context.Context, told func(n int)) error {
	if err := s.Accounts.Reap(ctx); err != nil || told == nil {
		return err
	}
	n, err := s.Accounts.Reserved(ctx)
	if err == nil {
		told(n)
	}
	return err
}

// embedTold is how often the making of vectors is told in the log.
const embedTold = 10 * time.Second

// embed makes the vectors that passages lack. hold keeps others from it meanwhile.
func (s *Server) embed(by retrieve.Embedder, hold func(c store.Conn) error) func(ctx context.Context) (int, error) {
	complete := int64(-1) // the version of the corpus of which all passages have one
	var looked time.Time
	var doubts int64
	return func(ctx context.Context) (int, error) {
		version, err := s.Corpus.Version(ctx)
		if err != nil || version == complete && s.Corpus.Doubts() == doubts && s.now().Sub(looked) < embedAnew { // looking through a million passages takes its time
			return 0, err
		}
		looked, doubts = s.now(), s.Corpus.Doubts()
		last := time.Now()
		made, err := s.Corpus.Embed(ctx, by, func(c kernel.Conn, made int) error {
			if time.Since(last) >= embedTold {
				last = time.Now()
				s.Corpus.Logger().Info("making vectors of passages", zap.String("model", by.Model()), zap.Int("made", made))
			}
			return hold(c)
		})
		if made > 0 {
			s.Corpus.Logger().Info("vectors of passages made", zap.String("model", by.Model()), zap.Int("made", made))
		}
		if err == nil {
			complete = version
		}
		return made, err
	}
}

// ServeHTTP answers clients, and people with the page.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !web.Serve(w, r, s.bar(r)) {
		s.api.ServeHTTP(w, r)
	}
}

// Bar returns what the bar at the top of the pages shows to who asks.
func (s *Server) Bar(r *http.Request) look.Bar { return s.bar(r) }

// Waiting is how many questions are worked on, or wait to be.
func (s *Server) Waiting() int { return s.api.Waiting() }

// Trace is what became of a question and how, for operators. Its error is accounts.ErrNone
// where there is none.
func (s *Server) Trace(ctx context.Context, id string) (*api.Trace, error) {
	return s.api.Trace(ctx, id)
}

// Recent are the newest answers, without their texts, before the one with an id; empty: the
// newest of all.
func (s *Server) Recent(ctx context.Context, before string, most int) ([]api.Trace, error) {
	return s.api.Recent(ctx, before, most)
}

// TracePage is Trace as a page for people, with the texts of the passages that are still in
// the corpus.
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

// Reencrypt seals what is stored of answers anew; see api.
func (s *Server) Reencrypt(ctx context.Context, told func(looked int)) (resealed, unreadable int, err error) {
	return s.api.Reencrypt(ctx, told)
}

// Start begins the work in the background.
func (s *Server) Start() {
	if s.end == nil {
		s.end = s.jobs.Start()
	}
}

// Close ends it, and questions that are under way, which are not charged.
func (s *Server) Close() {
	s.api.Close()
	if s.end != nil {
		s.end()
	}
}

// corpusScheme begins the URLs of documents without a public address.
const corpusScheme = "corpus:"

func sourceURL(base, url string) string {
	if id, own := strings.CutPrefix(url, corpusScheme); own {
		return base + "/v1/sources/" + (&neturl.URL{Path: id}).EscapedPath()
	}
	return url
}

// source is the text of a document without a public address.
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

// asker is the pipeline as the API asks it.
type asker struct {
	*pipeline.Pipeline
	told func(t *pipeline.Trace) // nil: nobody is
}

// Ask implements api.Asker.
func (a asker) Ask(ctx context.Context, q api.Question, progress func(stage string)) api.Outcome {
	o, trace := a.Pipeline.Ask(ctx, pipeline.Request(q), progress)
	if a.told != nil {
		a.told(trace)
	}
	out := api.Outcome{Reason: o.Reason, Answer: o.Answer, References: references(o.References), Asked: o.Asked, Makeshift: o.Makeshift, Trace: trace}
	for _, c := range o.Claims {
		claim := api.Claim{Text: c.Text}
		for _, p := range c.Passages {
			if p.ID != 0 { // one of the web is at its address alone
				claim.Passages = append(claim.Passages, p.ID)
			}
		}
		out.Claims = append(out.Claims, claim)
	}
	for _, q := range o.Subqueries {
		out.Subqueries = append(out.Subqueries, api.Subquery{Query: q.Query, Answer: q.Answer, References: references(q.References)})
	}
	return out
}

func references(list []pipeline.Reference) []api.Reference {
	made := make([]api.Reference, len(list))
	for i, r := range list {
		made[i] = api.Reference(r)
	}
	return made
}

// SealedSample is what was sealed before a database had a check value of its keyring:
// nothing.
func SealedSample(context.Context, *store.DB) ([]sealed.Text, error) { return nil, nil }
