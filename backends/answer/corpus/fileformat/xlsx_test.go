package fileformat

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/xuri/excelize/v2"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
)

// sheetOf is a sheet of a workbook of a test: its name and its rows.
type sheetOf struct {
	name string
	rows [][]any
}

// saved returns the file of a workbook.
func saved(t testing.TB, sheets ...sheetOf) string {
	t.Helper()
	f := excelize.NewFile()
	defer func() { _ = f.Close() }()
	for i, s := range sheets {
		if i == 0 {
			if err := f.SetSheetName("Sheet1", s.name); err != nil {
				t.Fatal(err)
			}
		} else if _, err := f.NewSheet(s.name); err != nil {
			t.Fatal(err)
		}
		for k, row := range s.rows {
			if err := f.SetSheetRow(s.name, fmt.Sprintf("A%d", k+1), &row); err != nil {
				t.Fatal(err)
			}
		}
	}
	var b bytes.Buffer
	if err := f.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestWorkbookOfReport checks a workbook in which the SEC serves the statements of a report: each sheet has
// its title, with the units, in its corner.
func TestWorkbookOfReport(t *testing.T) {
	t.Parallel()
	all, problems := readAll(t, "financials.xlsx", testFile(t, "financials.xlsx"))
	if len(all) != 1 || len(problems) > 0 || len(all[0].Pages) != 3 {
		t.Fatalf("%+v %v", all, problems)
	}
	s := all[0]
	if s.Issuer.Name != "Wexlermere Holdings, Inc." || s.Issuer.Ticker != "WXM" || s.Issuer.CIK != "0001999999" || s.Form != "10-K" || s.Fiscal != "FY2019" || s.PeriodEnd != "2019-09-28" {
		t.Errorf("%+v", s)
	}
}

// TestWorkbookOfTables checks the workbook of an analyst: titles above tables, several tables on a sheet, and
// more rows than fit on a page.
func TestWorkbookOfTables(t *testing.T) {
	t.Parallel()
	rows := [][]any{{"Units sold"}, {"in thousands"}, {}, {"Region", 2019, 2018}, {"North", 10, 20}, {"Coast"}, {"West", 1, 2}, {}, {"All", 11, 22}, {}, {"Staff"}, {"", "March", "April"}, {"Drivers", 7, 8}}
	all, problems := readAll(t, "units.xlsx", saved(t, sheetOf{"# Units", rows}, sheetOf{"Note", [][]any{{"Only a line"}, {"a", "b"}}}))
	if len(all) != 1 || len(problems) > 0 || len(all[0].Pages) != 2 || all[0].Kind != kernel.Tabular {
		t.Fatalf("%+v %v", all, problems)
	}
	want := "## Units\n\nUnits sold\n\nin thousands\n\n" +
		"| Region | 2019 | 2018 |\n|---|---|---|\n| North | 10 | 20 |\n| Coast |  |  |\n| West | 1 | 2 |\n| All | 11 | 22 |\n\n" +
		"Staff\n\n|  | March | April |\n|---|---|---|\n| Drivers | 7 | 8 |"
	if got := all[0].Pages[0].Text; got != want {
		t.Errorf("%s", got)
	}
	if got := all[0].Pages[1].Text; got != "## Note\n\nOnly a line\n\na b" {
		t.Errorf("%s", got)
	}

	long := append(make([][]any, 0, 2*rowsPerPage+3), []any{"Day", "Units"}, []any{"", "pieces"})
	for i := range 2*rowsPerPage + 1 {
		long = append(long, []any{fmt.Sprintf("Day %d", i+1), i + 1})
	}
	all, problems = readAll(t, "long.xlsx", saved(t, sheetOf{"Days", long}))
	if len(all) != 1 || len(problems) > 0 || len(all[0].Pages) != 3 {
		t.Fatalf("%d %v", len(all), problems)
	}
	if want, got := "## Days\n\n| Day | Units |\n|---|---|\n|  | pieces |\n| Day 401 | 401 |", all[0].Pages[2].Text; got != want {
		t.Errorf("%s", got)
	}
}

func TestWorkbookOfPrices(t *testing.T) {
	t.Parallel()
	all, problems := readAll(t, "WXM.xlsx", saved(t, sheetOf{"Prices", [][]any{{"Date", "Close", "Volume"}, {"2020-01-02", 12.5, 1100}, {}, {"2020-01-03", 12.75, 900}}}))
	if len(all) != 1 || len(problems) > 0 || len(all[0].Prices) != 2 || all[0].Prices[1].Close != 12.75 || all[0].Issuer.Ticker != "WXM" {
		t.Errorf("%+v %v", all, problems)
	}
}

func TestWorkbookRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, want string }{
		"no workbook": {"a,b\n1,2\n", "the workbook cannot be read: it is not an Excel workbook"},
		"no text":     {saved(t, sheetOf{"Empty", nil}), "there is no text in the workbook"},
	} {
		if all, problems := readAll(t, "a.xlsx", test.text); len(all) > 0 || len(problems) != 1 || problems[0].Error() != test.want {
			t.Errorf("%s: %v %v", name, all, problems)
		}
	}
}
