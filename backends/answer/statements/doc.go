// Package statements reads the primary statements of reports. It recognises the tables that are the balance sheet, the
// income statement and the statement of cash flows, the concepts of their rows and the periods of their columns. It
// returns the figures of columns that add up and leaves out columns that do not.
//
// The concept of a row is the key of the metric that the row states, whatever its label: "revenue" for "Total net
// sales". A line is a row with a known concept, a reading is the figure of a line in one column, and a fact is a
// reading that has passed the checks. Sums of readings, such as total assets = liabilities + equity, show whether a
// column was read correctly. A note is a table about parts of a statement that is elsewhere in the report.
//
// Choices where the specification is silent:
//   - A statement is recognised by the title above it, or by rows that occur in no other statement. A table
//     that covers only parts of an issuer, only its parent company, or a hypothetical past is not a statement.
//   - The latest annual column of an annual report is for the report's fiscal year, whatever year its last day
//     is in.
//   - If two rows have the same concept but different figures, the row with the shareholders' part is used, or else
//     the row with the total. If neither row is such a part or a total, both are left out.
//   - A table that states no scale gets the scale of the other statements of its report.
package statements
