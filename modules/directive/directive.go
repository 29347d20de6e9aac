// Package directive registers the directives of handlers. It also finds the line of a Caddyfile that a handler's error
// is about. Only parsing knows lines; provisioning, which returns most errors, sees only JSON.
package directive

import (
	"encoding/json"
	"strconv"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/tidwall/sjson"
)

// Register registers the directive of a handler whose UnmarshalCaddyfile parses it.
func Register[H any, P interface {
	*H
	caddyhttp.MiddlewareHandler
	caddyfile.Unmarshaler
}](name string,
) {
	RegisterFunc(name, func(h httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
		handler := P(new(H))
		return handler, handler.UnmarshalCaddyfile(h.Dispenser)
	})
}

// RegisterFunc registers the directive of a handler that parse returns.
func RegisterFunc(name string, parse httpcaddyfile.UnmarshalHandlerFunc) {
	httpcaddyfile.RegisterHandlerDirective(name, func(h httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
		recorded, ok := h.Option(optionName).(*places)
		if !ok {
			return parse(h)
		}
		index := recorded.add(h.Dispenser)
		handler, err := parse(h)
		if err != nil {
			return nil, err
		}
		return placed{handler, index}, nil
	})
}

// Expand supports a directive that expands to other directives in a generated file. It must be called before any token
// is read. The returned function must be called with the name of the generated file, after the other directives were
// parsed. Errors of the other directives are then reported for a line of this directive.
func Expand(h httpcaddyfile.Helper) (done func(file string)) {
	recorded, ok := h.Option(optionName).(*places)
	if !ok {
		return func(string) {}
	}
	outer := recorded.add(h.Dispenser)
	return func(file string) {
		for i := outer + 1; i < len(*recorded); i++ {
			(*recorded)[i].short, (*recorded)[i].long = (*recorded)[outer].tokens, file
		}
	}
}

const (
	// optionName is the adapter option by which Explain makes directives record their places.
	optionName = "tollgate.directive.places"
	// memberName is the member of a handler's JSON that contains the index of its place.
	memberName = "tollgate_place"
)

// places are the directives of a Caddyfile, in the order in which they were parsed.
type places []place

type place struct {
	tokens []caddyfile.Token
	short  []caddyfile.Token // tokens of the short directive that expanded to this one, or nil
	long   string            // name of the generated file
}

// add records the directive of a dispenser and returns its index. No token may have been read yet.
func (p *places) add(d *caddyfile.Dispenser) (index int) {
	var tokens []caddyfile.Token
	for d.Next() {
		tokens = append(tokens, d.Token())
	}
	d.Reset()
	*p = append(*p, place{tokens: tokens})
	return len(*p) - 1
}

// placed is a handler whose JSON includes the index of its place. Such JSON is never loaded.
type placed struct {
	caddyhttp.MiddlewareHandler
	index int
}

func (p placed) CaddyModule() caddy.ModuleInfo {
	return p.MiddlewareHandler.(caddy.Module).CaddyModule()
}

func (p placed) MarshalJSON() ([]byte, error) {
	text, err := json.Marshal(p.MiddlewareHandler)
	if err != nil {
		return nil, err
	}
	return sjson.SetRawBytes(text, memberName, []byte(strconv.Itoa(p.index)))
}

// Interface guards
var (
	_ caddy.Module   = placed{}
	_ json.Marshaler = placed{}
)
