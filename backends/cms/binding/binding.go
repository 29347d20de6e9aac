// Package binding implements the global objects pages, files, users, templates and fields, by which the scripts of a
// site access its content and its accounts.
package binding

import (
	"context"
	"encoding/json"
	"maps"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/cms/accounts"
	"github.com/tollgate-gateway/tollgate/backends/cms/content"
	"github.com/tollgate-gateway/tollgate/backends/cms/handler"
	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/backends/cms/script"
)

// Pages returns access to a site's pages with the rights of the request's user.
func Pages(c *content.Content) script.Pages { return pages{c} }

// Users returns access to the accounts of a site, without their mail addresses.
func Users(a *accounts.Accounts) script.Users { return users{a} }

// Templates returns access to a site's templates.
func Templates(c *content.Content) script.Definitions {
	return definitions[content.Template]{c.Templates, c.Template}
}

// Fields returns access to a site's fields.
func Fields(c *content.Content) script.Definitions {
	return definitions[content.Field]{c.Fields, c.Field}
}

// pages implements script.Pages.
type pages struct{ content *content.Content }

// pageMembers are the names of a page's members that are not fields.
var pageMembers = map[string]bool{
	"id": true, "parent": true, "template": true, "name": true, "path": true, "title": true, "status": true, "sort": true,
	"created": true, "created_by": true, "modified": true, "modified_by": true, "published": true, "version": true,
}

// object returns a page as an object with the members in pageMembers and a member for each field. If names collide, the
// members in pageMembers take precedence.
func object(p *content.Page) script.Object {
	o := make(script.Object, len(pageMembers)+len(p.Fields))
	maps.Copy(o, p.Fields)
	o["id"], o["parent"], o["template"] = p.ID, p.Parent, p.Template
	o["name"], o["path"], o["title"] = p.Name, p.Path, p.Title
	o["status"], o["sort"], o["version"] = p.Status, p.Sort, p.Version
	o["created"], o["created_by"] = p.Created.String(), p.CreatedBy
	o["modified"], o["modified_by"] = p.Modified.String(), p.ModifiedBy
	o["published"] = nil
	if p.Published != 0 {
		o["published"] = p.Published.String()
	}
	return o
}

// Find implements script.Pages.
func (p pages) Find(ctx context.Context, u handler.User, selector string) ([]script.Object, string, error) {
	list, err := p.content.Find(ctx, &u, selector)
	if err != nil {
		return nil, "", err
	}
	objects := make([]script.Object, len(list.Pages))
	for i, page := range list.Pages {
		objects[i] = object(page)
	}
	return objects, list.Next, nil
}

// Get implements script.Pages. selector may also be an ID or a path.
func (p pages) Get(ctx context.Context, u handler.User, selector string) (script.Object, error) {
	return objectOrNil(p.get(ctx, u, selector))
}

// get returns a page. selector is a selector that finds the page, or the page's ID or path.
func (p pages) get(ctx context.Context, u handler.User, selector string) (*content.Page, error) {
	if id, err := strconv.ParseInt(selector, 10, 64); err == nil {
		return p.content.Page(ctx, &u, id)
	}
	if strings.HasPrefix(selector, "/") {
		return p.content.At(ctx, &u, selector)
	}
	return p.content.Get(ctx, &u, selector)
}

// objectOrNil returns the page as an object, or nil without an error if err is a not-found error.
func objectOrNil(page *content.Page, err error) (script.Object, error) {
	if kernel.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return object(page), nil
}

// Count implements script.Pages.
func (p pages) Count(ctx context.Context, u handler.User, selector string) (int64, error) {
	return p.content.Count(ctx, &u, selector)
}

// Add creates a page with the given members. members["parent"] is the parent's ID, its path, or a selector that finds
// it.
func (p pages) Add(ctx context.Context, u handler.User, members script.Object) (script.Object, error) {
	var edit content.Edit
	switch parent := members["parent"].(type) {
	case float64:
		edit.Parent = int64(parent)
	case string:
		page, err := p.get(ctx, u, parent)
		if err != nil {
			return nil, err
		}
		edit.Parent = page.ID
	}
	edit.Template, _ = members["template"].(string)
	return p.save(ctx, u, edit, members)
}

// Save implements script.Pages. If changes has a version, the page must have this version.
func (p pages) Save(ctx context.Context, u handler.User, id int64, changes script.Object) (script.Object, error) {
	edit := content.Edit{ID: id}
	if version, ok := changes["version"].(float64); ok {
		edit.Version = int64(version)
	}
	return p.save(ctx, u, edit, changes)
}

// save sets the members name, title, status and fields that a script has given. It ignores the members that only the
// site sets, so scripts can change a page that they have read, and pass all of it to save.
func (p pages) save(
	ctx context.Context, u handler.User, edit content.Edit, members script.Object,
) (script.Object, error) {
	texts := map[string]**string{"name": &edit.Name, "title": &edit.Title, "status": &edit.Status}
	for name, value := range members {
		target, isText := texts[name]
		switch {
		case isText:
			text, ok := value.(string)
			if !ok {
				return nil, kernel.BadRequest("the %s of a page must be a string", name)
			}
			*target = &text
		case !pageMembers[name]:
			if edit.Fields == nil {
				edit.Fields = make(map[string]any)
			}
			edit.Fields[name] = value
		}
	}
	page, err := p.content.Save(ctx, &u, edit)
	if err != nil {
		return nil, err
	}
	return object(page), nil
}

// Trash implements script.Pages.
func (p pages) Trash(ctx context.Context, u handler.User, id int64) error {
	_, err := p.content.Trash(ctx, &u, id, 0)
	return err
}

// users implements script.Users.
type users struct{ accounts *accounts.Accounts }

// account returns an account as an object, without its mail address.
func account(a *accounts.Account) script.Object {
	return script.Object{"id": a.ID, "name": a.Name, "roles": append([]string{kernel.RoleGuest}, a.Roles...)}
}

// isVisible reports whether scripts may see an account. They see neither the guest nor disabled users.
func isVisible(a *accounts.Account) bool {
	return a.Name != kernel.RoleGuest && a.Status == accounts.StatusActive
}

// Find returns up to limit users with IDs greater than afterID. Since it skips the guest and disabled users, it may
// need several queries.
func (s users) Find(ctx context.Context, afterID int64, limit int) ([]script.Object, error) {
	list := []script.Object{}
	for {
		batch, err := s.accounts.List(ctx, afterID, limit)
		if err != nil {
			return nil, err
		}
		for _, a := range batch {
			afterID = a.ID
			if isVisible(a) && len(list) < limit {
				list = append(list, account(a))
			}
		}
		if len(list) == limit || len(batch) < limit {
			return list, nil
		}
	}
}

// Get returns the user with the given ID or name, or nil if scripts may not see the user.
func (s users) Get(ctx context.Context, idOrName string) (script.Object, error) {
	id, err := strconv.ParseInt(idOrName, 10, 64)
	var found *accounts.Account
	if err == nil {
		found, err = s.accounts.Account(ctx, id)
	} else {
		found, err = s.accounts.Named(ctx, idOrName)
	}
	if kernel.IsNotFound(err) || err == nil && !isVisible(found) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return account(found), nil
}

// definitions implements script.Definitions for T, which is content.Template or content.Field. The fields are the
// methods of content.Content that return values of this type.
type definitions[T any] struct {
	all    func(ctx context.Context, u *kernel.User) ([]*T, error)
	byName func(ctx context.Context, u *kernel.User, name string) (*T, error)
}

// All returns all templates, or all fields, that u may see.
func (d definitions[T]) All(ctx context.Context, u handler.User) ([]script.Object, error) {
	list, err := d.all(ctx, &u)
	if err != nil {
		return nil, err
	}
	objects := make([]script.Object, len(list))
	for i, definition := range list {
		if objects[i], err = toObject(definition); err != nil {
			return nil, err
		}
	}
	return objects, nil
}

// Get returns the template or field with the given name, or nil if it does not exist or u may not see it.
func (d definitions[T]) Get(ctx context.Context, u handler.User, name string) (script.Object, error) {
	definition, err := d.byName(ctx, &u, name)
	if kernel.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return toObject(definition)
}

// toObject converts a template or field to an object with the members of its JSON form. The detour by way of JSON is
// fast enough, because scripts rarely use definitions.
func toObject(definition any) (o script.Object, err error) {
	text, err := json.Marshal(definition)
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	return o, err
}
