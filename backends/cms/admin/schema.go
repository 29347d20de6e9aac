package admin

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/cms/content"
	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/resource"
)

// templateAt returns the path of the form for a template.
func templateAt(name string) string { return "/template?name=" + url.QueryEscape(name) }

// fieldAt returns the path of the form for a field.
func fieldAt(name string) string { return "/field?name=" + url.QueryEscape(name) }

var templateList = resource.List[*call, *content.Template]{
	Path: "/templates", Admit: requireTemplates, Nouns: [2]string{"template", "templates"},
	Head: resource.Head{Title: "Templates", New: resource.Target{Label: "New template", Path: "/template"}},
	Columns: []resource.Column[*content.Template]{
		{Label: "Template", Show: func(t *content.Template) resource.Cell {
			return resource.Cells(resource.Link(templateAt(t.Name), t.Name), resource.Tag("system", "").If(t.System))
		}},
		{Label: "Label", Text: func(t *content.Template) string { return t.Label }},
		{Label: "Fields", Show: func(t *content.Template) resource.Cell { return joinedCell(t.Fields) }},
		{Label: "Visible to", Show: func(t *content.Template) resource.Cell { return joinedCell(t.View) }},
	},
	Rows: resource.Whole(func(c *call) ([]*content.Template, error) { return c.Content.Templates(c.ctx(), c.user) }),
}

// roleOptions returns the roles to choose from in a template. Superusers are not listed, because they may do
// everything.
func roleOptions(c *call, _ *content.Template) ([]resource.Choice, error) {
	return c.roleChoices(nil, kernel.RoleSuperuser)
}

// templateOptions returns the templates to choose from as templates of a page's parent or children.
func templateOptions(c *call, _ *content.Template) ([]resource.Choice, error) {
	return c.templateChoices(nil)
}

// templateChoices appends the templates that the user may see to list.
func (c *call) templateChoices(list []resource.Choice) ([]resource.Choice, error) {
	all, err := c.Content.Templates(c.ctx(), c.user)
	for _, t := range all {
		list = append(list, resource.Choice{Value: t.Name, Label: t.Name})
	}
	return list, err
}

var templateForm = resource.Form[*call, content.Template]{
	Path: "/template", Admit: requireTemplates,
	Head: resource.Head{Title: "New template", Above: []resource.Target{{Label: "Templates", Path: "/templates"}}},
	About: func(c *call, t *content.Template, h *resource.Head) error {
		if t.ID != 0 {
			h.Title = "Template " + t.Name
		}
		fields, err := c.Content.Fields(c.ctx(), c.user)
		names := make([]string, len(fields))
		for i, f := range fields {
			names[i] = f.Name
		}
		h.Lead = "Existing fields: " + strings.Join(names, ", ") + "."
		h.Links = []resource.Target{{Label: "New field", Path: "/field"}}
		return err
	},
	Load: func(c *call) (*content.Template, error) {
		if name := c.Query.Text("name"); name != "" {
			return c.Content.Template(c.ctx(), c.user, name)
		}
		return &content.Template{View: []string{kernel.RoleGuest}}, nil
	},
	Fields: []resource.Field[*call, content.Template]{
		{
			Name: "name", Label: "Name", Required: true,
			Help: "It cannot be changed later, because selectors and handlers refer to it.",
			Text: func(t *content.Template) *string { return &t.Name },
			Hide: func(_ *call, t *content.Template) bool { return t.ID != 0 },
		},
		{Name: "label", Label: "Label", Max: 255, Text: func(t *content.Template) *string { return &t.Label }},
		{
			Name: "fields", Label: "Fields", Lines: 6,
			Help: "One per line, in the order of the form. The title is always first and is not listed.",
			List: func(t *content.Template) *[]string { return &t.Fields },
		},
		{
			Name: "view", Label: "Roles that may view its pages", List: func(t *content.Template) *[]string { return &t.View },
			Options: roleOptions,
		},
		{
			Name: "edit", Label: "Roles that may change its pages", List: func(t *content.Template) *[]string { return &t.Edit },
			Options: roleOptions,
		},
		{
			Name: "create", Label: "Roles that may create pages", List: func(t *content.Template) *[]string { return &t.Create },
			Options: roleOptions,
		},
		{
			Name: "no_children", Section: "Position of its pages", Label: "No child pages",
			Flag: func(t *content.Template) *bool { return &t.Family.NoChildren },
		},
		{Name: "one", Label: "Only one page", Flag: func(t *content.Template) *bool { return &t.Family.One }},
		{
			Name: "children", Label: "Templates of child pages (none: any)",
			List: func(t *content.Template) *[]string { return &t.Family.Children }, Options: templateOptions,
		},
		{
			Name: "parents", Label: "Templates of the parent page (none: any)",
			List: func(t *content.Template) *[]string { return &t.Family.Parents }, Options: templateOptions,
		},
	},
	Save: func(c *call, t *content.Template) (resource.Done, error) {
		edited := *t
		edited.Fields = strings.Fields(strings.Join(t.Fields, " ")) // a line may contain several names
		saved, err := c.Content.SaveTemplate(c.ctx(), c.user, edited)
		if err != nil {
			return resource.Done{}, err
		}
		return resource.Done{To: templateAt(saved.Name)}, nil
	},
	Actions: []resource.Action[*call]{{
		Name: "delete", Label: "Delete", Done: "deleted", Danger: true, To: "/templates",
		Confirm: "A template that has pages cannot be deleted.",
		Do:      func(c *call, _ string) error { return c.Content.DeleteTemplate(c.ctx(), c.user, c.Query.Text("name")) },
	}},
	Name:   func(t *content.Template) string { return t.Name },
	Offers: func(_ *call, t *content.Template, _ string) bool { return t.ID != 0 && !t.System },
}

var fieldList = resource.List[*call, *content.Field]{
	Path: "/fields", Admit: requireTemplates, Nouns: [2]string{"field", "fields"},
	Head:  resource.Head{Title: "Fields", New: resource.Target{Label: "New field", Path: "/field"}},
	Empty: "There are no fields yet, so pages have only a title. Create a field, then add it to a template.",
	Columns: []resource.Column[*content.Field]{
		{Label: "Field", Show: func(f *content.Field) resource.Cell { return resource.Link(fieldAt(f.Name), f.Name) }},
		{Label: "Label", Text: func(f *content.Field) string { return f.Label }},
		{Label: "Type", Text: func(f *content.Field) string { return f.Type }},
		{Label: "Required", Show: func(f *content.Field) resource.Cell {
			return resource.Text(map[bool]string{true: "yes", false: "no"}[f.Required])
		}},
	},
	Rows: resource.Whole(func(c *call) ([]*content.Field, error) { return c.Content.Fields(c.ctx(), c.user) }),
}

// field is the form of a field. Its members hold the settings of the field as users type them.
type field struct {
	content.Field
	Most                         int64
	Min, Max                     string   // numbers, or empty
	Extensions, Sizes, Templates string   // separated by spaces
	Blocks                       []string // lines such as "quote: text author"
}

// isOldField reports whether the form changes an existing field.
func isOldField(_ *call, f *field) bool { return f.ID != 0 }

// fieldOf returns the form with the values of a stored field.
func fieldOf(original *content.Field) *field {
	s := &original.Settings
	f := &field{
		Field: *original, Most: int64(s.Most), Min: bound(s.Min), Max: bound(s.Max),
		Extensions: strings.Join(s.Extensions, " "), Sizes: strings.Join(s.Sizes, " "),
		Templates: strings.Join(s.Templates, " "),
	}
	for _, kind := range slices.Sorted(maps.Keys(s.Blocks)) {
		f.Blocks = append(f.Blocks, kind+": "+strings.Join(s.Blocks[kind], " "))
	}
	return f
}

// bound formats a minimum or maximum, or returns an empty string if n is nil.
func bound(n *float64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatFloat(*n, 'f', -1, 64)
}

// definition returns the field with the values of the form. The error joins the errors of all invalid inputs.
func (f *field) definition() (definition content.Field, err error) {
	definition = f.Field
	s := &definition.Settings
	s.Extensions, s.Sizes, s.Templates = strings.Fields(f.Extensions), strings.Fields(f.Sizes), strings.Fields(f.Templates)
	s.Most, s.Blocks = int(f.Most), nil
	var faults []error
	number := func(name, text string) *float64 {
		if text == "" {
			return nil
		}
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			faults = append(faults, kernel.Invalid(name, "form", "this is not a number"))
		}
		return &n
	}
	s.Min, s.Max = number("min", f.Min), number("max", f.Max)
	for _, line := range f.Blocks {
		kind, names, ok := strings.Cut(line, ":")
		if !ok {
			const message = "write each kind of block as its name, a colon and its fields, such as quote: text author"
			faults = append(faults, kernel.Invalid("blocks", "form", message))
			break
		}
		if s.Blocks == nil {
			s.Blocks = make(map[string][]string)
		}
		s.Blocks[strings.TrimSpace(kind)] = strings.Fields(names)
	}
	return definition, apierror.Join(faults...)
}

var fieldForm = resource.Form[*call, field]{
	Path: "/field", Admit: requireTemplates,
	Head: resource.Head{Title: "New field", Above: []resource.Target{{Label: "Fields", Path: "/fields"}}},
	About: func(_ *call, f *field, h *resource.Head) error {
		if f.ID != 0 {
			h.Title, h.Marks = "Field "+f.Name, []resource.Cell{resource.Tag(f.Type, "")}
		}
		return nil
	},
	Load: func(c *call) (*field, error) {
		name := c.Query.Text("name")
		if name == "" {
			return &field{Field: content.Field{Type: content.TypeText}}, nil
		}
		f, err := c.Content.Field(c.ctx(), c.user, name)
		if err != nil {
			return nil, err
		}
		return fieldOf(f), nil
	},
	Fields: []resource.Field[*call, field]{
		{Name: "name", Label: "Name", Required: true, Hide: isOldField, Text: func(f *field) *string { return &f.Name }},
		{
			Name: "type", Label: "Type", Help: "The name and the type cannot be changed later.", Hide: isOldField,
			Text:    func(f *field) *string { return &f.Type },
			Options: func(*call, *field) ([]resource.Choice, error) { return resource.Words(content.Types...), nil },
		},
		{Name: "label", Label: "Label", Max: 255, Text: func(f *field) *string { return &f.Label }},
		{Name: "required", Label: "Required in published pages", Flag: func(f *field) *bool { return &f.Required }},
		{
			Name: "most", Section: "Limits", Label: "Maximum length",
			Help: "Characters in a text, or entries in a list. Leave all limits empty that do not apply to the field.",
			Min:  1, Number: func(f *field) *int64 { return &f.Most },
		},
		{Name: "min", Label: "Smallest number", Text: func(f *field) *string { return &f.Min }},
		{Name: "max", Label: "Largest number", Text: func(f *field) *string { return &f.Max }},
		{
			Name: "multiple", Label: "Several values (pages, options)",
			Flag: func(f *field) *bool { return &f.Settings.Multiple },
		},
		{
			Name: "options", Label: "Options", Help: "One per line.",
			List: func(f *field) *[]string { return &f.Settings.Options },
		},
		{
			Name: "templates", Label: "Templates of the pages to which the field may refer",
			Text: func(f *field) *string { return &f.Templates },
		},
		{
			Name: "extensions", Label: "Allowed file extensions", Placeholder: "jpg png",
			Text: func(f *field) *string { return &f.Extensions },
		},
		{
			Name: "max_bytes", Label: "Largest file, in bytes", Min: 1,
			Number: func(f *field) *int64 { return &f.Settings.MaxBytes },
		},
		{
			Name: "sizes", Label: "Sizes of images", Placeholder: "640x 200x200c",
			Text: func(f *field) *string { return &f.Sizes },
		},
		{
			Name: "blocks", Label: "Kinds of blocks", Help: "One per line: its name, a colon and its fields.",
			Placeholder: "quote: text author", List: func(f *field) *[]string { return &f.Blocks },
		},
	},
	Save: func(c *call, f *field) (resource.Done, error) {
		definition, err := f.definition()
		if err == nil {
			_, err = c.Content.SaveField(c.ctx(), c.user, definition)
		}
		return resource.Done{To: fieldAt(f.Name)}, settingFaults(err)
	},
	Actions: []resource.Action[*call]{{
		Name: "delete", Label: "Delete", Done: "deleted", Danger: true, To: "/fields",
		Confirm: "Pages lose their values of this field when they are saved.",
		Do:      func(c *call, _ string) error { return c.Content.DeleteField(c.ctx(), c.user, c.Query.Text("name")) },
	}},
	Name:   func(f *field) string { return f.Name },
	Offers: func(_ *call, f *field, _ string) bool { return f.ID != 0 },
}

// settingFaults returns the error refusal, with the prefix "settings." removed from the names of its fields, since the
// inputs of the form do not have it.
func settingFaults(refusal error) error {
	return withFields(refusal, func(field string) string { return strings.TrimPrefix(field, "settings.") })
}
