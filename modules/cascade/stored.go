package cascade

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/tollgate-gateway/tollgate/backends/gateway"
	"github.com/tollgate-gateway/tollgate/backends/gateway/cascade"
	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/stored"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/formats"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/modules/body"
)

// StoreResponses is the option that stores answers of the Responses API and conversations, encrypted. They belong to
// the key's team or, if the key has no team, to its user.
type StoreResponses struct {
	// Retention is how long a response is stored after it was created or continued, and a conversation after its last
	// change. Default: 30d.
	Retention caddy.Duration `json:"retention,omitempty"`

	// Size is the maximum size of a stored response together with its input, in bytes. Default: 8 MiB.
	Size int64 `json:"size,omitempty"`

	// Quota limits what a team or a user stores, in bytes: all responses, conversations and events of resumable streams
	// together. The sum is computed once a minute. Default: 1 GiB.
	Quota int64 `json:"quota,omitempty"`

	// ConversationItems is the maximum number of items in a conversation. Default: 2000.
	ConversationItems int `json:"conversation_items,omitempty"`

	// Chain is the maximum number of responses that continue one another. Default: 500.
	Chain int `json:"chain,omitempty"`

	// BackgroundParallel is the number of background answers that each node works on at the same time. Up to four times as
	// many requests are accepted; further requests are refused with 429. Default: 32.
	BackgroundParallel int `json:"background_parallel,omitempty"`

	// BackgroundTime is the time limit for an answer in the background. Default: 1h.
	BackgroundTime caddy.Duration `json:"background_time,omitempty"`
}

// options converts the option for the package stored.
func (o *StoreResponses) options() *stored.Options {
	return new(stored.Options{
		Retention: time.Duration(o.Retention), Size: o.Size, Quota: o.Quota, Items: o.ConversationItems, Depth: o.Chain,
		Parallel: o.BackgroundParallel, Time: time.Duration(o.BackgroundTime),
	}.WithDefaults())
}

// validate checks the ranges of the values. A value that is not set is 0. A nil receiver is valid.
func (o *StoreResponses) validate() error {
	const leastSize, mostSize, leastQuota = 64 << 10, 32 << 20, 1 << 20
	switch {
	case o == nil:
		return nil
	case o.Retention != 0 && time.Duration(o.Retention) < time.Minute:
		return errors.New("store_responses: the retention must be at least 1m")
	case o.Size != 0 && (o.Size < leastSize || o.Size > mostSize):
		return errors.New("store_responses: size must be from 64 KiB to 32 MiB")
	case o.Quota != 0 && o.Quota < leastQuota:
		return errors.New("store_responses: quota must be at least 1 MiB")
	case o.ConversationItems < 0 || o.ConversationItems > 10_000:
		return errors.New("store_responses: conversation_items must be from 1 to 10000")
	case o.Chain < 0 || o.Chain > 5000:
		return errors.New("store_responses: chain must be from 1 to 5000")
	case o.BackgroundParallel < 0 || o.BackgroundParallel > 10_000:
		return errors.New("store_responses: background_parallel must be from 1 to 10000")
	case o.BackgroundTime < 0 || time.Duration(o.BackgroundTime) > 24*time.Hour:
		return errors.New("store_responses: background_time must be at most 24h")
	}
	return nil
}

// watchStored starts two jobs: one renews the leases of this node's background answers, the other marks the answers of
// lost nodes as failed.
func (h *Handler) watchStored() {
	if gw, err := h.app.Gateway(); err == nil {
		gw.Stored.Watch()
	}
}

// keeper gives a request access to the stored responses of its sender. It implements cascade.Stored.
type keeper struct {
	service *stored.Service
	options *stored.Options
	owner   string
	turn    *stored.Turn // nil if the request neither stores nor continues anything
}

// keeper returns the keeper for a request. identity describes the user and the team for whom the request is made.
// keeper returns nil if responses of the request's format are not stored.
func (h *Handler) keeper(gw *gateway.Gateway, identity *keychain.Identity, format formats.Format) *keeper {
	if h.stored == nil || format == nil || format.Facts().Name != hub.Responses {
		return nil
	}
	return &keeper{service: gw.Stored, options: h.stored, owner: stored.Owner(identity.UserID, identity.TeamID)}
}

// FindItems implements cascade.Stored.
func (k *keeper) FindItems(ctx context.Context, ids []string) (map[string]string, error) {
	return k.service.FindItems(ctx, k.owner, ids)
}

// KeepItem implements cascade.Stored.
func (k *keeper) KeepItem(id string, text []byte) bool { return k.turn.KeepItem(id, text) }

// begin returns the request body in text, extended by the earlier items of the response or conversation that the
// request continues.
func (k *keeper) begin(ctx context.Context, text []byte) (_ []byte, err error) {
	k.turn, text, err = k.service.Begin(ctx, k.owner, k.options, text)
	return text, err
}

// inBackground reports whether the client does not wait for the answer.
func (k *keeper) inBackground() bool { return k != nil && k.turn != nil && k.turn.Background }

// recordAnswer returns a writer that stores the answer on its way to the client. The returned function must be called
// after the answer.
func (h *Handler) recordAnswer(
	w http.ResponseWriter, request *cascade.Request, k *keeper,
) (http.ResponseWriter, func()) {
	if k == nil || k.turn == nil {
		return w, func() {}
	}
	recorder := k.turn.Record(w, h.app.MemoryBudget().Share(request.User))
	return recorder, func() { _ = recorder.Finish() } // the request's context shows whether the client has left
}

// background starts work on an answer in the background, and sends the client the unfinished response. The request's
// memory and reservations are released when the answer ends, or at once if the work cannot be started.
func (h *Handler) background(
	w http.ResponseWriter, r *http.Request, request *cascade.Request, k *keeper, gw *gateway.Gateway,
	admission *keychain.Admission, started time.Time,
) error {
	release := h.app.Acquire()
	ctx := context.WithValue(context.WithoutCancel(r.Context()), caddy.ReplacerCtxKey, caddy.NewReplacer())
	backgroundRequest := r.WithContext(ctx)
	engine := h.engine(gw, nil)
	timeLimit := k.options.Time / 2 // leaves time for a second candidate
	engine.Options.Answer = catalog.PerTier{Low: timeLimit, Medium: timeLimit, High: timeLimit}
	completion := body.NewCompletion(r.Context())
	var usedTokens int64
	done := func() {
		h.done(backgroundRequest, admission, usedTokens)
		completion.End(ctx)
		request.Release()
		release()
	}
	k.turn.Share = h.app.MemoryBudget().Share(request.User)
	object, err := k.service.Start(
		ctx, k.turn, request.Hub.Model, request.Hub.Answer.Echo,
		func(ctx context.Context, w http.ResponseWriter) error {
			result, err := engine.Answer(ctx, w, request)
			usedTokens = reportResult(backgroundRequest, request, gw, result, nil, started)
			return err
		}, done,
	)
	if err != nil {
		done()
		return statusError(gateway.Unavailable(err))
	}
	if k.turn.Stream {
		return statusError(gateway.Unavailable(k.service.Follow(r.Context(), w, k.owner, k.turn.ID, -1)))
	}
	return stored.WriteJSON(w, object)
}

// storedEndpoint returns the endpoint for stored objects at a path; see stored.Find.
func (h *Handler) storedEndpoint(method, path string) (e *stored.Endpoint, allow string) {
	below, ok := strings.CutPrefix(path, "/v1")
	if !ok || h.stored == nil {
		return nil, ""
	}
	return stored.Find(method, below)
}

// serveStored answers requests to the endpoints for stored objects.
func (h *Handler) serveStored(w http.ResponseWriter, r *http.Request, e *stored.Endpoint) error {
	defer h.app.Acquire()()
	gw, identity, err := h.client(r)
	if err != nil {
		return err
	}
	var text []byte
	if e.Reads() {
		requestBody, lease, err := body.Read(w, r, h.app.MemoryBudget(), identity.UserID)
		if err != nil {
			return err
		}
		defer lease.Give()
		text = requestBody
	}
	return statusError(
		gateway.Unavailable(gw.Stored.Serve(w, r, e, stored.Owner(identity.UserID, identity.TeamID), h.stored, text)),
	)
}

// notStored returns the error for a request about stored objects if the option store_responses is not set.
func notStored() error {
	return refuse(http.StatusNotFound, "unsupported_endpoint",
		"responses are not stored here: send the whole input with each request, or ask the operator for `store_responses`")
}

// Interface guards
var (
	_ cascade.Stored      = (*keeper)(nil)
	_ http.ResponseWriter = (*stored.Recorder)(nil)
)
