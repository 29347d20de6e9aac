package corpus

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"io"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/answer/figures"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/tables"
)

// Bounds of a CSV table.
const (
	maxCSVRows  = 200_000
	rowsPerPage = 200 // the rows of one page, for a table that does not hold prices
)

// readCSV reads a table. A table with the columns date and close holds prices. Their issuer is named by the description
// file beside it (see metaSuffix), or else by the column symbol or the file's name. Any other table is a document of
// the kind table.
func readCSV(ctx context.Context, r io.Reader, base Source, out emit) error {
	text, err := readEncoded(r)
	if err != nil {
		return err
	}
	lines := csv.NewReader(strings.NewReader(text))
	lines.Comma = separator(text)
	lines.FieldsPerRecord = -1
	lines.LazyQuotes = true
	lines.ReuseRecord = false
	rows := make([][]string, 0, quarterRows)
	for {
		row, err := lines.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return out(base, refuse("the CSV cannot be read: %v", err))
		}
		if rows = append(rows, row); len(rows) > maxCSVRows || len(row) > maxCells {
			return out(base, refuse("more than %d rows, or %d columns", maxCSVRows, maxCells))
		}
		if len(rows)%1000 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if len(rows) < 2 {
		return out(base, refuse("there is no table in it"))
	}
	if columns, ok := priceColumns(rows[0]); ok {
		readDecimals(rows, 0, lines.Comma)
		return readPrices(rows[1:], columns, base, out)
	}
	readDecimals(rows, 1, lines.Comma)
	if base.Kind == "" {
		base.Kind = kernel.Tabular
	}
	for from := 1; from < len(rows); from += rowsPerPage {
		page := slices.Concat(rows[:1], rows[from:min(from+rowsPerPage, len(rows))])
		base.Pages = append(base.Pages, Page{Number: len(base.Pages) + 1, Text: base.Title + "\n\n" + tables.Markdown(page)})
	}
	return out(base, nil)
}

// separator returns the column separator of a table, the most frequent of comma, semicolon and tab in its first line.
// Programs write semicolons or tabs where numbers contain commas.
func separator(text string) rune {
	header, _, _ := strings.Cut(text, "\n")
	best := ','
	for _, other := range ";\t" {
		if strings.Count(header, string(other)) > strings.Count(header, string(best)) {
			best = other
		}
	}
	return best
}

// pricePattern matches a number in a price column. In India only the last three digits form a group of three.
var pricePattern = regexp.MustCompile(`^-?\$?-?(?:\d{1,3}(?:,\d{2,3})*,\d{3}|\d+)?(?:\.\d*)?(?:[eE][-+]?\d+)?$`)

// priceColumns returns the indexes of the columns of prices: day, open, high, low, close, adjusted close, volume and
// symbol. A missing column has the index -1. ok reports whether the columns day and close exist.
func priceColumns(header []string) (columns [8]int, ok bool) {
	names := [8][]string{
		{"date", "day"},
		{"open"},
		{"high"},
		{"low"},
		{"close", "price", "close/last"},
		{"adj close", "adj_close", "adjusted close", "adjclose", "adjusted_close"},
		{"volume"},
		{"symbol", "ticker"},
	}
	for i, spelled := range names {
		columns[i] = slices.IndexFunc(header, func(cell string) bool {
			return slices.Contains(spelled,
				strings.ToLower(strings.TrimSpace(cell)))
		})
	}
	return columns, columns[0] >= 0 && columns[4] >= 0
}

// readPrices emits one document with the prices of each symbol, in the order in which the symbols first appear. columns
// is the result of priceColumns.
func readPrices(rows [][]string, columns [8]int, base Source, out emit) error {
	var order []string
	bySymbol := make(map[string][]Price)
	layout, err := dayLayout(rows, columns[0])
	if err != nil {
		return out(base, err)
	}
	for i, row := range rows {
		cell := func(k int) string {
			if columns[k] < 0 || columns[k] >= len(row) {
				return ""
			}
			return strings.TrimSpace(row[columns[k]])
		}
		if slices.Contains(noPrice, strings.ToLower(cell(4))) { // there was no trade on this day
			continue
		}
		var wrong error
		value := func(k int) float64 {
			text := strings.NewReplacer(",", "", "$", "").Replace(cell(k))
			if slices.Contains(noPrice, strings.ToLower(text)) {
				return 0
			}
			v, err := strconv.ParseFloat(text, 64)
			if strings.Contains(text, figures.Doubt) {
				wrong = refuse("row %d: %q may be a number a thousand times as large: nothing else in the file tells",
					i+2, cut(strings.ReplaceAll(text, figures.Doubt, "."), 40))
			} else if err != nil || v-v != 0 || !pricePattern.MatchString(cell(k)) {
				wrong = refuse("row %d: %q is not a number", i+2, cut(cell(k), 40))
			}
			return v
		}
		p := Price{Open: value(1), High: value(2), Low: value(3), Close: value(4), AdjClose: value(5), Volume: value(6)}
		day, ok := dayIn(layout, cell(0))
		if !ok {
			wrong = refuse("row %d: %q is not a day, YYYY-MM-DD", i+2, cut(cell(0), 40))
		}
		if wrong != nil {
			return out(base, wrong)
		}
		if p.Day = day; columns[5] < 0 {
			p.AdjClose = p.Close
		}
		symbol := strings.ToUpper(cell(7))
		if bySymbol[symbol] == nil {
			order = append(order, symbol)
		}
		bySymbol[symbol] = append(bySymbol[symbol], p)
	}
	if len(order) == 0 {
		return out(base, refuse("there is no price in it"))
	}
	for _, symbol := range order {
		s := base
		s.Kind = kernel.Tabular
		s.Prices = bySymbol[symbol]
		s.Pages = pricePages(s.Prices)
		if s.Issuer.Name == "" {
			name := symbol
			if name == "" {
				name = path.Base(base.Title)
			}
			s.Issuer.Name, s.Issuer.Ticker = name, strings.ToUpper(name)
		}
		if len(order) > 1 {
			s.URL += "/" + symbol
			s.Title += " " + symbol
		}
		if err := out(s, nil); err != nil {
			return err
		}
	}
	return nil
}

// noPrice lists the texts that sources write for a missing price.
var noPrice = []string{"", "-", "n/a", "null"}

// dayLayouts lists the layouts of days that sources of prices use.
var dayLayouts = []string{
	time.DateOnly, "1/2/2006", "2/1/2006", "2006/1/2", "20060102", "Jan 2, 2006",
	"January 2, 2006", "2-Jan-2006", "2 Jan 2006", "2.1.2006",
}

// dayLayout returns the layout in which all days of a table are written. It returns an error if two layouts fit and the
// first has the month before the day. If no layout fits it returns time.DateOnly, so that the first row that does not
// match is reported.
func dayLayout(rows [][]string, column int) (string, error) {
	var fitting []string
	first := ""
	for _, layout := range dayLayouts {
		fits := func(row []string) bool {
			if column >= len(row) || strings.TrimSpace(row[column]) == "" {
				return true // an empty row is reported by the caller
			}
			first = cmp.Or(first, row[column])
			_, ok := dayIn(layout, row[column])
			return ok
		}
		if !slices.ContainsFunc(rows, func(row []string) bool { return !fits(row) }) {
			fitting = append(fitting, layout)
		}
	}
	switch {
	case len(fitting) == 0: // the first row in another layout is reported by the caller
		return time.DateOnly, nil
	case len(fitting) > 1 && fitting[0] == "1/2/2006":
		return "", refuse("days such as %q may have the month first or the day: write YYYY-MM-DD", cut(first, 40))
	}
	return fitting[0], nil
}

// dayIn parses a day. A day in the form YYYY-MM-DD may be followed by a time.
func dayIn(layout, text string) (kernel.Day, bool) {
	if text = strings.TrimSpace(text); layout == time.DateOnly {
		text = cut(text, len(layout))
	}
	date, err := time.Parse(layout, text)
	if err != nil {
		return "", false
	}
	return kernel.DayOf(date), true
}

// quarterRows is about the number of trading days in a quarter, plus a header.
const quarterRows = 68

// pricePages returns one page for each quarter, with a table in which prices are found and cited.
func pricePages(prices []Price) (pages []Page) {
	sorted := slices.SortedFunc(slices.Values(prices),
		func(a, b Price) int { return strings.Compare(string(a.Day), string(b.Day)) })
	value := func(v float64) string {
		if v == 0 {
			return ""
		}
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	price := func(v float64) string {
		if v == 0 {
			return ""
		}
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	rows := make([][]string, 0, quarterRows)
	quarter := ""
	flush := func() {
		if len(rows) > 1 && len(pages) < maxPages {
			pages = append(pages, Page{len(pages) + 1, "## Share prices, " + quarter + "\n\n" + tables.Markdown(rows)})
		}
	}
	for _, p := range sorted {
		date := p.Day.Time()
		if next := "Q" + strconv.Itoa((int(date.Month())+2)/3) + " " + strconv.Itoa(date.Year()); next != quarter {
			flush()
			quarter, rows = next, [][]string{{"Day", "Closing price", "Opening price", "Highest price", "Lowest price", "Volume"}}
		}
		rows = append(rows, []string{
			p.Day.String(), price(p.Close), price(p.Open), price(p.High), price(p.Low),
			value(p.Volume),
		})
	}
	flush()
	return pages
}
