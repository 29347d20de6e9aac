// Package query answers queries about runs and their events.
//
// A query is a predicate in JSON or a text in PQL. PQL is translated to the clauses of the JSON language (package
// syntax). These are checked against the fields of the entity and become a typed tree (check.go, extract.go,
// tree.go, with the fields in entity.go). The tree is compiled to SQL for SQLite or PostgreSQL (compile.go,
// counts.go, expanded.go), in which everything that comes from a client is a parameter. The rows are written as
// JSON one by one (rows.go, http.go).
//
// # Limits
//
// A query has up to 1 MiB, 64 levels, 20,000 values, 2,000 clauses, 16 regular expressions of 1,000 bytes and 16
// inner queries. Each piece of the answer has to be ready within Options.Timeout, and the last one within
// Options.MaxTime. Queries that are not restricted in time, to a node or to a report share Options.Wide places.
//
// # Regular expressions
//
// Patterns are PostgreSQL's advanced regular expressions on both engines. They are parsed by package pattern, so
// that errors are the same everywhere. PostgreSQL matches them itself, with the collation und-x-icu if it is
// available. On SQLite, a pattern is matched by Go's linear matcher or, if it has look-around, back references or
// word boundaries, by a backtracking matcher with a time limit for each value. There are these differences from the
// original:
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
// Rows that order_by leaves equal are in the order of storage, so that pages neither repeat nor omit any. old_value
// and new_value match by the plain text of a string, or the JSON text of any other value. The list of a report's
// events is complete. to_string takes the templates of PostgreSQL's to_char in UTC, with English names; a T before
// a pattern such as HH24 is the T of ISO 8601 and not the beginning of TH or TM. Numbers take the digits 0 and 9.
// If a limit, an offset or an order is given both in a query and as a parameter, the parameter takes precedence.
// The negation of "in" with a list includes nulls where the negation of an equality does: for old_value and
// new_value, and with distinct_resources. Catalogs, facts and other entities that are never stored have every
// field, and queries for them return nothing.
package query
