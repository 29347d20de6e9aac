// Package kernel is the common base of all packages of the answer API: the database, the clock, and the types for the
// contents of the corpus.
//
// The words of the field are explained below by an example: an annual report of Wexlermere Inc. with this table.
//
//	| (in millions)     | 2019    | 2018    |
//	|-------------------|---------|---------|
//	| Total net revenue | $ 1,577 | $ 1,496 |
//
// In the other packages the words have these meanings:
//
//   - The issuer is Wexlermere Inc., the document is its report, and a passage is the part of the report that a search
//     finds, here the table with the paragraph above it. Package corpus calls a stored passage a chunk.
//   - A metric is a quantity that many reports state, here revenue. Its key is "revenue" in every report, whatever
//     label the row has. A statement is the part of a report that states the metric, here the income statement.
//   - A period is what a column is about, here the fiscal years 2019 and 2018.
//   - A figure is a number with its unit and precision: "$1,577 million" is 1577000000 dollars, exact to a million.
//   - A fact combines all of this: according to this passage, Wexlermere's revenue in fiscal 2019 was $1,577 million.
package kernel
