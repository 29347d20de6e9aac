// Package metrics is the vocabulary of reports: the metrics and their names, the statements and sections to which a
// text may belong, and the periods and issuers that a text names. It does not know tables or the database.
//
// A metric has a key, such as "net_income", and many names: "net income", "net profit", "net earnings". A concept is
// the name that the us-gaap taxonomy of XBRL, the language of tagged reports, has for it: "NetIncomeLoss". A mention is
// a place in a text that names something: a metric, a period or an issuer. A topic is the number by which stored
// vectors record a part of a report. A directory finds the names of issuers in a text, by whole names ("Wexlermere
// Incorporated"), tickers ("WXLM"), and heads, the first words by which people call issuers ("Wexlermere").
package metrics
