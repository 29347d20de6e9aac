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
	batch      []content.Imported
	fields     map[string]*content.Field // the fields of earlier lines, by name
	// defined holds fields and templates that have been read but not saved. Since they refer to each other, they are
	// saved together, before the first line of another kind.
	defined    []content.Definition
	lines      []int                // line numbers of the definitions in defined
	incomplete []content.Definition // definitions that refer to templates which do not exist yet
	imported   map[string]bool      // the names of the templates of earlier lines
	known      map[string]bool      // the names of the templates in imported and of those of the site
	page       string               // the page of the previous file
	matched    map[int64]bool       // IDs of the files of page that belong to earlier lines
	done       Done
}

// Import reads the output of Export from r, saves it and returns the number of imported objects. It saves pages in
// batches, each in one transaction. If it returns an error, the earlier batches are saved, and the import can be
// repeated. The error is a *LineError.
func (s Site) Import(ctx context.Context, r io.Reader) (Done, error) {
	i := &importer{
		Site: s, in: bufio.NewScanner(r), fields: make(map[string]*content.Field),
		imported: make(map[string]bool), known: make(map[string]bool),
	}
	i.in.Buffer(make([]byte, 0, 64<<10), maxLine)
	if err := i.importLines(ctx); err != nil {
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
		return nil, fmt.Errorf("the line is not a line of an export: %w", err)
	}
	return l, nil
}

// errMissing is the error for an export that was cut off.
var errMissing = errors.New("the export is incomplete: its last lines are missing")

// importLines imports all lines. It returns errMissing if the file ends without the line that marks the end of an
// export.
func (i *importer) importLines(ctx context.Context) error {
	first, err := i.next()
	if err != nil || first.CMS != version {
		return errors.Join(errors.New("the file is not an export of a site, or its format has another version"), err)
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

// line imports a line, and for a file also the following lines with its content. Definitions and pages are collected,
// and saved in batches. A line of another kind saves the collected batch first.
func (i *importer) line(ctx context.Context, l *line) error {
	if l.Page == nil && l.Refs == nil {
		if err := i.flush(ctx); err != nil {
			return err
		}
	}
	if l.Role == nil && l.Field == nil && l.Template == nil {
		if err := i.saveDefinitions(ctx); err != nil {
			return err
		}
	}
	switch {
	case l.Role != nil:
		return i.role(ctx, *l.Role)
	case l.Field != nil:
		i.fields[l.Field.Name] = l.Field
		i.collect(content.Definition{Field: l.Field})
		return nil
	case l.Template != nil:
		i.imported[l.Template.Name], i.known[l.Template.Name] = true, true
		i.collect(content.Definition{Template: l.Template})
		return nil
	case l.Page != nil:
		return i.addPage(ctx, l.Page)
	case l.Refs != nil:
		return i.refs(ctx, l.Refs)
	case l.File != nil:
		return i.file(ctx, l.File)
	case l.End != nil: // all templates to which the definitions refer exist now
		_, err := i.Pages.Define(ctx, i.incomplete)
		return err
	}
	return errors.New("the line contains none of the objects of an export")
}

// addPage adds a page, without its files and its references to pages, to the batch.
func (i *importer) addPage(ctx context.Context, p *page) error {
	e := content.Edit{Template: p.Template, Title: &p.Title, Status: &p.Status, Fields: p.Fields}
	now := i.Pages.Moment()
	// In any other status, the planned publication is that of a draft, and drafts are not exported.
	if p.PublishAt > now && p.Status == content.StatusUnpublished {
		e.PublishAt = &p.PublishAt
	}
	if p.UnpublishAt > now {
		e.UnpublishAt = &p.UnpublishAt
	}
	i.done.Pages++
	return i.addToBatch(ctx, content.Imported{
		Path: p.Path, Edit: e,
		History: content.History{Created: p.Created, Modified: p.Modified, Published: p.Published, Sort: p.Sort},
	})
}

// addToBatch adds a page to the batch. If the batch is full, it saves the batch.
func (i *importer) addToBatch(ctx context.Context, p content.Imported) error {
	if i.batch = append(i.batch, p); len(i.batch) < batch {
		return nil
	}
	return i.flush(ctx)
}

// flush saves the pages of the batch.
func (i *importer) flush(ctx context.Context) error {
	if len(i.batch) == 0 {
		return nil
	}
	err := i.Pages.Import(ctx, i.batch, i.imported)
	i.batch = i.batch[:0]
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

// collect adds a field or a template to those that saveDefinitions saves.
func (i *importer) collect(d content.Definition) {
	i.defined, i.lines = append(i.defined, d), append(i.lines, i.lineNumber)
}

// saveDefinitions saves the collected fields and templates. In case of an error, it sets i.lineNumber to the line of
// the definition with the error.
func (i *importer) saveDefinitions(ctx context.Context) error {
	if len(i.defined) == 0 {
		return nil
	}
	existing, err := i.Pages.Templates(ctx, kernel.Site())
	if err != nil {
		return err
	}
	for _, t := range existing {
		i.known[t.Name] = true
	}
	list := make([]content.Definition, len(i.defined))
	for n, d := range i.defined {
		var complete bool
		if list[n], complete = i.saveable(d); !complete {
			i.incomplete = append(i.incomplete, d)
		}
	}
	if index, err := i.Pages.Define(ctx, list); err != nil {
		if index >= 0 { // -1 if the error is not that of a definition
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

// saveable returns the part of a definition that can be saved immediately, and reports whether this is the entire
// definition. References to templates that do not exist yet are left out; they are saved after the last line. Export
// writes no such references.
func (i *importer) saveable(d content.Definition) (content.Definition, bool) {
	complete := true
	existingNames := func(list []string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(name string) bool {
			complete = complete && i.known[name]
			return !i.known[name]
		})
	}
	if d.Field != nil {
		f := *d.Field
		f.Settings.Templates = existingNames(f.Settings.Templates)
		return content.Definition{Field: &f}, complete
	}
	t := *d.Template
	t.Family.Children, t.Family.Parents = existingNames(t.Family.Children), existingNames(t.Family.Parents)
	return content.Definition{Template: &t}, complete
}

// refs adds the values of a page that refer to other pages to the batch. It replaces paths in the values by IDs, and
// removes references to pages that do not exist.
func (i *importer) refs(ctx context.Context, r *refs) error {
	// A referenced page may still be in the batch, if the batch contains new pages and not only references.
	if len(i.batch) > 0 && i.batch[0].Template != "" {
		if err := i.flush(ctx); err != nil {
			return err
		}
	}
	for name, value := range r.Fields {
		if i.fields[name] == nil {
			return fmt.Errorf("there is no field %q", name)
		}
		changed, err := replaceReferences(i.fields, value, func(path any) (any, error) {
			text, _ := path.(string)
			p, err := i.Pages.At(ctx, kernel.Site(), text)
			if kernel.IsNotFound(err) {
				return nil, nil // the page does not exist
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
	return i.addToBatch(ctx, content.Imported{Path: r.Path, Edit: content.Edit{Fields: r.Fields}})
}

// chunks is a reader of the content of a file, which is in the following lines.
type chunks struct {
	i         *importer
	remaining int64  // number of bytes in lines that have not been read
	unread    []byte // the part of the last line's content that Read has not returned yet
}

// Read implements io.Reader.
func (c *chunks) Read(p []byte) (int, error) {
	for len(c.unread) == 0 {
		if c.remaining == 0 {
			return 0, io.EOF
		}
		l, err := c.i.next()
		if err != nil || len(l.Chunk) == 0 || int64(len(l.Chunk)) > c.remaining {
			return 0, errors.Join(errMissing, err)
		}
		c.unread = l.Chunk
		c.remaining -= int64(len(l.Chunk))
	}
	n := copy(p, c.unread)
	c.unread = c.unread[n:]
	return n, nil
}

// file adds a file to its page, unless the page already has a file with the same name and size. A page may have
// several equal files, so each file of the page counts as the file of one line only.
func (i *importer) file(ctx context.Context, f *file) error {
	body := &chunks{i: i, remaining: f.Size}
	site := kernel.Site()
	p, err := i.Pages.At(ctx, site, f.Page)
	if err != nil {
		return err
	}
	i.done.Files++
	if i.page != p.Path {
		i.page, i.matched = p.Path, make(map[int64]bool)
	}
	list, _ := p.Fields[f.Field].([]any)
	for _, item := range list {
		entry, _ := item.(map[string]any)
		if id := idOf(entry); entry["name"] == f.Name && entry["size"] == float64(f.Size) && !i.matched[id] {
			i.matched[id] = true
			if _, err := io.Copy(io.Discard, body); err != nil { // skip the lines with the content
				return err
			}
			return i.describe(ctx, p.Path, f, list, entry)
		}
	}
	place := content.Place{Page: p.ID, Field: f.Field, Modified: p.Modified}
	changed, err := i.Files.Receive(ctx, site, place, f.Name, body)
	if err != nil {
		return err
	}
	list, _ = changed.Fields[f.Field].([]any)
	// Receive has appended the file to the list.
	last, _ := list[len(list)-1].(map[string]any)
	i.matched[idOf(last)] = true
	if _, err := io.Copy(io.Discard, body); err != nil {
		return err
	}
	return i.describe(ctx, p.Path, f, list, last)
}

// describe sets the description of a page's file. It does so even if the file exists already, because a previous
// import may have been interrupted before this step. list is the value of the field, and entry is the entry of the
// file in list.
func (i *importer) describe(ctx context.Context, page string, f *file, list []any, entry map[string]any) error {
	if f.Description == "" || entry["description"] == f.Description {
		return nil
	}
	entry["description"] = f.Description
	return i.Pages.Import(ctx, []content.Imported{{Path: page, Edit: content.Edit{Fields: map[string]any{f.Field: list}}}},
		nil)
}

// idOf returns the ID of a file in the value of a field.
func idOf(file map[string]any) int64 {
	id, _ := file["id"].(float64)
	return int64(id)
}
