package corpus

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/figures"
)

// Numbers are stored in English notation: "1,100.50". Files from other countries have "1.100,50", "1'100.50" and "1
// 100,50". Whether "1.100" is 1100 or 1.1 is decided by the other numbers near it: it is 1100 if one of them has a
// decimal comma, and 1.1 if one of them has a decimal point.

// notation records the notation of the numbers in a part of a table.
type notation struct {
	decimals    [2]bool // with a decimal point, with a decimal comma
	groups      [2]bool // with groups of thousands separated by points, by commas
	apostrophes bool    // with groups separated by apostrophes
}

const pointOrComma = ".,"

// role is the meaning of a point (mark 0) or a comma (mark 1) between digits.
type role int

const (
	unknown role = iota
	decimal
	group
	mixed // some numbers use the mark as decimal mark and some between groups
)

// roleOf returns the role of a point (mark 0) or a comma (mark 1) in a part of a table.
func (w *notation) roleOf(mark int) role {
	isDecimal := w.decimals[mark] || w.groups[1-mark]
	isGroup := w.groups[mark] || w.decimals[1-mark]
	switch {
	case isDecimal && isGroup:
		return mixed
	case isGroup:
		return group
	case isDecimal || w.apostrophes && mark == 0:
		return decimal
	}
	return unknown
}

// numeric matches a cell with a number, and the text before and after the number, such as a currency and a unit.
var numeric = regexp.MustCompile(`^(\D{0,16}?)(\d(?:[\d.,'’ \x{a0}\x{2009}\x{202f}]*\d)?)((?:[^\d.,'’]\D{0,15})?(?:[(\[]\d{1,2}[)\]])?)$`)

// monthOfYear matches a month, such as "12.2020".
var monthOfYear = regexp.MustCompile(`^(?:0?[1-9]|1[0-2])\.(?:19|20)\d\d$`)

var (
	endsInLetter = regexp.MustCompile(`[\pL_]$`)
	currencyCode = regexp.MustCompile(`(?:^|[^\pL])[A-Z]{3}$`) // a currency code
)

// splitNumber splits a cell into its number and the text around the number. It returns empty strings if there is no
// number or if the number is a part of a name, as in "v1.1".
func splitNumber(cell string) (before, number, after string) {
	m := numeric.FindStringSubmatch(cell)
	if m == nil || endsInLetter.MatchString(m[1]) && !currencyCode.MatchString(m[1]) || monthOfYear.MatchString(m[2]) {
		return "", "", ""
	}
	return m[1], m[2], m[3]
}

// splitGroups splits a number into its groups of digits. It returns the mark between groups and the decimal mark; a
// missing mark is 0. ok is false if the text is not a number. If the only mark may be of either kind, it is returned in
// groups and doubtful is true.
func splitGroups(number string) (digits []string, groups, decimals rune, doubtful, ok bool) {
	number = strings.NewReplacer("’", "'", "\u00a0", " ", "\u2009", " ", "\u202f", " ").Replace(number)
	var marks []rune
	start := 0
	for i, r := range number {
		if r < '0' || r > '9' {
			marks = append(marks, r)
			digits = append(digits, number[start:i])
			start = i + 1
		}
	}
	digits = append(digits, number[start:])
	if len(marks) == 0 {
		return digits, 0, 0, false, true
	}
	last := marks[len(marks)-1]
	inThrees := len(digits[0]) >= 1 && len(digits[0]) <= 3 && digits[0][0] != '0'
	for i, mark := range marks[:len(marks)-1] {
		inThrees = inThrees && mark == marks[0] && len(digits[i+1]) == 3
	}
	isDecimal := strings.ContainsRune(pointOrComma, last)
	switch {
	case len(marks) > 1 && last != marks[0]: // 1.100,50
		return digits, marks[0], last, false, inThrees && isDecimal && digits[len(digits)-1] != ""
	case inThrees && len(digits[len(digits)-1]) == 3: // 1.100
		return digits, last, 0, isDecimal && len(marks) == 1, true
	}
	return digits, 0, last, false, len(marks) == 1 && isDecimal && digits[0] != "" && digits[1] != ""
}

// observe records the notation of a cell.
func (w *notation) observe(cell string) {
	_, number, _ := splitNumber(cell)
	_, groups, decimals, doubtful, ok := splitGroups(number)
	if !ok || doubtful {
		return
	}
	for mark, char := range pointOrComma {
		w.groups[mark] = w.groups[mark] || groups == char
		w.decimals[mark] = w.decimals[mark] || decimals == char
	}
	w.apostrophes = w.apostrophes || groups == '\''
}

// toEnglish rewrites a number in English notation. If the number may be read in two ways, and the roles of the marks do
// not decide, its digits are joined by figures.Doubt, so that nobody reads a figure from them.
func toEnglish(cell string, roles [2]role) string {
	before, number, after := splitNumber(cell)
	digits, groups, decimals, doubtful, ok := splitGroups(number)
	if !ok || len(digits) == 1 {
		return cell
	}
	if doubtful {
		switch roles[strings.IndexRune(pointOrComma, groups)] {
		case decimal:
			decimals = groups
		case group:
		case unknown, mixed:
			return before + strings.Join(digits, figures.Doubt) + after
		}
	} else if roles[0] == mixed {
		return cell
	}
	if decimals == 0 {
		return before + strings.Join(digits, ",") + after
	}
	last := len(digits) - 1
	return before + strings.Join(digits[:last], ",") + "." + digits[last] + after
}

// listHeader matches the header of a column of lists such as "3,4", which are not numbers.
var listHeader = regexp.MustCompile(`(?i)^\W*(?:(?:foot)?notes?|ref(?:erence)?s?|pages?|anhang|anmerkung(?:en)?|seiten?)\b`)

// readDecimals rewrites the numbers of a table in English notation, below its header and from firstColumn on. The
// notation of a column is judged by its own numbers, then by the other columns, then by the separator of the columns.
// In a column with both notations, a number that may be read in two ways is made unreadable (see toEnglish).
func readDecimals(rows [][]string, firstColumn int, separator rune) {
	var file notation
	columns := make([]notation, maxCells)
	forEachCell := func(do func(column int, cell *string)) {
		for _, row := range rows[1:] {
			for column := firstColumn; column < len(row); column++ {
				if column >= len(rows[0]) || !listHeader.MatchString(rows[0][column]) {
					do(column, &row[column])
				}
			}
		}
	}
	forEachCell(func(column int, cell *string) {
		file.observe(*cell)
		columns[column].observe(*cell)
	})
	roles := make([][2]role, maxCells)
	for column := range columns {
		for mark := range roles[column] {
			roles[column][mark] = cmp.Or(columns[column].roleOf(mark), fallbackRole(mark, file.roleOf(mark), separator))
		}
	}
	forEachCell(func(column int, cell *string) { *cell = toEnglish(*cell, roles[column]) })
}

// fallbackRole returns the role of a mark in a column whose own numbers do not show it. others is the role of the mark
// in the whole table. If commas separate the columns, a comma in a number is not a decimal mark; if semicolons do, it
// may be one.
func fallbackRole(mark int, others role, separator rune) role {
	switch {
	case separator == ';':
		return others
	case mark == 1 && others == decimal:
		return mixed
	case others != unknown:
		return others
	case mark == 1:
		return group
	case separator == ',':
		return decimal
	}
	return unknown
}
