package tollgate

import (
	"embed"
	"maps"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/dustin/go-humanize"

	"github.com/tollgate-gateway/tollgate/modules/body"
)

// The long form of every service, as one would write it by hand.
//
//go:embed services/*.caddyfile
var services embed.FS

func init() {
	httpcaddyfile.RegisterDirective("tollgate", parseService)
}

// option is one of a service's short form.
type option struct {
	name string
	// line of the long form that the option changes, and what stands there then:
	// "…" is the option as it was written.
	line, with string
	// value is what "…" stands for where that is not the option as a whole.
	value func(h httpcaddyfile.Helper) (string, error)
	// also is another line that it changes, and what stands there then.
	also [2]string
	// repeated tells that it may be given more than once.
	repeated bool
}

// serviceOptions are the services with their options.
var serviceOptions = map[string][]option{
	"board": append([]option{
		{name: "guests", line: "\t\tguest\n", with: "…", value: parseOff, also: [2]string{"\tboard {\n", "\tboard {\n\t\tmembers_only\n"}},
		{name: "token_limit", line: "\t\tlimit 600\n", with: "\t\tlimit …\n", value: parseWord},
		{name: "guest_limit", line: "\t\tlimit 120\n", with: "\t\tlimit …\n", value: parseWord},
		{name: "hold_first", line: "\t\thold_first 0\n", with: "\t\t…\n"},
	}, inBlock("board", nil, "base_url", "offline", "no_flood", "no_pages", "attachments", "mail")...),
	"gateway": {
		{name: "max_body", line: "\n\t@inference", with: "\trequest_body {\n\t\tmax_size …\n\t}\n\n\t@inference", value: parseSize},
		{name: "user_jwt", line: "\tapi_auth @management user_jwt\n", with: "\tapi_auth @management …\n"},
		{name: "console", line: "\tkeychain\n", with: "\tkeychain {\n…\n}\n"},
		{name: "cascade", line: "\tcascade\n", with: "\t…\n"},
	},
	"events": append([]option{
		{name: "user_jwt", line: "\tapi_auth @token user_jwt\n", with: "\tapi_auth @token …\n"},
		{name: "budget", line: "\trun_events {\n", with: "…\n\trun_events {\n", value: parseEventsBudget},
	}, inBlock("run_events", []string{"read", "submit"}, "prefix", "alias", "resource_events_ttl", "report_ttl", "node_ttl", "node_purge_ttl", "max_body",
		"query_timeout", "query_max_time", "wide_queries", "corrective_change")...),
}

// inBlock are options that a directive of the long form takes as they are.
func inBlock(directive string, repeated []string, names ...string) []option {
	line := "\t" + directive + " {\n"
	options := make([]option, 0, len(repeated)+len(names))
	for _, name := range slices.Concat(repeated, names) {
		options = append(options, option{name: name, line: line, with: line + "…\n", repeated: slices.Contains(repeated, name)})
	}
	return options
}

func parseSize(h httpcaddyfile.Helper) (string, error) {
	option := h.Val()
	var size string
	if !h.AllArgs(&size) {
		return "", h.ArgErr()
	}
	n, err := humanize.ParseBytes(size)
	switch {
	case err != nil || n == 0:
		return "", h.Errf("%s: %q is not a size such as 16MB", option, size)
	case n > body.Max:
		return "", h.Errf("%s: %s is more than the 32MB that the model APIs take", option, size)
	}
	return quote(size), nil
}

// parseWord is an option with one argument.
func parseWord(h httpcaddyfile.Helper) (string, error) {
	var word string
	if !h.AllArgs(&word) {
		return "", h.ArgErr()
	}
	return quote(word), nil
}

// parseEventsBudget is a limit and, where that is not a minute, a window.
func parseEventsBudget(h httpcaddyfile.Helper) (string, error) {
	words := h.RemainingArgs()
	if len(words) != 1 && len(words) != 2 {
		return "", h.ArgErr()
	}
	text, err := services.ReadFile("services/events.budget.caddyfile")
	if err != nil {
		return "", err
	}
	budget := strings.Replace(string(text), "limit 600\n", "limit "+quote(words[0])+"\n", 1)
	if len(words) == 2 {
		budget = strings.Replace(budget, "window 1m\n", "window "+quote(words[1])+"\n", 1)
	}
	return budget, nil
}

// parseOff is an option that can only be switched off, which removes its line.
func parseOff(h httpcaddyfile.Helper) (string, error) {
	option := h.Val()
	var word string
	if !h.AllArgs(&word) || word != "off" {
		return "", h.Errf("%s: there is only: %s off", option, option)
	}
	return "", nil
}

// parseService mounts a whole service by one line. It stands for the text in
// services/<name>.caddyfile, with the options put in:
//
//	tollgate [<matcher>] gateway {
//		max_body <size>           # default and most: 32MB
//		user_jwt { … }            # who may manage keys: the options of api_auth user_jwt
//		console off | { … }       # the option console of keychain
//		cascade { … }             # the options of cascade
//	}
//	tollgate [<matcher>] board {
//		guests off                # requests need a token, and pages a member
//		token_limit <units>       # of a token in 5 minutes; default 600
//		guest_limit <units>       # of an address in 5 minutes; default 120
//		…                         # the options of board
//	}
//	tollgate [<matcher>] events {
//		user_jwt { … }            # whose tokens identify users: the options of api_auth user_jwt
//		budget <units> [<window>] # of a user, or else an address; default: none, window 1m
//		…                         # the options of run_events
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
	options, ok := serviceOptions[name]
	if !ok {
		return nil, h.Errf("there is no service %q; there are: %s", name, strings.Join(slices.Sorted(maps.Keys(serviceOptions)), ", "))
	}
	if h.NextArg() {
		return nil, h.ArgErr()
	}
	text, err := services.ReadFile("services/" + name + ".caddyfile")
	if err != nil {
		return nil, err
	}
	long, err := withOptions(h, string(text), options)
	if err != nil {
		return nil, err
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

// withOptions puts the options of the block into the long form.
func withOptions(h httpcaddyfile.Helper, long string, options []option) (string, error) {
	seen := make(map[string]bool)
	for h.NextBlock(0) {
		name := h.Val()
		i := slices.IndexFunc(options, func(o option) bool { return o.name == name })
		if i < 0 {
			names := make([]string, len(options))
			for i, o := range options {
				names[i] = o.name
			}
			return "", h.Errf("unknown option %q; there are: %s", name, strings.Join(names, ", "))
		}
		o := options[i]
		if seen[name] && !o.repeated {
			return "", h.Errf("%s is given twice", name)
		}
		seen[name] = true
		var value string
		if o.value == nil {
			value = write(h.NextSegment())
		} else {
			var err error
			if value, err = o.value(h); err != nil {
				return "", err
			}
		}
		long = strings.Replace(long, o.line, strings.Replace(o.with, "…", value, 1), 1)
		long = strings.Replace(long, o.also[0], o.also[1], 1)
	}
	return long, nil
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
