package query

import (
	"cmp"
	"net/url"

	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// emptyAnswer answers requests for the names of facts with an empty list, and requests for a catalog with an empty
// catalog, because facts and catalogs are never stored.
func (s *Service) emptyAnswer(pl *plan, out *output) error {
	if pl.detail == "fact-names" {
		if pl.total {
			out.total = "0"
		}
		_, err := out.Write([]byte("[]"))
		return err
	}
	b := jsontext.AppendQuoted([]byte(`{"certname":`), pl.scope.Node)
	for _, key := range []string{
		"version", "environment", "transaction_uuid", "catalog_uuid", "code_id", "job_id", "producer", "producer_timestamp",
		"hash",
	} {
		b = append(b, `,"`+key+`":null`...)
	}
	for _, key := range []string{"resources", "edges"} {
		link := cmp.Or(pl.scope.Prefix, s.o.Prefix) + "/query/v4/catalogs/" + url.PathEscape(pl.scope.Node) + "/" + key
		b = append(jsontext.AppendQuoted(append(b, `,"`+key+`":{"data":[],"href":`...), link), '}')
	}
	_, err := out.Write(append(b, '}'))
	return err
}

// emptyAnswer returns the answer to a query for rows of an entity that is never stored: the rows as JSON, and their
// total number without paging. Functions without groups return one row, all other queries none.
func (q *query) emptyAnswer() (rows []byte, total string) {
	if !q.aggregates() || len(q.group) > 0 {
		return []byte("[]"), "0"
	}
	if q.offset > 0 {
		return []byte("[]"), "1"
	}
	rows = append(rows, '[')
	sep := byte('{')
	for _, col := range q.columns {
		rows = append(jsontext.AppendQuoted(append(rows, sep), col.key), ':')
		sep = ','
		if col.function == "count" {
			rows = append(rows, '0')
		} else {
			rows = append(rows, "null"...)
		}
	}
	return append(rows, '}', ']'), "1"
}
