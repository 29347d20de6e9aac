package cascade

import (
	"net/http"
	"strings"

	"github.com/caddyserver/caddy/v2"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
)

// setPlaceholders sets the placeholders of Handler.
func setPlaceholders(r *http.Request, record *spending.Record) {
	repl, ok := r.Context().Value(caddy.ReplacerCtxKey).(*caddy.Replacer)
	if !ok {
		return
	}
	served := struct { // a copy of the needed fields, so that the record can be freed
		provider, model             string
		tier                        catalog.Tier
		attempts                    int
		input, output, costMicroUSD int64
	}{
		record.Provider, record.Model, record.Tier, record.Attempts, record.InputTokens, record.OutputTokens,
		record.CostMicroUSD,
	}
	repl.Map(func(key string) (any, bool) {
		name, ok := strings.CutPrefix(key, "http.cascade.")
		if !ok {
			return nil, false
		}
		switch name {
		case "provider":
			return served.provider, true
		case "model":
			return served.model, true
		case "tier":
			if served.tier == 0 { // no tier was chosen, for example because the request named an entry
				return "", true
			}
			return served.tier.String(), true
		case "attempts":
			return served.attempts, true
		case "input_tokens":
			return served.input, true
		case "output_tokens":
			return served.output, true
		case "total_tokens":
			return served.input + served.output, true
		case "cost_micro_usd":
			return served.costMicroUSD, true
		}
		return nil, false
	})
}
