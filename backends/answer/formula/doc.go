// Package formula computes the answers to questions about tables, which package inquiry has read: look-ups,
// differences, growth, averages, sums, counts, and ratios of two rows. Every value has the passages of its inputs and
// its formula.
//
// A series holds the figures of one row of a table over the periods of its columns, or of one column over the periods
// of its rows. Each of its figures is a point. The subject is the question's words for the figure that it wants, such
// as "net sales from Malaysia". A series fits a subject if most words of the subject are in the name of the series, in
// the heading above it or in the text around the table; the score of the series says how well it fits. A value is the
// result, with the points from which it was computed as inputs.
//
// A value is computed only if the row, the column, the period and the unit are all matched, and nothing else matches
// equally well: no answer is better than a wrong number.
//
// Choices where the specification is silent:
//   - A difference is the later period minus the earlier one, whichever is named first.
//   - Without a named period, a look-up takes the figure of the table's latest period, and an average is over all
//     periods of the table.
//   - Growth on a base of zero or less has no percentage.
package formula
