package admin

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/cms/content"
	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/pages"
)

func (c *call) templates() error {
	list, err := c.Content.Templates(c.ctx(), c.by)
	if err != nil {
		return err
	}
	return c.Show("templates", "Templates", list)
}

// choice is a box of a list.
type choice struct {
	Name, Label string
	On          bool
}

// boxes are the boxes of a name, for the template of that name.
type boxes struct {
	Name string
	List []choice
}

// boxed makes boxes.
type boxed struct{}

// Boxes is what the template "boxes" shows.
func (boxed) Boxes(name string, list []choice) boxes { return boxes{name, list} }

func choices(all, on []string) (list []choice) {
	for _, name := range all {
		list = append(list, choice{name, name, slices.Contains(on, name)})
	}
	return list
}

type templateData struct {
	boxed
	*content.Template
	New                        bool
	FieldText                  string   // a name a line
	Known                      []string // names of fields
	Viewers, Editors, Creators []choice
	Children, Parents          []choice
}

func (c *call) template() error {
	name := c.Query.Text("name")
	if name == "" {
		return c.showTemplate(nil, &content.Template{View: []string{kernel.RoleGuest}}, true)
	}
	t, err := c.Content.Template(c.ctx(), c.by, name)
	if err != nil {
		return err
	}
	return c.showTemplate(nil, t, false)
}

func (c *call) showTemplate(refusal error, t *content.Template, fresh bool) error {
	all, err := c.Content.Templates(c.ctx(), c.by)
	if err != nil {
		return err
	}
	fields, err := c.Content.Fields(c.ctx(), c.by)
	if err != nil {
		return err
	}
	roles, err := c.Accounts.Roles(c.ctx())
	if err != nil {
		return err
	}
	d := &templateData{Template: t, New: fresh, FieldText: strings.Join(t.Fields, "\n")}
	var names []string
	for _, other := range all {
		names = append(names, other.Name)
	}
	for _, f := range fields {
		d.Known = append(d.Known, f.Name)
	}
	var others []string
	for _, role := range roles {
		if role.Name != kernel.RoleSuperuser { // who needs none
			others = append(others, role.Name)
		}
	}
	d.Viewers, d.Editors, d.Creators = choices(others, t.View), choices(others, t.Edit), choices(others, t.Create)
	d.Children, d.Parents = choices(names, t.Family.Children), choices(names, t.Family.Parents)
	return c.ShowForm(refusal, "template", cmp.Or(t.Label, t.Name, "New template"), d)
}

func (c *call) saveTemplate() error {
	t := content.Template{
		Name: strings.TrimSpace(c.Form.Text("name")), Label: strings.TrimSpace(c.Form.Text("label")), Fields: strings.Fields(c.Form.Text("fields")),
		View: c.Form.Values("view"), Edit: c.Form.Values("edit"), Create: c.Form.Values("create"),
		Family: content.Family{NoChildren: c.Form.Flag("no_children"), One: c.Form.Flag("one"), Children: c.Form.Values("children"), Parents: c.Form.Values("parents")},
	}
	fresh := c.Form.Flag("new")
	if !fresh {
		old, err := c.Content.Template(c.ctx(), c.by, t.Name)
		if err != nil {
			return err
		}
		t.ID = old.ID
		if c.Form.Text("do") == "delete" {
			if err := c.Content.DeleteTemplate(c.ctx(), c.by, t.Name); err != nil {
				return c.showTemplate(err, old, false)
			}
			return c.Redirect("/templates", "The template is deleted.")
		}
	}
	saved, err := c.Content.SaveTemplate(c.ctx(), c.by, t)
	if err != nil {
		return c.showTemplate(err, &t, fresh)
	}
	return c.Redirect("/template?name="+url.QueryEscape(saved.Name), "Saved.")
}

func (c *call) fields() error {
	list, err := c.Content.Fields(c.ctx(), c.by)
	if err != nil {
		return err
	}
	return c.Show("fields", "Fields", list)
}

type fieldData struct {
	*content.Field
	New                                            bool
	Types                                          pages.Select
	Most, Min, Max, MaxBytes                       string
	Options, Extensions, Sizes, Templates, BlockOf string
}

func (c *call) field() error {
	name := c.Query.Text("name")
	if name == "" {
		return c.showField(nil, &content.Field{Type: content.TypeText}, true)
	}
	f, err := c.Content.Field(c.ctx(), c.by, name)
	if err != nil {
		return err
	}
	return c.showField(nil, f, false)
}

func (c *call) showField(refusal error, f *content.Field, fresh bool) error {
	o := f.Settings
	d := &fieldData{Field: f, New: fresh, Options: strings.Join(o.Options, "\n"), Extensions: strings.Join(o.Extensions, " "), Sizes: strings.Join(o.Sizes, " "), Templates: strings.Join(o.Templates, " ")}
	for _, t := range content.Types {
		d.Types.Add(t, t, t == f.Type)
	}
	if o.Most != 0 {
		d.Most = strconv.Itoa(o.Most)
	}
	if o.MaxBytes != 0 {
		d.MaxBytes = strconv.FormatInt(o.MaxBytes, 10)
	}
	for _, one := range []struct {
		from *float64
		to   *string
	}{{o.Min, &d.Min}, {o.Max, &d.Max}} {
		if one.from != nil {
			*one.to = strconv.FormatFloat(*one.from, 'f', -1, 64)
		}
	}
	kinds := make([]string, 0, len(o.Blocks))
	for _, kind := range slices.Sorted(maps.Keys(o.Blocks)) {
		kinds = append(kinds, kind+": "+strings.Join(o.Blocks[kind], " "))
	}
	d.BlockOf = strings.Join(kinds, "\n")
	return c.ShowForm(settingFaults(refusal), "field", cmp.Or(f.Label, f.Name, "New field"), d)
}

// settingFaults have the problems of settings stand at their inputs.
func settingFaults(refusal error) error {
	e, ok := apierror.From(refusal)
	if !ok || len(e.Details) == 0 {
		return refusal
	}
	moved := *e
	moved.Details = slices.Clone(e.Details)
	for i, d := range moved.Details {
		moved.Details[i].Field = strings.TrimPrefix(d.Field, "settings.")
	}
	return &moved
}

func (c *call) saveField() error {
	f := content.Field{
		Name: strings.TrimSpace(c.Form.Text("name")), Type: c.Form.Text("type"), Label: strings.TrimSpace(c.Form.Text("label")), Required: c.Form.Flag("required"),
		Settings: content.Settings{
			Multiple: c.Form.Flag("multiple"), Options: lines(c.Form.Text("options")), Extensions: strings.Fields(c.Form.Text("extensions")),
			Sizes: strings.Fields(c.Form.Text("sizes")), Templates: strings.Fields(c.Form.Text("templates")),
			Most: int(c.Form.Number("most")), MaxBytes: c.Form.Number("max_bytes"),
		},
	}
	fresh := c.Form.Flag("new")
	if !fresh {
		old, err := c.Content.Field(c.ctx(), c.by, f.Name)
		if err != nil {
			return err
		}
		if c.Form.Text("do") == "delete" {
			if err := c.Content.DeleteField(c.ctx(), c.by, f.Name); err != nil {
				return c.showField(err, old, false)
			}
			return c.Redirect("/fields", "The field is deleted.")
		}
		f.ID, f.Type = old.ID, old.Type
	}
	faults := []error{c.Form.Err()}
	bound := func(name string) *float64 {
		text := strings.TrimSpace(c.Form.Text(name))
		if text == "" {
			return nil
		}
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			faults = append(faults, kernel.Invalid(name, "form", "this is no number"))
		}
		return &n
	}
	f.Settings.Min, f.Settings.Max = bound("min"), bound("max")
	for _, line := range lines(c.Form.Text("blocks")) {
		kind, names, ok := strings.Cut(line, ":")
		if !ok {
			faults = append(faults, kernel.Invalid("blocks", "form", "a kind of block is written as its name, a colon, and its fields"))
			break
		}
		if f.Settings.Blocks == nil {
			f.Settings.Blocks = make(map[string][]string)
		}
		f.Settings.Blocks[strings.TrimSpace(kind)] = strings.Fields(names)
	}
	err := apierror.Join(faults...)
	if err == nil {
		_, err = c.Content.SaveField(c.ctx(), c.by, f)
	}
	if err != nil {
		return c.showField(err, &f, fresh)
	}
	return c.Redirect("/field?name="+url.QueryEscape(f.Name), "Saved.")
}

// lines are the lines of a text that hold something.
func lines(text string) (list []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			list = append(list, line)
		}
	}
	return list
}
