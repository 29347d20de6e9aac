// Package syntax reads the texts of queries, in JSON (json.go) or PQL (pql.go), into
// values, which know no field and no entity; PQL becomes the clauses of the JSON language.
// It also knows how points in time are written (times.go), and the one spelling of a JSON
// value that is stored and compared (canonical.go).
package syntax
