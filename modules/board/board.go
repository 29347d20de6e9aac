// Package board contains the Caddy modules that serve the discussion board and check its tokens, and the commands that
// manage it.
package board

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/tollgate-gateway/tollgate/backends/board"
	"github.com/tollgate-gateway/tollgate/backends/board/admin"
	"github.com/tollgate-gateway/tollgate/backends/board/api"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/backends/board/web"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/pages"
	"github.com/tollgate-gateway/tollgate/internal/rest"
	"github.com/tollgate-gateway/tollgate/modules/edge"
	"github.com/tollgate-gateway/tollgate/modules/mailserver"
	"github.com/tollgate-gateway/tollgate/modules/oidc"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

func init() {
	caddy.RegisterModule(Handler{})
}

const (
	// serviceName is the name of the board among the services.
	serviceName = "board"
	// actorVar is the request variable that holds the *rights.Actor.
	actorVar = "tollgate.board.actor"
)

// Handler serves a discussion board: pages for people, and a JSON API under /api/v1, whose routes are in
// /api/v1/openapi.json.
//
// The API gets the member from `api_auth board_token` in front of the board; without it, every request is a guest's. On
// the pages, members sign in with a password. On an empty database, the groups, a category and a forum are created
// automatically; `tollgate board init` creates the administrator.
type Handler struct {
	// BaseURL is the URL of the board, such as https://forum.example.com, for Location headers and links. It may have a
	// path, such as https://example.com/forum, if a handler in front of the board strips that path from requests, as
	// handle_path does. Default: none; Location headers are then paths.
	BaseURL string `json:"base_url,omitempty"`

	// Offline answers 503 to everybody except members with the right to see an offline board.
	Offline bool `json:"offline,omitempty"`

	// HoldFirst is the number of a new member's first posts that need approval. Default: 0.
	HoldFirst int64 `json:"hold_first,omitempty"`

	// NoFlood switches flood control off.
	NoFlood bool `json:"no_flood,omitempty"`

	// NoPages serves only the API: every other path goes to the next handler.
	NoPages bool `json:"no_pages,omitempty"`

	// MembersOnly restricts guests to the pages for signing in and joining.
	MembersOnly bool `json:"members_only,omitempty"`

	// OIDC is an OpenID provider at which members may sign in, in addition to passwords. Default: none.
	OIDC *oidc.Provider `json:"oidc,omitempty"`

	// Mail sends notifications by mail about topics that members follow. Default: mails are only logged. If several
	// handlers use the same database, one of them with this option is enough; the links in mails begin with that handler's
	// base_url.
	Mail *mailserver.Server `json:"mail,omitempty"`

	// Attachments is the folder for attached files, or "database". Default: board-attachments beside the database if
	// that is a file. All handlers on one database must have the same setting.
	Attachments string `json:"attachments,omitempty"`

	// Language is the tag of the default language of pages and mails, such as de. Default: en.
	Language string `json:"language,omitempty"`

	// Languages are the tags of the languages in which pages and mails are shown. Default: English and every language with
	// a catalogue.
	Languages []string `json:"languages,omitempty"`

	// Texts is a folder with catalogues, such as de.json, whose texts replace the built-in ones or add a language.
	// Default: none.
	Texts string `json:"texts,omitempty"`

	app     *tollgate.App
	service *board.Server
	api     *api.API
	site    http.Handler // serves the pages; nil with NoPages

	stopWork func() // removes the handler from the background work; nil before joinWork has been called
}

// nodes holds the boards by their databases. Handlers and token providers on one database share a node across reloads.
// It keeps cached tokens, view counts and the background work.
var nodes = caddy.NewUsagePool()

// node is the board on one database.
type node struct {
	service *board.Server
	worker  worker
}

// close ends the background work and closes the board.
func (n *node) close() error {
	n.worker.close()
	n.service.Close()
	return nil
}

// CaddyModule returns the Caddy module information.
func (Handler) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.handlers.board",
		New: func() caddy.Module { return new(Handler) },
	}
}

// Provision creates the board on the database of the configuration, and joins its background work.
func (h *Handler) Provision(ctx caddy.Context) error {
	h.BaseURL = strings.TrimSuffix(caddy.NewReplacer().ReplaceKnown(h.BaseURL, ""), "/")
	var err error
	var boardNode *node
	h.app, boardNode, err = open(ctx)
	if err != nil {
		return err
	}
	h.service = boardNode.service.With(kernel.Options{
		BaseURL: h.BaseURL, Offline: h.Offline, HoldFirst: h.HoldFirst, NoFlood: h.NoFlood,
		Keyring: h.app.Keyring(serviceName), Attachments: attachmentsFolder(h.app, h.Attachments), Address: edge.Address,
		Mails: func() bool { return !h.NoPages && boardNode.worker.sendsMail() }, // the links in mails lead to pages
	})
	h.api = h.service.API()
	h.Texts = caddy.NewReplacer().ReplaceKnown(h.Texts, "")
	languages, err := pages.LoadLanguages(h.Language, h.Languages, web.Catalogues(), h.Texts)
	if err != nil {
		return fmt.Errorf("language, languages and texts: %w", err)
	}
	if !h.NoPages {
		options := web.Options{
			BaseURL: h.BaseURL, MembersOnly: h.MembersOnly, Conceal: skipAccessLog, Bar: h.app.Bar(serviceName),
			Languages: languages,
		}
		if h.OIDC != nil {
			if options.OIDC, _, err = h.OIDC.Make(h.app, h.service.Key); err != nil {
				return err
			}
			options.OIDCLabel = h.OIDC.DisplayName()
			h.app.OnSignOut(serviceName, h.service.Accounts.EndSessions)
		}
		h.site = h.service.Pages(options, ctx.Logger())
	}
	return h.joinWork(ctx, boardNode, languages)
}

// skipAccessLog keeps a request out of the access log.
func skipAccessLog(r *http.Request) { caddyhttp.SetVar(r.Context(), caddyhttp.LogSkipVar, true) }

// open returns the app, and the node on the database that the configuration sets for the board.
func open(ctx caddy.Context) (*tollgate.App, *node, error) {
	app, err := tollgate.From(ctx)
	if err != nil {
		return nil, nil, err
	}
	db, err := app.SealedDatabase(serviceName, board.Schema(), admin.Sealed.Sample)
	if err != nil {
		return nil, nil, err
	}
	shared, err := tollgate.Share(app, nodes, db, func() (*node, error) {
		return &node{service: board.New(db, kernel.Options{}, ctx.Logger(), time.Now)}, nil
	}, (*node).close)
	return app, shared, err
}

// Validate checks the options.
func (h *Handler) Validate() error {
	if h.BaseURL != "" {
		u, err := url.Parse(h.BaseURL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
			return fmt.Errorf("base_url %q is not an address such as https://forum.example.com", h.BaseURL)
		}
		if !h.NoPages && u.Path != "" && (u.Path != path.Clean(u.Path) || u.EscapedPath() != u.Path) {
			return fmt.Errorf("base_url %q: the path must be clean and unescaped, such as /forum", h.BaseURL)
		}
	}
	if h.HoldFirst < 0 || h.HoldFirst > 1000 {
		return fmt.Errorf("hold_first is %d, must be from 0 to 1000", h.HoldFirst)
	}
	return h.validateMail()
}

// Cleanup removes the handler from the background work.
func (h *Handler) Cleanup() error {
	if h.stopWork != nil {
		h.stopWork()
	}
	return nil
}

// ServeHTTP serves requests for the API and, unless NoPages is set, all other requests as requests for pages.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	page := !h.api.Owns(r.URL.Path)
	if page && h.site == nil {
		return next.ServeHTTP(w, r)
	}
	rest.NoSniff(w.Header())
	defer h.app.Acquire()()
	if page {
		h.site.ServeHTTP(w, edge.Request(r))
		return nil
	}
	actor, err := h.actor(r)
	if err == nil {
		err = h.api.Serve(w, r, actor)
	}
	return httpError(err)
}

// Presence implements tollgate.Present.
func (h *Handler) Presence() tollgate.Presence {
	p := tollgate.Presence{
		Service: serviceName, Title: "Forum", Summary: "Discussions by topics, with moderation and a JSON API.",
		API: kernel.Mount + "/openapi.json",
	}
	if h.site != nil {
		p.Path = "/"
	}
	return p
}

// actor returns the sender of a request: the one that api_auth board_token has found, or else the guest.
func (h *Handler) actor(r *http.Request) (*rights.Actor, error) {
	if err := h.service.Ready(r.Context()); err != nil {
		return nil, err
	}
	if actor, ok := Actor(r.Context()); ok {
		return h.service.Rights.Adopt(r.Context(), actor)
	}
	return h.service.Rights.Guest(r.Context())
}

// httpError wraps an error of the board so that Caddy responds with its status. It returns nil for nil.
func httpError(err error) error {
	if e, ok := apierror.From(err); ok {
		return caddyhttp.Error(e.Status, err)
	}
	return err
}

// Actor returns the sender of a request, and false if the request has not passed api_auth board_token. A guest has a
// nil User.
func Actor(ctx context.Context) (*rights.Actor, bool) {
	actor, ok := caddyhttp.GetVar(ctx, actorVar).(*rights.Actor)
	return actor, ok
}

// Interface guards
var (
	_ caddy.Provisioner           = (*Handler)(nil)
	_ caddy.Validator             = (*Handler)(nil)
	_ caddy.CleanerUpper          = (*Handler)(nil)
	_ caddyhttp.MiddlewareHandler = (*Handler)(nil)
	_ tollgate.Present            = (*Handler)(nil)
)
