package cascade

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
)

// value returns the current value of a counter.
func value(t *testing.T, c prometheus.Counter) float64 {
	t.Helper()
	var metric dto.Metric
	if err := c.Write(&metric); err != nil {
		t.Fatal(err)
	}
	return metric.GetCounter().GetValue()
}

// TestTeamMetrics checks that the number of metrics of teams is bounded, and that they contain no names that users
// choose.
func TestTeamMetrics(t *testing.T) {
	t.Parallel()
	vector := func(name string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: "A test."}, []string{"team", "provider", "model"})
	}
	m := teamMetrics{requests: vector("requests_total"), tokens: vector("tokens_total"), cost: vector("cost_usd_total")}
	ofCatalog := &keychain.Candidate{Model: new(catalog.Model)}
	r := &spending.Record{TeamID: "team_a", Provider: "alpha", Model: "large", InputTokens: 5, OutputTokens: 2, CostMicroUSD: 1_500_000, CostKnown: true}
	m.observe(r, ofCatalog)
	m.observe(r, ofCatalog)
	m.observe(r, &keychain.Candidate{Custom: true})
	m.observe(&spending.Record{InputTokens: -1}, nil)
	for _, c := range []struct {
		vector *prometheus.CounterVec
		with   []string
		want   float64
	}{
		{m.requests, []string{"team_a", "alpha", "large"}, 2},
		{m.tokens, []string{"team_a", "alpha", "large"}, 14},
		{m.cost, []string{"team_a", "alpha", "large"}, 3},
		{m.requests, []string{"team_a", "custom", ""}, 1},
		{m.requests, []string{"", "", ""}, 1},
	} {
		if got := value(t, c.vector.WithLabelValues(c.with...)); got != c.want {
			t.Errorf("%q: %g, want %g", c.with, got, c.want)
		}
	}
	for i := range maxTeamSeries + 10 {
		m.observe(&spending.Record{TeamID: fmt.Sprint("team_", i), Provider: "alpha"}, ofCatalog)
	}
	if len(m.series) != maxTeamSeries+1 {
		t.Errorf("%d series", len(m.series))
	}
	if got := value(t, m.requests.WithLabelValues("other", "other", "other")); got != 13 {
		t.Errorf("%g others", got)
	}
}
