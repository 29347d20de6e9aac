package formula

import (
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/answer/inquiry"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
)

// TestParts checks that a quarter or a half of a year is answered only with figures of that period.
func TestParts(t *testing.T) {
	t.Parallel()
	third := kernel.Period{Year: 2019, Quarter: 3, End: "2019-06-30"}
	for _, c := range []struct {
		head1, head2 string
		report       kernel.Period
		wants        map[string]string
	}{
		{"Three months ended March 31, 2019", "Three months ended March 31, 2018", kernel.Period{}, map[string]string{
			"Q1 2019": "5.0 million", "the first quarter of 2018": "4.0 million", "Q3 2019": "no", "Q2 2019": "no", "2019": "no", "H1 2019": "no", "Q1 2017": "no",
		}},
		{"13 weeks ended April 1, 2019", "13 weeks ended April 2, 2018", kernel.Period{}, map[string]string{"Q1 2019": "5.0 million", "Q2 2019": "no"}},
		{"Three months ended June 30, 2019", "Three months ended June 30, 2018", third, map[string]string{"Q3 2019": "5.0 million", "Q3 2018": "4.0 million", "Q2 2019": "no", "Q4 2019": "no"}},
		{"H1 2019", "H1 2018", kernel.Period{}, map[string]string{"H1 2019": "5.0 million", "the first half of 2018": "4.0 million", "H2 2019": "no", "2019": "no", "Q2 2019": "no"}},
		{"H2 2019", "H1 2019", kernel.Period{}, map[string]string{"H1 2019": "4.0 million", "H2 2019": "5.0 million"}},
		{"Six months ended June 30, 2019", "Six months ended June 30, 2018", kernel.Period{}, map[string]string{"H1 2019": "5.0 million", "H1 2018": "4.0 million", "H2 2019": "no", "H2 2018": "no"}},
		{"2019", "2018", kernel.Period{}, map[string]string{"2019": "5.0 million", "H1 2019": "no", "Q4 2019": "no"}},
	} {
		src := Source{Passages: []kernel.Passage{{ID: 1, Text: "| (in millions) | " + c.head1 + " | " + c.head2 + " |\n|---|---|---|\n| Revenue | 5.0 | 4.0 |\n| Costs | 1.0 | 2.0 |\n", Period: c.report}}}
		for period, want := range c.wants {
			v := Compute(inquiry.Read("What was the revenue in "+period+"?"), src)
			if got := say(v); got != want {
				t.Errorf("%s of %s: %s, not %s", period, c.head1, got, want)
			}
			if v != nil && c.head1 == "H1 2019" && period == "H1 2019" && v.Label != "Revenue in H1 2019" {
				t.Error(v.Label)
			}
		}
	}
}
