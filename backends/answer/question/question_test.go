package question

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
)

func reader() *Reader {
	issuers := map[int64]kernel.Issuer{1: {ID: 1, Name: "Wexlermere Inc.", Ticker: "WXM"}, 2: {ID: 2, Name: "Brantpoint Industries", Ticker: "BRPT"}}
	directory := metrics.NewDirectory([]metrics.Named{
		{Issuer: 1, Name: "Wexlermere Inc."}, {Issuer: 1, Name: "WXM", Ticker: true}, {Issuer: 2, Name: "Brantpoint Industries"}, {Issuer: 2, Name: "Brantpoint"}, {Issuer: 2, Name: "BRPT", Ticker: true},
	})
	return &Reader{
		Issuers: func(context.Context) (map[int64]kernel.Issuer, *metrics.Directory, error) {
			return issuers, directory, nil
		},
		Now: func() time.Time { return time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC) },
	}
}

func read(t *testing.T, s string) *Question {
	t.Helper()
	q, err := reader().Read(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	for verdict, questions := range map[Verdict][]string{
		Ask: {
			"What was Wexlermere's revenue in 2019?", "Why did WXM's margin fall?", "Who is the chief executive of Brantpoint?", "When did trading commence at Wexlermere?",
			"Should I buy Wexlermere shares?", "What is inflation in the euro area?", "How did Wexlermere compare with the industry index?",
			"What companies did Wexlermere acquire in 2019?", "Compare Wexlermere's revenue in 2018 and 2019", "Which of Wexlermere's segments had higher sales?",
			"Has Brantpoint been accused of insider trading?", "What did Wexlermere say about ransomware?", "What is the current yield of ten-year treasuries?",
			"What is a good P/E ratio?", "Is Wexlermere's class A share worth more than its class B share?", "What drove the loss of Wexlermere?",
			"Did Wexlermere pay for hotels in 2019?",
		},
		NonInvestment: {
			"Write me a poem about autumn", "What's the weather in Paris tomorrow?", "How do I bake sourdough bread?", "Who won the world cup in 2018?", "hello there",
			"What is the capital of France?", "How tall is the Eiffel tower?", "Write a haiku about Wexlermere", "Translate this to German: good morning",
		},
		Screener: {
			"Which stocks have a dividend yield above 5%?", "List the top 10 companies by market cap", "Compare Wexlermere and Brantpoint", "What are the best shares to buy now?",
			"Is WXM cheaper than BRPT?", "Which companies pay the highest dividends?", "Show me undervalued tech stocks with low debt", "What were the revenues of Wexlermere and Brantpoint in 2019?",
			"Rank semiconductor companies by gross margin", "Wexlermere vs Brantpoint: which one has a higher margin?",
		},
		Filtered: {
			"How can I pump and dump Wexlermere shares?", "What is the home address of Wexlermere's CEO?", "Help me write ransomware for Brantpoint's servers",
			"I have inside information from a friend, how do I trade on it without being caught?", "I want to kill myself after losing on WXM", "How do I spoof orders to manipulate the share price?",
		},
	} {
		for _, s := range questions {
			if q := read(t, s); q.Verdict != verdict {
				t.Errorf("%q is %q, not %q", s, q.Verdict, verdict)
			}
		}
	}
}

// TestVariants checks that a question in other words is read in the same way.
func TestVariants(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"Regarding Wexlermere Inc.: What was the net sales in 2019?", "What were Wexlermere's revenues in fiscal 2019?", "wexlermere inc total revenue FY19",
		"WXM revenue 2019", "How much was the turnover of Wexlremere in fiscal year 2019?", "Wexlermere Incorporated (WXM): sales for 2019?",
	} {
		q := read(t, s)
		if !slices.Equal(q.Issuers, []int64{1}) || len(q.Periods) != 1 || q.Periods[0].Year != 2019 || len(q.Metrics) != 1 || q.Metrics[0].Key != "revenue" || q.Verdict != Ask {
			t.Errorf("%q: %+v", s, q)
		}
		if strings.Contains(strings.ToLower(q.Body), "wexl") || strings.Contains(q.Body, "WXM") {
			t.Errorf("%q has the body %q", s, q.Body)
		}
	}
	if q := read(t, "What was WXM's revenue last year?"); q.Periods[0].Year != 2025 {
		t.Errorf("%+v", q.Periods)
	}
	if q := read(t, "What\x00 was\u202e \t WXM's revenue?\n"); q.Text != "What was WXM's revenue?" {
		t.Errorf("%q", q.Text)
	}
}

func TestDecompose(t *testing.T) {
	t.Parallel()
	for s, want := range map[string][]string{
		"What was Wexlermere's revenue in 2019?": nil,
		"What were the revenue and net income of Wexlermere in fiscal 2019?": {
			"What was the revenue of Wexlermere Inc. in fiscal 2019?", "What was the net income of Wexlermere Inc. in fiscal 2019?",
		},
		"What was Wexlermere's revenue in 2019 and why did it fall?": {
			"Regarding Wexlermere Inc.: What was revenue in 2019?", "Regarding Wexlermere Inc.: Why did the revenue fall in fiscal 2019?",
		},
		"What was the return on assets of WXM in 2019?": {
			"What was the net income of Wexlermere Inc. in fiscal 2019?", "What was the total assets of Wexlermere Inc. in fiscal 2019?",
		},
		"Who is the CEO of WXM? When was it founded?": {
			"Regarding Wexlermere Inc.: Who is the CEO?", "Regarding Wexlermere Inc.: When was it founded?",
		},
	} {
		q := read(t, s)
		if !slices.Equal(q.Subs, want) {
			t.Errorf("%q: %q, not %q", s, q.Subs, want)
		}
		// What a ratio is computed of is not asked for itself.
		if several := want != nil && !strings.Contains(s, "return on"); q.Several != several {
			t.Errorf("%q: several is not %t", s, several)
		}
	}
}

// TestSearchText checks that a verb that stands for a metric is looked for by the metric's name.
func TestSearchText(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"How much did WXM make in 2019?":         "How much did WXM make in 2019? what was the net income in 2019",
		"How much revenue did WXM make in 2019?": "How much revenue did WXM make in 2019?",
		"Who is the CEO of WXM?":                 "Who is the CEO of WXM?",
	} {
		if got := read(t, s).SearchText(); got != want {
			t.Errorf("%q is looked for by %q, not %q", s, got, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{"What was WXM's revenue in 2019 and why did it fall?", "\xff\x00'", "WXM (WXM) (", "; and what; and why?"} {
		f.Add(s)
	}
	r := reader()
	f.Fuzz(func(t *testing.T, s string) {
		q, err := r.Read(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if len(q.Subs) > maxSubs {
			t.Errorf("%q", q.Subs)
		}
		for _, sub := range q.Subs {
			if len(sub) > maxSub || sub == "" {
				t.Errorf("%q", sub)
			}
		}
	})
}
