// Package tables reads the tables of reports: the names of their rows and columns, the period of a column,
// the unit and scale of its numbers, and the facts in them.
//
// The following table is an example for the words that the package uses:
//
//	| (in millions) |  2019 |  2018 | Change |
//	|---------------|-------|-------|--------|
//	| Net sales:    |       |       |        |
//	| Automotive    | 1,200 | 1,100 |    9 % |
//
// The header is the row with "2019", and its first cell is the corner, which often states the units. Column 0 has the
// labels of the rows. The other columns have a header and often a period, here the years; a column that compares other
// columns is a change. A row without figures, "Net sales:", is a heading, and the rows below it are its group. A value
// is a cell with a figure; a dash is a value too. In text that keeps the layout of a page, cells are divided by spaces
// and not by "|".
package tables
