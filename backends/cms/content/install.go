package content

import (
	"context"

	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
)

// The templates of the pages that every site has. Each has exactly one page: the root of the tree at /, and below it
// /home, /admin and /admin/users.
const (
	TemplateRoot  = "root"
	TemplateHome  = "home"
	TemplateAdmin = "admin"
	TemplateUsers = "users"
)

// Install creates the templates and pages that every site has, unless they exist already. It returns the paths of the
// created pages, also if it returns an error.
func (p *Content) Install(ctx context.Context) (created []string, err error) {
	everybody := []string{kernel.RoleGuest}
	site := kernel.Site()
	parents := make(map[string]int64) // page IDs by template
	for _, initial := range []struct {
		template, parent, name, title string // parent is the template of the parent page
		view                          []string
	}{
		{TemplateRoot, "", "", "Root", everybody},
		{TemplateHome, TemplateRoot, "home", "Home", everybody},
		{TemplateAdmin, TemplateRoot, "admin", "Administration", nil},
		{TemplateUsers, TemplateAdmin, "users", "Users", nil},
	} {
		s, err := p.schema(ctx)
		if err != nil {
			return created, err
		}
		if s.templatesByName[initial.template] == nil {
			_, err := p.SaveTemplate(ctx, site,
				Template{Name: initial.template, Label: initial.title, System: true, Family: Family{One: true}, View: initial.view})
			if err != nil {
				return created, err
			}
		}
		list, err := p.Find(ctx, site, "template="+initial.template+", include=all, limit=1")
		if err != nil {
			return created, err
		}
		if len(list.Pages) > 0 {
			parents[initial.template] = list.Pages[0].ID
			continue
		}
		status := StatusPublished
		page, err := p.Save(ctx, site, Edit{
			Parent: parents[initial.parent], Template: initial.template, Name: &initial.name,
			Title: &initial.title, Status: &status,
		})
		if err != nil {
			return created, err
		}
		parents[initial.template] = page.ID
		created = append(created, page.Path)
	}
	return created, nil
}
