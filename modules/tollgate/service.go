package tollgate

import (
	"embed"
	"maps"
	"slices"
	"strconv"
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
	value func(h httpcaddyfile.Helper, w *written) (string, error)
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
		{name: "hold_first", line: "\tboard {\n", with: "\tboard {\n…\n", also: [2]string{"\t\thold_first 0\n", ""}},
	}, inBlock("board", nil, "base_url", "offline", "no_flood", "no_pages", "attachments", "mail")...),
	"gateway": append([]option{
		{name: "max_body", line: "\n\t@inference", with: "\trequest_body {\n\t\tmax_size …\n\t}\n\n\t@inference", value: parseSize},
		{name: "user_jwt", line: "\tapi_auth @management user_jwt\n", with: "\tapi_auth @management …\n"},
		{name: "cascade", line: "\tcascade\n", with: "\t…\n"},
	}, inBlock("keychain", nil, "console", "request_log")...),
	"events": append([]option{
		{name: "user_jwt", line: "\tapi_auth @token user_jwt\n", with: "\tapi_auth @token …\n"},
		{name: "budget", line: "\trun_events {\n", with: "…\n\trun_events {\n", value: parseEventsBudget},
	}, inBlock("run_events", []string{"read", "submit"}, "prefix", "alias", "resource_events_ttl", "report_ttl", "node_ttl", "node_purge_ttl", "unreported_after", "max_body",
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

func parseSize(h httpcaddyfile.Helper, w *written) (string, error) {
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
	return w.add(h.Token()), nil
}

// parseWord is an option with one argument.
func parseWord(h httpcaddyfile.Helper, w *written) (string, error) {
	var word string
	if !h.AllArgs(&word) {
		return "", h.ArgErr()
	}
	return w.add(h.Token()), nil
}

// parseEventsBudget is a limit and, where that is not a minute, a window. The user
// has both on one line, so the long form has another one between theirs.
func parseEventsBudget(h httpcaddyfile.Helper, w *written) (string, error) {
	words := h.RemainingArgsAsTokens()
	if len(words) != 1 && len(words) != 2 {
		return "", h.ArgErr()
	}
	text, err := services.ReadFile("services/events.budget.caddyfile")
	if err != nil {
		return "", err
	}
	budget := strings.Replace(string(text), "limit 600\n", "limit "+w.add(words[0])+"\n", 1)
	if len(words) == 2 {
		budget = strings.Replace(budget, "window 1m\n", "window "+w.add(words[1])+"\n", 1)
	}
	return budget, nil
}

// parseOff is an option that can only be switched off, which removes its line.
func parseOff(h httpcaddyfile.Helper, _ *written) (string, error) {
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
//		request_log <duration>    # how long single requests are kept, or forever; default 90d
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
	var w written
	long, err := withOptions(h, string(text), options, &w)
	if err != nil {
		return nil, err
	}
	// A block around the text makes it a segment that Caddy can parse.
	tokens, err := caddyfile.Tokenize([]byte("tollgate {\n"+long+"}\n"), "tollgate "+name)
	if err != nil {
		return nil, err
	}
	handler, err := httpcaddyfile.ParseSegmentAsSubroute(h.WithDispenser(caddyfile.NewDispenser(w.putInto(tokens))))
	if err != nil {
		return nil, err
	}
	route := handler.(*caddyhttp.Subroute).Routes[0]
	if matcher != nil {
		route.MatcherSetsRaw = caddyhttp.RawMatcherSets{matcher}
	}
	return []httpcaddyfile.ConfigValue{{Class: "route", Value: route}}, nil
}

// withOptions puts the options of the block into the long form, with marks of w
// in the places of what the user wrote.
func withOptions(h httpcaddyfile.Helper, long string, options []option, w *written) (string, error) {
	type change struct {
		option
		value string
	}
	var changes []change
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
		c := change{option: o}
		if o.value == nil {
			c.value = w.add(h.NextSegment()...)
		} else {
			var err error
			if c.value, err = o.value(h, w); err != nil {
				return "", err
			}
		}
		changes = append(changes, c)
	}
	// Backwards: options that go behind the same line end up in the order of their
	// own lines, by which Caddy tells where one ends.
	for _, c := range slices.Backward(changes) {
		long = strings.Replace(long, c.line, strings.Replace(c.with, "…", c.value, 1), 1)
		long = strings.Replace(long, c.also[0], c.also[1], 1)
	}
	return long, nil
}

// written are pieces of what the user wrote. The text of the long form has marks
// in their places, so that they need not become text, keep their quotes, and
// errors have their file and line.
type written [][]caddyfile.Token

// add keeps a piece and returns its mark.
func (w *written) add(tokens ...caddyfile.Token) string {
	*w = append(*w, tokens)
	return writtenMark + strconv.Itoa(len(*w)-1)
}

// writtenMark begins a mark; the long forms do not have it.
const writtenMark = "…"

// putInto puts the pieces in the places of their marks. The words on the same
// line before a mark become copies of the user's first one but for the text: what
// is in another file is on another line to Caddy.
func (w *written) putInto(long []caddyfile.Token) []caddyfile.Token {
	tokens := make([]caddyfile.Token, 0, len(long))
	line := 0 // where the line begins
	for i, t := range long {
		if i > 0 && t.Line != long[i-1].Line {
			line = len(tokens)
		}
		number, marked := strings.CutPrefix(t.Text, writtenMark)
		if !marked {
			tokens = append(tokens, t)
			continue
		}
		n, _ := strconv.Atoi(number) // it is one of add
		piece := (*w)[n]
		for j := line; j < len(tokens); j++ {
			text := tokens[j].Text
			tokens[j] = piece[0]
			tokens[j].Text = text
		}
		tokens = append(tokens, piece...)
	}
	return tokens
}
