// Package directive registers the directives of handlers, and finds the line of a Caddyfile that an error of a handler
// is about: parsing knows lines, but provisioning only sees JSON.
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

// Register registers the directive of a handler that only needs a dispenser to be parsed.
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

// RegisterFunc registers the directive of a handler that parse parses.
func RegisterFunc(name string, parse httpcaddyfile.UnmarshalHandlerFunc) {
	httpcaddyfile.RegisterHandlerDirective(name, func(h httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
		noted, ok := h.Option(optionName).(*places)
		if !ok {
			return parse(h)
		}
		index := noted.add(h.Dispenser)
		handler, err := parse(h)
		if err != nil {
			return nil, err
		}
		return placed{handler, index}, nil
	})
}

// Expand supports a directive that stands for others. It is called before anything is read; the returned function is
// called after the other directives were parsed, with the name of their generated file. Errors of those are then
// reported for a line of this directive.
func Expand(h httpcaddyfile.Helper) (done func(file string)) {
	noted, ok := h.Option(optionName).(*places)
	if !ok {
		return func(string) {}
	}
	outer := noted.add(h.Dispenser)
	return func(file string) {
		for i := outer + 1; i < len(*noted); i++ {
			(*noted)[i].short, (*noted)[i].long = (*noted)[outer].tokens, file
		}
	}
}

const (
	// optionName is the option with which the adapter asks directives for their places.
	optionName = "tollgate.directive.places"
	// memberName is the member in the JSON of a handler that holds its place.
	memberName = "tollgate_place"
)

// places are directives in the order of parsing.
type places []place

type place struct {
	tokens []caddyfile.Token
	short  []caddyfile.Token // tokens of the directive that stands for it, or nil
	long   string            // name of the generated file
}

// add records the directive of a dispenser from which nothing was read yet.
func (p *places) add(d *caddyfile.Dispenser) (index int) {
	var tokens []caddyfile.Token
	for d.Next() {
		tokens = append(tokens, d.Token())
	}
	d.Reset()
	*p = append(*p, place{tokens: tokens})
	return len(*p) - 1
}

// placed is a handler whose JSON includes its place. That JSON is never loaded.
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
