package hub

import (
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
)

func TestEffort(t *testing.T) {
	t.Parallel()
	one := &catalog.Provider{Shape: catalog.Shape{ReasoningEfforts: []string{"low", "high"}}}
	two := new(catalog.Provider)
	for _, tt := range []struct {
		provider           *catalog.Provider
		known              []string
		asked, least, want Effort
	}{
		{one, []string{"none", "low", "medium", "high"}, EffortMedium, EffortMinimal, EffortMedium},
		{one, []string{"low", "high"}, EffortMedium, EffortMinimal, EffortLow},
		{one, []string{"low", "medium", "high"}, EffortMax, EffortMinimal, EffortHigh},
		{one, []string{"low", "medium", "high"}, EffortMinimal, EffortMinimal, EffortLow},
		{one, []string{"none", "low", "high"}, EffortMinimal, EffortMinimal, EffortLow},
		{one, []string{"high", "max"}, EffortLow, EffortMinimal, EffortHigh},
		{one, []string{"high", "max"}, EffortXHigh, EffortMinimal, EffortHigh},
		{one, []string{"max", "high"}, EffortXHigh, EffortMinimal, EffortHigh},
		{one, []string{"none", "high"}, EffortLow, EffortMinimal, EffortHigh},
		{one, []string{"none", "high"}, EffortNone, EffortMinimal, EffortNone},
		{one, []string{"low", "high"}, EffortNone, EffortMinimal, EffortLow},
		{one, []string{"none"}, EffortHigh, EffortMinimal, ""},
		{one, []string{"minimal", "high"}, EffortLow, EffortMinimal, EffortMinimal},
		{one, []string{"minimal", "high"}, EffortLow, EffortLow, EffortHigh},
		{one, []string{"minimal", "high"}, EffortMax, EffortLow, EffortHigh},
		{one, []string{"minimal"}, EffortMax, EffortLow, ""},
		{one, []string{}, EffortHigh, EffortMinimal, ""},
		{one, nil, EffortMedium, EffortMinimal, EffortLow},
		{one, []string{"none"}, "loud", EffortMinimal, ""},
		{one, nil, "loud", EffortMinimal, ""},
		{one, nil, "", EffortMinimal, ""},
		{two, nil, EffortMedium, EffortMinimal, ""},
		{two, []string{"low"}, EffortMedium, EffortMinimal, EffortLow},
	} {
		target := &Target{Provider: tt.provider, Model: &catalog.Model{Reasoning: true, ReasoningEfforts: tt.known}}
		if got := target.Effort(tt.asked, tt.least); got != tt.want {
			t.Errorf("%v asked %q, at least %q: %q, want %q", tt.known, tt.asked, tt.least, got, tt.want)
		}
		target.Model.Reasoning = false
		if got := target.Effort(tt.asked, tt.least); got != "" {
			t.Errorf("a model without reasoning gets %q", got)
		}
	}
}
