// Package query answers queries about runs and their events.
//
// A query is a predicate in JSON, or a text in PQL. PQL is translated to the clauses of the JSON language (package
// syntax). The clauses are checked against the fields of an entity and converted to a typed tree (check.go, extract.go,
// tree.go; the fields are in entity.go). The tree is compiled to SQL for SQLite or PostgreSQL (compile.go, counts.go,
// expanded.go); all data from the client is passed in parameters. The rows are written as JSON one by one (rows.go,
// http.go).
//
// # Limits
//
// A query has up to 1 MiB, 64 levels, 20,000 values, 2,000 clauses, 16 regular expressions of 1,000 bytes and 16 inner
// queries. Each piece of the answer must be ready within Options.Timeout, and the last piece within Options.MaxTime. Of
// the queries that are restricted neither in time nor to a node or a report, at most Options.Wide run at the same time.
//
// # Regular expressions
//
// Patterns are PostgreSQL's advanced regular expressions, with both database engines. They are parsed by package
// pattern, so errors are the same everywhere. PostgreSQL matches patterns itself, with the collation und-x-icu if it is
// available. With SQLite, a pattern is matched by Go's linear matcher or, if it has look-around, back references or
// word boundaries, by a backtracking matcher with a time limit for each value. There are these differences from
// PostgreSQL:
//
//   - The options (?b) and (?e), for other dialects, are refused.
//   - A number that is not a Unicode character, such as \ud800, matches nothing.
//   - On SQLite, back references and the preference of a branch for short or
//     long matches follow Perl's rules, which only matters for back references.
//   - On SQLite, classes follow Unicode's categories: [[:punct:]] is category P
//     and does not include signs such as $ and +, as in ICU.
//   - A pattern of more than 10,000 atoms, with repetitions counted, or 100
//     groups is refused as too complex.
//   - On SQLite, a nested repetition of more than 1,000 is refused as too
//     complex.
//
// # Unspecified behavior
//
// Rows that are equal in order_by are in the order of storage, so pages neither repeat nor omit rows. old_value and
// new_value are matched as text: a string without quotes, and any other value as JSON. The list of a report's events is
// complete. to_string accepts the templates of PostgreSQL's to_char, in UTC and with English names; a T before a
// pattern such as HH24 is the T of ISO 8601 and not the beginning of TH or TM. Templates for numbers consist of the
// digits 0 and 9. If both the query and a parameter contain a limit, an offset or an order, the parameter takes
// precedence. The negation of "in" with an array includes nulls where the negation of an equality does: for old_value
// and new_value, and with distinct_resources. Catalogs, facts and other entities that are never stored have every
// field, and queries for them return nothing.
package query
