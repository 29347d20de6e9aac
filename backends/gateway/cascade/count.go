package cascade

import (
	"context"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// countTime bounds the time for counting tokens.
const countTime = 2 * time.Second

// CountTokens returns the number of tokens of a request. The number comes from the first candidate that can carry the
// request, on three conditions: it is the first of the plan, its format has a call for counting, and the user's own key
// for it is usable. Shared keys are not used, since no budget limits the counting calls. Otherwise the number is
// estimated. A request that Answer would refuse without asking an upstream is refused here with the same error.
func (e *Engine) CountTokens(ctx context.Context, req *Request) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, countTime)
	defer cancel()
	r := e.newRun(ctx, nil, req)
	if err := e.Mark.checkLoop(req.Via); err != nil {
		return 0, err
	}
	plan, err := r.plan()
	if err != nil {
		return 0, err
	}
	var refused []string // see try
	for i, c := range plan {
		if slices.Contains(refused, ProviderScope(c)) {
			continue
		}
		x, err := r.exchange(c, r.shape(c))
		if err != nil {
			if r.recordUnwritable(c, err) == client {
				refused = append(refused, ProviderScope(c))
			}
			if len(r.refusals) == 2 {
				break
			}
			continue
		}
		if i == 0 {
			if tokens, ok := r.count(c, x); ok {
				return tokens, nil
			}
		}
		return hub.CountTokens(req.Hub), nil
	}
	return 0, r.failure()
}

// recordUnwritable records that the request cannot be written for candidate c because of err, and returns the class of
// the failure: client if the request itself is at fault, else unable.
func (r *run) recordUnwritable(c *keychain.Candidate, err error) class {
	f := unwritableFailure(err)
	r.recordFailure(c, &keychain.Key{}, f, 0)
	if f.class == client {
		r.refusals = append(r.refusals, f)
	}
	return f.class
}

// count asks a candidate for the number of tokens. ok is false if the candidate cannot be asked or gives no number. Its
// failures do not influence later requests.
func (r *run) count(c *keychain.Candidate, x *exchange) (tokens int64, ok bool) {
	path := x.format.Facts().Count
	if c.Custom || path == "" || len(c.Keys) == 0 || len(c.Provider.Paths) > 0 {
		return 0, false
	}
	key := &c.Keys[0] // a user's own keys come first
	if key.Shared() {
		return 0, false
	}
	if end, _ := r.Memory.Health.blockedFor(ProviderScope(c), key, c.Model.ID); !end.IsZero() {
		return 0, false
	}
	x.url += path
	body, err := keepMembers(x.written, x.format.Facts().Counts)
	if err != nil {
		return 0, false
	}
	x.written = body
	request, err := r.request(r.ctx, c, key, x)
	if err != nil {
		return 0, false
	}
	r.link.begin(nil)
	resp, err := r.Providers.RoundTrip(request)
	// A reused connection may have been closed while it was idle: try once with a new one.
	if err != nil && r.ctx.Err() == nil && r.link.died(err) {
		if request, err = r.request(r.ctx, c, key, x); err == nil {
			resp, err = withNewConnection(r.Providers).RoundTrip(request)
		}
	}
	if err != nil {
		return 0, false
	}
	defer resp.Body.Close()
	unpack(resp) // an answer in another encoding is no valid JSON
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	if err != nil || resp.StatusCode != http.StatusOK || !gjson.ValidBytes(answer) {
		return 0, false
	}
	n := gjson.GetBytes(answer, "input_tokens")
	return n.Int(), n.Type == gjson.Number && n.Int() > 0
}

// keepMembers returns the JSON object body without its top-level fields, except those named in members. The error says
// that body could not be parsed.
func keepMembers(body []byte, members []string) ([]byte, error) {
	var edits jsontext.Edits
	s := jsontext.NewScanner(body)
	items, err := s.ObjectItems(func(key []byte, item *jsontext.Item) error {
		item.Drop = !slices.Contains(members, string(key))
		return s.Skip()
	})
	edits.Remove(items)
	return edits.Apply(nil, body), err
}
