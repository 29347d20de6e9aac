package answer

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/tollgate-gateway/tollgate/modules/directive"
)

func init() {
	directive.Register[Handler]("answer")
}

// optionNames are the options of the directive.
var optionNames = []string{
	"base_url", "model", "dense", "web_search", "watch", "fetch", "rate", "quota", "running",
	"queued", "deadline", "compare_min", "cache", "log_queries",
}

// UnmarshalCaddyfile sets up the handler from Caddyfile tokens. See Handler for the syntax.
func (h *Handler) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next() // answer
	if d.NextArg() {
		return d.ArgErr()
	}
	return directive.Options(d, func(option string) (err error) {
		switch option {
		case "base_url":
			err = directive.Text(d, &h.BaseURL)
		case "model":
			h.Model = new(Model)
			err = parseEndpoint(d, &h.Model.URL, map[string]*string{
				"key": &h.Model.Key, "user": &h.Model.User, "low": &h.Model.Low,
				"medium": &h.Model.Medium, "high": &h.Model.High,
			}, map[string]*bool{"extract_when_down": &h.Model.ExtractWhenDown})
		case "dense":
			h.Dense = new(Dense)
			err = parseEndpoint(d, &h.Dense.URL, map[string]*string{
				"key": &h.Dense.Key, "user": &h.Dense.User,
				"model": &h.Dense.Model,
			}, nil)
		case "web_search":
			err = h.unmarshalWebSearch(d)
		case "watch":
			err = h.unmarshalWatch(d)
		case "fetch":
			err = h.unmarshalFetch(d)
		case "rate":
			err = directive.Number(d, &h.Rate)
		case "quota":
			err = h.unmarshalQuota(d)
		case "running":
			err = directive.Number(d, &h.Running)
		case "queued":
			err = directive.Number(d, &h.Queued)
		case "deadline":
			err = directive.Duration(d, &h.Deadline, "60s")
		case "compare_min":
			err = directive.Number(d, &h.CompareMin)
		case "cache":
			err = h.unmarshalCache(d)
		case "log_queries":
			err = directive.Flag(d, &h.LogQueries)
		default:
			return directive.NoOption(d, "answer has no option %q; there are: %s", option, strings.Join(optionNames, ", "))
		}
		return err
	})
}

// unmarshalQuota parses the option quota: a number of answers and, optionally, a window.
func (h *Handler) unmarshalQuota(d *caddyfile.Dispenser) (err error) {
	args := d.RemainingArgs()
	if len(args) == 0 || len(args) > 2 {
		return d.ArgErr()
	}
	if h.Quota, err = strconv.ParseInt(args[0], 10, 64); err != nil || h.Quota < 1 {
		return d.Errf("quota: %q is not a whole number of at least 1", args[0])
	}
	if len(args) == 2 {
		h.Window = args[1]
	}
	return nil
}

// unmarshalCache parses the argument of the option cache. The argument is off, or the time for which a repeated
// question gets the same answer.
func (h *Handler) unmarshalCache(d *caddyfile.Dispenser) error {
	var text string
	if !d.AllArgs(&text) {
		return d.ArgErr()
	}
	if text == "off" {
		h.Cache = -1
		return nil
	}
	lifetime, err := caddy.ParseDuration(text)
	if err != nil || lifetime <= 0 || lifetime > 24*time.Hour {
		return d.Errf("cache: %q is neither off nor a positive duration of at most 24h", text)
	}
	h.Cache = caddy.Duration(lifetime)
	return nil
}

// parseEndpoint parses an option with an address, which it stores in *address, and an optional block. The keys of words
// and flags are the names of options in the block: words has the variables to set for options with an argument, and
// flags has those for options without an argument.
func parseEndpoint(d *caddyfile.Dispenser, address *string, words map[string]*string, flags map[string]*bool) error {
	option := d.Val()
	if !d.AllArgs(address) {
		return d.ArgErr()
	}
	return directive.Options(d, func(name string) error {
		if flag, ok := flags[name]; ok {
			return directive.Flag(d, flag)
		}
		variable, ok := words[name]
		if !ok {
			names := slices.AppendSeq(slices.Collect(maps.Keys(words)), maps.Keys(flags))
			slices.Sort(names)
			return directive.NoOption(d, option+" has no option %q; there are: %s", name, strings.Join(names, ", "))
		}
		return directive.Text(d, variable)
	})
}

// unmarshalWebSearch reads
//
//	web_search <url> {
//		key     <key>
//		hosts   <host>...
//		timeout <duration>
//	}
func (h *Handler) unmarshalWebSearch(d *caddyfile.Dispenser) error {
	h.WebSearch = new(WebSearch)
	if !d.AllArgs(&h.WebSearch.URL) {
		return d.ArgErr()
	}
	return directive.Options(d, func(option string) error {
		switch option {
		case "key":
			return directive.Text(d, &h.WebSearch.Key)
		case "hosts":
			return directive.Texts(d, &h.WebSearch.Hosts)
		case "timeout":
			var text string
			if !d.AllArgs(&text) {
				return d.ArgErr()
			}
			timeout, err := caddy.ParseDuration(text)
			if err != nil || timeout <= 0 || timeout > time.Minute {
				return d.Errf("timeout: %q is not a positive duration of at most 1m", text)
			}
			h.WebSearch.Timeout = caddy.Duration(timeout)
		default:
			return directive.NoOption(d, "web_search has no option %q; there are: hosts, key, timeout", option)
		}
		return nil
	}, "hosts")
}

// Interface guard
var _ caddyfile.Unmarshaler = (*Handler)(nil)
