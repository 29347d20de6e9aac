package library_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/answer/answertest"
	"github.com/tollgate-gateway/tollgate/backends/answer/corpus"
	"github.com/tollgate-gateway/tollgate/backends/answer/corpus/fileformat"
	"github.com/tollgate-gateway/tollgate/backends/answer/library"
)

// report returns the report of a company for a year, with its revenue in this year and in the year before.
func report(name string, year int, revenue, before string) fileformat.Source {
	text := fmt.Sprintf("# Consolidated statements of income\n\n| In millions | %d | %d |\n|---|---|---|\n| Net sales | %s | %s |\n| Operating income | 20 | 18 |\n| Net income | 12 | 11 |\n", year, year-1, revenue, before)
	return fileformat.Source{
		Kind: "filing", Form: "10-K", Title: fmt.Sprintf("%s %d", name, year), URL: fmt.Sprintf("https://%s.example/%d", strings.ToLower(strings.Fields(name)[0]), year),
		Issuer: fileformat.Company{Name: name, Ticker: "T" + name[:1]}, Fiscal: fmt.Sprintf("FY%d", year), Pages: []fileformat.Page{{Number: 1, Text: "Cover."}, {Number: 2, Text: text}},
	}
}

func TestLibrary(t *testing.T) {
	t.Parallel()
	answertest.OnBoth(t, func(t *testing.T, k answertest.Kernel) {
		c := corpus.New(k.Server)
		for _, s := range []fileformat.Source{
			report("Wexlermere Inc.", 2019, "$110", "$100"), report("Wexlermere Inc.", 2018, "$95", "$90"), report("Brantpoint_Industries", 2020, "$7", "$6"), report("Ardmore Holdings", 2017, "$3", "$2"),
		} {
			if _, err := c.Put(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
		l := library.New(k.Server)
		for _, test := range []struct {
			containing, after string
			limit             int
			want              string
		}{
			{"", "", 100, "Ardmore Holdings [2017], Brantpoint_Industries [2020], Wexlermere Inc. [2019 2018]"},
			{"", "", 1, "Ardmore Holdings [2017]"},
			{"", "Ardmore Holdings", 1, "Brantpoint_Industries [2020]"},
			{"MERE", "", 100, "Wexlermere Inc. [2019 2018]"},
			{"_", "", 100, "Brantpoint_Industries [2020]"},
			{"%", "", 100, ""},
			{"!", "", 100, ""},
		} {
			list, err := l.Companies(t.Context(), test.containing, test.after, test.limit)
			got := make([]string, 0, len(list))
			for _, company := range list {
				got = append(got, fmt.Sprint(company.Name, " ", company.Years))
			}
			if err != nil || strings.Join(got, ", ") != test.want {
				t.Errorf("%q after %q: %q, %v", test.containing, test.after, got, err)
			}
		}
		list, err := l.Companies(t.Context(), "wexlermere", "", 1)
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		held, err := l.Company(t.Context(), list[0].ID)
		if err != nil || held.Name != "Wexlermere Inc." || held.Documents != 2 || len(held.List) != 2 || held.List[0].Title != "Wexlermere Inc. 2019" {
			t.Fatalf("%+v, %v", held, err)
		}
		i := slices.IndexFunc(held.Measures, func(m library.Measure) bool { return m.Metric == "revenue" })
		if i < 0 {
			t.Fatalf("%+v", held.Measures)
		}
		figures := make([]string, 0, len(held.Measures[i].Figures))
		for _, f := range held.Measures[i].Figures {
			figures = append(figures, fmt.Sprint(f.Year, " ", f.Value, " ", f.URL, " ", f.Page, " ", f.Others))
		}
		want := []string{"2019 1.1e+08 https://wexlermere.example/2019 2 []", "2018 9.5e+07 https://wexlermere.example/2018 2 [$100]", "2017 9e+07 https://wexlermere.example/2018 2 []"}
		if !slices.Equal(figures, want) {
			t.Errorf("%q\nwant %q", figures, want)
		}
		if _, err := l.Company(t.Context(), 1<<40); !errors.Is(err, library.ErrNotFound) {
			t.Errorf("%v", err)
		}
	})
}

func TestHighlight(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ passage, claim, want string }{
		{"Revenue was $5 million in 2019.", "Revenue was $5 million.", "Revenue was $5 million"},
		{"In millions\n\n| Net sales | $2,601 | 2,655 |", "Net sales were $2,601 million in fiscal 2019.", "$2,601"},
		{"Costs fell to $16.2 million; 1,620 people work there.", "Costs were 16.2 million.", "$16.2 million"},
		{"The year 2019 had 12 months.", "In 2019 it was.", ""},
		{"New plants in the north drove growth. Prices rose.", "Growth came from plants. New plants in the north drove growth.", "New plants in the north drove growth"},
		{"Margin: 12.5%", "The margin was 12.5 %.", "12.5%"},
		{"3M Company made $1,577 million.", "3M: capital expenditures were $1,577 million.", "$1,577 million"},
		{"", "", ""},
	} {
		spans, last := library.Highlight(test.passage, test.claim), -1
		got := make([]string, 0, len(spans))
		for _, s := range spans {
			if s.Start <= last || s.End <= s.Start {
				t.Errorf("%q: %+v", test.passage, s)
			}
			got, last = append(got, test.passage[s.Start:s.End]), s.End
		}
		if strings.Join(got, "|") != test.want {
			t.Errorf("%q of %q: %q, want %q", test.claim, test.passage, got, test.want)
		}
	}
}
