// Package answer serves the investment answer API, and provides the commands that manage its corpus and its
// keys.
package answer

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/answer"
	"github.com/tollgate-gateway/tollgate/backends/answer/accounts"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

func init() {
	caddy.RegisterModule(new(Handler))
}

// Handler answers questions about investments from an ingested corpus. Its routes:
//
//	POST /v1/answer          a question: {"query": "…"}
//	GET  /v1/quota           the quota of the key's account
//	GET  /v1/answers/{id}    an answer of the last 30 days
//	GET  /v1/answers/{id}/evidence  the passages that an answer is based on
//	GET  /v1/companies       the companies and years in the corpus
//	GET  /v1/companies/{id}  the documents and figures of one company
//	GET  /v1/sources/{id}    the text of a document without a public address
//
// All routes require a key in x-api-key; `tollgate answer key create` makes keys. Documents are ingested with `tollgate
// answer ingest`. Without a model, answers are extracted: they consist of passages and of sentences from templates with
// computed facts. Extracted answers are always the same for the same corpus.
//
// In the Caddyfile:
//
//	answer [<matcher>] {
//		base_url    <url>
//		model       <url>|cascade {
//			key    <key>
//			user   <user>   # for cascade, unless key is set: the user whose models answer
//			low    <name>   # keychain-low
//			medium <name>   # keychain-medium
//			high   <name>   # keychain-high
//			extract_when_down
//		}
//		dense       <url>|cascade {
//			model <name>
//			key   <key>
//			user  <user>
//		}
//		web_search  <url> {
//			key     <key>
//			hosts   <host>...
//			timeout 5s
//		}
//		watch       <folder> {
//			every 30s
//			remove
//		}
//		fetch       <file> {
//			every 24h
//		}
//		rate        5
//		quota       1000 [month | day | rolling:<days>]
//		running     16
//		queued      64
//		deadline    115s
//		compare_min 2
//		cache       15m
//		log_queries
//	}
//
// Metrics: tollgate_answer_questions_total{outcome}, tollgate_answer_seconds,
// tollgate_answer_stage_seconds{stage}, tollgate_answer_tokens_total{step,kind},
// tollgate_answer_waiting, tollgate_answer_reserved, tollgate_answer_intake_documents_total{source,outcome},
// tollgate_answer_job_….
type Handler struct {
	// BaseURL is the public URL of the service. The URLs of documents without a public address begin with it, and so do
	// the URLs of answers that are fetched later. Default: none, such URLs begin with /v1/.
	BaseURL string `json:"base_url,omitempty"`

	// Model writes and judges answers. Default: none, answers are extracted by rules.
	Model *Model `json:"model,omitempty"`

	// Dense finds passages by their meaning in addition to their words. The vectors are made in the background.
	// Default: none, passages are found by words.
	Dense *Dense `json:"dense,omitempty"`

	// WebSearch searches the web in addition to the corpus. Default: none.
	WebSearch *WebSearch `json:"web_search,omitempty"`

	// Watch is a folder whose files are ingested while the server runs. Default: none, nothing is watched.
	Watch *Watch `json:"watch,omitempty"`

	// Fetch is a list of addresses whose documents are ingested. Default: none, nothing is fetched.
	Fetch *Fetch `json:"fetch,omitempty"`

	// Rate is the number of questions that a key may ask in any 60 seconds. Default: 5.
	Rate int `json:"rate,omitempty"`

	// Quota is the number of answers that a new account has per window. Default: 1000.
	Quota int64 `json:"quota,omitempty"`

	// Window is the period of a quota: month, day (both in UTC), or rolling:<days>, which is counted from the first use.
	// Default: month.
	Window string `json:"window,omitempty"`

	// Running is the number of questions that are answered at the same time, Queued the number that may wait. Further
	// questions get 503. Default: 16 and 64.
	Running int `json:"running,omitempty"`
	Queued  int `json:"queued,omitempty"`

	// Deadline limits the time for a question, including the time in the queue. It is at most 115s, because clients give
	// up after two minutes. Default: 115s.
	Deadline caddy.Duration `json:"deadline,omitempty"`

	// CompareMin is the least number of issuers in a comparison that counts as screening. Screening is refused. Default:
	// 2.
	CompareMin int `json:"compare_min,omitempty"`

	// Cache is how long a repeated question gets the same answer, no matter which key asks it, if the corpus does not
	// change. A negative value computes every answer anew. Default: 15m.
	Cache caddy.Duration `json:"cache,omitempty"`

	// LogQueries writes the texts of questions to the log. Default: off.
	LogQueries bool `json:"log_queries,omitempty"`

	app         *tollgate.App
	server      *answer.Server
	disconnects []func() // called at the end of this configuration; each disconnects a transport from its cascade
}

// CaddyModule returns the Caddy module information.
func (*Handler) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.handlers.answer",
		New: func() caddy.Module { return new(Handler) },
	}
}

// node is the answer service on one database with one set of options. It survives reloads.
type node struct {
	cascadeTransports
	server *answer.Server
	db     *store.DB
	logger atomic.Pointer[zap.Logger] // of the newest configuration
	newest tollgate.Newest
}

func (n *node) close() error {
	n.server.Close()
	return nil
}

// nodes holds the nodes of all configurations by nodeKey.
var nodes = caddy.NewUsagePool()

// nodeKey identifies a node. Configurations with an equal key share the node.
type nodeKey struct {
	db      *store.DB
	options [sha256.Size]byte // a digest, because the options may contain a key
}

// Provision creates the service, or reuses the service of an earlier configuration with the same options. It does not
// open the database.
func (h *Handler) Provision(ctx caddy.Context) (err error) {
	window, err := accounts.ParseWindow(h.Window)
	if err != nil {
		return fmt.Errorf("quota: %w", err)
	}
	if h.app, err = tollgate.From(ctx); err != nil {
		return err
	}
	db, err := h.app.SealedDatabase(answer.SchemaName, answer.Schema(), answer.Sealed.Sample)
	if err != nil {
		return err
	}
	optionsJSON, err := json.Marshal(h)
	if err != nil {
		return err
	}
	n, err := tollgate.Share(h.app, nodes, nodeKey{db, sha256.Sum256(optionsJSON)},
		func() (*node, error) { return h.newNode(db, window, ctx.Logger()) }, (*node).close)
	if err != nil {
		return err
	}
	n.logger.Store(ctx.Logger())
	n.newest.Follow(h.app)
	h.server = n.server
	if err := h.connectCascade(ctx, &n.cascadeTransports); err != nil {
		return err
	}
	h.app.OnStart(func() error {
		n.server.Start()
		return nil
	})
	return errors.Join(tollgate.RegisterMetrics(ctx, questions, seconds, waiting, stageSeconds, tokens, reserved,
		intakeDocuments),
		jobMetrics.Register(ctx))
}

// newNode creates the service with the options of h on a database.
func (h *Handler) newNode(db *store.DB, window accounts.Window, logger *zap.Logger) (*node, error) {
	n := &node{db: db}
	n.logger.Store(logger)
	model, err := h.provisionModel(&n.model)
	if err != nil {
		return nil, err
	}
	o := answer.Options{
		DB: db, Counters: h.app.Counters(), Logger: n.logger.Load, Now: time.Now, Keyring: h.app.Keyring(answer.SchemaName),
		BaseURL: strings.TrimSuffix(h.BaseURL, "/"), Model: model,
		ExtractWhenDown: h.Model != nil && h.Model.ExtractWhenDown, CompareMin: h.CompareMin,
		Accounts: accounts.Options{Rate: h.Rate, Limit: h.Quota, Window: window},
		Running:  h.Running, Queued: h.Queued, Deadline: time.Duration(h.Deadline),
		Remember: time.Duration(cmp.Or(h.Cache, caddy.Duration(15*time.Minute))), LogQueries: h.LogQueries,
		Observe: observe, ObserveIntake: observeIntake, ObserveJob: jobMetrics.Observe, ObserveTrace: observeTrace,
		ObserveReserved: observeReserved,
		Bar:             n.newest.Bar(answer.SchemaName),
	}
	// Dense and Web are set only if they are configured, because an interface that holds a nil pointer is not nil.
	if dense, err := h.provisionDense(&n.dense); err != nil {
		return nil, err
	} else if dense != nil {
		o.Dense = dense
	}
	if web, err := h.provisionWeb(h.app.AllowedNetworks()); err != nil {
		return nil, err
	} else if web != nil {
		o.Web = web
	}
	if o.Watch, err = h.provisionWatch(); err != nil {
		return nil, err
	}
	if o.Fetch, err = h.provisionFetch(); err != nil {
		return nil, err
	}
	n.server = answer.New(o)
	return n, nil
}

// Cleanup disconnects the service from the cascade of this configuration.
func (h *Handler) Cleanup() error {
	for _, disconnect := range h.disconnects {
		disconnect()
	}
	return nil
}

// maxDeadline is the longest deadline.
const maxDeadline = caddy.Duration(115 * time.Second)

// Validate checks the options.
func (h *Handler) Validate() error {
	if h.BaseURL != "" {
		base, err := url.Parse(h.BaseURL)
		if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" || base.RawQuery != "" ||
			base.Fragment != "" {
			return fmt.Errorf("base_url: %q is not a URL such as https://answers.example.com", h.BaseURL)
		}
	}
	if min(h.Rate, h.Running, h.Queued, h.CompareMin) < 0 || h.Quota < 0 {
		return errors.New("rate, quota, running, queued and compare_min must not be negative")
	}
	if h.Deadline != 0 && (h.Deadline < caddy.Duration(time.Second) || h.Deadline > maxDeadline) {
		return errors.New("deadline must be from 1s to 115s")
	}
	return h.validateIntake()
}

// Presence implements tollgate.Present.
func (h *Handler) Presence() tollgate.Presence {
	return tollgate.Presence{
		Service: answer.SchemaName, Title: "Answers",
		Summary: "Questions about investments, answered from a corpus with its sources.", Path: "/",
		API: "/v1/openapi.json",
	}
}

// ServeHTTP implements caddyhttp.MiddlewareHandler. It answers all requests and never calls the next handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request, _ caddyhttp.Handler) error {
	defer h.app.Acquire()()
	h.server.ServeHTTP(w, r)
	return nil
}

// Interface guards
var (
	_ caddy.Provisioner           = (*Handler)(nil)
	_ caddy.Validator             = (*Handler)(nil)
	_ caddy.CleanerUpper          = (*Handler)(nil)
	_ caddyhttp.MiddlewareHandler = (*Handler)(nil)
	_ tollgate.Present            = (*Handler)(nil)
)
