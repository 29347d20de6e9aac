package messages

import (
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// Thinking returns the members thinking and output_config of a request for Claude as a JSON object. It is meant for
// hosts that accept these members in addition to a request in another format. The object is empty if the request needs
// none of them. thinks is set if the model will think; it then accepts no sampling parameters. maxTokens is the token
// limit of the answer. dropped names the parameters that are left out.
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
