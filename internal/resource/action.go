package resource

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/pages"
)

// Action is an action on the ticked rows of a list, on one row, or on the subject of a form.
type Action[C Caller] struct {
	// Name identifies the action in forms.
	Name string
	// Label is the text of the button. Done is the participle for sentences about the rows, such as "deleted".
	Label, Done string
	Danger      bool
	// Confirm is a question on a page that is shown before the action. If Confirm and Ask are empty the action runs at
	// once.
	Confirm string
	// Ask has the inputs of that page.
	Ask []Input[C]
	// Each also shows a button in each row of a list.
	Each bool
	// Do runs the action on the row with an id, or on the subject of the form. A refusal is shown beside the row's
	// name.
	Do func(c C, id string) error
	// Make replaces Do in an action that makes a secret, such as a password, which is shown once. Such an action runs
	// on one row at a time.
	Make func(c C, id string) (secret string, err error)
	// To is the path to which a form's page leads after the action. Default: the same page.
	To string
}

// button is the data of an action's button for the templates.
type button struct {
	Name   string // the action's name; for a row of a list, a space and the row's value follow the name
	Label  string
	Of     string // name of the row, or ""
	Danger bool
}

// confirmPage is the data of the page that is shown before an action runs (see Action.Confirm).
type confirmPage struct {
	Head
	Here     string
	Question string
	Names    []string
	Rows     []string // the values of the ticked rows
	Ask      []input
	Button   button
}

// chosenRow is a row on which an action is run.
type chosenRow struct{ id, name string }

// rowOf returns the row for a value in a form, which is the row's id, a space and its name.
func rowOf(value string) chosenRow {
	id, name, _ := strings.Cut(value, " ")
	if name == "" {
		name = id
	}
	return chosenRow{id, pages.Valid(name)}
}

// find returns the action with a name, or nil.
func find[C Caller](actions []Action[C], name string) *Action[C] {
	i := slices.IndexFunc(actions, func(a Action[C]) bool { return a.Name == name })
	if i < 0 {
		return nil
	}
	return &actions[i]
}

// act runs the action whose button on the list was pressed.
func (l *List[C, R]) act(c C) error {
	p := c.Common()
	name, values := p.Form.Text("do"), p.Form.Values("row")
	if pressed := p.Form.Text("one"); pressed != "" { // the button in a row: see button.Name
		var value string
		name, value, _ = strings.Cut(pressed, " ")
		values = []string{value}
	}
	a := find(l.Actions, name)
	here := l.here(p)
	switch {
	case a == nil || a.Make != nil && len(values) > 1 || len(values) > maxTicked: // the page sends no such form
		return unknown()
	case len(values) == 0:
		return p.Redirect(here, "Nothing was ticked.")
	}
	rows := make([]chosenRow, len(values))
	for i, value := range values {
		rows[i] = rowOf(value)
	}
	if a.mustAsk(p) {
		return a.confirm(c, nil, l.Head, here, rows, values)
	}
	if a.Make != nil {
		return a.reveal(c, rows[0], here)
	}
	done, refused, err := a.runAll(c, rows)
	if err != nil {
		return err
	}
	if len(refused) == 0 {
		return p.Redirect(here, l.sentence(a, rows, done))
	}
	if len(a.Ask) > 0 && done == 0 && len(rows) == 1 { // the entered values may be at fault
		return a.confirm(c, refused[0].err, l.Head, here, rows, values)
	}
	refusal := &apierror.Error{Status: http.StatusConflict, Code: "conflict"}
	ticked := make([]string, len(refused))
	for i, row := range refused {
		ticked[i] = row.id
		refusal.Details = append(refusal.Details, apierror.Detail{Message: row.name + ": " + row.reason()})
	}
	return l.show(c, refusal, l.sentence(a, rows, done), ticked...)
}

// refusedRow is a row for which an action was refused.
type refusedRow struct {
	chosenRow
	err error
}

// reason returns the message of the refusal's first detail or, without details, the refusal's own message.
func (r refusedRow) reason() string {
	e, _ := apierror.From(r.err)
	if len(e.Details) > 0 && e.Details[0].Message != "" {
		return e.Details[0].Message
	}
	return e.Message
}

// runAll runs the action on one row after another. done counts the rows on which it succeeded, and refused lists those
// for which it was refused. runAll stops and returns an error only for a failure that does not concern the row.
func (a *Action[C]) runAll(c C, rows []chosenRow) (done int, refused []refusedRow, err error) {
	for _, r := range rows {
		err := a.Do(c, r.id)
		if e, ok := apierror.From(err); err != nil && (!ok || e.Status >= http.StatusInternalServerError) {
			return done, refused, err
		}
		if err != nil {
			refused = append(refused, refusedRow{r, err})
			continue
		}
		done++
	}
	return done, refused, nil
}

// sentence returns a sentence about the result of an action on rows. done is the number of rows that were changed.
func (l *List[C, R]) sentence(a *Action[C], rows []chosenRow, done int) string {
	ending := " were " + a.Done + "."
	if done == 1 {
		ending = " was " + a.Done + "."
	}
	switch {
	case len(rows) == 1 && done == 1:
		return rows[0].name + ending
	case done < len(rows):
		return strconv.Itoa(done) + " of " + pages.Plural(int64(len(rows)), l.Nouns[0], l.Nouns[1]) + ending
	}
	return pages.Plural(int64(done), l.Nouns[0], l.Nouns[1]) + ending
}

// mustAsk reports whether the page with the question must be shown first.
func (a *Action[C]) mustAsk(p *pages.Call) bool {
	return (a.Confirm != "" || len(a.Ask) > 0) && !p.Form.Flag("sure")
}

// confirm shows the page with the question. After a refusal it shows the page again with the entered values.
// listHead is the head of the page with the action's button, formPath is the path to which the form on the page is
// sent, and values are the form values of the rows.
func (a *Action[C]) confirm(
	c C, refusal error, listHead Head, formPath string, rows []chosenRow, values []string,
) error {
	p, label := c.Common(), strings.TrimSuffix(a.Label, "…")
	d := &confirmPage{
		Head: Head{Title: label, Tabs: listHead.Tabs.At(path(p))}, Here: formPath, Question: a.Confirm, Rows: values,
		Button: button{Name: a.Name, Label: label, Danger: a.Danger},
	}
	for _, r := range rows {
		d.Names = append(d.Names, r.name)
	}
	if len(rows) == 1 {
		d.Title += " " + rows[0].name
	}
	for i := range a.Ask {
		value := a.Ask[i].Value
		if p.Form.Has(a.Ask[i].Name) {
			value = p.Form.Text(a.Ask[i].Name)
		}
		v, err := a.Ask[i].view(c, "", "text", value)
		if err != nil {
			return err
		}
		d.Ask = append(d.Ask, v)
	}
	return p.ShowForm(refusal, "resource_confirm", d.Title, d)
}

// reveal makes a secret for a row and shows the secret once, on a page that leads to nextPath.
func (a *Action[C]) reveal(c C, r chosenRow, nextPath string) error {
	secret, err := a.Make(c, r.id)
	if err != nil {
		return err
	}
	return reveal(c.Common(), a.Label+" of "+r.name, secret, nextPath)
}

// secretPage is the data of a page that shows a secret.
type secretPage struct {
	Head
	Secret, To string
}

// reveal shows a secret on a page that leads to nextPath.
func reveal(p *pages.Call, title, secret, nextPath string) error {
	return p.Show("resource_secret", title, &secretPage{Head{Title: title}, secret, nextPath})
}
