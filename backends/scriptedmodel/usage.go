package scriptedmodel

import (
	"strconv"

	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// appendUsage appends the usage object of the answer.
func (c *call) appendUsage(b []byte) []byte {
	prompt := override(c.scr.promptTokens, tokens(c.req.promptBytes))
	completion := override(c.scr.completionTokens, c.ans.completionTokens)
	b = append(b, `{"prompt_tokens":`...)
	b = strconv.AppendInt(b, int64(prompt), 10)
	b = append(b, `,"completion_tokens":`...)
	b = strconv.AppendInt(b, int64(completion), 10)
	b = append(b, `,"total_tokens":`...)
	b = strconv.AppendInt(b, int64(prompt)+int64(completion), 10)
	b = append(b, `,"prompt_tokens_details":{"cached_tokens":`...)
	b = strconv.AppendInt(b, int64(override(c.scr.cachedTokens, 0)), 10)
	b = append(b, `,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":`...)
	b = strconv.AppendInt(b, int64(c.ans.reasoningTokens), 10)
	return append(b, `,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}`...)
}

// override returns the number that a script gives or, if it is unset, the counted number.
func override(number, counted int) int {
	if number != unset {
		return number
	}
	return counted
}

// appendEnvelope appends the members that answers and chunks share, up to the opening bracket of choices.
func (c *call) appendEnvelope(b []byte, object string) []byte {
	b = append(b, `{"id":"chatcmpl-`...)
	b = appendID(b, &c.req.sum)
	b = append(b, `","object":"`...)
	b = append(b, object...)
	b = append(b, `","created":`...)
	b = strconv.AppendInt(b, c.srv.created, 10)
	b = append(b, `,"model":`...)
	b = jsontext.AppendQuoted(b, c.model)
	return append(b, `,"service_tier":"default","system_fingerprint":"scripted","choices":[`...)
}
