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

// Install creates those templates and pages of every site that do not exist yet. It returns the paths of the created
// pages.
func (p *Content) Install(ctx context.Context) (made []string, err error) {
	everybody := []string{kernel.RoleGuest}
	site := kernel.Site()
	parents := make(map[string]int64)
	for _, one := range []struct {
		template, parent, name, title string
		view                          []string
	}{
		{TemplateRoot, "", "", "Root", everybody},
		{TemplateHome, TemplateRoot, "home", "Home", everybody},
		{TemplateAdmin, TemplateRoot, "admin", "Administration", nil},
		{TemplateUsers, TemplateAdmin, "users", "Users", nil},
	} {
		s, err := p.schema(ctx)
		if err != nil {
			return made, err
		}
		if s.names[one.template] == nil {
			_, err := p.SaveTemplate(ctx, site,
				Template{Name: one.template, Label: one.title, System: true, Family: Family{One: true}, View: one.view})
			if err != nil {
				return made, err
			}
		}
		list, err := p.Find(ctx, site, "template="+one.template+", include=all, limit=1")
		if err != nil {
			return made, err
		}
		if len(list.Pages) > 0 {
			parents[one.template] = list.Pages[0].ID
			continue
		}
		status := StatusPublished
		page, err := p.Save(ctx, site, Edit{
			Parent: parents[one.parent], Template: one.template, Name: &one.name,
			Title: &one.title, Status: &status,
		})
		if err != nil {
			return made, err
		}
		parents[one.template] = page.ID
		made = append(made, page.Path)
	}
	return made, nil
}
