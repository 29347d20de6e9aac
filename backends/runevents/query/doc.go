// Package query answers queries about runs and their events.
//
// A query is a predicate in JSON or a text in PQL. PQL becomes the clauses of
// the JSON language (package syntax); these are checked against the fields of the
// entity and become a typed tree (check.go, extract.go, tree.go, with the
// fields in entity.go); the tree becomes SQL for SQLite or PostgreSQL
// (compile.go, counts.go, expanded.go), in which everything that came from
// outside is a parameter; rows become JSON one by one (rows.go, http.go).
//
// # Bounds
//
// A query has up to 1 MiB, 64 levels, 20,000 values, 2,000 clauses, 16 regular
// expressions of 1,000 bytes and 16 inner queries. Each piece of the answer has
// to come within Options.Timeout and the last within Options.MaxTime. Queries
// that nothing bounds in time, to a node or to a report share Options.Wide
// places.
//
// # Regular expressions
//
// Patterns are PostgreSQL's advanced regular expressions on both engines. They
// are parsed here, so that a bad one is refused in the same words everywhere.
// PostgreSQL matches them itself, with the collation und-x-icu where it has
// it. On SQLite a pattern runs on Go's linear matcher, or, where it has
// look-around, back references or word boundaries, on a backtracking one with a
// time limit for each value. What differs from the original:
//
//   - The options (?b) and (?e), for other dialects, are refused.
//   - A number that is no character of Unicode, such as \ud800, matches nothing.
//   - On SQLite a back reference and the preference of a branch for short or
//     long matches follow Perl's rules, which can matter for back references
//     only.
//   - On SQLite classes follow Unicode's categories: [[:punct:]] is category P
//     and leaves out signs such as $ and +, as ICU does.
//   - A pattern of more than 10,000 atoms, repetitions counted out, or 100
//     groups is refused as too complex.
//   - On SQLite a nested repetition of more than 1,000 is refused as too
//     complex.
//
// # Where the language is silent
//
// Rows that order_by leaves equal keep the order of storage, so that pages
// neither repeat nor lose any. old_value and new_value match by the plain text
// of a string, or the JSON text of another value. The list of a report's events
// leaves out none. to_string takes the templates of PostgreSQL's to_char in UTC,
// with English names; a T before a pattern such as HH24 is the T of ISO 8601 and
// not the begin of TH or TM. Numbers take the digits 0 and 9. Where a limit, an
// offset or an order stands both in a query and beside it, the one beside it
// counts. "not" of an "in" with a list takes nulls where it does of an equality: of
// old_value and new_value, and with distinct_resources. Catalogs, facts and what else is never stored have every field, and
// answers about them are empty.
package query
