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
	Key       string // of the provider, by its public id
	Usage     wire.Usage
}

// lose keeps what an attempt without an answer used. whole: the answer was complete.
// Of one that was not, what the provider had told counts, and nothing is guessed, but
// for a client that left: to leave early would else make every prompt free.
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

// settleUsage completes the usage of the answer.
func (r *run) settleUsage() {
	if r.result.Candidate != nil {
		r.result.Usage = r.settled(r.result.Usage, r.result.textBytes)
	}
}

// settled is a usage with estimates in place of what the upstream did not tell
// (specification 15.2). What it told before the end of an answer is the least.
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

// media are the needs whose tokens do not show in the text.
const media = wire.NeedImage | wire.NeedFile | wire.NeedAudio

// promptTokens estimates the prompt, once: it is the number that the client is told.
// The text of a chat request that nobody had to read further is measured by its bytes,
// its media as they were seen in passing.
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
