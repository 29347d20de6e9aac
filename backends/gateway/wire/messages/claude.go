package messages

import (
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// Thinking returns the members thinking and output_config of a request for Claude as the text of a JSON
// object, for hosts that take them beside a request in another format. The object is empty where the
// request says nothing of them. Thinks reports whether the model thinks, so that it takes no sampling
// parameters. MaxTokens is the limit of the answer in tokens; dropped names the parameters that are left out.
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

// Grammar returns a JSON schema in the form to which Claude and its hosts hold an answer: closed objects,
// and the keywords that they have no grammar for told in the description. Ok is false for a schema that
// would mean something else then.
func Grammar(schema string) (held string, ok bool) { return upstreamGrammar(schema) }

// ToolSchema returns the schema of a tool's parameters in the form that Claude and its hosts accept.
func ToolSchema(parameters string) string { return upstreamSchema(parameters) }

// Restores reports whether a candidate can be given a piece of reasoning back as a signed block.
func Restores(x *hub.Reasoning, t *hub.Target) bool { return upstreamRestores(x, t) }
