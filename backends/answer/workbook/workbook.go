// Package workbook reads the sheets of spreadsheets in the Office Open XML form (.xlsx, ECMA-376 part 1) as the text
// that a person sees in their cells. It does not interpret the text.
package workbook

import (
	"archive/zip"
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/xuri/excelize/v2"
)

// Limits bound the reading of one workbook. A limit of zero allows nothing.
type Limits struct {
	// Unpacked is the largest total size of the workbook's decompressed parts in bytes.
	Unpacked int64
	Rows     int // the largest number of rows with text in all sheets together
	Columns  int // the largest number of cells in one row
}

// unpackedInMemory is the size in bytes above which a decompressed part is stored in a temporary file instead of in
// memory.
const unpackedInMemory = 16 << 20

// isoDate is the format that is used for a date if the workbook leaves its format to the reader's region.
const isoDate = "yyyy-mm-dd"

// maxEmptyRows bounds the rows without text in all sheets together, because a file of a few bytes can claim
// a million of them.
const maxEmptyRows = 2_000_000

// compound is the signature of compound files ([MS-CFB] section 2.2). Workbooks of Excel before 2007 and
// password-protected workbooks are such files and not zip archives.
const compound = "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"

// Sheet is a visible worksheet.
type Sheet struct {
	Name string
	// Rows holds the text of the cells, one slice per row. Consecutive rows without text are one empty slice. The text of
	// merged cells is in the first of them, as with colspan in HTML. Errors such as #DIV/0! are left out.
	Rows [][]string
}

// ErrLimit is wrapped by the errors that Read returns for a workbook that exceeds the limits.
var ErrLimit = errors.New("the workbook is too large")

// Read returns the visible worksheets that have text, in their order. Hidden sheets are left out; hidden rows and
// columns of visible sheets are included. A formula has the value that was computed by the program that saved the file.
// Read returns an error if the file cannot be read; the error wraps ErrLimit if the file exceeds the limits.
func Read(r io.Reader, limits Limits) (_ []Sheet, err error) {
	buffered := bufio.NewReader(r)
	// An error of Peek is ignored, because OpenReader refuses a file that is too short.
	if signature, _ := buffered.Peek(len(compound)); string(signature) == compound {
		return nil, errors.New("it is protected by a password, or it is in the format of Excel before 2007 (.xls)")
	}
	file, err := excelize.OpenReader(buffered, excelize.Options{
		UnzipSizeLimit: limits.Unpacked, UnzipXMLSizeLimit: min(unpackedInMemory, limits.Unpacked),
		ShortDatePattern: isoDate, LongDatePattern: isoDate,
	})
	switch {
	case errors.Is(err, zip.ErrFormat):
		return nil, errors.New("it is not an Excel workbook")
	case err != nil && strings.Contains(err.Error(), "unzip size exceeds"):
		return nil, fmt.Errorf("%w: it has more than %d MiB when unpacked", ErrLimit, limits.Unpacked>>20)
	case err != nil:
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	var sheets []Sheet
	remaining, emptyRows := limits, maxEmptyRows
	for _, name := range file.GetSheetList() {
		if visible, err := file.GetSheetVisible(name); err != nil || !visible {
			continue
		}
		rows, err := read(file, name, &remaining, &emptyRows)
		if err != nil {
			return nil, fmt.Errorf("sheet %q: %w", name, err)
		}
		if len(rows) > 0 {
			sheets = append(sheets, Sheet{name, rows})
		}
	}
	return sheets, nil
}

// read returns the rows of one sheet in the form of Sheet.Rows. It deducts the rows with text from remaining, and the
// rows without text from emptyRows. Its error wraps ErrLimit if the sheet exceeds these limits.
func read(file *excelize.File, sheet string, remaining *Limits, emptyRows *int) (rows [][]string, err error) {
	lines, err := file.Rows(sheet)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lines.Close()) }()
	gap := false // rows without text follow the last row in rows
	for number := 1; lines.Next(); number++ {
		cells, err := lines.Columns()
		if err != nil {
			return nil, err
		}
		if len(cells) > remaining.Columns {
			return nil, fmt.Errorf("%w: row %d has more than %d cells", ErrLimit, number, remaining.Columns)
		}
		hasText := false
		for i, text := range cells {
			cells[i] = cellText(text)
			hasText = hasText || cells[i] != ""
		}
		if !hasText {
			if *emptyRows--; *emptyRows < 0 {
				return nil, fmt.Errorf("%w: it has too many rows", ErrLimit)
			}
			gap = len(rows) > 0
			continue
		}
		if remaining.Rows--; remaining.Rows < 0 {
			return nil, fmt.Errorf("%w: it has too many rows", ErrLimit)
		}
		if gap {
			rows, gap = append(rows, nil), false
		}
		rows = append(rows, cells)
	}
	return rows, lines.Error()
}

// cellErrors holds the values of cells whose formula has no result (ECMA-376 part 1, section 18.17.3).
var cellErrors = map[string]bool{
	"#DIV/0!": true, "#N/A": true, "#NAME?": true, "#NULL!": true, "#NUM!": true, "#REF!": true, "#VALUE!": true,
	"#GETTING_DATA": true,
}

// cellText returns the text of a cell with single spaces, or the empty string for an error.
func cellText(text string) string {
	if cellErrors[text] {
		return ""
	}
	return strings.Join(strings.Fields(text), " ")
}
