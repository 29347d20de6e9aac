package hub

import (
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
)

func TestEffort(t *testing.T) {
	t.Parallel()
	provider := &catalog.Provider{Shape: catalog.Shape{ReasoningEfforts: []string{"low", "high"}}}
	bare := new(catalog.Provider)
	for _, tt := range []struct {
		provider           *catalog.Provider
		known              []string
		asked, least, want Effort
	}{
		{provider, []string{"none", "low", "medium", "high"}, EffortMedium, EffortMinimal, EffortMedium},
		{provider, []string{"low", "high"}, EffortMedium, EffortMinimal, EffortLow},
		{provider, []string{"low", "medium", "high"}, EffortMax, EffortMinimal, EffortHigh},
		{provider, []string{"low", "medium", "high"}, EffortMinimal, EffortMinimal, EffortLow},
		{provider, []string{"none", "low", "high"}, EffortMinimal, EffortMinimal, EffortLow},
		{provider, []string{"high", "max"}, EffortLow, EffortMinimal, EffortHigh},
		{provider, []string{"high", "max"}, EffortXHigh, EffortMinimal, EffortHigh},
		{provider, []string{"max", "high"}, EffortXHigh, EffortMinimal, EffortHigh},
		{provider, []string{"none", "high"}, EffortLow, EffortMinimal, EffortHigh},
		{provider, []string{"none", "high"}, EffortNone, EffortMinimal, EffortNone},
		{provider, []string{"low", "high"}, EffortNone, EffortMinimal, EffortLow},
		{provider, []string{"none"}, EffortHigh, EffortMinimal, ""},
		{provider, []string{"minimal", "high"}, EffortLow, EffortMinimal, EffortMinimal},
		{provider, []string{"minimal", "high"}, EffortLow, EffortLow, EffortHigh},
		{provider, []string{"minimal", "high"}, EffortMax, EffortLow, EffortHigh},
		{provider, []string{"minimal"}, EffortMax, EffortLow, ""},
		{provider, []string{}, EffortHigh, EffortMinimal, ""},
		{provider, nil, EffortMedium, EffortMinimal, EffortLow},
		{provider, []string{"none"}, "loud", EffortMinimal, ""},
		{provider, nil, "loud", EffortMinimal, ""},
		{provider, nil, "", EffortMinimal, ""},
		{bare, nil, EffortMedium, EffortMinimal, ""},
		{bare, []string{"low"}, EffortMedium, EffortMinimal, EffortLow},
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
