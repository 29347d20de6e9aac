package formula

import (
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
)

// TestInReport checks that three months are a quarter as their issuer counts it if the report ends with them,
// and stay as they are if the report does not say when it ends.
func TestInReport(t *testing.T) {
	t.Parallel()
	june := kernel.Period{End: "2024-06-30", Months: 3}
	january := kernel.Period{End: "2025-01-31", Months: 3}
	for name, c := range map[string]struct {
		p, report, want kernel.Period
	}{
		"of this year":    {june, kernel.Period{Year: 2024, Quarter: 3, End: "2024-06-30"}, kernel.Period{Year: 2024, Quarter: 3, End: "2024-06-30", Months: 3}},
		"of the year ago": {june, kernel.Period{Year: 2025, Quarter: 3, End: "2025-06-30"}, kernel.Period{Year: 2024, Quarter: 3, End: "2024-06-30", Months: 3}},
		"of another one":  {june, kernel.Period{Year: 2025, Quarter: 3, End: "2025-09-30"}, june},
		"without an end":  {january, kernel.Period{Year: 2025, Quarter: 4}, january},
	} {
		if got := inFiscalYear(c.p, c.report); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
