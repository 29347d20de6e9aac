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

// StartExpansion begins the expansion of the directive in h to other directives, whose text is generated. The caller
// calls StartExpansion before it reads any token, then parses the generated text, and then calls finish with the file
// name that the text had in the parser. If a generated directive causes an error, Explain then names a line of the
// directive in h. If Explain does not record directives, StartExpansion and finish do nothing.
func StartExpansion(h httpcaddyfile.Helper) (finish func(file string)) {
	recorded, ok := h.Option(optionName).(*places)
	if !ok {
		return func(string) {}
	}
	source := recorded.add(h.Dispenser)
	return func(file string) {
		for i := source + 1; i < len(*recorded); i++ { // the directives that were parsed since
			(*recorded)[i].expandedFrom = (*recorded)[source].tokens
			(*recorded)[i].generatedFile = file
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

// place is a directive of a Caddyfile, or of a generated text.
type place struct {
	tokens        []caddyfile.Token
	expandedFrom  []caddyfile.Token // tokens of the directive that expanded to this directive, or nil
	generatedFile string            // file name of the generated text, if expandedFrom is not nil
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

// CaddyModule implements caddy.Module.
func (p placed) CaddyModule() caddy.ModuleInfo {
	return p.MiddlewareHandler.(caddy.Module).CaddyModule()
}

// MarshalJSON implements json.Marshaler.
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
