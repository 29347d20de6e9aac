package cascade

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
)

// Order selects how the candidates of a tier are ordered if they have the same place in the user's preferences and
// priorities.
type Order uint8

// The orders. The zero value keeps the order of the catalog.
const (
	OrderCatalog Order = iota
	// OrderPrice tries cheap candidates first. It compares the price of three input tokens plus one output token.
	OrderPrice
	// OrderLatency tries fast candidates first. It compares how soon they begin to answer, by this node's measurements.
	OrderLatency
	// OrderWeights distributes conversations by Options.Weights.
	OrderWeights
)

// ParseOrder returns the order of the given name, or an error if the name is unknown.
func ParseOrder(name string) (Order, error) {
	index := slices.Index(orders, name)
	if index < 0 {
		return 0, fmt.Errorf("unknown order %.100q, known are catalog, price, latency, weights", name)
	}
	return Order(index), nil //nolint:gosec // one of four
}

var orders = []string{"catalog", "price", "latency", "weights"}

// tier returns the candidates of a tier in the order in which they are tried. The order does not change during a
// conversation: the draw for OrderWeights depends on the conversation alone, and with OrderLatency a conversation stays
// with the candidate that answered first (see Stays).
func (r *run) tier(routing *keychain.Routing, t catalog.Tier) []*keychain.Candidate {
	list := routing.Tier(t)
	order := r.Options.Orders[t]
	if order == OrderCatalog || len(list) < 2 {
		return list
	}
	cost := make(map[*keychain.Candidate]float64, len(list))
	for _, c := range list {
		switch order {
		case OrderPrice:
			cost[c] = priceOf(c)
		case OrderLatency:
			cost[c] = float64(r.Memory.Latency.average(c, r.stream))
		case OrderWeights:
			cost[c] = r.draw(c)
		case OrderCatalog:
		}
	}
	if order == OrderLatency {
		r.markMoved() // later measurements must not move the conversation
	}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b *keychain.Candidate) int {
		return cmp.Or(cmp.Compare(a.Place, b.Place), cmp.Compare(cost[a], cost[b]))
	})
	return list
}

// priceOf returns a price by which candidates are compared. A candidate without a known price comes last.
func priceOf(c *keychain.Candidate) float64 {
	if !c.Model.Price.Known {
		return math.Inf(1)
	}
	return 3*c.Model.Price.Input + c.Model.Price.Output
}

// draw returns the sort key of a candidate for a conversation (weighted rendezvous hashing). Over many conversations
// each candidate comes first for a share proportional to its weight. Removing a candidate moves only that candidate's
// conversations. A candidate with a weight of 0 comes last.
func (r *run) draw(c *keychain.Candidate) float64 {
	weight, ok := r.Options.Weights[c.Entry]
	if !ok {
		if weight, ok = r.Options.Weights[c.Provider.Code]; !ok {
			weight = 1
		}
	}
	if weight <= 0 {
		return math.Inf(1)
	}
	name, talks := r.conversation()
	seed := name[:]
	if !talks {
		seed = []byte(r.req.ID)
	}
	sum := sha256.Sum256(append(slices.Clone(seed), c.Entry...))
	even := (float64(binary.LittleEndian.Uint64(sum[:])>>11) + 0.5) / (1 << 53) // above 0 and below 1
	return -math.Log(even) / weight
}

// Latency holds the average time after which candidates begin to answer. Each new measurement has a weight of a fifth.
type Latency struct {
	mu    sync.Mutex
	times map[measured]average
	now   func() time.Time
}

// measured is the key of an average: the answers of a model at a provider, streamed or not.
type measured struct {
	provider, model string
	stream          bool
}

// average is a running average and the time of its last measurement.
type average struct {
	mean     time.Duration
	measured time.Time
}

// Limits of the measurements.
const (
	latencyAge  = 10 * time.Minute // age after which a candidate is measured again
	maxMeasured = 10_000
)

// newLatency returns a Latency without measurements. now is its clock.
func newLatency(now func() time.Time) *Latency {
	return &Latency{times: make(map[measured]average), now: now}
}

// add adds the time that a candidate took to begin an answer. stream is set if the answer was streamed.
func (l *Latency) add(c *keychain.Candidate, stream bool, took time.Duration) {
	key := measured{ProviderScope(c), c.Model.ID, stream}
	l.mu.Lock()
	defer l.mu.Unlock()
	last, known := l.times[key]
	now := l.now()
	switch {
	case known && now.Sub(last.measured) < latencyAge:
		took = last.mean + (took-last.mean)/5
	case !known && len(l.times) >= maxMeasured:
		clear(l.times)
	}
	l.times[key] = average{took, now}
}

// average returns a candidate's average. It returns 0 for a candidate without a recent measurement, so that this
// candidate is tried next and measured.
func (l *Latency) average(c *keychain.Candidate, stream bool) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := l.times[measured{ProviderScope(c), c.Model.ID, stream}]
	if l.now().Sub(last.measured) >= latencyAge {
		return 0
	}
	return last.mean
}

// recordLatency records how soon a candidate has begun to answer, if its tier is ordered by latency.
func (r *run) recordLatency(c *keychain.Candidate, started time.Time) {
	if r.Options.Orders[c.Tier] == OrderLatency && !r.req.passes() {
		r.Memory.Latency.add(c, r.stream, r.start.Add(r.result.FirstToken).Sub(started))
	}
}
