package tables

import (
	"regexp"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/figures"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
)

// inCaption matches a statement of the units in the text around a table, such as "(in millions)".
var inCaption = regexp.MustCompile(`(?i)\((?:[^()]{0,60}\b)?(?:in|[$€£]|amounts?|dollars|expressed)[^()]{0,80}\)|\(?\bin (?:[a-z.$€£]+ ){0,4}(?:thousands|millions|billions)\b`)

// spaceRestorer restores spaces that are missing in text extracted from pages.
var spaceRestorer = strings.NewReplacer("inthousands", "in thousands", "inmillions", "in millions", "RMB’", "in RMB ", "RMB'",
	"in RMB ",
	"USDm", "in USD m", "EURm", "in EUR m", "GBPm", "in GBP m", "NT dollars", "NT$")

// UnitsIn returns the units (scale, currency, per cent and so on) that a caption, a corner or a header states.
func UnitsIn(text string) figures.Units { return figures.Caption(spaceRestorer.Replace(text)) }

// setUnits sets the units of the table and of its columns. The table's units come from its corner and from rows of the
// header that contain only a unit. If these state no scale, a phrase such as "(in millions)" in the caption or in the
// text after the table is used too. A column's units come from its header.
func (t *Table) setUnits(header [][]string) {
	t.Units = UnitsIn(t.Corner)
	for _, row := range header {
		var words []string
		for _, cell := range row {
			if cell != "" {
				words = append(words, cell)
			}
		}
		if len(words) == 1 && isUnit(words[0]) {
			t.Units = t.Units.Under(UnitsIn(words[0]))
		}
	}
	for i := range t.Columns {
		if header := t.Columns[i].Header; len(header) > len("2019") || header == "%" { // a year states no unit
			t.Columns[i].Units = UnitsIn(header)
		}
	}
	if t.Units.Scale == 0 {
		for _, around := range []string{t.Caption, t.After} {
			if found := inCaption.FindString(around); found != "" {
				t.Units = t.Units.Under(UnitsIn(found))
			}
		}
	}
}

// rowUnits matches each text in brackets in the label of a row. Its group is the text without the brackets.
var rowUnits = regexp.MustCompile(`\(([^()]*)\)`)

// rowUnit returns the unit in brackets in the label of a row, such as "(in millions)", or the empty string.
func rowUnit(label string) string {
	for _, match := range rowUnits.FindAllStringSubmatch(label, 4) {
		if isUnit(match[1]) {
			return match[0]
		}
	}
	return ""
}

// Figure returns the number in a cell with its unit and scale. A dash is 0. Figure returns false if the cell contains
// no number.
func (t *Table) Figure(row, column int) (kernel.Figure, bool) {
	if row < 0 || row >= len(t.Rows) || column < 0 || column >= len(t.Columns) || column >= len(t.Rows[row].Cells) {
		return kernel.Figure{}, false
	}
	label := t.Rows[row].Label
	units := t.Columns[column].Units.Under(t.Units)
	if unit := rowUnit(label); unit != "" {
		units = UnitsIn(unit).Under(units)
	}
	labelled := units.Row(label)
	// A label such as "Taxes computed at the statutory rate" mentions a rate, but its row contains amounts.
	if labelled.Unit != kernel.Percent || strings.Contains(figures.WithoutRates(label), "%") || !t.hasAmounts(row) {
		units = labelled
	}
	return figures.Cell(t.Rows[row].Cells[column], units)
}

// computedAtRate matches the name of an amount that is computed with a rate.
var computedAtRate = regexp.MustCompile(`(?i)\b(?:computed|calculated|at|using)\b.*\brates?\b`)

// hasAmounts reports whether a row whose name mentions a rate contains amounts. It does if a cell has a currency sign,
// or if the name says that something is computed at the rate and no cell has "%".
func (t *Table) hasAmounts(row int) bool {
	r := &t.Rows[row]
	return computedAtRate.MatchString(r.Label) &&
		!slices.ContainsFunc(r.Cells, func(c string) bool { return strings.Contains(c, "%") }) ||
		slices.ContainsFunc(r.Cells, func(c string) bool { return strings.ContainsAny(c, "$€£¥") })
}
