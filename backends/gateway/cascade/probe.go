package cascade

import (
	"context"
	"net/http"
	"time"

	"github.com/tidwall/sjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/chat/native"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// Probe is the result of testing one key.
type Probe struct {
	OK      bool
	Model   string // the model that was asked
	Latency time.Duration
	// Failure describes the failed attempt. It is nil if OK is set.
	Failure *apierror.Attempt
}

// probeTimeout bounds each attempt of a probe.
const probeTimeout = 30 * time.Second

// Probe asks a provider for a few tokens with one of a user's keys, regardless of the key's state. It records the
// outcome, so a key that works again is usable at once.
func (e *Engine) Probe(ctx context.Context, user string, c *keychain.Candidate, key keychain.Key) (*Probe, error) {
	body, err := sjson.SetBytes([]byte(`{"max_tokens":16,"messages":[{"role":"user","content":"Say OK."}]}`),
		"model", c.Entry)
	if err != nil {
		return nil, err
	}
	chat, err := native.Parse(body)
	if err != nil {
		return nil, err
	}
	c = withProbeTimeout(c)
	r := e.newRun(ctx, &discard{}, &Request{ID: wire.NewID("req_"), User: user, Chat: chat})
	f := r.attempt(c, &key)
	if f != nil && f.class == fixable {
		f = r.retry(c, &key, f)
	}
	probe := &Probe{OK: f == nil, Model: c.ModelName(), Latency: e.Now().Sub(r.start)}
	if f == nil {
		e.Memory.Health.reopen(ProviderScope(c), key.ID, c.Model.ID)
		return probe, nil
	}
	if n := len(r.result.Failed); n > 0 {
		probe.Failure = &r.result.Failed[n-1]
	} else {
		probe.Failure = &apierror.Attempt{
			Provider: c.Provider.Code, Model: c.ModelName(), Status: f.status, Code: f.code, Message: wire.Mask(f.message, 200),
		}
	}
	return probe, nil
}

// withProbeTimeout returns a copy of a candidate whose answer may take no longer than probeTimeout.
func withProbeTimeout(c *keychain.Candidate) *keychain.Candidate {
	probed, provider := *c, *c.Provider
	provider.Timeouts.Answer = catalog.PerTier{Low: probeTimeout, Medium: probeTimeout, High: probeTimeout}
	probed.Provider = &provider
	return &probed
}

// discard is an http.ResponseWriter that discards the body.
type discard struct{ header http.Header }

// Header implements http.ResponseWriter.
func (d *discard) Header() http.Header {
	if d.header == nil {
		d.header = make(http.Header)
	}
	return d.header
}

func (d *discard) Write(p []byte) (int, error) { return len(p), nil }

func (d *discard) WriteHeader(int) {}

// Flush implements http.Flusher.
func (d *discard) Flush() {}

// reopen ends two cooldowns: that of a key, and that of a model through this key. Both the key and the model have
// just answered.
func (h *Health) reopen(provider, key, model string) {
	for _, s := range [...]scope{{provider: provider, key: key}, {provider: provider, key: key, model: model}} {
		h.updateKnown(s, func(state *State, now time.Time) {
			state.Until, state.Reason, state.Status, state.LastSuccess = time.Time{}, "", Active, now
		})
	}
}
