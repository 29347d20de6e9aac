package messages

import (
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// Thinking returns a JSON object with the fields thinking and output_config of a request for Claude. It is meant for
// hosts that accept these fields in addition to a request in another format. object is empty if the request needs
// neither field. thinks is set if the model will think. A model that thinks accepts no sampling parameters. maxTokens
// is the token limit of the answer. dropped lists the parameters that are left out.
func Thinking(r *hub.Request, t *hub.Target, maxTokens int64) (object string, thinks bool, dropped []string) {
	w := newUpstreamWriter(r, t, nil)
	w.maxTokens = maxTokens
	w.decideThinking()
	w.reasoning()
	if len(w.Dst) == 0 {
		return "{}", false, w.dropped
	}
	thinks = w.thinking == upstreamAdaptive || w.thinking == upstreamBudget
	return "{" + string(w.Dst[1:]) + "}", thinks, w.dropped
}
