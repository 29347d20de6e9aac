package transfer

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/cms/accounts"
	"github.com/tollgate-gateway/tollgate/backends/cms/content"
	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
)

// LineError is an error with the number of the line of the export in which it occurred.
type LineError struct {
	Line int // from 1
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns the error without the line number.
func (e *LineError) Unwrap() error { return e.Err }

// importer holds the state of Import.
type importer struct {
	Site
	in         *bufio.Scanner
	lineNumber int
	waits      []content.Imported
	fields     map[string]*content.Field
	// defined holds fields and templates that have been read but not saved. Since they refer to each other, they are
	// saved together, before the first line of another kind.
	defined    []content.Definition
	lines      []int                // line numbers of the definitions in defined
	incomplete []content.Definition // definitions that refer to templates which do not exist yet
	read       map[string]bool      // the templates of earlier lines
	existing   map[string]bool      // the templates in read and those of the site
	page       string               // the page of the previous file
	placed     map[int64]bool       // IDs of the files of page that belong to earlier lines
	done       Done
}

// Import reads the output of Export. It saves pages in batches, each in one transaction. If it returns an error, the
// earlier batches are saved, and the import can be repeated. The error is a *LineError.
func (s Site) Import(ctx context.Context, from io.Reader) (Done, error) {
	i := &importer{
		Site: s, in: bufio.NewScanner(from), fields: make(map[string]*content.Field),
		read: make(map[string]bool), existing: make(map[string]bool),
	}
	i.in.Buffer(make([]byte, 0, 64<<10), maxLine)
	if err := i.all(ctx); err != nil {
		return i.done, &LineError{max(i.lineNumber, 1), err}
	}
	return i.done, nil
}

// next returns the next line, or io.EOF at the end of the file.
func (i *importer) next() (*line, error) {
	if !i.in.Scan() {
		if err := i.in.Err(); err != nil {
			return nil, err
		}
		return nil, io.EOF
	}
	i.lineNumber++
	l := new(line)
	decoder := json.NewDecoder(bytes.NewReader(i.in.Bytes()))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(l); err != nil {
		return nil, fmt.Errorf("this is not a line of an export: %w", err)
	}
	return l, nil
}

var errMissing = errors.New("the export ends in the middle: its last line is missing")

// all imports all lines. It returns errMissing if the file ends without the line that marks the end of an export.
func (i *importer) all(ctx context.Context) error {
	first, err := i.next()
	if err != nil || first.CMS != version {
		return errors.Join(errors.New("this is not an export of a site, or one of another version"), err)
	}
	for {
		l, err := i.next()
		if errors.Is(err, io.EOF) {
			return errMissing
		}
		if err == nil {
			err = i.line(ctx, l)
		}
		if err != nil {
			return err
		}
		if l.End != nil {
			return nil
		}
	}
}

// line imports a line. Definitions and pages are collected, and saved in batches. A line of another kind saves the
// collected batch first.
func (i *importer) line(ctx context.Context, l *line) error {
	if l.Page == nil && l.Refs == nil {
		if err := i.flush(ctx); err != nil {
			return err
		}
	}
	if l.Role == nil && l.Field == nil && l.Template == nil {
		if err := i.definitions(ctx); err != nil {
			return err
		}
	}
	switch {
	case l.Role != nil:
		return i.role(ctx, *l.Role)
	case l.Field != nil:
		i.fields[l.Field.Name] = l.Field
		i.define(content.Definition{Field: l.Field})
		return nil
	case l.Template != nil:
		i.read[l.Template.Name], i.existing[l.Template.Name] = true, true
		i.define(content.Definition{Template: l.Template})
		return nil
	case l.Page != nil:
		p := l.Page
		e := content.Edit{Template: p.Template, Title: &p.Title, Status: &p.Status, Fields: p.Fields}
		now := i.Pages.Moment()
		// otherwise the planned publication belongs to a draft, which is not exported
		if p.PublishAt > now && p.Status == content.StatusUnpublished {
			e.PublishAt = &p.PublishAt
		}
		if p.UnpublishAt > now {
			e.UnpublishAt = &p.UnpublishAt
		}
		i.done.Pages++
		return i.wait(ctx, content.Imported{
			Path: p.Path, Edit: e,
			History: content.History{Created: p.Created, Modified: p.Modified, Published: p.Published, Sort: p.Sort},
		})
	case l.Refs != nil:
		return i.refs(ctx, l.Refs)
	case l.File != nil:
		return i.file(ctx, l.File)
	case l.End != nil:
		_, err := i.Pages.Define(ctx, i.incomplete)
		return err
	}
	return errors.New("this line has nothing in it")
}

// wait adds a page to the batch. If the batch is full, it saves the batch.
func (i *importer) wait(ctx context.Context, p content.Imported) error {
	if i.waits = append(i.waits, p); len(i.waits) < batch {
		return nil
	}
	return i.flush(ctx)
}

func (i *importer) flush(ctx context.Context) error {
	if len(i.waits) == 0 {
		return nil
	}
	err := i.Pages.Import(ctx, i.waits, i.read)
	i.waits = i.waits[:0]
	if i.Progress != nil {
		i.Progress(i.done)
	}
	return err
}

// role creates a role, unless the role exists. It does not change an existing role, because an import of content must
// not grant permissions.
func (i *importer) role(ctx context.Context, role accounts.Role) error {
	roles, err := i.Accounts.Roles(ctx)
	if err != nil {
		return err
	}
	for _, existing := range roles {
		if existing.Name == role.Name {
			return nil
		}
	}
	role.ID, role.Permissions = 0, nil
	_, err = i.Accounts.SaveRole(ctx, kernel.Site(), role)
	return err
}

func (i *importer) define(d content.Definition) {
	i.defined, i.lines = append(i.defined, d), append(i.lines, i.lineNumber)
}

// definitions saves the collected fields and templates.
func (i *importer) definitions(ctx context.Context) error {
	if len(i.defined) == 0 {
		return nil
	}
	existing, err := i.Pages.Templates(ctx, kernel.Site())
	if err != nil {
		return err
	}
	for _, t := range existing {
		i.existing[t.Name] = true
	}
	list := make([]content.Definition, len(i.defined))
	for n, d := range i.defined {
		var complete bool
		if list[n], complete = i.now(d); !complete {
			i.incomplete = append(i.incomplete, d)
		}
	}
	if index, err := i.Pages.Define(ctx, list); err != nil {
		if index >= 0 {
			i.lineNumber = i.lines[index]
		}
		return err
	}
	for _, d := range list {
		if d.Field != nil {
			i.done.Fields++
		} else {
			i.done.Templates++
		}
	}
	i.defined, i.lines = nil, nil
	return nil
}

// now returns the part of a definition that can be saved immediately, and reports whether this is the entire
// definition. References to templates that do not exist yet are left out; they are saved after the last line. Export
// writes no such references.
func (i *importer) now(d content.Definition) (content.Definition, bool) {
	complete := true
	named := func(list []string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(name string) bool {
			complete = complete && i.existing[name]
			return !i.existing[name]
		})
	}
	if d.Field != nil {
		f := *d.Field
		f.Settings.Templates = named(f.Settings.Templates)
		return content.Definition{Field: &f}, complete
	}
	t := *d.Template
	t.Family.Children, t.Family.Parents = named(t.Family.Children), named(t.Family.Parents)
	return content.Definition{Template: &t}, complete
}

// refs adds the values of a page that refer to other pages to the batch. It replaces paths in the values by IDs, and
// removes references to pages that do not exist.
func (i *importer) refs(ctx context.Context, r *refs) error {
	// All referenced pages exist, except those in the current batch.
	if len(i.waits) > 0 && i.waits[0].Template != "" {
		if err := i.flush(ctx); err != nil {
			return err
		}
	}
	for name, value := range r.Fields {
		if i.fields[name] == nil {
			return fmt.Errorf("there is no field %q", name)
		}
		changed, err := swap(i.fields, value, func(path any) (any, error) {
			text, _ := path.(string)
			p, err := i.Pages.At(ctx, kernel.Site(), text)
			if kernel.IsNotFound(err) {
				return nil, nil //nolint:nilnil // the page does not exist
			}
			if err != nil {
				return nil, err
			}
			return p.ID, nil
		})
		if err != nil {
			return err
		}
		r.Fields[name] = changed
	}
	return i.wait(ctx, content.Imported{Path: r.Path, Edit: content.Edit{Fields: r.Fields}})
}

// chunks is a reader of the content of a file, which is in the following lines.
type chunks struct {
	i    *importer
	left int64
	rest []byte
}

// Read implements io.Reader.
func (c *chunks) Read(p []byte) (int, error) {
	for len(c.rest) == 0 {
		if c.left == 0 {
			return 0, io.EOF
		}
		l, err := c.i.next()
		if err != nil || len(l.Chunk) == 0 || int64(len(l.Chunk)) > c.left {
			return 0, errors.Join(errMissing, err)
		}
		c.rest = l.Chunk
		c.left -= int64(len(l.Chunk))
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// file adds a file to its page, unless the page already has a file with the same name and size. Each file of the page
// counts for one line only, since a page may have several equal files.
func (i *importer) file(ctx context.Context, f *file) error {
	body := &chunks{i: i, left: f.Size}
	site := kernel.Site()
	p, err := i.Pages.At(ctx, site, f.Page)
	if err != nil {
		return err
	}
	i.done.Files++
	if i.page != p.Path {
		i.page, i.placed = p.Path, make(map[int64]bool)
	}
	list, _ := p.Fields[f.Field].([]any)
	for _, item := range list {
		entry, _ := item.(map[string]any)
		if id := idOf(entry); entry["name"] == f.Name && entry["size"] == float64(f.Size) && !i.placed[id] {
			i.placed[id] = true
			if _, err := io.Copy(io.Discard, body); err != nil {
				return err
			}
			return i.describe(ctx, p.Path, f, list, entry)
		}
	}
	changed, err := i.Files.Receive(ctx, site, content.Place{Page: p.ID, Field: f.Field, Modified: p.Modified}, f.Name, body)
	if err != nil {
		return err
	}
	list, _ = changed.Fields[f.Field].([]any)
	last, _ := list[len(list)-1].(map[string]any)
	i.placed[idOf(last)] = true
	if _, err := io.Copy(io.Discard, body); err != nil {
		return err
	}
	return i.describe(ctx, p.Path, f, list, last)
}

// describe sets the description of a page's file, also if a previous import was interrupted before this step. list is
// the value of the field, and entry is that of the file in list.
func (i *importer) describe(ctx context.Context, page string, f *file, list []any, entry map[string]any) error {
	if f.Description == "" || entry["description"] == f.Description {
		return nil
	}
	entry["description"] = f.Description
	return i.Pages.Import(ctx, []content.Imported{{Path: page, Edit: content.Edit{Fields: map[string]any{f.Field: list}}}},
		nil)
}

func idOf(file map[string]any) int64 {
	id, _ := file["id"].(float64)
	return int64(id)
}
