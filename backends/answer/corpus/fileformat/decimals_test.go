package fileformat

import (
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/answer/figures"
	"github.com/tollgate-gateway/tollgate/backends/answer/tables"
)

// TestDecimals checks how the numbers of a CSV are read: for each table the figures in its columns, or "?"
// where it is unknown.
func TestDecimals(t *testing.T) {
	t.Parallel()
	const nothing = "?"
	for name, c := range map[string]struct {
		text string
		want []string // of its cells, without names of rows
	}{
		"German":                    {"a;2020\nb;1.100,50\nc;1.100\nd;12,5\n", []string{"1100.5", "1100", "12.5"}},
		"German, in another column": {"a;2020;2019\nb;1.100;12,5\nc;2.250;1\n", []string{"1100", "12.5", "2250", "1"}},
		"German, with millions":     {"a;2020\nb;1.100\nc;1.100.000\n", []string{"1100", "1100000"}},
		"German, with commas":       {"a,2020,2019\nb,1.100,\"12,5\"\nc,1.100,\"1.100,50\"\n", []string{"1100", "12.5", "1100", "1100.5"}},
		"German, with tabs":         {"a\t2020\nb\t1.100\nc\t0,125\n", []string{"1100", "0.125"}},
		"German, thousandths":       {"a;2020\nb;1,100\nc;0,125\n", []string{"1.1", "0.125"}},
		"German, with units":        {"a;2020\nb;1.100,50 EUR\nc;€ 1.100\nd;(1.100)\ne;-12,5 %\nf;1.100 (2)\n", []string{"1100.5", "1100", "-1100", "-12.5", "1100"}},
		"Swiss":                     {"a;2020\nb;1'100.50\nc;1.100\nd;1’100\ne;CHF 2'000'000.–\n", []string{"1100.5", "1.1", "1100", nothing}},
		"Swiss, whole":              {"a;2020\nb;1'100\nc;1.100\n", []string{"1100", "1.1"}},
		"blanks":                    {"a;2020\nb;1 100,50\nc;1\u00a0100\nd;1\u202f100\u202f000,5\ne;1.100\n", []string{"1100.5", "1100", "1100000.5", "1100"}},
		"English":                   {"a,2020\nb,\"1,100.50\"\nc,\"1,100\"\nd,1.100\n", []string{"1100.5", "1100", "1.1"}},
		"English, by the comma":     {"a,2020\nb,1.100\nc,\"1,100\"\n", []string{"1.1", "1100"}},
		"English, with semicolons":  {"a;2020\nb;1.5\nc;1,100\nd;1.100\n", []string{"1.5", "1100", "1.1"}},
		"English, with tabs":        {"a\t2020\nb\t1,100\n", []string{"1100"}},
		"English, below one":        {"a;2020\nb;0.125\nc;1.100\n", []string{"0.125", "1.1"}},
		"alone":                     {"a;2020\nb;1.100\n", []string{nothing}},
		"alone, with a comma":       {"a;2020\nb;1,100\n", []string{nothing}},
		"alone, with tabs":          {"a\t2020\nb\t1.100\nc\t7\n", []string{nothing, "7"}},
		"alone, with a unit":        {"a;2020\nb;1.100 EUR\nc;$1.100\nd;1.100 (2)\n", []string{nothing, nothing, nothing}},
		"both in a column":          {"a;2020\nb;12,5\nc;12.5\nd;1.100\n", []string{nothing, "12.5", nothing}},
		"both in a file":            {"a;2020;2019;2018\nb;12,5;12.5;1.100\n", []string{"12.5", "12.5", nothing}},
		"no evidence in lists":      {"a,Note,2020\nb,\"3,4\",1.100\n", []string{nothing, "1.1"}},
		"no evidence in names":      {"a;2020;2019\nb;1.100;v1.5\nc;1.100;31.12.2020\nd;1.100;12.2020\n", []string{nothing, nothing, nothing, nothing, nothing, "12.202"}},
		"commas of both kinds":      {"a,2020,2019\nb,\"1,100\",\"12,5\"\n", []string{nothing, "12.5"}},
		"what is not a number":      {"a;2020\nb;12,5\nc;1..5\nd;1,.5\ne;1.10.100\n", []string{"12.5", nothing, nothing, nothing}},
	} {
		all, problems := readAll(t, "a.csv", c.text)
		if len(problems) > 0 || len(all) != 1 {
			t.Errorf("%s: got %d documents and the problems %v, want one document", name, len(all), problems)
			continue
		}
		table := tables.Parse(all[0].Pages[0].Text)
		var got []string
		for row := range table.Rows {
			for column := range table.Columns {
				f, ok := table.Figure(row, column)
				shown := nothing
				if ok {
					shown = strings.TrimSuffix(strings.TrimRight(figures.Digits(f.Value, 3), "0"), ".")
				}
				got = append(got, strings.ReplaceAll(shown, ",", ""))
			}
		}
		if strings.Join(got, " ") != strings.Join(c.want, " ") {
			t.Errorf("%s: got %q, want %q from %s", name, got, c.want, all[0].Pages[0].Text)
		}
	}
}

// TestDoubtfulPrices checks that a price that may be a thousand times as large is refused with its row.
func TestDoubtfulPrices(t *testing.T) {
	t.Parallel()
	all, problems := readAll(t, "WXM.csv", "date;close;volume\n2020-01-02;12;1.100\n")
	if len(all) > 0 || len(problems) != 1 || !strings.Contains(problems[0].Error(), "row 2: ") || !strings.Contains(problems[0].Error(), "1.100") {
		t.Errorf("%+v %v", all, problems)
	}
	all, problems = readAll(t, "WXM.csv", "date;close;volume\n2020-01-02;1'100.50;1'100\n2020-01-03;1'100;7\n")
	if len(problems) > 0 || len(all) != 1 || all[0].Prices[0].Close != 1100.5 || all[0].Prices[0].Volume != 1100 || all[0].Prices[1].Close != 1100 {
		t.Errorf("%+v %v", all, problems)
	}
}
