package fileformat

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/figures"
)

// Numbers are stored in English notation: "1,100.50". Files from other countries have "1.100,50", "1'100.50" and "1
// 100,50". Whether "1.100" is 1100 or 1.1 is decided by the other numbers near it: it is 1100 if one of them has a
// decimal comma, and 1.1 if one of them has a decimal point.

// point and comma stand for the two characters, called marks, that are a decimal mark in some notations and separate
// thousands in others. The constants are indexes of pointOrComma.
const (
	point = iota
	comma
)

// pointOrComma holds the marks.
const pointOrComma = ".,"

// notation records which notations the numbers in a part of a table have. The arrays are indexed by point and comma.
type notation struct {
	decimals    [2]bool // a number has this decimal mark
	groups      [2]bool // a number has this mark between groups of thousands
	apostrophes bool    // a number has apostrophes between groups of thousands
}

// role is the meaning of a mark between digits.
type role int

const (
	unknown role = iota
	decimal      // the mark is a decimal mark
	group        // the mark separates thousands
	mixed        // decimal in some numbers and group in others
)

// roleOf returns the role of a mark, point or comma, in a part of a table.
func (n *notation) roleOf(mark int) role {
	other := 1 - mark // if one of the marks separates thousands, the other one is the decimal mark, and vice versa
	isDecimal := n.decimals[mark] || n.groups[other]
	isGroup := n.groups[mark] || n.decimals[other]
	switch {
	case isDecimal && isGroup:
		return mixed
	case isGroup:
		return group
	case isDecimal || n.apostrophes && mark == point:
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
	currencyCode = regexp.MustCompile(`(?:^|[^\pL])[A-Z]{3}$`) // such as "CHF" before a number
)

// splitNumber splits a cell into its number and the text around the number. It returns empty strings if there is no
// number or if the number is a part of a name, as in "v1.1".
func splitNumber(cell string) (prefix, number, suffix string) {
	m := numeric.FindStringSubmatch(cell)
	if m == nil || endsInLetter.MatchString(m[1]) && !currencyCode.MatchString(m[1]) || monthOfYear.MatchString(m[2]) {
		return "", "", ""
	}
	return m[1], m[2], m[3]
}

// splitGroups splits a number into its runs of digits: the groups of thousands and the decimals. groupMark is the
// character between groups and decimalMark the one before the decimals; a missing one is 0. ok is false if the text is
// not a number. If the number has a single mark that may be of either kind, as in "1.100", doubtful is true and the
// mark is returned as groupMark.
func splitGroups(number string) (digits []string, groupMark, decimalMark rune, doubtful, ok bool) {
	number = strings.NewReplacer("’", "'", "\u00a0", " ", "\u2009", " ", "\u202f", " ").Replace(number)
	var marks []rune // the characters between the runs of digits
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
	lastMark, lastDigits := marks[len(marks)-1], digits[len(digits)-1]
	// startsGrouped reports whether the digits before the last mark are groups of thousands.
	startsGrouped := len(digits[0]) >= 1 && len(digits[0]) <= 3 && digits[0][0] != '0'
	for i, mark := range marks[:len(marks)-1] {
		startsGrouped = startsGrouped && mark == marks[0] && len(digits[i+1]) == 3
	}
	mayBeDecimal := strings.ContainsRune(pointOrComma, lastMark)
	switch {
	case len(marks) > 1 && lastMark != marks[0]: // 1.100,50
		return digits, marks[0], lastMark, false, startsGrouped && mayBeDecimal && lastDigits != ""
	case startsGrouped && len(lastDigits) == 3: // 1.100 or 1.100.000
		return digits, lastMark, 0, mayBeDecimal && len(marks) == 1, true
	}
	// 12,5
	return digits, 0, lastMark, false, len(marks) == 1 && mayBeDecimal && digits[0] != "" && lastDigits != ""
}

// observe records the notation of the number in a cell. A cell without a number, or with a doubtful one, is ignored.
func (n *notation) observe(cell string) {
	_, number, _ := splitNumber(cell)
	_, groupMark, decimalMark, doubtful, ok := splitGroups(number)
	if !ok || doubtful {
		return
	}
	for mark, char := range pointOrComma {
		n.groups[mark] = n.groups[mark] || groupMark == char
		n.decimals[mark] = n.decimals[mark] || decimalMark == char
	}
	n.apostrophes = n.apostrophes || groupMark == '\''
}

// toEnglish rewrites the number in a cell in English notation. If the number may be read in two ways, and the roles of
// point and comma do not decide, its digits are joined by figures.Doubt, so that no figure is read from them. Other
// cells are returned unchanged, as are clear numbers of a column in which points have both roles.
func toEnglish(cell string, roles [2]role) string {
	prefix, number, suffix := splitNumber(cell)
	digits, groupMark, decimalMark, doubtful, ok := splitGroups(number)
	if !ok || len(digits) == 1 {
		return cell
	}
	if doubtful {
		switch roles[strings.IndexRune(pointOrComma, groupMark)] {
		case decimal:
			decimalMark = groupMark
		case group:
		case unknown, mixed:
			return prefix + strings.Join(digits, figures.Doubt) + suffix
		}
	} else if roles[point] == mixed {
		return cell
	}
	if decimalMark == 0 {
		return prefix + strings.Join(digits, ",") + suffix
	}
	last := len(digits) - 1
	return prefix + strings.Join(digits[:last], ",") + "." + digits[last] + suffix
}

// listHeader matches the header of a column of lists such as "3,4", which are references and not numbers.
var listHeader = regexp.MustCompile(`(?i)^\W*(?:(?:foot)?notes?|ref(?:erence)?s?|pages?|anhang|anmerkung(?:en)?|seiten?)\b`)

// readDecimals rewrites the numbers of a table in place in English notation, below its header and from firstColumn on.
// The numbers of a column show its notation; if they do not, the numbers of the other columns or else the separator of
// the columns decide. A number that may still be read in two ways is made unreadable (see toEnglish).
func readDecimals(rows [][]string, firstColumn int, separator rune) {
	var file notation
	columns := make([]notation, maxCells)
	forEachCell := func(fn func(column int, cell *string)) {
		for _, row := range rows[1:] {
			for column := firstColumn; column < len(row); column++ {
				// In a column of lists, such as one for notes, "3,4" is not a number.
				if column >= len(rows[0]) || !listHeader.MatchString(rows[0][column]) {
					fn(column, &row[column])
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

// fallbackRole returns the role of a mark, point or comma, in a column whose own numbers do not show it. inTable is the
// role of the mark in the whole table. Only files with semicolons between columns usually have decimal commas, so a
// comma in another file is doubtful (mixed) if other columns have decimal commas, and otherwise separates thousands.
func fallbackRole(mark int, inTable role, separator rune) role {
	switch {
	case separator == ';':
		return inTable
	case mark == comma && inTable == decimal:
		return mixed
	case inTable != unknown:
		return inTable
	case mark == comma:
		return group
	case separator == ',':
		return decimal
	}
	return unknown
}
