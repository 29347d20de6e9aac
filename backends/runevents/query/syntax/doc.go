// Package syntax parses queries, in JSON (json.go) or PQL (pql.go), to values. It does not know fields and entities.
// PQL is translated to the clauses of the JSON language. The package also parses and formats times (times.go), and
// defines the canonical form in which JSON values are stored and compared (canonical.go).
package syntax
