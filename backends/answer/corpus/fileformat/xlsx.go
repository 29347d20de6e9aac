package fileformat

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/tables"
	"github.com/tollgate-gateway/tollgate/backends/answer/workbook"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// unpackedWorkbook bounds the decompressed size of all parts of a workbook.
const unpackedWorkbook = 4 * maxText

// readWorkbook reads the visible sheets of an Excel workbook. A sheet is one page, or several if it has long tables. A
// workbook of one sheet with the columns date and close holds prices, like a CSV file. In workbooks of the SEC, the
// sheets that repeat the cover page of a report name its issuer and period.
func readWorkbook(_ context.Context, r io.Reader, base Source, out Emit) error {
	sheets, err := workbook.Read(r, workbook.Limits{Unpacked: unpackedWorkbook, Rows: maxCSVRows, Columns: maxCells})
	switch {
	case err != nil:
		return out(base, Refuse("the workbook cannot be read: %v", err))
	case len(sheets) == 0:
		return out(base, Refuse("there is no text in the workbook"))
	}
	if rows := sheets[0].Rows; len(sheets) == 1 && len(rows) > 1 {
		if columns, ok := priceColumns(rows[0]); ok {
			return readPrices(slices.DeleteFunc(rows[1:], func(row []string) bool { return len(row) == 0 }), columns, base, out)
		}
	}
	coverValues := make(map[string]string)
	for _, sheet := range sheets {
		for _, text := range sheetPages(sheet.Rows) {
			base.Pages = append(base.Pages, Page{Number: len(base.Pages) + 1, Text: "## " + unmarked(sheet.Name) + "\n\n" +
				text})
		}
		for _, row := range sheet.Rows {
			if len(row) > 1 {
				recordCoverValue(coverValues, row)
			}
		}
	}
	if base = describe(base, coverValues); base.Kind == "" && base.Form == "" {
		base.Kind = kernel.Tabular
	}
	return out(base, nil)
}

// unmarked returns a text without the characters that begin Markdown headings and table rows, and without the suffixes
// that standard labels of XBRL taxonomies have, such as "Current assets [Abstract]".
func unmarked(text string) string {
	text = strings.TrimLeft(text, "#| ")
	for _, kind := range []string{" [Abstract]", " [Line Items]", " [Roll Forward]"} {
		text = strings.TrimSuffix(text, kind)
	}
	return text
}

// recordCoverValue records the value of a row whose label is a concept of the cover page. The SEC labels such rows with
// the words of the concept's name.
func recordCoverValue(coverValues map[string]string, row []string) {
	concept := strings.ReplaceAll(row[0], " ", "")
	if !strings.HasPrefix(concept, "Entity") && !strings.HasPrefix(concept, "Document") && concept != "TradingSymbol" {
		return
	}
	for _, cell := range row[1:] {
		if cell != "" && coverValues[concept] == "" && len(coverValues) < maxContexts {
			coverValues[concept] = text.CutBytes(cell, MaxTitle)
		}
	}
}

// sheetPages returns the rows of a sheet as Markdown pages with at most rowsPerPage rows of a table each.
func sheetPages(rows [][]string) (pages []string) {
	var page strings.Builder
	addBlock := func(text string) {
		if page.Len() > 0 {
			page.WriteString("\n\n")
		}
		page.WriteString(text)
	}
	for len(rows) > 0 {
		if len(rows[0]) == 0 || hasSingleCell(rows[0]) { // between tables, a row with one cell is a paragraph
			if len(rows[0]) > 0 {
				addBlock(unmarked(strings.Join(rows[0], "")))
			}
			rows = rows[1:]
			continue
		}
		end := endOfTable(rows)
		for _, row := range rows[:end] {
			if len(row) > 0 {
				row[0] = unmarked(row[0])
			}
		}
		grid := tables.Tidy(rows[:end])
		rows = rows[end:]
		if len(grid) == 1 {
			addBlock(unmarked(strings.Join(grid[0], " ")))
			continue
		}
		head := headerRows(grid)
		for first := head; first < len(grid); first += rowsPerPage {
			if first > head {
				pages = append(pages, page.String())
				page.Reset()
			}
			addBlock(tables.Markdown(slices.Concat(grid[:head], grid[first:min(first+rowsPerPage, len(grid))])))
		}
	}
	if page.Len() > 0 {
		pages = append(pages, page.String())
	}
	return pages
}

// hasSingleCell reports whether exactly one cell of a row has text.
func hasSingleCell(row []string) bool {
	hasText := func(cell string) bool { return cell != "" }
	first := slices.IndexFunc(row, hasText)
	return first >= 0 && !slices.ContainsFunc(row[first+1:], hasText)
}

// endOfTable returns the number of rows of the table that begins with the first row. The table ends at an empty row if
// the next row that has several cells names columns (see namesColumns); rows with one cell between them are headings of
// the next table. Other empty rows, and other rows with one cell, divide the table into groups and belong to it.
func endOfTable(rows [][]string) int {
	for i := 1; i < len(rows); i++ {
		if len(rows[i]) > 0 {
			continue
		}
		next := i + 1
		for next < len(rows) && (len(rows[next]) == 0 || hasSingleCell(rows[next])) {
			next++
		}
		if next < len(rows) && namesColumns(rows[next]) {
			return i
		}
	}
	return len(rows)
}

// namesColumns reports whether a row has text, and no figures, after its first cell.
func namesColumns(row []string) bool {
	return !slices.ContainsFunc(row[1:], tables.IsValue) &&
		slices.ContainsFunc(row[1:], func(cell string) bool { return cell != "" })
}

// maxHeaderRows bounds the rows of a table that name its columns.
const maxHeaderRows = 4

// headerRows returns how many of the first rows name columns: at least one, and fewer than all.
func headerRows(grid [][]string) int {
	n := 1
	for n < min(len(grid)-1, maxHeaderRows) && namesColumns(grid[n]) {
		n++
	}
	return n
}
