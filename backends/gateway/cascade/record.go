package cascade

import (
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// Record returns the usage log's record of a request that started at the given time and ends now. It includes the usage
// of failed attempts, at the prices of the models that were tried.
func (q *Request) Record(result *Result, started time.Time) spending.Record {
	_, model, stream := q.Asked()
	record := spending.Record{
		At: started, RequestID: q.ID, UserID: q.User, TeamID: q.TeamID, KeyID: q.KeyID, Surface: q.surface(),
		AskedModel: model, Tier: result.Tier, Stream: stream, Status: result.Status, Code: result.Code,
		Attempts: result.Attempts, FailedAttempts: result.Failed, UsageSource: "exact", Tags: q.Tags, EndUser: q.EndUser,
		Latency: time.Since(started), FirstToken: result.FirstToken,
	}
	if result.Estimated {
		record.UsageSource = "estimated"
	}
	if _, known := PseudoTier(model); !known && (result.Candidate == nil || result.Candidate.Entry != model) {
		record.AskedModel = wire.Mask(model, 200) // the client's text may be anything, even a key
	}
	if c := result.Candidate; c != nil {
		record.Provider, record.Model, record.ProviderKey = c.Provider.Code, c.ModelName(), result.Key
		record.CostMicroUSD, record.CostKnown = spending.Cost(c.Model, &result.Usage, result.Usage.Served.Words())
	} else if n := len(result.Lost); n > 0 {
		last := &result.Lost[n-1]
		record.Provider, record.Model, record.ProviderKey = last.Candidate.Provider.Code, last.Candidate.ModelName(), last.Key
		record.CostKnown = true // the costs of lost attempts are added below
	}
	if q.Forward != nil && q.Forward.noUsage && q.Forward.Pinned == nil {
		record.CostKnown = false // a pinned request names no model, and costs nothing by itself
	}
	record.ServedAs = result.Usage.Served.Words()
	record.AddUsage(&result.Usage)
	for i := range result.Lost {
		l := &result.Lost[i]
		record.AddUsage(&l.Usage)
		micro, known := spending.Cost(l.Candidate.Model, &l.Usage, l.Usage.Served.Words())
		record.CostMicroUSD += micro
		record.CostKnown = record.CostKnown && known
	}
	return record
}

// Lost is the usage of an attempt whose provider worked on the request, although the attempt failed or the client left.
type Lost struct {
	Candidate *keychain.Candidate
	Key       string // public id of the provider key
	Usage     wire.Usage
}

// addLost adds to the result the usage of an attempt whose answer the client did not get. whole is set if the
// upstream's answer was complete. If an incomplete answer states no usage and the client has not left, nothing is
// added. If the client has left, the usage is estimated, since clients could otherwise leave early to have every
// prompt processed for nothing.
func (r *run) addLost(c *keychain.Candidate, pass answerPass, whole bool) {
	u := pass.Usage()
	if !whole {
		if u.Prompt == 0 && u.Completion == 0 && r.ctx.Err() == nil {
			return
		}
		u.Known = false
	}
	r.result.Lost = append(r.result.Lost, Lost{c, r.key.PublicID(), r.withEstimates(u, pass.TextBytes())})
}

// estimateMissingUsage completes the usage of the answer, see withEstimates.
func (r *run) estimateMissingUsage() {
	if r.result.Candidate != nil {
		r.result.Usage = r.withEstimates(r.result.Usage, r.result.textBytes)
	}
}

// withEstimates returns a usage in which estimates replace the numbers that the upstream did not state. Numbers that
// the upstream stated before the end of its answer are lower bounds.
func (r *run) withEstimates(u wire.Usage, textBytes int64) wire.Usage {
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

// promptTokens estimates the tokens of the prompt. It keeps the result, so that the client sees the same number as the
// usage log. A chat request that was not converted to the common form is measured by the bytes of its text and by its
// media.
func (r *run) promptTokens() int64 {
	if r.estimatedTokens > 0 {
		return r.estimatedTokens
	}
	r.estimatedTokens = wire.EstimateTokens(r.promptBytes)
	switch chat := r.req.Chat; {
	case r.req.Hub != nil:
		r.estimatedTokens = hub.CountTokens(r.req.Hub)
	case r.needs&media != 0:
		r.estimatedTokens += chat.MediaTokens + int64(chat.Messages)*wire.MessageTokens
	}
	return r.estimatedTokens
}
