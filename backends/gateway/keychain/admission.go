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

// Rates limit the tokens of a minute and the requests under way. A nil limit means unlimited.
type Rates struct {
	// TokensPerMinute limits the tokens of prompts and answers in a minute. Tokens are counted when an answer ends:
	// once the limit is reached further requests are refused, but requests under way may exceed it.
	TokensPerMinute *int64 `json:"tokens_per_minute,omitempty"`
	// ParallelRequests limits the number of requests under way.
	ParallelRequests *int64 `json:"parallel_requests,omitempty"`
}

// check returns an error if a rate is out of bounds.
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

// holdFor is the longest time for which a request counts as under way, so that the requests of a killed node do not
// count forever.
const holdFor = 15 * time.Minute

// releaseTimeout is how long Done may wait for the counters.
const releaseTimeout = time.Second

// Admission is the permission to send one request. It records which counters Done must release or charge. A nil
// Admission and the zero value have nothing to release.
type Admission struct {
	counters      counters.Store
	requestID     string   // random id of the request
	parallel      []string // counters of requests under way
	tokenCounters []string // counters to which the tokens are charged
}

// bound is a set of rates and the purse (set of requests that are counted together) to which they apply.
type bound struct {
	spending.Purse
	*Rates
}

// bounds appends to list the rates that apply to the key, and returns the list. A team may have limits set by the
// operator and limits set by its administrators, which follow each other in id.Imposed. The two become one element
// with the smaller rates.
func (id *Identity) bounds(list []bound) []bound {
	if id.Rates != (Rates{}) {
		list = append(list, bound{spending.Purse{On: spending.OwnKey, ID: id.KeyID}, &id.Rates})
	}
	for i := range id.Imposed {
		l := &id.Imposed[i]
		switch last := len(list) - 1; {
		case l.Rates == Rates{}: // no rates to append
		case last >= 0 && list[last].Purse == l.purse(): // must not be counted twice
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

// holderPhrases maps the kind of a limit's holder to the phrase that names the holder in error messages.
var holderPhrases = map[string]string{
	spending.OwnKey: "the gateway key",
	OnKey:           "the gateway key, together with the keys that share its limits,",
	OnUser:          "the user of the gateway key",
	OnTeam:          "the team of the gateway key",
	OnOrganisation:  "the organisation",
}

// Admit checks a request against all limits of its key: the key's own, and those that the operator has imposed on the
// key, its user, their team and the organisation. The error is 402 insufficient_quota if a budget is spent, and 429
// rate_limit_exceeded if the tokens of a minute are used up or too many requests are under way. An admitted request
// counts as under way until Done is called. Without limits on the key Admit costs nothing and returns a nil Admission.
// Rates are counted in counterStore.
//
// Budget sums are read from the database at most every CacheTTL; the spending that this node has recorded since is
// added. So requests under way can exceed a budget, as can the spending of other nodes within CacheTTL and
// FlushInterval. Requests under way and tokens of a minute are exact over all nodes that share the counters. The error
// wraps store.ErrUnavailable while the database cannot be reached, and counters.ErrUnavailable while the counters
// cannot.
func (s *Service) Admit(ctx context.Context, counterStore counters.Store, id *Identity) (*Admission, error) {
	if err := s.admitBudgets(ctx, id); err != nil {
		return nil, err
	}
	var buffer [1 + len(limitHolders)]bound // saves an allocation per request
	bounds := id.bounds(buffer[:0])
	if len(bounds) == 0 {
		return nil, nil // a nil Admission has nothing to release
	}
	a := &Admission{counters: counterStore, requestID: random(20)}
	for _, b := range bounds {
		if err := a.take(ctx, b); err != nil {
			_ = a.Done(ctx, 0) // if Done fails, the counters forget the request after holdFor
			return nil, err
		}
	}
	return a, nil
}

// take counts the request as under way if b limits parallel requests. It returns an error with status 429 if the
// request exceeds b. Otherwise it records the counters that Done must release or charge.
func (a *Admission) take(ctx context.Context, b bound) error {
	key := "gateway/" + b.On + "/" + b.ID
	if b.TokensPerMinute != nil {
		counter := key + "/tokens"
		state, err := a.counters.Take(ctx, counter, 0, *b.TokensPerMinute, time.Minute) // only reads; Done charges
		if err != nil {
			return err
		}
		if state.Remaining == 0 {
			refusal := apierror.New(http.StatusTooManyRequests, "rate_limit_exceeded",
				"%s has used %d tokens in a minute, which is the limit; try again later", holderPhrases[b.On], *b.TokensPerMinute)
			refusal.RetryAfter = max(state.Reset, time.Second)
			return refusal
		}
		a.tokenCounters = append(a.tokenCounters, counter)
	}
	if b.ParallelRequests != nil {
		counter := key + "/parallel"
		admitted, err := a.counters.Hold(ctx, counter, a.requestID, *b.ParallelRequests, holdFor)
		if err != nil {
			return err
		}
		if !admitted {
			refusal := apierror.New(http.StatusTooManyRequests, "rate_limit_exceeded",
				"%s has %d requests under way, which is the limit; try again when one has ended", holderPhrases[b.On],
				*b.ParallelRequests)
			refusal.RetryAfter = time.Second
			return refusal
		}
		a.parallel = append(a.parallel, counter)
	}
	return nil
}

// Done ends a request: the request no longer counts as under way, and the tokens that it used are charged. Done must be
// called once, even if the client has left: it ignores the cancellation of ctx and takes at most releaseTimeout.
func (a *Admission) Done(ctx context.Context, tokens int64) error {
	if a == nil || len(a.parallel)+len(a.tokenCounters) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	var errs []error
	for _, counter := range a.tokenCounters {
		errs = append(errs, a.counters.Charge(ctx, counter, min(max(tokens, 0), spending.MaxRecordTokens), time.Minute))
	}
	for _, counter := range a.parallel {
		errs = append(errs, a.counters.Release(ctx, counter, a.requestID))
	}
	a.parallel, a.tokenCounters = nil, nil
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("releasing the counters of a request: %w", err)
	}
	return nil
}
