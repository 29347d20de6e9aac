package content

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
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
	System bool     `json:"system"` // whether every site has a page of this template; such a template cannot be deleted
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

	key string // the key under which values are stored; see uniqueKey
}

// flagSystem is the value of the column flags for a system template.
const flagSystem = 1

// Limits of a site's templates and fields, all of which are kept in memory.
const (
	maxTemplates      = 1000
	maxFields         = 2000
	maxTemplateFields = 200 // fields of a template
)

// TitleField is the name of the field that all pages have.
const TitleField = "title"

// schema holds the templates and fields of a site. A cached schema is immutable; the functions that run in changeSchema
// change a copy of their own.
type schema struct {
	templatesByID   map[int64]*Template
	templatesByName map[string]*Template
	fields          map[string]*Field // by name
	fieldsByKey     map[string]*Field // by Field.key
	// The following members are used to compile selectors. saveField and saveTemplate do not update them.
	selectorFields map[string]selector.Field
	templateIDs    map[string]int64
}

// schema returns the cached schema, and loads it if necessary.
func (p *Content) schema(ctx context.Context) (*schema, error) { return p.schemas.Get(ctx, topic) }

// loadSchema reads the schema for the cache.
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
		templatesByID: make(map[int64]*Template), templatesByName: make(map[string]*Template),
		fields: make(map[string]*Field), fieldsByKey: make(map[string]*Field),
		selectorFields: make(map[string]selector.Field), templateIDs: make(map[string]int64),
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
	err = c.All("SELECT id, name, type, label, required, settings, numbered FROM cms_fields", nil, s.addField)
	if err != nil {
		return nil, err
	}
	err = c.All("SELECT id, name, label, flags, family, view_roles, edit_roles, create_roles FROM cms_templates", nil,
		func(r store.Row) error { return s.addTemplate(r, roles) })
	if err != nil {
		return nil, err
	}
	return s, c.All("SELECT tf.template_id, f.name FROM cms_template_fields tf JOIN cms_fields f ON f.id = tf.field_id ORDER BY tf.template_id, tf.position", nil, func(r store.Row) error {
		var id int64
		var name string
		err := r.Scan(&id, &name)
		if t := s.templatesByID[id]; t != nil {
			t.Fields = append(t.Fields, name)
		}
		return err
	})
}

// addField reads a row of cms_fields for readSchema.
func (s *schema) addField(r store.Row) error {
	f := new(Field)
	var required, isNumbered int
	var settings string
	if err := r.Scan(&f.ID, &f.Name, &f.Type, &f.Label, &required, &settings, &isNumbered); err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(settings), &f.Settings); err != nil {
		return fmt.Errorf("the stored settings of field %s: %w", f.Name, err)
	}
	f.Required = required != 0
	if f.key = f.Name; isNumbered != 0 {
		f.key = uniqueKey(f.Name, f.ID)
	}
	s.fields[f.Name], s.fieldsByKey[f.key] = f, f
	if kind, ok := kinds[f.Type]; ok {
		s.selectorFields[f.Name] = selector.Field{ID: f.ID, Kind: kind, Everywhere: f.Name == TitleField}
	}
	return nil
}

// addTemplate reads a row of cms_templates for readSchema. roles maps the IDs of all roles to their names.
func (s *schema) addTemplate(r store.Row, roles map[int64]string) error {
	t := &Template{Fields: []string{}}
	var flags int64
	var family, view, edit, create string // JSON texts
	if err := r.Scan(&t.ID, &t.Name, &t.Label, &flags, &family, &view, &edit, &create); err != nil {
		return err
	}
	t.System = flags&flagSystem != 0
	if err := json.Unmarshal([]byte(family), &t.Family); err != nil {
		return fmt.Errorf("the stored family of template %s: %w", t.Name, err)
	}
	for _, list := range []struct {
		stored string // a JSON list of role IDs
		names  *[]string
	}{{view, &t.View}, {edit, &t.Edit}, {create, &t.Create}} {
		var ids []int64
		if err := json.Unmarshal([]byte(list.stored), &ids); err != nil {
			return fmt.Errorf("the stored roles of template %s: %w", t.Name, err)
		}
		*list.names = []string{}
		for _, id := range ids {
			if name, ok := roles[id]; ok { // the role may have been deleted
				*list.names = append(*list.names, name)
			}
		}
		slices.Sort(*list.names)
	}
	s.templatesByID[t.ID], s.templatesByName[t.Name], s.templateIDs[t.Name] = t, t, t.ID
	return nil
}

// action is an action on the pages of a template, for which roles need a right.
type action int

const (
	viewing action = iota
	editing
	creating
)

// may reports whether u has the right to act on the pages of a template.
func (s *schema) may(u *kernel.User, template string, act action) bool {
	if u.Superuser() {
		return true
	}
	t := s.templatesByName[template]
	return t != nil && t.may(u, act)
}

// may reports whether one of the roles of u has the right to act on the pages of the template. It does not consider
// that superusers have all rights.
func (t *Template) may(u *kernel.User, act action) bool {
	roles := [...][]string{t.View, t.Edit, t.Create}[act]
	return slices.ContainsFunc(roles, func(role string) bool { return role == kernel.RoleGuest || u.Is(role) })
}

// usableBy reports whether u may view, edit or create pages of the template.
func (t *Template) usableBy(u *kernel.User) bool {
	return t.may(u, viewing) || t.may(u, editing) || t.may(u, creating)
}

// templatesFor returns the templates on whose pages u may act.
func (s *schema) templatesFor(u *kernel.User, act action) selector.Set {
	var set selector.Set
	for id, t := range s.templatesByID {
		if u.Superuser() || t.may(u, act) {
			set.IDs = append(set.IDs, id)
		}
	}
	slices.Sort(set.IDs)
	set.All = len(set.IDs) == len(s.templatesByID)
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
	for _, name := range slices.Sorted(maps.Keys(s.templatesByName)) {
		if t := s.templatesByName[name]; u.May(kernel.PermissionTemplates) || t.usableBy(u) {
			list = append(list, t.clone())
		}
	}
	return list, nil
}

// clone returns a deep copy of the template.
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
	usable := map[string]bool{TitleField: true}
	for _, t := range s.templatesByName {
		for _, name := range t.Fields {
			usable[name] = usable[name] || t.usableBy(u)
		}
	}
	list := []*Field{}
	for _, name := range slices.Sorted(maps.Keys(s.fields)) {
		if usable[name] || u.May(kernel.PermissionTemplates) {
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

// changeSchema runs fn in a transaction that may change templates and fields. fn gets the current schema, read in the
// transaction. After the change, the cached schema is removed on all nodes. changeSchema returns an error if u may not
// change templates and fields.
func (p *Content) changeSchema(ctx context.Context, u *kernel.User, fn func(c kernel.Conn, s *schema) error) error {
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
	// There is only one schema, so the topic is also its key in the cache. The schema is dropped from the cache after an
	// error, too, because the commit may have succeeded.
	p.schemas.Drop(topic)
	return err
}

// nameForm is the error message for a name that goodName does not accept.
const nameForm = "a name consists of 1 to 128 of the characters a-z, A-Z, 0-9 and underscore, and begins with a letter"

// goodName reports whether name is a valid name of a field or, if dashes is true, of a template.
func goodName(name string, dashes bool) bool {
	if len(name) == 0 || len(name) > 128 {
		return false
	}
	for i, b := range []byte(name) {
		letter := b|0x20 >= 'a' && b|0x20 <= 'z' // b|0x20 is the lower case of a letter
		if !letter && (i == 0 || (b < '0' || b > '9') && b != '_' && (b != '-' || !dashes)) {
			return false
		}
	}
	return true
}

// goodLabel reports whether label is valid for a field or a template.
func goodLabel(label string) bool {
	return utf8.RuneCountInString(label) <= 255 && !strings.ContainsAny(label, "\x00\r\n")
}

// SaveField creates a field if its ID is 0, and otherwise changes the field's label and settings, and whether it is
// required. Stored values of pages are not changed until the pages are saved.
func (p *Content) SaveField(ctx context.Context, u *kernel.User, field Field) (*Field, error) {
	err := p.changeSchema(ctx, u, func(c kernel.Conn, s *schema) error { return s.saveField(c, field) })
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
		return kernel.Invalid("name", "form", nameForm+"; words of selectors, such as parent and limit, are reserved")
	case field.ID == 0 && old != nil:
		return kernel.Invalid("name", "taken", "a field with this name exists already")
	case field.ID == 0 && len(s.fields) >= maxFields:
		return kernel.Conflict("the site has the maximum number of fields, which is %d", maxFields)
	case field.ID != 0 && (old == nil || old.ID != field.ID):
		return kernel.NotFound("field")
	case old != nil && old.Type != field.Type:
		return kernel.Invalid("type", "fixed", "the type of a field cannot be changed: create another field")
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
	return p.changeSchema(ctx, u, func(c kernel.Conn, s *schema) error {
		f := s.fields[name]
		if f == nil {
			return kernel.NotFound("field")
		}
		if name == TitleField {
			return kernel.Conflict("the field title cannot be deleted, because every page has a title")
		}
		for _, t := range s.templatesByName {
			if slices.Contains(t.Fields, name) {
				return kernel.Conflict("the template %s uses this field", t.Name)
			}
		}
		for _, other := range s.fields {
			for _, fields := range other.Settings.Blocks {
				if slices.Contains(fields, name) {
					return kernel.Conflict("blocks in the field %s use this field", other.Name)
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
	err := p.changeSchema(ctx, u, func(c kernel.Conn, s *schema) error { return s.saveTemplate(c, t) })
	if err != nil {
		return nil, err
	}
	s, err := p.schema(ctx)
	if err != nil {
		return nil, err
	}
	saved := s.templatesByName[t.Name]
	if saved == nil {
		return nil, kernel.NotFound("template")
	}
	return saved.clone(), nil
}

// saveTemplate validates a template, saves it in the transaction of c, and adds it to s. The template may refer to a
// template that the same transaction creates later. Until then, s has that template without an ID; see Define.
func (s *schema) saveTemplate(c kernel.Conn, t Template) error {
	old := s.templatesByName[t.Name]
	switch {
	case t.ID == 0 && !goodName(t.Name, true):
		return kernel.Invalid("name", "form", nameForm+"; the name of a template may also contain dashes")
	case t.ID == 0 && old != nil && old.ID != 0:
		return kernel.Invalid("name", "taken", "a template with this name exists already")
	case t.ID == 0 && len(s.templatesByID) >= maxTemplates:
		return kernel.Conflict("the site has the maximum number of templates, which is %d", maxTemplates)
	case t.ID != 0 && (old == nil || old.ID != t.ID):
		return kernel.NotFound("template")
	case !goodLabel(t.Label):
		return kernel.Invalid("label", "form", "a label is one line of at most 255 characters")
	case len(t.Fields) > maxTemplateFields:
		return kernel.Invalid("fields", "many", fmt.Sprintf("a template can have at most %d fields", maxTemplateFields))
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
	s.templatesByName[t.Name], s.templatesByID[t.ID] = &t, &t
	return nil
}

// check returns an error if the template refers to fields or templates that do not exist. It also returns an error if
// the template lists a field twice, or lists the field title, which all templates have anyway.
func (t *Template) check(s *schema) error {
	seen := map[string]bool{TitleField: true}
	for _, name := range t.Fields {
		if s.fields[name] == nil {
			return kernel.Invalid("fields", "unknown", "there is no field "+strconv.Quote(name))
		}
		if seen[name] {
			return kernel.Invalid("fields", "unknown", "the template has the field "+strconv.Quote(name)+" already")
		}
		seen[name] = true
	}
	for field, names := range map[string][]string{
		"family.children": t.Family.Children,
		"family.parents":  t.Family.Parents,
	} {
		for _, name := range names {
			if s.templatesByName[name] == nil && name != t.Name {
				return kernel.Invalid(field, "unknown", "there is no template "+strconv.Quote(name))
			}
		}
	}
	return nil
}

// roleIDs returns the three lists of roles in their stored form, which are JSON lists of role IDs.
func roleIDs(c kernel.Conn, view, edit, create []string) (stored []any, err error) {
	for i, list := range [][]string{view, edit, create} {
		ids := []int64{}
		for _, role := range list {
			var id int64
			if err := c.Row("SELECT id FROM cms_roles WHERE name = ?", role).Scan(&id); err != nil {
				if errors.Is(err, sql.ErrNoRows) {
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
	return p.changeSchema(ctx, u, func(c kernel.Conn, s *schema) error {
		t := s.templatesByName[name]
		switch {
		case t == nil:
			return kernel.NotFound("template")
		case t.System:
			return kernel.Conflict("the template %s is a system template and cannot be deleted", name)
		}
		var used bool
		if err := c.Row("SELECT EXISTS (SELECT 1 FROM cms_pages WHERE template_id = ?)", t.ID).Scan(&used); err != nil {
			return err
		}
		if used {
			return kernel.Conflict("pages use the template %s; they may be in the trash", name)
		}
		for _, other := range s.templatesByName {
			if other != t && (slices.Contains(other.Family.Children, name) || slices.Contains(other.Family.Parents, name)) {
				return kernel.Conflict("the template %s lists this template as a parent or child", other.Name)
			}
		}
		_, err := c.Exec("DELETE FROM cms_templates WHERE id = ?", t.ID)
		return err
	})
}
