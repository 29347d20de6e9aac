// Package inquiry reads an analyst's questions about the figures of an issuer. For a search in tables, it returns the
// operation, which it recognises by the form of the question, and the subjects and periods in the question's own words.
// If it knows all words of the question, it also computes the answer from the facts of the issuer's statements: values,
// changes, averages over years, trends, verdicts by a criterion, and the extreme of several measures. The vocabulary
// defines the measures and their formulas; a formula that the question states takes precedence.
//
// For "What is the percentage change in cost of sales from 2017 to 2018?" the operation (Op) is Growth, the subject is
// "cost sales", and the periods are 2017 and 2018. The Inquiry has these for the search in tables. Its Calculation has
// the same question in terms of the vocabulary: the measure is the metric "cost_of_revenue". A measure is a metric, a
// ratio of two metrics, or an expression over metrics (expr). A book holds the facts of the issuer's statements; a need
// is a metric in a period that a calculation looks up in the book. The answer has a verdict, "Yes" or "No", if the
// question wants one.
//
// Choices where the specification is silent:
//   - A question is computed as a whole or not at all: a word that is not a measure, a period, an operation or
//     filler may mean that the question wants something that statements do not contain.
//   - Sentences about the form of the answer (source, role, unit, rounding) are removed; unit and rounding are
//     kept as fields.
//   - A margin is consistent if it moves each year by no more than the points that the question names, or two.
//   - A question without a period is about the latest fiscal year. A question about history is about the last three
//     years.
//   - A balance in a ratio is the average of the balances at the end of the year and of the year before. If the earlier
//     one is missing, it is the balance at the end of the year alone; the calculation shows which was used.
package inquiry
