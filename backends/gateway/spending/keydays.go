package spending

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// keyDay is the key of a row of gateway_provider_key_days.
type keyDay struct {
	key string
	day int64
}

// addKeyDays adds a batch to the daily sums of stored provider keys, whose ids begin with pk_. The whole amount of a
// record counts for the key in its ProviderKey.
func (s *Ledger) addKeyDays(c store.Conn, batch []Record) error {
	days := make(map[keyDay]spentTokens)
	for i := range batch {
		if r := &batch[i]; strings.HasPrefix(r.ProviderKey, "pk_") {
			input, output := r.tokens()
			key := keyDay{r.ProviderKey, unixDay(r.At)}
			sum := days[key]
			days[key] = spentTokens{sum.input + input, sum.output + output, sum.micros + r.cost()}
		}
	}
	rows := slices.Collect(maps.Keys(days))
	// The rows are sorted, so that two nodes do not deadlock.
	slices.SortFunc(rows, func(a, b keyDay) int {
		return cmp.Or(strings.Compare(a.key, b.key), cmp.Compare(a.day, b.day))
	})
	for _, key := range rows {
		sum := days[key]
		if _, err := c.Exec(`INSERT INTO gateway_provider_key_days AS d (provider_key, day, input_tokens, output_tokens, cost_micro_usd) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (provider_key, day) DO UPDATE SET input_tokens = d.input_tokens + excluded.input_tokens,
			output_tokens = d.output_tokens + excluded.output_tokens, cost_micro_usd = d.cost_micro_usd + excluded.cost_micro_usd`,
			key.key, key.day, sum.input, sum.output, sum.micros); err != nil {
			return err
		}
	}
	return nil
}

// spentTokens is the sum of a keyDay: input and output tokens, and the cost in millionths of a dollar.
type spentTokens struct{ input, output, micros int64 }
