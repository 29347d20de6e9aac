// Package figures handles the numbers of reports: it finds them in running text and in table cells, converts them to
// single units, decides whether a printed number is a rounding of another, and prints them. It does not know tables,
// issuers or periods.
//
// A figure (kernel.Figure) is a number with its unit, and a mention is a figure with its place in a text. The scale is
// the factor by which the printed digits are multiplied, such as 1e6 for "million"; the step is the precision, one unit
// of the last printed digit. Units are the scale, unit and currency that a table states for its cells. In "$1.6
// billion" the scale is 1e9 and the step 1e8.
//
// Choices where the specification is silent:
//   - A printed number may be coarser than its source, never finer: "$1.6 billion" is supported by $1,577
//     million, and not the other way round.
//   - A loss may be written without its sign ("a loss of 3.1"), but a gain may not be written with a minus sign.
//   - Numbers attached to a word (Q3, FY19, 5G) and ordinals (1st) are names, not figures.
package figures
