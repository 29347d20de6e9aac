// Package scriptedmodel serves the built-in scripted model: as a handler in any site, and on a separate port by the
// command "tollgate scripted-model".
package scriptedmodel

import (
	"net/http"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/tollgate-gateway/tollgate/backends/scriptedmodel"
	"github.com/tollgate-gateway/tollgate/internal/rest"
	"github.com/tollgate-gateway/tollgate/modules/directive"
)

func init() {
	caddy.RegisterModule(Handler{})
	directive.Register[Handler]("scripted_model")
}

// Handler answers chat completions from a script in the request, for demonstrations and tests. It is not a language
// model, and its default answer tells the reader so. It answers every request that reaches it. Behind a path prefix,
// strip the prefix first:
//
//	handle_path /mock/* {
//		scripted_model
//	}
//
// The package backends/scriptedmodel documents the script keys. The sender of a request determines the answer,
// including its headers, so put the handler where only you and your tests reach it.
//
// Its errors are part of the script. They are always in OpenAI's format, and api_errors does not change them. Counts of
// fail_key start again with each configuration.
//
// It has no fields and sets no placeholders.
type Handler struct {
	server *scriptedmodel.Server
}

// CaddyModule returns the module information.
func (Handler) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.handlers.scripted_model",
		New: func() caddy.Module { return new(Handler) },
	}
}

// Provision creates the server.
func (h *Handler) Provision(caddy.Context) error {
	h.server = scriptedmodel.New(scriptedmodel.Options{})
	return nil
}

// ServeHTTP answers the request. It never calls the next handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request, _ caddyhttp.Handler) error {
	rest.NoSniff(w.Header())
	h.server.ServeHTTP(w, r)
	return nil
}

// UnmarshalCaddyfile parses the directive, which takes no arguments and no block:
//
//	scripted_model [<matcher>]
func (h *Handler) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next() // the directive itself
	if d.NextArg() {
		return d.ArgErr()
	}
	for d.NextBlock(0) {
		return d.Errf("unrecognized option %s: scripted_model has no options, each request contains its script", d.Val())
	}
	return nil
}

var (
	_ caddy.Module                = Handler{}
	_ caddy.Provisioner           = (*Handler)(nil)
	_ caddyfile.Unmarshaler       = (*Handler)(nil)
	_ caddyhttp.MiddlewareHandler = (*Handler)(nil)
)
