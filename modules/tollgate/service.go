package tollgate

import (
	"embed"
	"strings"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/dustin/go-humanize"
)

// The long form of every service, as one would write it by hand.
//
//go:embed services/*.caddyfile
var services embed.FS

func init() {
	httpcaddyfile.RegisterDirective("tollgate", parseService)
}

// parseService mounts a whole service by one line. It stands for the text in
// services/<name>.caddyfile, with the options put in:
//
//	tollgate [<matcher>] gateway {
//		max_body <size>           # default 32MB
//		user_jwt { … }            # who may manage keys: the options of api_auth user_jwt
//		console off | { … }       # the option console of keychain
//		cascade { … }             # the options of cascade
//	}
func parseService(h httpcaddyfile.Helper) ([]httpcaddyfile.ConfigValue, error) {
	h.Next() // tollgate
	matcher, err := h.ExtractMatcherSet()
	if err != nil {
		return nil, err
	}
	h.Next() // tollgate again: ExtractMatcherSet has rewound
	if !h.NextArg() {
		return nil, h.ArgErr()
	}
	name := h.Val()
	text, err := services.ReadFile("services/" + name + ".caddyfile")
	if err != nil || strings.ContainsAny(name, "/.") {
		return nil, h.Errf("there is no service %q; there is: gateway", name)
	}
	if h.NextArg() {
		return nil, h.ArgErr()
	}
	long := string(text)
	seen := make(map[string]bool)
	for h.NextBlock(0) {
		option := h.Val()
		if seen[option] {
			return nil, h.Errf("%s is given twice", option)
		}
		seen[option] = true
		switch option {
		case "max_body":
			var size string
			if !h.AllArgs(&size) {
				return nil, h.ArgErr()
			}
			if n, err := humanize.ParseBytes(size); err != nil || n == 0 {
				return nil, h.Errf("max_body: %q is not a size such as 16MB", size)
			}
			long = strings.Replace(long, "max_size 32MB", "max_size "+quote(size), 1)
		case "user_jwt":
			long = strings.Replace(long, "\tapi_auth @management user_jwt\n", "\tapi_auth @management "+write(h.NextSegment())+"\n", 1)
		case "console":
			long = strings.Replace(long, "\tkeychain\n", "\tkeychain {\n"+write(h.NextSegment())+"\n}\n", 1)
		case "cascade":
			long = strings.Replace(long, "\tcascade\n", "\t"+write(h.NextSegment())+"\n", 1)
		default:
			return nil, h.Errf("unknown option %q; there are: max_body, user_jwt, console, cascade", option)
		}
	}
	// A block around the text makes it a segment that Caddy can parse.
	tokens, err := caddyfile.Tokenize([]byte("tollgate {\n"+long+"}\n"), "tollgate "+name)
	if err != nil {
		return nil, err
	}
	handler, err := httpcaddyfile.ParseSegmentAsSubroute(h.WithDispenser(caddyfile.NewDispenser(tokens)))
	if err != nil {
		return nil, err
	}
	route := handler.(*caddyhttp.Subroute).Routes[0]
	if matcher != nil {
		route.MatcherSetsRaw = caddyhttp.RawMatcherSets{matcher}
	}
	return []httpcaddyfile.ConfigValue{{Class: "route", Value: route}}, nil
}

// write is the text of tokens, lines kept apart.
func write(tokens []caddyfile.Token) string {
	var b strings.Builder
	for i, t := range tokens {
		switch {
		case i == 0:
		case t.Line != tokens[i-1].Line:
			b.WriteByte('\n')
		default:
			b.WriteByte(' ')
		}
		if !t.Quoted() && (t.Text == "{" || t.Text == "}") {
			b.WriteString(t.Text)
		} else {
			b.WriteString(quote(t.Text))
		}
	}
	return b.String()
}

// quote makes one token of a text, whatever it holds.
func quote(text string) string {
	if !strings.Contains(text, "`") {
		return "`" + text + "`"
	}
	return `"` + strings.ReplaceAll(text, `"`, `\"`) + `"`
}
