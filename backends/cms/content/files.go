package content

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/internal/blob"
)

// MaxBytes is how large a file of a field is, where the field says nothing else.
const MaxBytes = 10 << 20

// File is a file of a page. In the values of the page it is an object with id, name,
// type, size, width and height of an image, and description.
type File struct {
	blob.File
	ID      int64
	Page    int64
	Created kernel.Moment
	Sizes   []string // that its field allows
}

// Place is where a file goes: a field of a page.
type Place struct {
	Page  int64
	Field string
	// Draft is the field of the page's draft, where it has one.
	Draft bool
	// Modified is when the page was changed last, for an import. Default: now.
	Modified kernel.Moment
}

// open is the page of a place as it is, and as it is to be.
func (to Place) open(c kernel.Conn, s *schema, u *kernel.User) (before, then *Page, err error) {
	if before, err = s.editable(c, u, to.Page, 0); err != nil {
		return nil, nil, err
	}
	then = new(*before)
	if to.Draft && before.draft != "" {
		return before, then, s.useDraft(then)
	}
	then.Fields = maps.Clone(before.Fields)
	return before, then, nil
}

// Takes tells whether u can put a file of a name somewhere, and how many bytes it may
// have.
func (p *Content) Takes(ctx context.Context, u *kernel.User, to Place, name string) (most int64, err error) {
	s, err := p.schema(ctx)
	if err != nil {
		return 0, err
	}
	err = p.Read(ctx, func(c kernel.Conn) error {
		_, page, err := to.open(c, s, u)
		if err == nil {
			most, err = s.takes(page, to.Field, name)
		}
		return err
	})
	return most, err
}

func (s *schema) takes(page *Page, field, name string) (most int64, err error) {
	f := s.fields[field]
	if f == nil || f.Type != TypeFile || !slices.Contains(s.names[page.Template].Fields, field) {
		return 0, kernel.Invalid(field, "unknown", "pages of the template "+page.Template+" have no field of files "+strconv.Quote(field))
	}
	extension := strings.TrimPrefix(strings.ToLower(path.Ext(name)), ".")
	if o := f.Settings.Extensions; len(o) > 0 && !slices.Contains(o, extension) {
		return 0, kernel.Invalid(field, "extension", field+": files of this field end with "+strings.Join(o, ", "))
	}
	has, _ := page.Fields[field].([]any)
	if len(has) >= f.Settings.list() {
		return 0, kernel.Invalid(field, "many", fmt.Sprintf("%s: at most %d files", field, f.Settings.list()))
	}
	if most = f.Settings.MaxBytes; most == 0 {
		most = MaxBytes
	}
	return most, nil
}

// Attach puts a file, whose content is kept, behind the others of a field, and returns the
// page as it is served.
func (p *Content) Attach(ctx context.Context, u *kernel.User, to Place, file blob.File) (page *Page, err error) {
	s, err := p.schema(ctx)
	if err != nil {
		return nil, err
	}
	err = p.Write(ctx, func(c kernel.Conn) error {
		before, then, err := to.open(c, s, u)
		if err != nil {
			return err
		}
		if _, err := s.takes(then, to.Field, file.Name); err != nil {
			return err
		}
		var row int64
		now := p.Moment()
		err = c.Row("INSERT INTO cms_files (page_id, field, hash, name, media_type, size, width, height, created, created_by) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
			to.Page, to.Field, file.Hash, file.Name, file.MediaType, file.Size, file.Width, file.Height, now, u.ID).Scan(&row)
		if err != nil {
			return err
		}
		item := map[string]any{"id": float64(row), "name": file.Name, "type": file.MediaType, "size": float64(file.Size)}
		if file.Width > 0 {
			item["width"], item["height"] = float64(file.Width), float64(file.Height)
		}
		has, _ := then.Fields[to.Field].([]any)
		then.Fields[to.Field] = append(slices.Clone(has), item)
		if to.Draft && before.draft != "" {
			page, err = s.keepDraft(c, u, before, then)
		} else {
			page, err = p.write(c, s, u, before, then, s.store(then.Fields), cmp.Or(to.Modified, now))
		}
		return err
	})
	return page, err
}

// File is a file of a page that u may see.
func (p *Content) File(ctx context.Context, u *kernel.User, id int64) (*File, error) {
	s, err := p.schema(ctx)
	if err != nil {
		return nil, err
	}
	f := &File{ID: id}
	var field string
	err = p.Read(ctx, func(c kernel.Conn) error {
		err := c.Row("SELECT page_id, field, hash, name, media_type, size, width, height, created FROM cms_files WHERE id = ?", id).
			Scan(&f.Page, &field, &f.Hash, &f.Name, &f.MediaType, &f.Size, &f.Width, &f.Height, &f.Created)
		if err != nil {
			return kernel.OrNotFound(err, "file")
		}
		if of := s.fields[field]; of != nil {
			f.Sizes = of.Settings.Sizes
		}
		page, err := s.seen(c, u, "p.id = ?", f.Page)
		if kernel.IsNotFound(err) || err == nil && !s.may(u, page.Template, editing) && !page.has(field, id) {
			return kernel.NotFound("file") // one that the page has no more, or of a draft, is for editors
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// has reports whether a file is among the values of a field of a page. Other fields, such as those of JSON, may have
// objects with the same id.
func (page *Page) has(field string, file int64) bool {
	list, _ := page.Fields[field].([]any)
	return slices.ContainsFunc(list, func(item any) bool {
		f, ok := item.(map[string]any)
		return ok && f["id"] == float64(file)
	})
}
