package cascade

import (
	"math"
	"strconv"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/dustin/go-humanize"

	"github.com/tollgate-gateway/tollgate/modules/directive"
	gatewayapp "github.com/tollgate-gateway/tollgate/modules/gateway"
)

func init() {
	directive.Register[Handler]("cascade")
}

// UnmarshalCaddyfile sets up the handler from its Caddyfile form:
//
//	cascade [<matcher>] {
//		first_content [low|medium|high] <duration>
//		answer        [low|medium|high] <duration>
//		idle <duration>
//		default_tier low|medium|high
//		stop_on_policy
//		entry_fallback
//		answer_items <duration>|off
//		store_responses [<retention>] {
//			size <bytes>
//			quota <bytes>
//			conversation_items <n>
//			chain <n>
//			background_parallel <n>
//			background_time <duration>
//		}
//		routing [low|medium|high] catalog|price|latency|weights
//		weight <entry or provider> <n>
//		claude_names
//		no_cache_marks
//		hide_failed_attempts
//		anonymous [<user>]
//	}
func (h *Handler) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next() // cascade
	if d.NextArg() {
		return d.ArgErr()
	}
	flags := map[string]*bool{
		"stop_on_policy": &h.StopOnPolicy, "entry_fallback": &h.EntryFallback, "hide_failed_attempts": &h.HideFailedAttempts,
		"no_cache_marks": &h.NoCacheMarks, "claude_names": &h.ClaudeNames,
	}
	return directive.Options(d, func(option string) (err error) {
		switch option {
		case "first_content":
			err = gatewayapp.Durations(d, &h.FirstContent)
		case "answer":
			err = gatewayapp.Durations(d, &h.Answer)
		case "idle":
			err = directive.Duration(d, &h.Idle, "20s")
		case "answer_items":
			err = h.answerItems(d)
		case "store_responses":
			h.StoreResponses = new(StoreResponses)
			err = h.StoreResponses.unmarshal(d)
		case "routing":
			err = h.routing(d)
		case "weight":
			err = h.weight(d)
		case "default_tier":
			err = directive.Text(d, &h.DefaultTier)
		case "anonymous":
			h.Anonymous = "anonymous"
			if d.NextArg() {
				h.Anonymous = d.Val()
			}
			if d.NextArg() {
				err = d.ArgErr()
			}
		default:
			flag, ok := flags[option]
			if !ok {
				return directive.NoOption(d,
					"unknown option %q; there are: first_content, answer, idle, default_tier, stop_on_policy, entry_fallback, answer_items, store_responses, routing, weight, claude_names, no_cache_marks, hide_failed_attempts, anonymous", option)
			}
			err = directive.Flag(d, flag)
		}
		return err
	}, "first_content", "answer", "routing", "weight")
}

// routing parses an order of candidates for one tier or, if no tier is named, for all three.
func (h *Handler) routing(d *caddyfile.Dispenser) error {
	args := d.RemainingArgs()
	tiers := []string{"low", "medium", "high"}
	switch len(args) {
	case 1:
	case 2:
		tiers = args[:1]
	default:
		return d.ArgErr()
	}
	if h.Routing == nil {
		h.Routing = make(map[string]string)
	}
	for _, tier := range tiers {
		if _, twice := h.Routing[tier]; twice {
			return d.Errf("routing of the tier %s is given twice", tier)
		}
		h.Routing[tier] = args[len(args)-1]
	}
	return nil
}

// weight parses the weight of an entry or a provider.
func (h *Handler) weight(d *caddyfile.Dispenser) error {
	var name, text string
	if !d.AllArgs(&name, &text) {
		return d.ArgErr()
	}
	weight, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return d.Errf("weight: %q is not a number", text)
	}
	if _, twice := h.Weights[name]; twice {
		return d.Errf("weight %s is given twice", name)
	}
	if h.Weights == nil {
		h.Weights = make(map[string]float64)
	}
	h.Weights[name] = weight
	return nil
}

// answerItems parses the option answer_items, which sets how long the items of answers are stored.
func (h *Handler) answerItems(d *caddyfile.Dispenser) error {
	var text string
	if !d.AllArgs(&text) {
		return d.ArgErr()
	}
	if text == "off" {
		h.AnswerItems = -1
		return nil
	}
	retention, err := caddy.ParseDuration(text)
	if err != nil || retention < time.Minute {
		return d.Errf("answer_items: %q is neither a duration of at least 1m, such as 1d, nor off", text)
	}
	h.AnswerItems = caddy.Duration(retention)
	return nil
}

// unmarshal parses the option store_responses.
func (o *StoreResponses) unmarshal(d *caddyfile.Dispenser) error {
	if d.NextArg() {
		retention, err := caddy.ParseDuration(d.Val())
		if err != nil || retention < time.Minute {
			return d.Errf("store_responses: %q is not a duration of at least 1m, such as 30d", d.Val())
		}
		o.Retention = caddy.Duration(retention)
	}
	if d.NextArg() {
		return d.ArgErr()
	}
	return directive.Options(d, func(option string) (err error) {
		switch option {
		case "size":
			o.Size, err = byteSize(d, "8MiB")
		case "quota":
			o.Quota, err = byteSize(d, "1GiB")
		case "conversation_items":
			err = directive.Number(d, &o.ConversationItems)
		case "chain":
			err = directive.Number(d, &o.Chain)
		case "background_parallel":
			err = directive.Number(d, &o.BackgroundParallel)
		case "background_time":
			err = directive.Duration(d, &o.BackgroundTime, "20s")
		default:
			return directive.NoOption(d,
				"unknown option %q; there are: size, quota, conversation_items, chain, background_parallel, background_time", option)
		}
		return err
	})
}

// byteSize parses the single argument of an option as a size in bytes. example is a valid size for error messages.
func byteSize(d *caddyfile.Dispenser, example string) (int64, error) {
	option := d.Val()
	var text string
	if !d.AllArgs(&text) {
		return 0, d.ArgErr()
	}
	size, err := humanize.ParseBytes(text)
	if err != nil || size == 0 || size > math.MaxInt64 {
		return 0, d.Errf("%s: %q is not a size such as %s", option, text, example)
	}
	return int64(size), nil
}

// Interface guards
var _ caddyfile.Unmarshaler = (*Handler)(nil)
