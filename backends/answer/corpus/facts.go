package corpus

import (
	"context"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// FactQuery selects facts. An empty list of metrics or years means all.
type FactQuery struct {
	Issuers []int64 // at least one
	Metrics []string
	Years   []int // fiscal years, as facts have them
	Limit   int   // default: 500
}

// Facts returns the selected facts, ordered by period from the latest to the earliest. Facts of the same period are
// ordered by document, the latest first.
func (c *Corpus) Facts(ctx context.Context, q FactQuery) (facts []kernel.Fact, err error) {
	err = c.Read(ctx, func(conn kernel.Conn) error {
		facts, err = FactsOf(conn, q)
		return err
	})
	return facts, err
}

// FactsOf is like Facts, on an open connection. Without issuers it returns no facts.
func FactsOf(c kernel.Conn, q FactQuery) ([]kernel.Fact, error) {
	if len(q.Issuers) == 0 {
		return nil, nil
	}
	if q.Limit <= 0 {
		q.Limit = 500
	}
	var b strings.Builder
	args := make([]any, 0, 8)
	b.WriteString("SELECT f.issuer_id, metric, label, f.period_end, period_len, f.fiscal, f.quarter, shown, value, step, unit, currency, document_id, chunk_id, statement, sure, d.fiscal, d.quarter " +
		"FROM answer_facts f JOIN answer_documents d ON d.id = f.document_id WHERE ")
	writeIn(&b, "f.issuer_id", q.Issuers, &args)
	if len(q.Metrics) > 0 {
		b.WriteString(" AND ")
		writeIn(&b, "metric", q.Metrics, &args)
	}
	if len(q.Years) > 0 {
		b.WriteString(" AND ")
		writeIn(&b, "f.fiscal", q.Years, &args)
	}
	b.WriteString(" ORDER BY f.fiscal DESC, f.period_end DESC, document_id DESC, metric, period_len LIMIT ?")
	return store.List(c, func(r store.Row) (kernel.Fact, error) {
		var f kernel.Fact
		err := r.Scan(&f.Issuer, &f.Metric, &f.Label, &f.Period.End, &f.Period.Months, &f.Period.Year, &f.Period.Quarter,
			&f.Figure.Text, &f.Figure.Value,
			&f.Figure.Step, &f.Figure.Unit, &f.Figure.Currency, &f.Document, &f.Passage, &f.Statement, &f.Sure, &f.Report.Year,
			&f.Report.Quarter)
		if len(f.Period.End) == len("2019") { // putFacts stores the year if the last day is unknown
			f.Period.End = ""
		}
		return f, err
	}, b.String(), append(args, q.Limit)...)
}

// writeIn writes the condition that a column has one of the values in list, and appends these to args.
func writeIn[T any](b *strings.Builder, column string, list []T, args *[]any) {
	b.WriteString(column + " IN (" + strings.TrimSuffix(strings.Repeat("?, ", len(list)), ", ") + ")")
	for _, value := range list {
		*args = append(*args, value)
	}
}
