package fileformat

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"io"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/answer/figures"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/tables"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// Bounds of a CSV table.
const (
	maxCSVRows  = 200_000
	rowsPerPage = 200 // in a table that does not hold prices
)

// readCSV reads a table. A table with the columns date and close holds prices. Their issuer is named by the description
// file beside it (see MetaSuffix), or else by the column symbol or the file's name. Any other table is a document of
// the kind table.
func readCSV(ctx context.Context, r io.Reader, base Source, out Emit) error {
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
			return out(base, Refuse("the CSV cannot be read: %v", err))
		}
		if rows = append(rows, row); len(rows) > maxCSVRows || len(row) > maxCells {
			return out(base, Refuse("the table has more than %d rows or %d columns", maxCSVRows, maxCells))
		}
		if len(rows)%1000 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if len(rows) < 2 {
		return out(base, Refuse("the file has no table: it needs a header row and at least one more row"))
	}
	if columns, ok := priceColumns(rows[0]); ok {
		readDecimals(rows, 0, lines.Comma)
		return readPrices(rows[1:], columns, base, out)
	}
	readDecimals(rows, 1, lines.Comma) // the first column names the rows
	if base.Kind == "" {
		base.Kind = kernel.Tabular
	}
	for first := 1; first < len(rows); first += rowsPerPage {
		page := slices.Concat(rows[:1], rows[first:min(first+rowsPerPage, len(rows))]) // each page repeats the header
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

// pricePattern matches a number in a price column, or an empty cell. Groups of two digits are Indian: "12,34,567".
var pricePattern = regexp.MustCompile(`^-?\$?-?(?:\d{1,3}(?:,\d{2,3})*,\d{3}|\d+)?(?:\.\d*)?(?:[eE][-+]?\d+)?$`)

// The columns of a table of prices, as indexes of a priceTable.
const (
	dayColumn = iota
	openColumn
	highColumn
	lowColumn
	closeColumn
	adjCloseColumn
	volumeColumn
	symbolColumn
	priceColumnCount
)

// priceTable has the index of each column in a row of the table, or -1 for a missing column.
type priceTable [priceColumnCount]int

// cell returns the text of a row in a column, or the empty string if the row does not have that column.
func (t priceTable) cell(row []string, column int) string {
	if t[column] < 0 || t[column] >= len(row) {
		return ""
	}
	return strings.TrimSpace(row[t[column]])
}

// read reads the prices of a row, whose day is written in the given layout. If the day is faulty, the error names the
// day. Otherwise it names the last faulty cell.
func (t priceTable) read(row []string, dateLayout string) (p Price, err error) {
	value := func(column int) float64 { // sets err for a cell that is not a number
		cell := t.cell(row, column)
		plain := strings.NewReplacer(",", "", "$", "").Replace(cell)
		if slices.Contains(noPrice, strings.ToLower(plain)) {
			return 0
		}
		v, parseErr := strconv.ParseFloat(plain, 64)
		if strings.Contains(plain, figures.Doubt) {
			err = Refuse("%q is ambiguous: its point or comma may be a decimal mark or a thousands separator",
				text.CutBytes(strings.ReplaceAll(plain, figures.Doubt, "."), 40))
		} else if parseErr != nil || math.IsInf(v, 0) || math.IsNaN(v) || !pricePattern.MatchString(cell) {
			err = Refuse("%q is not a number", text.CutBytes(cell, 40))
		}
		return v
	}
	p = Price{
		Open: value(openColumn), High: value(highColumn), Low: value(lowColumn), Close: value(closeColumn),
		AdjClose: value(adjCloseColumn), Volume: value(volumeColumn),
	}
	if t[adjCloseColumn] < 0 { // there is no such column
		p.AdjClose = p.Close
	}
	day, ok := dayIn(dateLayout, t.cell(row, dayColumn))
	if !ok {
		err = Refuse("%q is not a date in the form YYYY-MM-DD", text.CutBytes(t.cell(row, dayColumn), 40))
	}
	p.Day = day
	return p, err
}

// priceColumns finds the columns of prices by their names in the header. ok reports whether the columns for the day and
// the closing price exist.
func priceColumns(header []string) (columns priceTable, ok bool) {
	names := [priceColumnCount][]string{
		dayColumn:      {"date", "day"},
		openColumn:     {"open"},
		highColumn:     {"high"},
		lowColumn:      {"low"},
		closeColumn:    {"close", "price", "close/last"},
		adjCloseColumn: {"adj close", "adj_close", "adjusted close", "adjclose", "adjusted_close"},
		volumeColumn:   {"volume"},
		symbolColumn:   {"symbol", "ticker"},
	}
	for i, spellings := range names {
		columns[i] = slices.IndexFunc(header, func(cell string) bool {
			return slices.Contains(spellings, strings.ToLower(strings.TrimSpace(cell)))
		})
	}
	return columns, columns[dayColumn] >= 0 && columns[closeColumn] >= 0
}

// readPrices emits one document with the prices of each symbol, in the order in which the symbols first appear. rows do
// not include the header. Rows without a closing price are skipped; if a row is faulty, readPrices emits its error and
// no document.
func readPrices(rows [][]string, columns priceTable, base Source, out Emit) error {
	var order []string
	bySymbol := make(map[string][]Price)
	layout, err := dayLayout(rows, columns[dayColumn])
	if err != nil {
		return out(base, err)
	}
	for i, row := range rows {
		if slices.Contains(noPrice, strings.ToLower(columns.cell(row, closeColumn))) { // there was no trade on this day
			continue
		}
		p, err := columns.read(row, layout)
		if err != nil {
			return out(base, Refuse("row %d: %v", i+2, err)) // rows are counted from 1, and the header is the first
		}
		symbol := strings.ToUpper(columns.cell(row, symbolColumn))
		if bySymbol[symbol] == nil {
			order = append(order, symbol)
		}
		bySymbol[symbol] = append(bySymbol[symbol], p)
	}
	if len(order) == 0 {
		return out(base, Refuse("the table has no prices"))
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

// dayLayout returns the layout in which all days of a table are written. If the days fit both the layout with the month
// before the day and another one, dayLayout returns an error. If no layout fits, it returns time.DateOnly, so that the
// caller reports the first row that does not match.
func dayLayout(rows [][]string, column int) (string, error) {
	var fitting []string
	first := ""
	for _, layout := range dayLayouts {
		isOther := func(row []string) bool { // the day is written in another layout
			if column >= len(row) || strings.TrimSpace(row[column]) == "" {
				return false // an empty row is reported by the caller
			}
			first = cmp.Or(first, row[column])
			_, ok := dayIn(layout, row[column])
			return !ok
		}
		if !slices.ContainsFunc(rows, isOther) {
			fitting = append(fitting, layout)
		}
	}
	switch {
	case len(fitting) == 0: // the first row in another layout is reported by the caller
		return time.DateOnly, nil
	case len(fitting) > 1 && fitting[0] == "1/2/2006":
		return "", Refuse("dates such as %q are ambiguous, month/day or day/month: write YYYY-MM-DD",
			text.CutBytes(first, 40))
	}
	return fitting[0], nil
}

// dayIn parses a day in a layout of package time. A day in the form YYYY-MM-DD may be followed by a time.
func dayIn(layout, day string) (kernel.Day, bool) {
	if day = strings.TrimSpace(day); layout == time.DateOnly {
		day = text.CutBytes(day, len(layout))
	}
	date, err := time.Parse(layout, day)
	if err != nil {
		return "", false
	}
	return kernel.DayOf(date), true
}

// quarterRows is about the number of trading days in a quarter, plus a header.
const quarterRows = 68

// pricePages returns one page for each quarter with a table of its prices, so that searches find the prices and answers
// cite them.
func pricePages(prices []Price) (pages []Page) {
	sorted := slices.SortedFunc(slices.Values(prices),
		func(a, b Price) int { return strings.Compare(string(a.Day), string(b.Day)) })
	format := func(v float64, decimals int) string {
		if v == 0 { // unknown
			return ""
		}
		return strconv.FormatFloat(v, 'f', decimals, 64)
	}
	price := func(v float64) string { return format(v, 2) }
	rows := make([][]string, 0, quarterRows)
	quarter := ""
	flush := func() {
		if len(rows) > 1 && len(pages) < maxPages {
			pages = append(pages, Page{len(pages) + 1, "## Share prices, " + quarter + "\n\n" + tables.Markdown(rows)})
		}
	}
	for _, p := range sorted {
		date := p.Day.Time()
		if q := "Q" + strconv.Itoa((int(date.Month())+2)/3) + " " + strconv.Itoa(date.Year()); q != quarter {
			flush()
			quarter, rows = q, [][]string{{"Day", "Closing price", "Opening price", "Highest price", "Lowest price", "Volume"}}
		}
		rows = append(rows, []string{
			p.Day.String(), price(p.Close), price(p.Open), price(p.High), price(p.Low),
			format(p.Volume, -1), // as many decimals as necessary
		})
	}
	flush()
	return pages
}
