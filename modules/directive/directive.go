// Package directive registers the directives of handlers, and tells which line of a
// Caddyfile an error of theirs is about: parsing knows lines, provisioning only JSON.
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

// Register registers the directive of a handler that a dispenser is enough for.
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

// RegisterFunc registers the directive of a handler that parse reads.
func RegisterFunc(name string, parse httpcaddyfile.UnmarshalHandlerFunc) {
	httpcaddyfile.RegisterHandlerDirective(name, func(h httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
		noted, ok := h.Option(optionName).(*places)
		if !ok {
			return parse(h)
		}
		at := noted.add(h.Dispenser)
		handler, err := parse(h)
		if err != nil {
			return nil, err
		}
		return placed{handler, at}, nil
	})
}

// Expand is for a directive that stands for others: call it before anything is read, and
// what it returns after them, with the name that their file has. An error of theirs is
// about a line of the directive then.
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
	// optionName is the option of the adapter that asks directives where they are.
	optionName = "tollgate.directive.places"
	// memberName has the answer, in the JSON of a handler.
	memberName = "tollgate_place"
)

// places are directives in the order of their parsing.
type places []place

type place struct {
	tokens []caddyfile.Token
	short  []caddyfile.Token // of the directive that stands for it; nil: none
	long   string            // the file that only this program has
}

// add notes the directive of a dispenser that nothing was read from yet.
func (p *places) add(d *caddyfile.Dispenser) (index int) {
	var tokens []caddyfile.Token
	for d.Next() {
		tokens = append(tokens, d.Token())
	}
	d.Reset()
	*p = append(*p, place{tokens: tokens})
	return len(*p) - 1
}

// placed is a handler whose JSON tells its place. Nobody loads that JSON.
type placed struct {
	caddyhttp.MiddlewareHandler
	at int
}

func (p placed) CaddyModule() caddy.ModuleInfo {
	return p.MiddlewareHandler.(caddy.Module).CaddyModule()
}

func (p placed) MarshalJSON() ([]byte, error) {
	text, err := json.Marshal(p.MiddlewareHandler)
	if err != nil {
		return nil, err
	}
	return sjson.SetRawBytes(text, memberName, []byte(strconv.Itoa(p.at)))
}

// Interface guards
var (
	_ caddy.Module   = placed{}
	_ json.Marshaler = placed{}
)
