package content

import (
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

// Takes tells whether u can put a file of a name into a field of a page, and how many
// bytes it may have.
func (p *Content) Takes(ctx context.Context, u *kernel.User, page int64, field, name string) (most int64, err error) {
	s, err := p.schema(ctx)
	if err != nil {
		return 0, err
	}
	err = p.Read(ctx, func(c kernel.Conn) error {
		to, err := s.editable(c, u, page, 0)
		if err == nil {
			most, err = s.takes(to, field, name)
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

// Attach puts a file, whose content is kept, behind the others of a field.
func (p *Content) Attach(ctx context.Context, u *kernel.User, id int64, field string, file blob.File) (page *Page, err error) {
	s, err := p.schema(ctx)
	if err != nil {
		return nil, err
	}
	err = p.Write(ctx, func(c kernel.Conn) error {
		before, err := s.editable(c, u, id, 0)
		if err != nil {
			return err
		}
		if _, err := s.takes(before, field, file.Name); err != nil {
			return err
		}
		var row int64
		now := p.Moment()
		err = c.Row("INSERT INTO cms_files (page_id, field, hash, name, media_type, size, width, height, created, created_by) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
			id, field, file.Hash, file.Name, file.MediaType, file.Size, file.Width, file.Height, now, u.ID).Scan(&row)
		if err != nil {
			return err
		}
		item := map[string]any{"id": float64(row), "name": file.Name, "type": file.MediaType, "size": float64(file.Size)}
		if file.Width > 0 {
			item["width"], item["height"] = float64(file.Width), float64(file.Height)
		}
		then := *before
		then.Fields = maps.Clone(before.Fields)
		has, _ := then.Fields[field].([]any)
		then.Fields[field] = append(slices.Clone(has), item)
		page, err = p.write(c, s, u, before, &then, encode(then.Fields), now)
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
		if kernel.IsNotFound(err) || err == nil && !s.may(u, page.Template, editing) && !page.has(id) {
			return kernel.NotFound("file") // one that the page has no more, or of a draft, is for editors
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// has reports whether a file is among the values of a page.
func (page *Page) has(file int64) bool {
	for _, value := range page.Fields {
		list, _ := value.([]any)
		for _, item := range list {
			if f, ok := item.(map[string]any); ok && f["id"] == float64(file) {
				return true
			}
		}
	}
	return false
}
