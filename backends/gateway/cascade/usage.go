package cascade

import (
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// Lost is the usage of an attempt that failed, or whose client left, although its
// provider had worked on the request.
type Lost struct {
	Candidate *keychain.Candidate
	Key       string // public id of the provider key
	Usage     wire.Usage
}

// lose records the usage of an attempt whose answer the client did not get. whole reports whether the upstream's answer
// was complete. An incomplete answer whose provider stated no tokens counts as nothing, unless the client left: its
// usage is then estimated, since otherwise every prompt would be free for a client that leaves early.
func (r *run) lose(c *keychain.Candidate, pass passed, whole bool) {
	u := pass.Usage()
	if !whole {
		if u.Prompt == 0 && u.Completion == 0 && r.ctx.Err() == nil {
			return
		}
		u.Known = false
	}
	r.result.Lost = append(r.result.Lost, Lost{c, r.key.PublicID(), r.settled(u, pass.TextBytes())})
}

// settleUsage completes the usage of the answer with estimates, see settled.
func (r *run) settleUsage() {
	if r.result.Candidate != nil {
		r.result.Usage = r.settled(r.result.Usage, r.result.textBytes)
	}
}

// settled returns a usage with estimates in place of what the upstream did not state (specification 15.2). Numbers that
// it stated before the end of an answer are lower bounds.
func (r *run) settled(u wire.Usage, textBytes int64) wire.Usage {
	if u.Known {
		return u
	}
	r.result.Estimated = true
	if u.Prompt == 0 {
		u.Prompt = r.promptTokens()
	}
	u.Completion = max(u.Completion, wire.EstimateTokens(textBytes))
	return u
}

// media are the needs whose tokens are not visible in the text.
const media = wire.NeedImage | wire.NeedFile | wire.NeedAudio

// promptTokens estimates the tokens of the prompt. It does so once, so that the client is told the number that is
// recorded. A chat request that was not read into the common form is measured by the bytes of its text and by the media
// that were seen in parsing.
func (r *run) promptTokens() int64 {
	if r.prompt > 0 {
		return r.prompt
	}
	r.prompt = wire.EstimateTokens(r.text)
	switch ask := r.req.Chat; {
	case r.req.Hub != nil:
		r.prompt = hub.CountTokens(r.req.Hub)
	case r.needs&media != 0:
		r.prompt += ask.MediaTokens + int64(ask.Messages)*wire.MessageTokens
	}
	return r.prompt
}
