package resource

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/pages"
)

// Form describes a page that shows and changes a T.
type Form[C Caller, T any] struct {
	// Path is the path of the page for an existing T. New is the path of the page for a new T. Both are patterns of
	// pages.Page. Either may be empty.
	Path, New string
	Head
	// About changes the head for a request, above all its title.
	About func(C, *T, *Head) error
	Admit func(C) error
	// Load returns the T of the page, or the initial value of a new T.
	Load   func(C) (*T, error)
	Fields []Field[C, T]
	// Save saves the entered values and returns what to show next. If its error names fields, the faults are shown
	// beside them.
	Save func(C, *T) (Done, error)
	// Submit is the text of the button. Default: Save.
	Submit string
	// Version returns the version of the T on which the form is based; the service compares it by Call.Match. If
	// Version is nil, a later change silently replaces an earlier one.
	Version func(*T) string
	// Actions are further buttons, for an existing T. Name returns the T's name for sentences about actions.
	Actions []Action[C]
	Name    func(*T) string
	// Offers reports whether the page has the button of an action. Default: all.
	Offers func(c C, t *T, action string) bool
	// Facts are shown above the form.
	Facts func(C, *T) []Fact
	// Below returns tables that are shown below the form.
	Below func(C, *T) ([]Part, error)
}

// Fact is a piece of information with a label.
type Fact struct {
	Label string
	Cell
}

// One returns the first row of a list for which matches returns true. If there is no such row it returns
// pages.NotFound, and if err is not nil it returns err. It helps to write Form.Load with a function that returns a
// list.
func One[R any](list []R, err error, matches func(R) bool) (row R, _ error) {
	if err != nil {
		return row, err
	}
	if i := slices.IndexFunc(list, matches); i >= 0 {
		return list[i], nil
	}
	return row, pages.NotFound()
}

// Done describes the page that follows a saved form.
type Done struct {
	To     string // a path of the site. Default: the same page
	Notice string // Default: Saved.
	Secret string // shown once, on a page with the title Notice, before the user continues to To
}

// Field is a field of a form. Exactly one of Text, Number, Flag and List is set and returns a pointer to the value in
// T.
type Field[C Caller, T any] struct {
	Name, Label, Help string
	// Section is a heading before the field.
	Section string
	Text    func(*T) *string
	Number  func(*T) *int64 // if the field is not Required, 0 is shown as empty
	Flag    func(*T) *bool
	// List returns the ticked values of Options or, without Options, the lines of a text.
	List func(*T) *[]string
	// Options returns choices. A text or a number with Options is shown as a select element.
	Options func(C, *T) ([]Choice, error)
	// Type is the type of a text's input element: email, url, date, number, password. A password is never shown again.
	Type         string
	Autocomplete string // Default: new-password for a password, otherwise off
	Lines        int    // number of lines of a longer text
	Placeholder  string
	Required     bool
	Min, Max     int64 // limits of a number; Max also limits a text, in characters
	// Hide reports whether the form omits the field.
	Hide func(C, *T) bool
}

// Pages returns the form's pages for the service's table.
func (f *Form[C, T]) Pages() (list []pages.Page[C]) {
	for _, path := range []string{f.New, f.Path} {
		if path != "" {
			list = append(list,
				pages.Page[C]{Method: http.MethodGet, Path: path, Admit: f.Admit, Serve: f.open},
				pages.Page[C]{Method: http.MethodPost, Path: path, Admit: f.Admit, Serve: func(c C) error {
					return f.change(c, path == f.New)
				}})
		}
	}
	return list
}

// formPage is the data of a form's template.
type formPage struct {
	Head
	pages.Edit
	Here    string
	Facts   []Fact
	Fields  []input
	Submit  string
	Buttons []button
	Below   []Part
}

// open shows the form with the stored values.
func (f *Form[C, T]) open(c C) error {
	t, err := f.Load(c)
	if err != nil {
		return err
	}
	return f.show(c, nil, t, false)
}

// show shows the form. typed means that the fields have the values that were sent.
func (f *Form[C, T]) show(c C, refusal error, t *T, typed bool) (err error) {
	p := c.Common()
	d := &formPage{Head: f.Head, Here: p.Here(), Submit: cmp.Or(f.Submit, "Save")}
	d.Tabs = d.Tabs.At(path(p))
	if f.About != nil {
		if err := f.About(c, t, &d.Head); err != nil {
			return err
		}
	}
	if f.Version != nil {
		d.Edit, refusal = p.Edit(refusal, func() (string, any, error) { return f.current(c, t, typed) })
	}
	if d.Fields, err = f.inputs(c, t); err != nil {
		return err
	}
	if typed { // t lacks what could not be read, such as letters in a number
		for i := range d.Fields {
			v := &d.Fields[i]
			isText := v.Kind == "text" || v.Kind == "area" || v.Kind == "number"
			if isText && v.Type != "password" {
				v.Value = strings.ReplaceAll(p.Form.Text(v.Name), "\r\n", "\n")
			}
		}
	}
	if f.Facts != nil {
		d.Facts = f.Facts(c, t)
	}
	for _, a := range f.Actions {
		if f.offers(c, t, a.Name) {
			d.Buttons = append(d.Buttons, button{Name: a.Name, Label: a.Label, Danger: a.Danger})
		}
	}
	if f.Below != nil {
		if d.Below, err = f.Below(c, t); err != nil {
			return err
		}
	}
	return p.ShowForm(refusal, "resource_form", d.Title, d)
}

// current returns the version of the stored T. If t has the values that were sent (typed), it also returns the fields
// in which the two differ; otherwise t is the stored T.
func (f *Form[C, T]) current(c C, t *T, typed bool) (version string, differing any, err error) {
	if !typed {
		return f.Version(t), nil, nil
	}
	stored, err := f.Load(c)
	if err != nil {
		return "", nil, err
	}
	differing, err = f.differing(c, stored, t)
	return f.Version(stored), differing, err
}

// offers reports whether the page has the button of an action.
func (f *Form[C, T]) offers(c C, t *T, action string) bool {
	return f.Offers == nil || f.Offers(c, t, action)
}

// change saves the form, or runs the action of another button. isNew means that the T does not exist yet.
func (f *Form[C, T]) change(c C, isNew bool) error {
	p := c.Common()
	t, err := f.Load(c)
	if err != nil {
		return err
	}
	if name := p.Form.Text("do"); name != "" {
		return f.act(c, t, find(f.Actions, name), isNew)
	}
	if f.Save == nil {
		return unknown()
	}
	done := Done{}
	err = f.read(c, t)
	if err == nil {
		done, err = f.Save(c, t)
	}
	if err != nil {
		return f.show(c, err, t, true)
	}
	target := cmp.Or(done.To, p.Here())
	if done.Secret != "" {
		return reveal(p, done.Notice, done.Secret, target)
	}
	return p.Redirect(target, cmp.Or(done.Notice, "Saved."))
}

// act runs an action on the subject of the form. The action is nil if the form has none with the name that was sent.
func (f *Form[C, T]) act(c C, t *T, a *Action[C], isNew bool) error {
	if a == nil || isNew {
		return unknown()
	}
	p, subject := c.Common(), chosenRow{name: f.Name(t)}
	target := cmp.Or(a.To, p.Here())
	if a.mustAsk(p) {
		return a.confirm(c, nil, f.Head, p.Here(), []chosenRow{subject}, nil)
	}
	if a.Make != nil {
		return a.reveal(c, subject, target)
	}
	if err := a.Do(c, ""); err != nil {
		if len(a.Ask) > 0 {
			return a.confirm(c, err, f.Head, p.Here(), []chosenRow{subject}, nil)
		}
		return f.show(c, err, t, false)
	}
	return p.Redirect(target, subject.name+" was "+a.Done+".")
}

// read copies the values that were sent to t. A field that was not sent keeps its value. The error names the fields
// that cannot be read.
func (f *Form[C, T]) read(c C, t *T) error {
	form := &c.Common().Form
	refusal := apierror.New(http.StatusUnprocessableEntity, "validation_failed", "the form has mistakes")
	for i := range f.Fields {
		field := &f.Fields[i]
		boxes := field.Flag != nil || field.List != nil && field.Options != nil // browsers send only ticked boxes
		if field.Hide != nil && field.Hide(c, t) || !form.Has(field.Name) && !boxes {
			continue
		}
		text := strings.ReplaceAll(form.Text(field.Name), "\r\n", "\n")
		switch {
		case field.Text != nil && field.Type == "password":
			*field.Text(t) = text
		case field.Text != nil:
			*field.Text(t) = strings.TrimSpace(text)
		case field.Flag != nil:
			*field.Flag(t) = form.Flag(field.Name)
		case field.List != nil && field.Options != nil:
			*field.List(t) = slices.Clone(form.Values(field.Name))
		case field.List != nil:
			*field.List(t) = textLines(text)
		case field.Number != nil:
			n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
			if err != nil && strings.TrimSpace(text) != "" { // an empty text counts as 0
				fault := apierror.Detail{Field: field.Name, Reason: "form", Message: "this is not a whole number"}
				refusal.Details = append(refusal.Details, fault)
			}
			*field.Number(t) = n
		}
	}
	if len(refusal.Details) > 0 {
		return refusal
	}
	return nil
}

// textLines returns the lines of a text that are not blank, without space around them.
func textLines(text string) (list []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			list = append(list, line)
		}
	}
	return list
}

// inputs returns the fields of the form as data for the templates.
func (f *Form[C, T]) inputs(c C, t *T) ([]input, error) {
	list := make([]input, 0, len(f.Fields))
	for i := range f.Fields {
		field := &f.Fields[i]
		if field.Hide != nil && field.Hide(c, t) {
			continue
		}
		v := input{
			ID: field.Name, Name: field.Name, Label: field.Label, Help: field.Help, Section: field.Section, Type: field.Type,
			Kind: "text", Placeholder: field.Placeholder, Autocomplete: field.Autocomplete,
			Required: field.Required, Min: field.Min, Max: field.Max, Rows: field.Lines,
		}
		// The first switch reads the value, and the second chooses the element that shows it.
		var values []string // the value, or the chosen options
		switch {
		case field.Text != nil:
			values = []string{*field.Text(t)}
			if v.Type == "number" {
				v.Kind = v.Type
			}
		case field.Number != nil:
			v.Kind, values = "number", []string{strconv.FormatInt(*field.Number(t), 10)}
			if *field.Number(t) == 0 && !field.Required && field.Options == nil { // shown as empty
				values = nil
			}
		case field.Flag != nil:
			v.Kind, v.On = "flag", *field.Flag(t)
		case field.List != nil:
			v.Kind, values = "boxes", *field.List(t)
		}
		switch {
		case field.Options != nil:
			options, err := field.Options(c, t)
			if err != nil {
				return nil, err
			}
			v.Options = chosen(options, values...)
			if v.Kind != "boxes" {
				v.Kind = "select"
			}
		case field.List != nil:
			v.Kind, v.Rows, values = "area", max(v.Rows, 4), []string{strings.Join(values, "\n")}
		case v.Rows > 0:
			v.Kind = "area"
		}
		if len(values) == 1 && v.Type != "password" {
			v.Value = values[0]
		}
		list = append(list, v)
	}
	return list, nil
}

// difference is a field in which the stored and the entered value differ.
type difference struct{ What, From, To string }

// differing returns the fields whose stored value differs from the entered value.
func (f *Form[C, T]) differing(c C, stored, entered *T) (list []difference, err error) {
	storedInputs, err := f.inputs(c, stored)
	if err != nil {
		return nil, err
	}
	enteredInputs, err := f.inputs(c, entered)
	if err != nil {
		return nil, err
	}
	for _, v := range storedInputs {
		i := slices.IndexFunc(enteredInputs, func(field input) bool { return field.Name == v.Name })
		if i >= 0 && v.display() != enteredInputs[i].display() {
			list = append(list, difference{v.Label, v.display(), enteredInputs[i].display()})
		}
	}
	return list, nil
}

// display returns the value of an input as people read it.
func (i input) display() string {
	switch i.Kind {
	case "flag":
		if i.On {
			return "yes"
		}
		return "no"
	case "select", "boxes":
		var labels []string
		for _, choice := range i.Options {
			if choice.On {
				labels = append(labels, choice.Label)
			}
		}
		return strings.Join(labels, ", ")
	}
	return i.Value
}
