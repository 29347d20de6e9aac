// Package syntax parses the texts of queries, in JSON (json.go) or PQL (pql.go), to values, independently of fields
// and entities. PQL is translated to the clauses of the JSON language. The package also parses and formats points
// in time (times.go), and defines the canonical form in which JSON values are stored and compared (canonical.go).
package syntax
