package retrieve

import (
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
)

// expandedPassages is the number of best passages whose neighbours are added.
const expandedPassages = 4

// addNeighbours adds the passages before and after the best passages in their documents to result.Passages, as far as
// q.Limit and q.MaxTokens allow.
func addNeighbours(c kernel.Conn, result *Result, q Query) error {
	type position struct {
		document int64
		seq      int
	}
	found := make(map[position]bool)
	tokens := 0
	for _, p := range result.Passages {
		found[position{p.Document, p.Seq}] = true
		tokens += p.Tokens
	}
	var conditions []string
	var args []any
	for _, p := range result.Passages[:min(expandedPassages, len(result.Passages))] {
		if p.ID == 0 {
			continue // a passage of the web
		}
		for _, seq := range []int{p.Seq - 1, p.Seq + 1} {
			if seq >= 0 && !found[position{p.Document, seq}] && len(result.Passages)+len(conditions) < q.Limit {
				found[position{p.Document, seq}] = true
				conditions = append(conditions, "document_id = ? AND seq = ?")
				args = append(args, p.Document, seq)
			}
		}
	}
	if len(conditions) == 0 {
		return nil
	}
	all, _, err := scan(c, &searchQuery{}, "chunk_id IN (SELECT id FROM answer_chunks WHERE "+strings.Join(conditions, " OR ")+")",
		args)
	if err == nil {
		err = load(c, all)
	}
	if err != nil {
		return err
	}
	for _, passage := range all {
		if tokens += passage.Tokens; tokens > q.MaxTokens {
			break
		}
		result.Passages = append(result.Passages, passage.Passage)
	}
	return nil
}
