package inquiry

import "testing"

func TestRephrase(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]struct {
		text string
		paid bool
	}{
		"How much revenue did it make in 2019":                           {"what was the revenue in 2019", false},
		"How much profit did make in fiscal 2025":                        {"what was the profit in fiscal 2025", false},
		"What did earn in 2019":                                          {"what was the net income in 2019", false},
		"How much did make in 2019":                                      {"what was the net income in 2019", false},
		"How much did make in net income in FY25":                        {"what was the net income in FY25", false},
		"How much money did bring in in 2019":                            {"what was the revenue in 2019", false},
		"What revenue did the Glass segment have in 2019":                {"what was the revenue of the Glass segment in 2019", false},
		"How much cash and cash equivalents did have on hand in 2019":    {"what was the cash and cash equivalents in 2019", false},
		"How much did spend on capital expenditures in 2019":             {"what was the capital expenditures in 2019", true},
		"What dividends did pay in 2019":                                 {"what was the dividends in 2019", true},
		"What did report as operating income for 2025":                   {"what was the operating income for 2025", false},
		"How high was the long-term debt in 2019":                        {"what was the long-term debt in 2019", false},
		"pls tell me the bottom line for 2025":                           {"the bottom line for 2025", false},
		"What was the revenue in 2019":                                   {"What was the revenue in 2019", false},
		"How many years did net profit exceed $5 million":                {"How many years did net profit exceed $5 million", false},
		"In which years was revenue above 5":                             {"In which years was revenue above 5", false},
		"What percentage did revenue have":                               {"What percentage did revenue have", false},
		"By how many percent did the inventories change from 2018 to 19": {"By how many percent did the inventories change from 2018 to 19", false},
	} {
		if text, paid := rephrase(body); text != want.text || paid != want.paid {
			t.Errorf("rephrase(%q) = %q, %t, want %q, %t", body, text, paid, want.text, want.paid)
		}
	}
}
