package corpus

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/figures"
)

// Numbers are stored as in English: "1,100.50". Files from other countries have "1.100,50", "1'100.50" and "1
// 100,50". Whether "1.100" is 1100 or 1.1 is decided by the other numbers beside it: it is 1100 if one of
// them has a decimal comma and 1.1 if one has a decimal point.

// written records how the numbers in a part of a table are written.
type written struct {
	decimals [2]bool // with a decimal point, with a decimal comma
	groups   [2]bool // with groups of thousands separated by points, by commas
	others   bool    // with groups separated by apostrophes
}

const pointOrComma = ".,"

// role tells what a point (mark 0) or a comma (mark 1) between digits means.
type role int

const (
	nobodyKnows role = iota
	decimal
	group
	both // some numbers use it one way and some the other
)

// of returns the role of a point (0) or a comma (1) in a part of a table.
func (w *written) of(mark int) role {
	isDecimal := w.decimals[mark] || w.groups[1-mark]
	isGroup := w.groups[mark] || w.decimals[1-mark]
	switch {
	case isDecimal && isGroup:
		return both
	case isGroup:
		return group
	case isDecimal || w.others && mark == 0:
		return decimal
	}
	return nobodyKnows
}

// numeric matches a cell that is a number, with what stands before and after it, such as a currency and a
// unit.
var numeric = regexp.MustCompile(`^(\D{0,16}?)(\d(?:[\d.,'’ \x{a0}\x{2009}\x{202f}]*\d)?)((?:[^\d.,'’]\D{0,15})?(?:[(\[]\d{1,2}[)\]])?)$`)

// monthOfYear matches a month, such as "12.2020".
var monthOfYear = regexp.MustCompile(`^(?:0?[1-9]|1[0-2])\.(?:19|20)\d\d$`)

var (
	glued = regexp.MustCompile(`[\pL_]$`)
	code  = regexp.MustCompile(`(?:^|[^\pL])[A-Z]{3}$`) // a currency code
)

// splitNumber splits a cell into its number and what surrounds it. It returns empty strings if there is no
// number or if it is a part of a name, as in "v1.1".
func splitNumber(cell string) (before, number, after string) {
	m := numeric.FindStringSubmatch(cell)
	if m == nil || glued.MatchString(m[1]) && !code.MatchString(m[1]) || monthOfYear.MatchString(m[2]) {
		return "", "", ""
	}
	return m[1], m[2], m[3]
}

// inGroups splits a number into its groups of digits. It returns the mark between groups and the mark of the
// decimals, or 0 for one that is missing. ok is false for what is no number. If there is one mark that may be
// either, it is returned in groups and doubtful is true.
func inGroups(number string) (digits []string, groups, decimals rune, doubtful, ok bool) {
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

// see records how a cell is written.
func (w *written) see(cell string) {
	_, number, _ := splitNumber(cell)
	_, groups, decimals, doubtful, ok := inGroups(number)
	if !ok || doubtful {
		return
	}
	for mark, is := range pointOrComma {
		w.groups[mark] = w.groups[mark] || groups == is
		w.decimals[mark] = w.decimals[mark] || decimals == is
	}
	w.others = w.others || groups == '\''
}

// inEnglish rewrites a number as in English. If it may be read in two ways, and the roles of the marks do not
// tell which, its digits are joined by figures.Doubt, so that nobody reads a figure from them.
func inEnglish(cell string, roles [2]role) string {
	before, number, after := splitNumber(cell)
	digits, groups, decimals, doubtful, ok := inGroups(number)
	if !ok || len(digits) == 1 {
		return cell
	}
	if doubtful {
		switch roles[strings.IndexRune(pointOrComma, groups)] {
		case decimal:
			decimals = groups
		case group:
		case nobodyKnows, both:
			return before + strings.Join(digits, figures.Doubt) + after
		}
	} else if roles[0] == both {
		return cell
	}
	if decimals == 0 {
		return before + strings.Join(digits, ",") + after
	}
	last := len(digits) - 1
	return before + strings.Join(digits[:last], ",") + "." + digits[last] + after
}

// listing matches the header of a column of lists such as "3,4", which are no numbers.
var listing = regexp.MustCompile(`(?i)^\W*(?:(?:foot)?notes?|ref(?:erence)?s?|pages?|anhang|anmerkung(?:en)?|seiten?)\b`)

// readDecimals rewrites the numbers of a table below its header as in English, from the column from on. Each
// column is judged by its own numbers, then by the other columns, then by the separator of the columns. In a
// column with numbers of both kinds, a number that may be read in two ways is made unreadable (see
// inEnglish).
func readDecimals(rows [][]string, from int, separator rune) {
	var file written
	columns := make([]written, maxCells)
	each := func(do func(at int, cell *string)) {
		for _, row := range rows[1:] {
			for at := from; at < len(row); at++ {
				if at >= len(rows[0]) || !listing.MatchString(rows[0][at]) {
					do(at, &row[at])
				}
			}
		}
	}
	each(func(at int, cell *string) {
		file.see(*cell)
		columns[at].see(*cell)
	})
	roles := make([][2]role, maxCells)
	for at := range columns {
		for mark := range roles[at] {
			roles[at][mark] = cmp.Or(columns[at].of(mark), among(mark, file.of(mark), separator))
		}
	}
	each(func(at int, cell *string) { *cell = inEnglish(*cell, roles[at]) })
}

// among returns the role of a mark in a column that does not show it, judged by the role that it has in the
// others. With a comma between columns, a comma in a number is no decimal mark; with a semicolon it may be
// one.
func among(mark int, others role, separator rune) role {
	switch {
	case separator == ';':
		return others
	case mark == 1 && others == decimal:
		return both
	case others != nobodyKnows:
		return others
	case mark == 1:
		return group
	case separator == ',':
		return decimal
	}
	return nobodyKnows
}
