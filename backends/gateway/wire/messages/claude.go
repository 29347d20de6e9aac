package messages

import (
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// Thinking returns the members thinking and output_config of a request for Claude as a JSON object, for hosts that
// accept them in addition to a request in another format. The object is empty if the request does not mention them.
// thinks reports whether the model thinks, so that it takes no sampling parameters. maxTokens is the limit of the
// answer in tokens. dropped names the parameters that are left out.
func Thinking(r *hub.Request, t *hub.Target, maxTokens int64) (object string, thinks bool, dropped []string) {
	w := upstreamWriter{r: r, t: t, maxTokens: maxTokens}
	w.decideThinking()
	w.reasoning()
	if len(w.dst) == 0 {
		return "{}", false, w.dropped
	}
	thinks = w.thinking == upstreamAdaptive || w.thinking == upstreamBudget
	return "{" + string(w.dst[1:]) + "}", thinks, w.dropped
}

// Grammar converts a JSON schema to the form that Claude and its hosts can enforce: objects are closed, and unsupported
// keywords are moved to the description. ok is false if this would change the meaning of the schema.
func Grammar(schema string) (held string, ok bool) { return upstreamGrammar(schema) }

// ToolSchema converts the schema of a tool's parameters to the form that Claude and its hosts accept.
func ToolSchema(parameters string) string { return upstreamSchema(parameters) }

// Restores reports whether a piece of earlier reasoning can be sent back to a candidate as a thinking block with its
// signature, or as a redacted_thinking block. Its state must come from the same provider and family of models.
func Restores(x *hub.Reasoning, t *hub.Target) bool { return upstreamRestores(x, t) }
