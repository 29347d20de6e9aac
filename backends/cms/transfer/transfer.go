// Package transfer copies the content of a site to another site: roles, fields, templates, pages with their values, and
// files. The format is JSON, with one object on each line. It is written and read line by line, so neither site holds
// more than a few pages in memory.
//
// References to pages are paths. They follow after all pages, since a page may refer to a later page. Users, the trash,
// drafts, revisions and redirects are not copied. On the target site, fields and templates with the same name, and
// pages with the same path, are changed; nothing is removed.
package transfer

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/tollgate-gateway/tollgate/backends/cms/accounts"
	"github.com/tollgate-gateway/tollgate/backends/cms/content"
	"github.com/tollgate-gateway/tollgate/backends/cms/files"
	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
)

// Site is the source of an export or the target of an import.
type Site struct {
	Accounts *accounts.Accounts
	Pages    *content.Content
	Files    *files.Files
	// Progress is called from time to time. It may be nil.
	Progress func(Done)
}

// Done counts the exported or imported objects.
type Done struct {
	Fields, Templates, Pages, Files int
}

// version is the version of the export format.
const version = 1

const (
	batch     = 200      // pages in one transaction
	chunkSize = 96 << 10 // bytes of a file on one line
	maxLine   = 4 << 20  // bytes; allows for the escaped values of a page
)

// line is a line of an export. Exactly one of its members is set.
type line struct {
	CMS      int               `json:"cms,omitempty"` // on the first line: the version
	Role     *accounts.Role    `json:"role,omitempty"`
	Field    *content.Field    `json:"field,omitempty"`
	Template *content.Template `json:"template,omitempty"`
	Page     *page             `json:"page,omitempty"`
	Refs     *refs             `json:"refs,omitempty"`
	File     *file             `json:"file,omitempty"`
	Chunk    []byte            `json:"chunk,omitempty"` // of the preceding file
	End      *Done             `json:"end,omitempty"`   // on the last line
}

// page is a page without its files and without the values that refer to other pages.
type page struct {
	Path        string         `json:"path"`
	Template    string         `json:"template"`
	Title       string         `json:"title"`
	Status      string         `json:"status"`
	Sort        int64          `json:"sort"`
	Fields      map[string]any `json:"fields"`
	Created     kernel.Moment  `json:"created"`
	Modified    kernel.Moment  `json:"modified"`
	Published   kernel.Moment  `json:"published,omitzero"`
	PublishAt   kernel.Moment  `json:"publish_at,omitzero"`
	UnpublishAt kernel.Moment  `json:"unpublish_at,omitzero"`
}

// refs holds the values of a page that refer to other pages. The IDs in the values are replaced by paths.
type refs struct {
	Path   string         `json:"path"`
	Fields map[string]any `json:"fields"`
}

// file describes a file of a page. Its content is in the following lines.
type file struct {
	Page        string `json:"page"`
	Field       string `json:"field"`
	Name        string `json:"name"`
	Size        int64  `json:"size"`
	Description string `json:"description,omitempty"`
}

// exporter holds the state of Export.
type exporter struct {
	Site
	out    *json.Encoder
	fields map[string]*content.Field // by name
	done   Done
}

// Export writes the content of the site to w, and returns the number of exported objects.
func (s Site) Export(ctx context.Context, w io.Writer) (Done, error) {
	out := bufio.NewWriter(w)
	e := &exporter{Site: s, out: json.NewEncoder(out), fields: make(map[string]*content.Field)}
	e.out.SetEscapeHTML(false)
	for _, exportPart := range []func(context.Context) error{e.schema, e.pages, e.refs} {
		if err := exportPart(ctx); err != nil {
			return e.done, err
		}
	}
	return e.done, errors.Join(e.out.Encode(line{End: &e.done}), out.Flush())
}

// reportProgress calls e.Progress, if it is set.
func (e *exporter) reportProgress() {
	if e.Progress != nil {
		e.Progress(e.done)
	}
}

// schema writes the format version, the roles except the system roles, the fields, and the templates. Fields of type
// blocks come last, because they refer to other fields.
func (e *exporter) schema(ctx context.Context) error {
	if err := e.out.Encode(line{CMS: version}); err != nil {
		return err
	}
	roles, err := e.Accounts.Roles(ctx)
	if err != nil {
		return err
	}
	for _, role := range roles {
		if !role.System {
			role.ID = 0
			if err := e.out.Encode(line{Role: role}); err != nil {
				return err
			}
		}
	}
	fields, err := e.Pages.Fields(ctx, kernel.Site())
	if err != nil {
		return err
	}
	rank := func(f *content.Field) int {
		if f.Type == content.TypeBlocks {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(fields, func(a, b *content.Field) int { return rank(a) - rank(b) })
	for _, f := range fields {
		e.fields[f.Name] = f
		exported := *f
		exported.ID = 0
		if err := e.out.Encode(line{Field: &exported}); err != nil {
			return err
		}
		e.done.Fields++
	}
	templates, err := e.Pages.Templates(ctx, kernel.Site())
	if err != nil {
		return err
	}
	for _, t := range templates {
		t.ID = 0
		if err := e.out.Encode(line{Template: t}); err != nil {
			return err
		}
		e.done.Templates++
	}
	e.reportProgress()
	return nil
}

// eachPage calls fn for each page, ordered by path.
func (e *exporter) eachPage(ctx context.Context, fn func(p *content.Page) error) error {
	for cursor := ""; ; {
		list, err := e.Pages.Find(ctx, kernel.Site(), "include=all, sort=path, limit="+strconv.Itoa(batch)+", after="+cursor)
		if err != nil {
			return err
		}
		for _, p := range list.Pages {
			if err := fn(p); err != nil {
				return err
			}
		}
		e.reportProgress()
		if cursor = list.Next; cursor == "" {
			return nil
		}
	}
}

// pages writes all pages without their files and without their references to pages.
func (e *exporter) pages(ctx context.Context) error {
	return e.eachPage(ctx, func(p *content.Page) error {
		exported := &page{
			Path: p.Path, Template: p.Template, Title: p.Title, Status: p.Status, Sort: p.Sort, Fields: make(map[string]any),
			Created: p.Created, Modified: p.Modified, Published: p.Published, PublishAt: p.PublishAt, UnpublishAt: p.UnpublishAt,
		}
		for name, value := range p.Fields {
			if f := e.fields[name]; f != nil && f.Type != content.TypeFile && !refersToPages(e.fields, f) {
				exported.Fields[name] = value
			}
		}
		e.done.Pages++
		return e.out.Encode(line{Page: exported})
	})
}

// refersToPages reports whether values of the field f can refer to pages. fields holds all fields by name.
func refersToPages(fields map[string]*content.Field, f *content.Field) bool {
	if f.Type == content.TypePage {
		return true
	}
	for _, names := range f.Settings.Blocks {
		for _, name := range names {
			if inner := fields[name]; inner != nil && inner.Type == content.TypePage {
				return true
			}
		}
	}
	return false
}

// refs writes the files, and the values that refer to pages.
func (e *exporter) refs(ctx context.Context) error {
	return e.eachPage(ctx, func(p *content.Page) error {
		exported := &refs{Path: p.Path, Fields: make(map[string]any)}
		for name, value := range p.Fields {
			f := e.fields[name]
			switch {
			case f == nil:
			case refersToPages(e.fields, f):
				changed, err := replaceReferences(e.fields, value, func(id any) (any, error) { return e.path(ctx, id) })
				if err != nil {
					return err
				}
				exported.Fields[name] = changed
			case f.Type == content.TypeFile:
				if err := e.files(ctx, p, name, value); err != nil {
					return err
				}
			}
		}
		if len(exported.Fields) == 0 {
			return nil
		}
		return e.out.Encode(line{Refs: exported})
	})
}

// replaceReferences returns a copy of the value of a page field or a blocks field in which each reference to a page is
// replaced by the result of replace. If the result is nil, the reference is removed. fields holds all fields by name.
func replaceReferences(fields map[string]*content.Field, value any, replace func(page any) (any, error)) (any, error) {
	switch v := value.(type) {
	case []any:
		result := []any{}
		for _, element := range v {
			replaced, err := replaceReferences(fields, element, replace)
			if err != nil {
				return nil, err
			}
			if replaced != nil {
				result = append(result, replaced)
			}
		}
		return result, nil
	case map[string]any: // a block
		result := make(map[string]any)
		for name, element := range v {
			result[name] = element
			if inner := fields[name]; inner != nil && inner.Type == content.TypePage {
				changed, err := replaceReferences(fields, element, replace)
				if err != nil {
					return nil, err
				}
				result[name] = changed
			}
		}
		return result, nil
	case nil:
		return nil, nil // it refers to nothing
	}
	return replace(value)
}

// path returns the path of the page with an ID, or nil if the page does not exist or is in the trash.
func (e *exporter) path(ctx context.Context, id any) (any, error) {
	n, _ := id.(float64)
	p, err := e.Pages.Page(ctx, kernel.Site(), int64(n))
	if kernel.IsNotFound(err) || err == nil && p.Status == content.StatusTrash {
		return nil, nil // it refers to nothing
	}
	if err != nil {
		return nil, err
	}
	return p.Path, nil
}

// files writes the files in the value of a page's field.
func (e *exporter) files(ctx context.Context, p *content.Page, field string, value any) error {
	list, _ := value.([]any)
	for _, item := range list {
		item, _ := item.(map[string]any)
		id, _ := item["id"].(float64)
		if err := e.file(ctx, p, field, item, int64(id)); err != nil {
			return fmt.Errorf("page %s, file %d: %w", p.Path, int64(id), err)
		}
	}
	return nil
}

// file writes a file: a line with its description, and its content in lines of up to chunkSize bytes.
func (e *exporter) file(ctx context.Context, p *content.Page, field string, item map[string]any, id int64) error {
	f, body, err := e.Files.Open(ctx, kernel.Site(), id)
	if err != nil {
		return err
	}
	defer body.Close()
	description, _ := item["description"].(string)
	if err := e.out.Encode(line{File: &file{
		Page: p.Path, Field: field, Name: f.Name, Size: f.Size,
		Description: description,
	}}); err != nil {
		return err
	}
	buffer := make([]byte, chunkSize)
	for {
		n, err := io.ReadFull(body, buffer)
		if n > 0 {
			if err := e.out.Encode(line{Chunk: buffer[:n]}); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			e.done.Files++
			return nil
		}
		if err != nil {
			return err
		}
	}
}
