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

// MaxBytes is the size limit of a file in a field that has no limit in its settings.
const MaxBytes = 10 << 20

// File is a file of a page. In the values of the page, a file is an object with id, name, type, size, description and,
// for an image, width and height.
type File struct {
	blob.File
	ID      int64
	Page    int64
	Created kernel.Moment
	Sizes   []string // sizes that the settings of the field allow
}

// Place is the field of a page to which a file is added.
type Place struct {
	Page  int64
	Field string
	// Draft adds the file to the page's draft instead of the published page, if there is a draft.
	Draft bool
	// Modified is the page's new modification time, for an import. The default is now.
	Modified kernel.Moment
}

// open returns the current page of the place as previous. next is a copy that the caller may change. It is a copy of
// the page's draft if place.Draft is set and there is a draft, and otherwise a copy of the page itself. open returns
// an error if u may not change the page.
func (place Place) open(c kernel.Conn, s *schema, u *kernel.User) (previous, next *Page, err error) {
	if previous, err = s.editable(c, u, place.Page, 0); err != nil {
		return nil, nil, err
	}
	next = new(*previous)
	if place.Draft && previous.draft != "" {
		return previous, next, s.useDraft(next)
	}
	next.Fields = maps.Clone(previous.Fields)
	return previous, next, nil
}

// UploadLimit returns the size limit, in bytes, of a file with the given name at a place. It returns an error if u
// cannot add such a file.
func (p *Content) UploadLimit(ctx context.Context, u *kernel.User, place Place, name string) (limit int64, err error) {
	s, err := p.schema(ctx)
	if err != nil {
		return 0, err
	}
	err = p.Read(ctx, func(c kernel.Conn) error {
		_, page, err := place.open(c, s, u)
		if err == nil {
			limit, err = s.uploadLimit(page, place.Field, name)
		}
		return err
	})
	return limit, err
}

// uploadLimit returns the size limit, in bytes, of a file with the given name, or an error if the field of page does
// not accept such a file.
func (s *schema) uploadLimit(page *Page, field, name string) (limit int64, err error) {
	f := s.fields[field]
	if f == nil || f.Type != TypeFile || !slices.Contains(s.templatesByName[page.Template].Fields, field) {
		return 0, kernel.Invalid(field, "unknown", "pages of the template "+page.Template+
			" have no field of type file with the name "+strconv.Quote(field))
	}
	extension := strings.TrimPrefix(strings.ToLower(path.Ext(name)), ".")
	if o := f.Settings.Extensions; len(o) > 0 && !slices.Contains(o, extension) {
		return 0, kernel.Invalid(field, "extension", field+": allowed file name extensions are "+strings.Join(o, ", "))
	}
	stored, _ := page.Fields[field].([]any)
	if len(stored) >= f.Settings.maxEntries() {
		return 0, kernel.Invalid(field, "many", fmt.Sprintf("%s: at most %d files are allowed",
			field, f.Settings.maxEntries()))
	}
	if limit = f.Settings.MaxBytes; limit == 0 {
		limit = MaxBytes
	}
	return limit, nil
}

// Attach appends a file to the files in a field, and returns the page. The caller has already stored the content of the
// file.
func (p *Content) Attach(ctx context.Context, u *kernel.User, place Place, file blob.File) (page *Page, err error) {
	s, err := p.schema(ctx)
	if err != nil {
		return nil, err
	}
	err = p.Write(ctx, func(c kernel.Conn) error {
		previous, next, err := place.open(c, s, u)
		if err != nil {
			return err
		}
		if _, err := s.uploadLimit(next, place.Field, file.Name); err != nil {
			return err
		}
		var fileID int64
		now := p.Moment()
		err = c.Row("INSERT INTO cms_files (page_id, field, hash, name, media_type, size, width, height, created, created_by) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
			place.Page, place.Field, file.Hash, file.Name, file.MediaType, file.Size, file.Width, file.Height, now,
			u.ID).Scan(&fileID)
		if err != nil {
			return err
		}
		// Numbers are float64, as in a list of files that was read from JSON.
		item := map[string]any{
			"id": float64(fileID), "name": file.Name, "type": file.MediaType, "size": float64(file.Size),
		}
		if file.Width > 0 {
			item["width"], item["height"] = float64(file.Width), float64(file.Height)
		}
		stored, _ := next.Fields[place.Field].([]any)
		next.Fields[place.Field] = append(slices.Clone(stored), item)
		if place.Draft && previous.draft != "" {
			page, err = s.keepDraft(c, u, previous, next)
		} else { // place.Modified is set by an import only
			page, err = p.write(c, s, u, previous, next, s.encodeFields(next.Fields), cmp.Or(place.Modified, now))
		}
		return err
	})
	return page, err
}

// File returns the file with the given ID, if u may see its page. A file that is only in the draft or in revisions of
// the page requires the right to edit the page.
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
		if definition := s.fields[field]; definition != nil {
			f.Sizes = definition.Settings.Sizes
		}
		page, err := s.visible(c, u, "p.id = ?", f.Page)
		if kernel.IsNotFound(err) {
			return kernel.NotFound("file")
		} else if err != nil {
			return err
		}
		if !page.hasFile(field, id) && !s.may(u, page.Template, editing) {
			return kernel.NotFound("file") // only editors may see files that are only in the draft or in revisions
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// hasFile reports whether the named field, whose type must be file, contains the file with the given ID.
func (page *Page) hasFile(field string, fileID int64) bool {
	files, _ := page.Fields[field].([]any)
	return slices.ContainsFunc(files, func(file any) bool {
		properties, ok := file.(map[string]any)
		return ok && properties["id"] == float64(fileID) // decoded JSON numbers are float64
	})
}
