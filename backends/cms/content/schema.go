package content

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/backends/cms/selector"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Template describes a kind of page: its fields, the roles that may view, edit and create its pages, and the allowed
// positions of its pages in the tree. The name of a template cannot be changed, because selectors and handlers refer to
// it.
type Template struct {
	ID     int64    `json:"id"`
	Name   string   `json:"name"`
	Label  string   `json:"label"`
	System bool     `json:"system"` // of a page that every site has; cannot be deleted
	Fields []string `json:"fields"` // in their order, without the title
	Family Family   `json:"family"`
	// View, Edit and Create are the sorted names of the roles that may view, edit and create pages. The role guest
	// includes everybody. Superusers need no role.
	View   []string `json:"view"`
	Edit   []string `json:"edit"`
	Create []string `json:"create"`
}

// Family restricts the positions of a template's pages in the page tree.
type Family struct {
	NoChildren bool     `json:"no_children,omitempty"`
	Children   []string `json:"children,omitempty"` // allowed templates of children; empty for any
	Parents    []string `json:"parents,omitempty"`  // allowed templates of the parent; empty for any
	One        bool     `json:"one,omitempty"`      // only one page may have this template
}

// Field is a field that templates can have. The name and the type of a field cannot be changed.
type Field struct {
	ID       int64    `json:"id"`
	Name     string   `json:"name"`
	Type     string   `json:"type"`
	Label    string   `json:"label"`
	Required bool     `json:"required"` // for pages that are published or hidden
	Settings Settings `json:"settings"`

	key string // under which values are stored; see named
}

// flagSystem marks a system template.
const flagSystem = 1

// Limits of a site's templates and fields, all of which are kept in memory.
const (
	maxTemplates = 1000
	maxFields    = 2000
	ofTemplate   = 200 // fields of a template
)

// TitleField is the name of the field that all pages have.
const TitleField = "title"

// schema holds the templates and fields of a site. It is immutable once it has been loaded, or changed by change.
type schema struct {
	templates map[int64]*Template
	names     map[string]*Template
	fields    map[string]*Field
	keys      map[string]*Field
	// The following members are used to compile selectors.
	found map[string]selector.Field
	ids   map[string]int64
}

// schema returns the cached schema, and loads it if necessary.
func (p *Content) schema(ctx context.Context) (*schema, error) { return p.schemas.Get(ctx, topic) }

func (p *Content) loadSchema(ctx context.Context, _ string) (s *schema, err error) {
	err = p.Read(ctx, func(c kernel.Conn) error {
		s, err = readSchema(c)
		return err
	})
	return s, err
}

// readSchema reads all fields and templates, with the names of the roles that the templates refer to.
func readSchema(c kernel.Conn) (*schema, error) {
	s := &schema{
		templates: make(map[int64]*Template), names: make(map[string]*Template), fields: make(map[string]*Field),
		keys:  make(map[string]*Field),
		found: make(map[string]selector.Field), ids: make(map[string]int64),
	}
	roles := make(map[int64]string)
	err := c.All("SELECT id, name FROM cms_roles", nil, func(r store.Row) error {
		var id int64
		var name string
		err := r.Scan(&id, &name)
		roles[id] = name
		return err
	})
	if err != nil {
		return nil, err
	}
	err = c.All("SELECT id, name, type, label, required, settings, numbered FROM cms_fields",
		nil, func(r store.Row) error {
			f := new(Field)
			var required, isNumbered int
			var settings string
			err := r.Scan(&f.ID, &f.Name, &f.Type, &f.Label, &required, &settings, &isNumbered)
			if err == nil {
				err = json.Unmarshal([]byte(settings), &f.Settings)
			}
			f.Required = required != 0
			if f.key = f.Name; isNumbered != 0 {
				f.key = numbered(f.Name, f.ID)
			}
			s.fields[f.Name], s.keys[f.key] = f, f
			if kind, ok := kinds[f.Type]; ok {
				s.found[f.Name] = selector.Field{ID: f.ID, Kind: kind, Everywhere: f.Name == TitleField}
			}
			return err
		})
	if err != nil {
		return nil, err
	}
	err = c.All("SELECT id, name, label, flags, family, view_roles, edit_roles, create_roles FROM cms_templates",
		nil, func(r store.Row) error {
			t := &Template{Fields: []string{}}
			var flags int64
			var texts [4]string
			if err := r.Scan(&t.ID, &t.Name, &t.Label, &flags, &texts[0], &texts[1], &texts[2], &texts[3]); err != nil {
				return err
			}
			t.System = flags&flagSystem != 0
			if err := json.Unmarshal([]byte(texts[0]), &t.Family); err != nil {
				return fmt.Errorf("the family of template %s: %w", t.Name, err)
			}
			for i, into := range []*[]string{&t.View, &t.Edit, &t.Create} {
				var ids []int64
				if err := json.Unmarshal([]byte(texts[1+i]), &ids); err != nil {
					return fmt.Errorf("the roles of template %s: %w", t.Name, err)
				}
				*into = []string{}
				for _, id := range ids {
					if name, ok := roles[id]; ok { // the role may have been deleted
						*into = append(*into, name)
					}
				}
				slices.Sort(*into)
			}
			s.templates[t.ID], s.names[t.Name], s.ids[t.Name] = t, t, t.ID
			return nil
		})
	if err != nil {
		return nil, err
	}
	return s, c.All("SELECT tf.template_id, f.name FROM cms_template_fields tf JOIN cms_fields f ON f.id = tf.field_id ORDER BY tf.template_id, tf.position", nil, func(r store.Row) error {
		var id int64
		var name string
		err := r.Scan(&id, &name)
		if t := s.templates[id]; t != nil {
			t.Fields = append(t.Fields, name)
		}
		return err
	})
}

// act is an action on the pages of a template, for which roles need a right.
type act int

const (
	viewing act = iota
	editing
	creating
)

// may reports whether u has the right to act on the pages of a template.
func (s *schema) may(u *kernel.User, template string, act act) bool {
	if u.Superuser() {
		return true
	}
	t := s.names[template]
	return t != nil && t.may(u, act)
}

func (t *Template) may(u *kernel.User, act act) bool {
	roles := [...][]string{t.View, t.Edit, t.Create}[act]
	return slices.ContainsFunc(roles, func(role string) bool { return role == kernel.RoleGuest || u.Is(role) })
}

// known reports whether u may view, edit or create pages of the template.
func (t *Template) known(u *kernel.User) bool {
	return t.may(u, viewing) || t.may(u, editing) || t.may(u, creating)
}

// set returns the templates on whose pages u may act.
func (s *schema) set(u *kernel.User, act act) selector.Set {
	var set selector.Set
	for id, t := range s.templates {
		if u.Superuser() || t.may(u, act) {
			set.IDs = append(set.IDs, id)
		}
	}
	slices.Sort(set.IDs)
	set.All = len(set.IDs) == len(s.templates)
	return set
}

// Templates returns the templates whose pages u may view, edit or create, ordered by name. A user with the permission
// to change templates gets all templates.
func (p *Content) Templates(ctx context.Context, u *kernel.User) ([]*Template, error) {
	s, err := p.schema(ctx)
	if err != nil {
		return nil, err
	}
	list := []*Template{}
	for _, name := range slices.Sorted(maps.Keys(s.names)) {
		if t := s.names[name]; u.May(kernel.PermissionTemplates) || t.known(u) {
			list = append(list, t.clone())
		}
	}
	return list, nil
}

func (t *Template) clone() *Template {
	copied := *t
	for _, list := range []*[]string{
		&copied.Fields, &copied.View, &copied.Edit, &copied.Create, &copied.Family.Children,
		&copied.Family.Parents,
	} {
		*list = slices.Clone(*list)
	}
	return &copied
}

// Template returns the template with the given name, if Templates returns it for u.
func (p *Content) Template(ctx context.Context, u *kernel.User, name string) (*Template, error) {
	list, err := p.Templates(ctx, u)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(list, func(t *Template) bool { return t.Name == name }); i >= 0 {
		return list[i], nil
	}
	return nil, kernel.NotFound("template")
}

// Fields returns the fields of the templates whose pages u may view, edit or create, ordered by name. A user with the
// permission to change templates gets all fields.
func (p *Content) Fields(ctx context.Context, u *kernel.User) ([]*Field, error) {
	s, err := p.schema(ctx)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{TitleField: true}
	for _, t := range s.names {
		for _, name := range t.Fields {
			seen[name] = seen[name] || t.known(u)
		}
	}
	list := []*Field{}
	for _, name := range slices.Sorted(maps.Keys(s.fields)) {
		if seen[name] || u.May(kernel.PermissionTemplates) {
			f := *s.fields[name]
			list = append(list, &f)
		}
	}
	return list, nil
}

// Field returns the field with the given name, if Fields returns it for u.
func (p *Content) Field(ctx context.Context, u *kernel.User, name string) (*Field, error) {
	list, err := p.Fields(ctx, u)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(list, func(f *Field) bool { return f.Name == name }); i >= 0 {
		return list[i], nil
	}
	return nil, kernel.NotFound("field")
}

// change runs fn in a transaction that may change templates and fields. fn gets the current schema, read in the
// transaction. After the change, the cached schema is removed on all nodes. change returns an error if u may not change
// templates and fields.
func (p *Content) change(ctx context.Context, u *kernel.User, fn func(c kernel.Conn, s *schema) error) error {
	if !u.May(kernel.PermissionTemplates) {
		return kernel.Forbidden("you may not change templates and fields")
	}
	err := p.Write(ctx, func(c kernel.Conn) error {
		if err := c.Enter(gateTree); err != nil {
			return err
		}
		s, err := readSchema(c)
		if err == nil {
			err = fn(c, s)
		}
		if err != nil {
			return err
		}
		return c.Notify(topic, topic)
	})
	p.schemas.Drop(topic) // also after an error: the commit may have succeeded
	return err
}

const nameForm = "a name has 1 to 128 of a-z, A-Z, 0-9 and underscore, and begins with a letter"

// goodName reports whether name is a valid name of a field or, if dashes is true, of a template.
func goodName(name string, dashes bool) bool {
	if len(name) == 0 || len(name) > 128 {
		return false
	}
	for i, b := range []byte(name) {
		letter := b|0x20 >= 'a' && b|0x20 <= 'z'
		if !letter && (i == 0 || (b < '0' || b > '9') && b != '_' && (b != '-' || !dashes)) {
			return false
		}
	}
	return true
}

func goodLabel(label string) bool {
	return utf8.RuneCountInString(label) <= 255 && !strings.ContainsAny(label, "\x00\r\n")
}

// SaveField creates a field if its ID is 0, and otherwise changes the field's label and settings, and whether it is
// required. Stored values of pages are not changed until the pages are saved.
func (p *Content) SaveField(ctx context.Context, u *kernel.User, field Field) (*Field, error) {
	err := p.change(ctx, u, func(c kernel.Conn, s *schema) error { return s.saveField(c, field) })
	if err != nil {
		return nil, err
	}
	return p.Field(ctx, u, field.Name)
}

// saveField validates a field, saves it in the transaction of c, and adds it to s.
func (s *schema) saveField(c kernel.Conn, field Field) error {
	old := s.fields[field.Name]
	switch {
	case field.ID == 0 && (!goodName(field.Name, false) || selector.Special(field.Name)):
		return kernel.Invalid("name", "form", nameForm+"; words of selectors such as parent and limit are taken")
	case field.ID == 0 && old != nil:
		return kernel.Invalid("name", "taken", "there is a field of this name")
	case field.ID == 0 && len(s.fields) >= maxFields:
		return kernel.Conflict("there are %d fields, which is the most", len(s.fields))
	case field.ID != 0 && (old == nil || old.ID != field.ID):
		return kernel.NotFound("field")
	case old != nil && old.Type != field.Type:
		return kernel.Invalid("type", "fixed", "the type of a field stays: make another field")
	case !goodLabel(field.Label):
		return kernel.Invalid("label", "form", "a label is one line of at most 255 characters")
	}
	if field.Name == TitleField {
		field.Required = true
	}
	if err := field.check(s); err != nil {
		return err
	}
	required, settings := 0, encode(field.Settings)
	if field.Required {
		required = 1
	}
	var err error
	if field.ID != 0 {
		_, err = c.Exec("UPDATE cms_fields SET label = ?, required = ?, settings = ? WHERE id = ?",
			field.Label, required, settings, field.ID)
	} else {
		err = c.Row("INSERT INTO cms_fields (name, type, label, required, settings, numbered) VALUES (?, ?, ?, ?, ?, 1) RETURNING id", field.Name, field.Type, field.Label, required, settings).Scan(&field.ID)
	}
	s.fields[field.Name] = &field
	return err
}

// DeleteField deletes a field. It returns an error if a template or a block uses the field.
func (p *Content) DeleteField(ctx context.Context, u *kernel.User, name string) error {
	return p.change(ctx, u, func(c kernel.Conn, s *schema) error {
		f := s.fields[name]
		if f == nil {
			return kernel.NotFound("field")
		}
		if name == TitleField {
			return kernel.Conflict("all pages have a title")
		}
		for _, t := range s.names {
			if slices.Contains(t.Fields, name) {
				return kernel.Conflict("the template %s has this field", t.Name)
			}
		}
		for _, other := range s.fields {
			for _, fields := range other.Settings.Blocks {
				if slices.Contains(fields, name) {
					return kernel.Conflict("the blocks of %s have this field", other.Name)
				}
			}
		}
		_, err := c.Exec("DELETE FROM cms_fields WHERE id = ?", f.ID)
		return err
	})
}

// SaveTemplate creates a template if its ID is 0, and otherwise changes everything but its name. Values of fields that
// the template no longer has are not shown any more; they are removed when their page is saved.
func (p *Content) SaveTemplate(ctx context.Context, u *kernel.User, t Template) (*Template, error) {
	err := p.change(ctx, u, func(c kernel.Conn, s *schema) error { return s.saveTemplate(c, t) })
	if err != nil {
		return nil, err
	}
	s, err := p.schema(ctx)
	if err != nil {
		return nil, err
	}
	saved := s.names[t.Name]
	if saved == nil {
		return nil, kernel.NotFound("template")
	}
	return saved.clone(), nil
}

// saveTemplate validates a template, saves it in the transaction of c, and adds it to s. The template may refer to a
// template without an ID in s, which the same transaction is about to create; see Define.
func (s *schema) saveTemplate(c kernel.Conn, t Template) error {
	old := s.names[t.Name]
	switch {
	case t.ID == 0 && !goodName(t.Name, true):
		return kernel.Invalid("name", "form", nameForm+"; templates may have dashes, too")
	case t.ID == 0 && old != nil && old.ID != 0:
		return kernel.Invalid("name", "taken", "there is a template of this name")
	case t.ID == 0 && len(s.templates) >= maxTemplates:
		return kernel.Conflict("there are %d templates, which is the most", len(s.templates))
	case t.ID != 0 && (old == nil || old.ID != t.ID):
		return kernel.NotFound("template")
	case !goodLabel(t.Label):
		return kernel.Invalid("label", "form", "a label is one line of at most 255 characters")
	case len(t.Fields) > ofTemplate:
		return kernel.Invalid("fields", "many", fmt.Sprintf("a template has at most %d fields", ofTemplate))
	}
	if err := t.check(s); err != nil {
		return err
	}
	roles, err := roleIDs(c, t.View, t.Edit, t.Create)
	if err != nil {
		return err
	}
	args := append([]any{t.Label, encode(t.Family)}, roles...)
	if t.ID == 0 {
		flags := 0
		if t.System {
			flags = flagSystem
		}
		err = c.Row("INSERT INTO cms_templates (label, family, view_roles, edit_roles, create_roles, name, flags) VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING id", append(args, t.Name, flags)...).Scan(&t.ID)
	} else {
		_, err = c.Exec("UPDATE cms_templates SET label = ?, family = ?, view_roles = ?, edit_roles = ?, create_roles = ? WHERE id = ?", append(args, t.ID)...)
	}
	if err != nil {
		return err
	}
	if _, err := c.Exec("DELETE FROM cms_template_fields WHERE template_id = ?", t.ID); err != nil {
		return err
	}
	for i, name := range t.Fields {
		if _, err := c.Exec("INSERT INTO cms_template_fields (template_id, field_id, position) VALUES (?, ?, ?)",
			t.ID, s.fields[name].ID, i); err != nil {
			return err
		}
	}
	s.names[t.Name], s.templates[t.ID] = &t, &t
	return nil
}

// check returns an error if the template refers to fields or templates that do not exist.
func (t *Template) check(s *schema) error {
	seen := make(map[string]bool)
	for _, name := range t.Fields {
		if s.fields[name] == nil || name == TitleField || seen[name] {
			return kernel.Invalid("fields", "unknown", "there is no field "+strconv.Quote(name)+", or it is there already")
		}
		seen[name] = true
	}
	for field, names := range map[string][]string{
		"family.children": t.Family.Children,
		"family.parents":  t.Family.Parents,
	} {
		for _, name := range names {
			if s.names[name] == nil && name != t.Name {
				return kernel.Invalid(field, "unknown", "there is no template "+strconv.Quote(name))
			}
		}
	}
	return nil
}

// roleIDs returns lists of role names in their stored form, which are JSON lists of role IDs.
func roleIDs(c kernel.Conn, lists ...[]string) (stored []any, err error) {
	for i, list := range lists {
		ids := []int64{}
		for _, role := range list {
			var id int64
			if err := c.Row("SELECT id FROM cms_roles WHERE name = ?", role).Scan(&id); err != nil {
				if kernel.IsNotFound(kernel.OrNotFound(err, "role")) {
					err = kernel.Invalid([]string{"view", "edit", "create"}[i], "unknown", "there is no role "+strconv.Quote(role))
				}
				return nil, err
			}
			ids = append(ids, id)
		}
		stored = append(stored, encode(ids))
	}
	return stored, nil
}

// DeleteTemplate deletes a template. It returns an error if the template has pages, which may also be in the trash.
func (p *Content) DeleteTemplate(ctx context.Context, u *kernel.User, name string) error {
	return p.change(ctx, u, func(c kernel.Conn, s *schema) error {
		t := s.names[name]
		switch {
		case t == nil:
			return kernel.NotFound("template")
		case t.System:
			return kernel.Conflict("the template %s is the system's", name)
		}
		var used bool
		if err := c.Row("SELECT EXISTS (SELECT 1 FROM cms_pages WHERE template_id = ?)", t.ID).Scan(&used); err != nil {
			return err
		}
		if used {
			return kernel.Conflict("there are pages of the template %s, perhaps in the trash", name)
		}
		for _, other := range s.names {
			if other != t && (slices.Contains(other.Family.Children, name) || slices.Contains(other.Family.Parents, name)) {
				return kernel.Conflict("the template %s names this one in its family", other.Name)
			}
		}
		_, err := c.Exec("DELETE FROM cms_templates WHERE id = ?", t.ID)
		return err
	})
}
