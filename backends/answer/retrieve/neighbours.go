package retrieve

import (
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
)

// neighboursOf is the number of best passages whose neighbours are added.
const neighboursOf = 4

// neighbours adds the passages before and after the best ones, as far as q.MaxTokens leaves room for them.
func neighbours(c kernel.Conn, result *Result, q Query) error {
	type place struct {
		document int64
		seq      int
	}
	found := make(map[place]bool)
	tokens := 0
	for _, p := range result.Passages {
		found[place{p.Document, p.Seq}] = true
		tokens += p.Tokens
	}
	var where []string
	var args []any
	for _, p := range result.Passages[:min(neighboursOf, len(result.Passages))] {
		if p.ID == 0 {
			continue // a passage of the web
		}
		for _, seq := range []int{p.Seq - 1, p.Seq + 1} {
			if seq >= 0 && !found[place{p.Document, seq}] && len(result.Passages)+len(where) < q.Limit {
				found[place{p.Document, seq}] = true
				where = append(where, "document_id = ? AND seq = ?")
				args = append(args, p.Document, seq)
			}
		}
	}
	if len(where) == 0 {
		return nil
	}
	all, _, err := scan(c, &wanted{}, "chunk_id IN (SELECT id FROM answer_chunks WHERE "+strings.Join(where, " OR ")+")",
		args)
	if err == nil {
		err = load(c, all)
	}
	if err != nil {
		return err
	}
	for _, one := range all {
		if tokens += one.Tokens; tokens > q.MaxTokens {
			break
		}
		result.Passages = append(result.Passages, one.Passage)
	}
	return nil
}
