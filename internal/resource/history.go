package resource

import "github.com/tollgate-gateway/tollgate/internal/instant"

// Change is an entry of a history.
type Change struct {
	At     instant.Moment
	Who    string // empty if unknown
	What   string // name of the action
	Where  Cell
	Detail string
}

// History returns a list of the changes that the service has recorded, newest first. It has filters for the name of the
// person who made a change and for the action, one of actions.
func History[C Caller](
	path string, top Head, actions []string, changes func(C, Query) ([]Change, string, error),
) List[C, Change] {
	dash := func(cell Cell) Cell {
		if cell.Plain() == "" {
			return Text("–")
		}
		return cell
	}
	return List[C, Change]{
		Path: path, Head: top, Nouns: [2]string{"entry", "entries"}, Rows: changes,
		Empty: "There are no changes yet that you may see.",
		Columns: []Column[Change]{
			{Label: "When", Time: func(e Change) instant.Moment { return e.At }},
			{Label: "Who", Show: func(e Change) Cell { return dash(Text(e.Who)) }},
			{Label: "What", Code: func(e Change) string { return e.What }},
			{Label: "Where", Show: func(e Change) Cell { return dash(e.Where) }},
			{Label: "Detail", Show: func(e Change) Cell { return dash(Text(e.Detail)) }},
		},
		Filters: []Input[C]{
			{Name: "actor", Label: "Who", Max: 254},
			{Name: "action", Label: "What", Options: func(C) ([]Choice, error) {
				return All(Words(actions...)...), nil
			}},
		},
	}
}
