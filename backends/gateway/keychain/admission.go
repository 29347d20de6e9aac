package keychain

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/counters"
)

// Rates bound what is used at the same time. A nil limit means unlimited.
type Rates struct {
	// TokensPerMinute bounds the tokens of prompts and answers in a minute. They are counted when an answer ends:
	// further requests are refused once the tokens are used up, but requests that are under way may exceed the limit.
	TokensPerMinute *int64 `json:"tokens_per_minute,omitempty"`
	// ParallelRequests bounds the requests under way.
	ParallelRequests *int64 `json:"parallel_requests,omitempty"`
}

func (r *Rates) check() error {
	for name, n := range map[string]*int64{
		"tokens_per_minute": r.TokensPerMinute, "parallel_requests": r.ParallelRequests,
	} {
		if n != nil && (*n < 1 || *n > 1_000_000_000) {
			return invalid(name, "%s must be from 1 to 1,000,000,000; leave it out for no limit", name)
		}
	}
	return nil
}

// holdFor is the longest time for which a request counts as one under way, so that the requests of a node that was
// killed do not count for ever.
const holdFor = 15 * time.Minute

// releaseTimeout bounds how long the end of a request waits for the counters.
const releaseTimeout = time.Second

// Admission is the permission to send a request, and holds what must be given back by Done. A nil Admission and the
// zero value have nothing to give back.
type Admission struct {
	counters counters.Store
	holder   string   // identifies the request among the holders of places
	places   []string // keys of the counters
	windows  []string // counters that the tokens are charged to
}

// bound is a limit of Rates with the purse that it is on.
type bound struct {
	spending.Purse
	*Rates
}

// bounds appends the limits of Rates that apply to the key.
func (id *Identity) bounds(list []bound) []bound {
	if id.Rates != (Rates{}) {
		list = append(list, bound{spending.Purse{On: spending.OwnKey, ID: id.KeyID}, &id.Rates})
	}
	for i := range id.Imposed {
		l := &id.Imposed[i]
		switch last := len(list) - 1; {
		case l.Rates == Rates{}:
		case last >= 0 && list[last].Purse == l.purse(): // they are counted together
			list[last].Rates = &Rates{
				TokensPerMinute:  tightest(list[last].TokensPerMinute, l.TokensPerMinute),
				ParallelRequests: tightest(list[last].ParallelRequests, l.ParallelRequests),
			}
		default:
			list = append(list, bound{l.purse(), &l.Rates})
		}
	}
	return list
}

// subjects are phrases for error messages that name whom a limit is on.
var subjects = map[string]string{
	spending.OwnKey: "the gateway key",
	OnKey:           "the gateway key, with those that share its limits,",
	OnUser:          "the user of the gateway key",
	OnTeam:          "the team of the gateway key",
	OnOrganisation:  "the organisation",
}

// Admit refuses a request whose key has spent a budget with 402 insufficient_quota, and one beyond the tokens of a
// minute or the number of requests under way with 429 rate_limit_exceeded. All limits of the key apply: its own, and
// those that the operator has set on it, on its user, on their team and on everybody. An admitted request takes a place
// among those under way until Done is called. A key without such limits costs nothing here, and its Admission is nil.
//
// The sums of budgets are read at most every CacheTTL, and what this node has recorded since is added to them. So a
// budget can be exceeded by what the requests under way spend, and by what other nodes spend within CacheTTL and
// FlushInterval. Places and tokens of a minute are exact over all nodes that share the counters. The error wraps
// store.ErrUnavailable while the database cannot be reached, and counters.ErrUnavailable while the counters cannot.
func (s *Service) Admit(ctx context.Context, count counters.Store, id *Identity) (*Admission, error) {
	if err := s.admitBudgets(ctx, id); err != nil {
		return nil, err
	}
	var room [1 + len(limitHolders)]bound
	bounds := id.bounds(room[:0])
	if len(bounds) == 0 {
		return nil, nil //nolint:nilnil // a nil Admission has nothing to give back
	}
	a := &Admission{counters: count, holder: random(20)}
	for _, b := range bounds {
		if err := a.take(ctx, b); err != nil {
			_ = a.Done(ctx, 0) // what it cannot give back is freed after holdFor
			return nil, err
		}
	}
	return a, nil
}

// take returns an error for a request beyond a bound. Otherwise it records what Done has to give back.
func (a *Admission) take(ctx context.Context, b bound) error {
	key := "gateway/" + b.On + "/" + b.ID
	if b.TokensPerMinute != nil {
		window := key + "/tokens"
		state, err := a.counters.Take(ctx, window, 0, *b.TokensPerMinute, time.Minute)
		if err != nil {
			return err
		}
		if state.Remaining == 0 {
			refusal := apierror.New(http.StatusTooManyRequests, "rate_limit_exceeded",
				"%s has used %d tokens in a minute, which is the limit; try again later", subjects[b.On], *b.TokensPerMinute)
			refusal.RetryAfter = max(state.Reset, time.Second)
			return refusal
		}
		a.windows = append(a.windows, window)
	}
	if b.ParallelRequests != nil {
		place := key + "/parallel"
		held, err := a.counters.Hold(ctx, place, a.holder, *b.ParallelRequests, holdFor)
		if err != nil {
			return err
		}
		if !held {
			refusal := apierror.New(http.StatusTooManyRequests, "rate_limit_exceeded",
				"%s has %d requests under way, which is the limit; try again when one has ended", subjects[b.On],
				*b.ParallelRequests)
			refusal.RetryAfter = time.Second
			return refusal
		}
		a.places = append(a.places, place)
	}
	return nil
}

// Done gives back the places of a request and charges the tokens that it used. It must be called once, even if the
// client has left: it ignores the cancellation of ctx and takes at most releaseTimeout.
func (a *Admission) Done(ctx context.Context, tokens int64) error {
	if a == nil || len(a.places)+len(a.windows) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	var errs []error
	for _, window := range a.windows {
		errs = append(errs, a.counters.Charge(ctx, window, min(max(tokens, 0), spending.MaxRecordTokens), time.Minute))
	}
	for _, place := range a.places {
		errs = append(errs, a.counters.Release(ctx, place, a.holder))
	}
	a.places, a.windows = nil, nil
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("giving back what a request took: %w", err)
	}
	return nil
}
