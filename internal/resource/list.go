package resource

import (
	"cmp"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/pages"
	"github.com/tollgate-gateway/tollgate/internal/spreadsheet"
)

const (
	// rowsPerPage is how many rows a page shows. rowsPerRead is how many rows are read at once for a CSV file.
	rowsPerPage, rowsPerRead = 50, 500
	// maxFile limits the rows of a CSV file. maxTicked limits the rows on which an action runs.
	maxFile, maxTicked = 100_000, 500
)

// List describes a page that lists rows of a type R.
type List[C Caller, R any] struct {
	// Path is the path of the page, a pattern of pages.Page.
	Path string
	Head
	// About changes the head for a request: the kind of rows, and the links that the sender of the request may follow.
	About func(C, *Head) error
	// Admit is the access rule of the page. Default: pages.Options.Admit.
	Admit func(C) error
	// Nouns are the words for one row and for several rows in sentences.
	Nouns [2]string
	// Empty is shown for a list without rows. It describes the rows, and how to get the first one.
	Empty   string
	Columns []Column[R]
	Filters []Input[C]
	// Search is the path of another list with the same filters, which shows their results. Default: this list.
	Search string
	// Fixed reports whether the filters of a query allow only one order, because there is no index for another order.
	Fixed func(Query) bool
	// Rows returns a page of the list, and the cursor of the next page, which is empty after the last page.
	Rows func(C, Query) ([]R, string, error)
	// ID returns the id of a row for actions; it must not contain a space. Name returns the row's name for people.
	ID, Name func(R) string
	Actions  []Action[C]
	// Offers reports whether a row has the button of an action whose Each is set. Default: all have.
	Offers func(c C, r R, action string) bool
	// CSV is the file name for downloading the list. If it is empty the list cannot be downloaded.
	CSV string
}

// Whole returns a function for List.Rows that returns all rows at once. The service must limit their number.
func Whole[C Caller, R any](rows func(C) ([]R, error)) func(C, Query) ([]R, string, error) {
	return func(c C, _ Query) ([]R, string, error) {
		list, err := rows(c)
		return list, "", err
	}
}

// Query describes the requested page of a list.
type Query struct {
	*pages.Fields        // the filters, by their names
	Sort          string // the word Column.Sort of a column; empty if no column has a word, or the order is fixed
	After         string // cursor that was returned for this page; empty for the first page
	Limit         int
}

// Pages returns the list's pages for the service's table.
func (l *List[C, R]) Pages() []pages.Page[C] {
	list := []pages.Page[C]{{Method: http.MethodGet, Path: l.Path, Admit: l.Admit, Serve: func(c C) error {
		if l.CSV != "" && c.Common().Query.Text("format") == "csv" {
			return l.download(c)
		}
		return l.show(c, nil, "")
	}}}
	if len(l.Actions) > 0 {
		list = append(list, pages.Page[C]{Method: http.MethodPost, Path: l.Path, Admit: l.Admit, Serve: l.act})
	}
	return list
}

// query parses the URL.
func (l *List[C, R]) query(p *pages.Call, limit int) Query {
	q := Query{Fields: &p.Query, After: p.Query.Text("after"), Limit: limit}
	if l.Fixed != nil && l.Fixed(q) {
		return q
	}
	// The order is that of the parameter sort or, without a valid one, of the first column that has an order.
	for _, column := range l.Columns {
		if column.Sort != "" && (q.Sort == "" || column.Sort == p.Query.Text("sort")) {
			q.Sort = column.Sort
		}
	}
	return q
}

// parameters returns the filters and the order in the URL, and reports whether a filter is set.
func (l *List[C, R]) parameters(p *pages.Call) (parameters url.Values, filtered bool) {
	parameters = make(url.Values)
	for _, filter := range l.Filters {
		if value := p.Query.Text(filter.Name); value != "" {
			parameters.Set(filter.Name, value)
			filtered = true
		}
	}
	if sort := p.Query.Text("sort"); sort != "" {
		parameters.Set("sort", sort)
	}
	return parameters, filtered
}

// here returns the URL path of the current page of the list.
func (l *List[C, R]) here(p *pages.Call) string {
	parameters, _ := l.parameters(p)
	if cursor := p.Query.Text("after"); cursor != "" {
		parameters.Set("after", cursor)
	}
	return address(path(p), parameters)
}

// listPage is the data of a list's template.
type listPage struct {
	Head
	Path        string // of the page without parameters
	Here        string // of the page with its parameters
	Search      string // path to which the filters are sent
	Result      string // of an action that succeeded for only some of the rows
	Filters     []input
	Filtered    bool // a filter is set
	Table       table
	Buttons     []button
	Empty       string // text for a list without rows
	First, Next string // paths of the first and the next page, or ""
	Noun        string // word for several rows
	Files       string // path of the CSV file, or ""
}

// show shows a page of the list. After an action it also shows the refusal and the result, and ticks the rows whose
// ids are in tickedIDs.
func (l *List[C, R]) show(c C, refusal error, result string, tickedIDs ...string) error {
	p := c.Common()
	q := l.query(p, rowsPerPage)
	rows, next, err := l.Rows(c, q)
	if err = errors.Join(p.Query.Err(), err); err != nil {
		e, ok := apierror.From(err)
		if !ok || len(l.Filters) == 0 ||
			e.Status != http.StatusBadRequest && e.Status != http.StatusUnprocessableEntity {
			return err
		}
		rows, next, refusal = nil, "", err // a filter that cannot be read is reported above the list
	}
	listPath := path(p)
	parameters, filtered := l.parameters(p)
	if len(rows) == 0 && q.After != "" && refusal == nil { // the rows of a later page are gone: go to the first page
		return p.Redirect(address(listPath, parameters), "")
	}
	d := &listPage{
		Head: l.Head, Path: listPath, Here: l.here(p), Search: cmp.Or(l.Search, listPath),
		Result: result, Filtered: filtered, Empty: l.Empty, Noun: l.Nouns[1],
	}
	d.Tabs = d.Tabs.At(listPath)
	if filtered {
		d.Empty = "No " + l.Nouns[0] + " is found by these filters."
	}
	if l.About != nil {
		if err := l.About(c, &d.Head); err != nil {
			return err
		}
	}
	if d.Filters, err = l.filters(c, q); err != nil {
		return err
	}
	// withParameter returns the path of this list with another value of a parameter. The path begins at the first row,
	// unless the parameter is the cursor (after).
	withParameter := func(name, value string) string {
		changed := url.Values{name: {value}}
		for key, values := range parameters {
			if key != name {
				changed[key] = values
			}
		}
		return address(listPath, changed)
	}
	if q.After != "" {
		d.First = address(listPath, parameters)
	}
	if next != "" {
		d.Next = withParameter("after", next)
	}
	if l.CSV != "" && len(rows) > 0 {
		d.Files = withParameter("format", "csv")
	}
	d.Table = table{Caption: d.Title, Heads: l.heads(q, withParameter)}
	l.fill(c, d, rows, tickedIDs)
	return p.ShowForm(refusal, "resource_list", d.Title, d)
}

// heads returns the heads of the columns. withParameter returns the path of the list with a parameter set.
func (l *List[C, R]) heads(q Query, withParameter func(name, value string) string) []head {
	heads := make([]head, len(l.Columns))
	for i, column := range l.Columns {
		heads[i].Label = column.Label
		if column.Sort == "" || q.Sort == "" {
			continue
		}
		heads[i].Path = withParameter("sort", column.Sort)
		if column.Sort != q.Sort {
			continue
		}
		heads[i].Sorted = "ascending"
		if column.Down {
			heads[i].Sorted = "descending"
		}
	}
	return heads
}

// fill adds the rows to the table, with their buttons. It ticks the rows whose ids are in tickedIDs.
func (l *List[C, R]) fill(c C, d *listPage, rows []R, tickedIDs []string) {
	for i := range l.Actions {
		if a := &l.Actions[i]; a.Make == nil && len(rows) > 0 { // Make runs on one row, not on ticked ones
			d.Buttons = append(d.Buttons, button{Name: a.Name, Label: a.Label, Danger: a.Danger})
		}
	}
	d.Table.Ticks = len(d.Buttons) > 0
	for _, r := range rows {
		shown := row{Cells: cells(l.Columns, r)}
		if len(l.Actions) > 0 {
			shown.Name = l.Name(r)
			shown.Value = l.ID(r) + " " + shown.Name
			shown.On = slices.Contains(tickedIDs, l.ID(r))
		}
		for i := range l.Actions {
			if a := &l.Actions[i]; a.Each && (l.Offers == nil || l.Offers(c, r, a.Name)) {
				action := button{Name: a.Name + " " + shown.Value, Label: a.Label, Of: shown.Name, Danger: a.Danger}
				shown.Buttons = append(shown.Buttons, action)
				d.Table.Buttons = true
			}
		}
		d.Table.Rows = append(d.Table.Rows, shown)
	}
}

// filters returns the inputs of the filters. If rows can be sorted by several columns, an input for the order follows.
func (l *List[C, R]) filters(c C, q Query) (list []input, err error) {
	for i := range l.Filters {
		v, err := l.Filters[i].view(c, "filter-", "search", q.Text(l.Filters[i].Name))
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	order := input{ID: "filter-sort", Name: "sort", Label: "Sort by", Kind: "select"}
	for _, column := range l.Columns {
		if column.Sort != "" && q.Sort != "" {
			order.Options = append(order.Options, Choice{Value: column.Sort, Label: column.Label, On: column.Sort == q.Sort})
		}
	}
	if len(order.Options) > 1 {
		list = append(list, order)
	}
	return list, nil
}

// download sends the rows that match the filters as CSV. It reads them in batches, so that the list is never in memory
// as a whole. If there are more rows than a file may have, the last row of the file says that. After an error in the
// middle the connection is broken, so that nobody takes the part for the whole.
func (l *List[C, R]) download(c C) error {
	p := c.Common()
	q := l.query(p, rowsPerRead)
	rows, next, err := l.Rows(c, q)
	if err = errors.Join(p.Query.Err(), err); err != nil {
		return err
	}
	p.W.Header().Set("Content-Type", spreadsheet.Type)
	p.W.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": l.CSV}))
	if p.R.Method == http.MethodHead {
		return nil
	}
	w := spreadsheet.NewWriter(p.W)
	line := make([]string, len(l.Columns))
	for i, column := range l.Columns {
		line[i] = column.Label
	}
	err = w.Write(line)
	for written := 0; err == nil; {
		for _, r := range rows {
			for i, column := range l.Columns {
				line[i] = column.cell(r).Plain()
			}
			err = errors.Join(err, w.Write(line))
		}
		err = errors.Join(err, w.Flush())
		written += len(rows)
		if err != nil || next == "" {
			break
		}
		if written >= maxFile {
			err = errors.Join(w.Write([]string{"There are more " + l.Nouns[1] + ": narrow the filters."}), w.Flush())
			break
		}
		q.After = next
		rows, next, err = l.Rows(c, q)
	}
	if err != nil {
		panic(http.ErrAbortHandler) // breaks the connection
	}
	return nil
}

// Before reads a page of a list that is ordered by descending ids. The function read returns the rows whose ids are
// lower than beforeID, or the first rows if beforeID is 0. It also returns the id before which the next page continues,
// or 0 after the last page.
func Before[R any](q Query, read func(beforeID int64) ([]R, int64, error)) ([]R, string, error) {
	beforeID, err := strconv.ParseInt(q.After, 10, 64)
	if err != nil && q.After != "" {
		return nil, "", apierror.New(http.StatusBadRequest, "bad_request", "The parameter after is not a place in this list.")
	}
	list, next, err := read(beforeID)
	if err != nil || next == 0 {
		return list, "", err
	}
	return list, strconv.FormatInt(next, 10), nil
}
