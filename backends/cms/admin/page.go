package admin

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"mime/multipart"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/cms/content"
	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/backends/cms/settings"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/instant"
	"github.com/tollgate-gateway/tollgate/internal/pages"
	"github.com/tollgate-gateway/tollgate/internal/resource"
)

// difference is one difference between two versions of a page. The field What holds the name of the page's field.
type difference struct{ What, From, To string }

// pageData is the data of the form for a page.
type pageData struct {
	pages.Edit
	Page        *content.Page     // with the values of the form; a new page has no ID
	Live        *content.Page     // the stored page without its draft; nil for a new page
	Above       []resource.Target // the ancestors of the page
	Inputs      []*input
	Uploads     []*input // the fields for files
	Status      pages.Select
	PublishAt   string // in the layout browserTime, or empty
	UnpublishAt string
	Templates   pages.Select // for a new page
	Preview     bool         // whether a preview link can be created
}

// pageAt returns the path of the form for a page.
func pageAt(id int64) string { return "/pages/" + itoa(id) }

// page shows the form for a page, with the values of the page's draft if there is a draft.
func (c *call) page() error {
	shown, live, err := c.open(c.ID("pageId"))
	if err != nil {
		return err
	}
	return c.showPage(nil, shown, live)
}

// open returns the page with the given ID in two states: live is the stored page without its draft, and shown is the
// draft, or live if there is no draft.
func (c *call) open(id int64) (shown, live *content.Page, err error) {
	if live, err = c.Content.Page(c.ctx(), c.user, id); err != nil || !live.Draft {
		return live, live, err
	}
	shown, err = c.Content.Draft(c.ctx(), c.user, id)
	return shown, live, err
}

// showPage shows the form of a page. shown is the page with the values that the form contains. If refusal is not nil,
// this error is shown above the form. live is the stored page without its draft, or nil for a page that does not
// exist yet.
func (c *call) showPage(refusal error, shown, live *content.Page) error {
	s, err := c.schema()
	if err != nil {
		return err
	}
	t, err := c.Content.Template(c.ctx(), c.user, shown.Template)
	if err != nil {
		return err
	}
	d := &pageData{Page: shown, Live: live, Inputs: s.inputs(t.Fields, shown.Fields, prefix)}
	if live != nil {
		d.Edit, refusal = c.version(refusal, shown, live)
		d.Preview = c.Settings.Current().ContentMode() != settings.ContentOff
		if d.Above, err = c.ancestors(live); err != nil {
			return err
		}
	}
	for _, i := range d.Inputs {
		if i.Type == content.TypeFile {
			d.Uploads = append(d.Uploads, i)
		}
		// A page that the user cannot see is shown without a title.
		for index, ref := range i.Pages {
			if page, err := c.Content.Page(c.ctx(), c.user, ref.ID); err == nil {
				i.Pages[index].Title = page.Title
			}
		}
	}
	for _, status := range []struct{ value, label string }{
		{"unpublished", "Unpublished: only editors see it"},
		{"published", "Published"},
		{"hidden", "Hidden: published, but not in lists"},
	} {
		d.Status.Add(status.value, status.label, status.value == shown.Status)
	}
	d.PublishAt, d.UnpublishAt = typedTime(shown.PublishAt), typedTime(shown.UnpublishAt)
	return c.ShowForm(inputFaults(refusal, t.Fields), "page", cmp.Or(shown.Title, "New page"), d)
}

// typedTime formats a time as the value of an input, or returns an empty string for no time.
func typedTime(moment kernel.Moment) string {
	if moment == 0 {
		return ""
	}
	return moment.Time().UTC().Format(browserTime)
}

// version returns the version of the page that the form was made for. If somebody has changed the page in the
// meantime, the Edit also contains the differences between the current page or its draft and the typed values. The
// caller uses the returned error instead of refusal.
func (c *call) version(refusal error, typed, live *content.Page) (pages.Edit, error) {
	edit, refusal := c.Call.Edit(refusal, func() (string, any, error) {
		var rows []difference
		current := live
		if live.Draft {
			if draft, err := c.Content.Draft(c.ctx(), c.user, live.ID); err == nil {
				current = draft
			}
		}
		if current.Title != typed.Title {
			rows = append(rows, difference{"title", current.Title, typed.Title})
		}
		for name, value := range typed.Fields {
			if currentText, typedText := plainText(current.Fields[name]), plainText(value); currentText != typedText {
				rows = append(rows, difference{name, currentText, typedText})
			}
		}
		slices.SortFunc(rows, func(a, b difference) int { return strings.Compare(a.What, b.What) })
		return strconv.FormatInt(live.Version, 10), rows, nil
	})
	return edit, refusal
}

// inputFaults returns refusal, with the names of fields in it replaced by the names of their inputs. names are the
// fields of the template; any other name is unchanged.
func inputFaults(refusal error, names []string) error {
	return withFields(refusal, func(field string) string {
		name, _, _ := strings.Cut(field, "[") // an error in a block has a field such as sections[0].text
		if slices.Contains(names, name) {
			return prefix + name
		}
		return field
	})
}

// withFields returns refusal with new names for the fields that have errors. rename returns the new name of a field.
func withFields(refusal error, rename func(field string) string) error {
	e, ok := apierror.From(refusal)
	if !ok || len(e.Details) == 0 {
		return refusal
	}
	renamed := *e
	renamed.Details = slices.Clone(e.Details)
	for i, d := range renamed.Details {
		renamed.Details[i].Field = rename(d.Field)
	}
	return &renamed
}

// save saves the form as the published page or as a draft, or saves and then publishes the draft.
func (c *call) save() error {
	base, live, err := c.open(c.ID("pageId"))
	if err != nil {
		return err
	}
	action, version := c.Form.Text("do"), c.Form.Number("version")
	edit, err := c.edit(base) // also after an error, edit has the typed values for the form below
	edit.ID, edit.Version = live.ID, version
	// Once there is a draft, the form shows the draft. So the values of the form may only be saved as the draft again.
	edit.Draft = action == "draft" || live.Draft && live.Status != content.StatusUnpublished
	typed := *base
	typed.Title, typed.Fields = *edit.Title, edit.Fields
	if edit.Draft {
		edit.Name, edit.Status = nil, nil // a draft has neither
	} else {
		typed.Status = *edit.Status
	}
	var saved *content.Page
	if err == nil {
		saved, err = c.Content.Save(c.ctx(), c.user, edit)
	}
	if err == nil && action == "publish" {
		saved, err = c.Content.PublishDraft(c.ctx(), c.user, live.ID, saved.Version)
	}
	if err != nil {
		return c.showPage(err, &typed, live)
	}
	return c.Redirect(pageAt(live.ID), notice(saved, action))
}

// notice returns the message after the page has been saved. action is the value of the button.
func notice(page *content.Page, action string) string {
	text := "Saved."
	switch {
	case action == "publish":
		text = "Published."
	case page.Draft:
		text = "The draft is saved."
	}
	if page.Warning != "" {
		text += " " + pages.Capital(page.Warning) + "."
	}
	return text
}

// edit returns the change that the form requests. base is the page to be changed. The returned error joins the errors
// of all inputs that could not be parsed.
func (c *call) edit(base *content.Page) (edit content.Edit, err error) {
	title, name, status := strings.TrimSpace(c.Form.Text("title")), strings.TrimSpace(c.Form.Text("name")),
		c.Form.Text("status")
	edit = content.Edit{Title: &title, Status: &status}
	if name != "" && name != base.Name {
		edit.Name = &name
	}
	s, err := c.schema()
	if err != nil {
		return edit, err
	}
	t, err := c.Content.Template(c.ctx(), c.user, base.Template)
	if err != nil {
		return edit, err
	}
	r := &reader{call: c, schema: s}
	edit.Fields = r.values(t.Fields, base.Fields, prefix)
	edit.PublishAt = r.moment("publish_at", base.PublishAt)
	edit.UnpublishAt = r.moment("unpublish_at", base.UnpublishAt)
	return edit, errors.Join(apierror.Join(r.faults...), c.Form.Err())
}

// moment returns the time in the named input, or the zero time if the input is empty. If the input still shows
// storedTime, moment returns nil. If the text of the input is invalid, moment records this with refuse and returns
// nil.
func (r *reader) moment(name string, storedTime kernel.Moment) *kernel.Moment {
	text := r.Form.Text(name)
	if text == typedTime(storedTime) {
		return nil
	}
	if text == "" {
		return new(kernel.Moment)
	}
	for _, layout := range []string{browserTime, "2006-01-02T15:04"} {
		if parsed, err := time.Parse(layout, text); err == nil {
			return new(instant.Of(parsed))
		}
	}
	r.refuse(name, "enter a time such as 2026-01-31T08:00")
	return nil
}

// newPage shows the form for a new page. If the request names no template, it first shows the templates to choose from.
func (c *call) newPage() error {
	parent, err := c.parent(c.Query.Number("parent"))
	if err != nil {
		return err
	}
	name := c.Query.Text("template")
	if name == "" {
		return c.askTemplate(parent)
	}
	return c.showNew(nil, parent, &content.Page{Parent: parent.ID, Template: name, Status: "unpublished"})
}

// parent returns the page with the given ID, below which a page is created. If id is 0, it returns the root.
func (c *call) parent(id int64) (*content.Page, error) {
	if err := errors.Join(c.Query.Err(), c.Form.Err()); err != nil {
		return nil, err
	}
	if id == 0 {
		return c.Content.At(c.ctx(), c.user, "/")
	}
	return c.Content.Page(c.ctx(), c.user, id)
}

// askTemplate shows the templates that a new page below parent can have.
func (c *call) askTemplate(parent *content.Page) error {
	list, err := c.creatableTemplates(parent)
	if err != nil {
		return err
	}
	d := &pageData{Page: parent}
	for i, t := range list {
		d.Templates.Add(t.Name, cmp.Or(t.Label, t.Name), i == 0)
	}
	if d.Above, err = c.ancestors(parent); err != nil {
		return err
	}
	return c.Show("template-of", "New page", d)
}

// showNew shows the form for a new page with the typed values. See showPage for refusal.
func (c *call) showNew(refusal error, parent, typed *content.Page) error {
	typed.Parent = parent.ID
	return c.showPage(refusal, typed, nil)
}

// create creates a page from the form and redirects to the page. After an error it shows the form again with the typed
// values.
func (c *call) create() error {
	parent, err := c.parent(c.Form.Number("parent"))
	if err != nil {
		return err
	}
	typed := &content.Page{Template: c.Form.Text("template")}
	edit, err := c.edit(typed)
	edit.Parent, edit.Template = parent.ID, typed.Template
	typed.Title, typed.Status, typed.Fields = *edit.Title, *edit.Status, edit.Fields
	var created *content.Page
	if err == nil {
		created, err = c.Content.Save(c.ctx(), c.user, edit)
	}
	if err != nil {
		return c.showNew(err, parent, typed)
	}
	return c.Redirect(pageAt(created.ID), notice(created, ""))
}

// upload adds a file to a field of a page. The form names the field before it sends the file.
func (c *call) upload() error {
	id := c.ID("pageId")
	parts, err := c.Parts()
	if err != nil {
		return err
	}
	field := ""
	for {
		part, err := parts.NextPart()
		if err != nil {
			return c.backTo(id, kernel.Invalid("file", "required", "choose a file first"))
		}
		switch part.FormName() {
		case "field":
			field, err = shortField(part)
		case "file":
			if part.FileName() == "" {
				return c.backTo(id, kernel.Invalid("file", "required", "choose a file first"))
			}
			_, err = c.Files.Receive(c.ctx(), c.user, content.Place{Page: id, Field: field, Draft: true}, part.FileName(), part)
			if err == nil {
				return c.Redirect(pageAt(id), "The file is uploaded.")
			}
			return c.backTo(id, err)
		}
		if err != nil {
			return err
		}
	}
}

// shortField reads a short field of a multipart form.
func shortField(part *multipart.Part) (string, error) {
	text, err := io.ReadAll(io.LimitReader(part, 256))
	return pages.Valid(string(text)), err
}

// backTo shows the form of a page again, with the stored values and the error refusal.
func (c *call) backTo(id int64, refusal error) error {
	shown, live, err := c.open(id)
	if err != nil {
		return err
	}
	return c.showPage(refusal, shown, live)
}

// act performs an action on a page other than saving it, such as moving or trashing the page.
func (c *call) act() error {
	id, version := c.ID("pageId"), c.Form.Number("version")
	if err := c.Form.Err(); err != nil {
		return err
	}
	ctx, u := c.ctx(), c.user
	var err error
	target, notice := pageAt(id), ""
	switch c.Form.Text("do") {
	case "publish":
		_, err = c.Content.PublishDraft(ctx, u, id, version)
		notice = "Published."
	case "drop":
		_, err = c.Content.DropDraft(ctx, u, id, version)
		notice = "The draft is discarded."
	case "move":
		var parent *content.Page
		if parent, err = c.Content.At(ctx, u, c.Form.Text("to")); kernel.IsNotFound(err) {
			err = kernel.Invalid("to", "unknown", "there is no page at this path")
		}
		if err == nil {
			_, err = c.Content.Move(ctx, u, id, parent.ID)
		}
		notice = "Moved."
	case "trash":
		var page *content.Page
		if page, err = c.Content.Trash(ctx, u, id, version); err == nil {
			target = treeAt(page.Parent)
		}
		notice = "The page is in the trash."
	case "revert":
		_, err = c.Content.Revert(ctx, u, id, c.Form.Number("revision"), version)
		notice = "The revision is restored."
	case "preview":
		return c.preview(id)
	default:
		err = kernel.BadRequest("the form has no valid action")
	}
	if err != nil {
		return c.backTo(id, err)
	}
	return c.Redirect(target, notice)
}

// previewLasts is the period of validity of a preview link.
const previewLasts = 24 * time.Hour

// preview shows a link to the preview of a page, for people without an account.
func (c *call) preview(id int64) error {
	token, expiry, err := c.Content.PreviewLink(c.ctx(), c.user, id, previewLasts)
	if err != nil {
		return c.backTo(id, err)
	}
	base := strings.TrimSuffix(c.Base(), c.Mount)
	return c.Show("preview", "Preview", struct {
		ID    int64
		Link  string
		Until kernel.Moment
	}{id, base + "/" + c.Settings.Current().Mount() + "/content/preview/" + token, expiry})
}

// revisionRow is a revision of a page with its differences from the following version.
type revisionRow struct {
	*content.Revision
	By   string // name of the user who made this version
	Diff []pages.Change
}

// revisions shows the revisions of a page, each with the differences from the following state of the page.
func (c *call) revisions() error {
	page, err := c.Content.Page(c.ctx(), c.user, c.ID("pageId"))
	if err != nil {
		return err
	}
	list, err := c.Content.Revisions(c.ctx(), c.user, page.ID)
	if err != nil {
		return err
	}
	following := outline(page.Title, page.Fields)
	shown := make([]revisionRow, len(list))
	names := make(map[int64]string)
	for i, r := range list {
		text := outline(r.Title, r.Fields)
		shown[i] = revisionRow{r, c.nameOf(names, r.By), pages.Diff(text, following)}
		following = text
	}
	return c.Show("revisions", "Revisions of "+page.Title, struct {
		Page *content.Page
		List []revisionRow
	}{page, shown})
}

// nameOf returns the name of the user with the given ID. It stores the name in known to avoid further queries.
func (c *call) nameOf(known map[int64]string, id int64) string {
	if name, ok := known[id]; ok {
		return name
	}
	name := "a deleted user"
	if id == 0 {
		name = "the site"
	} else if account, err := c.Accounts.Account(c.ctx(), id); err == nil {
		name = account.Name
	}
	known[id] = name
	return name
}

// outline returns the title and the fields of a page as text, for comparison.
func outline(title string, fields map[string]any) string {
	text, _ := json.MarshalIndent(fields, "", "  ") // it was read as JSON
	return title + "\n" + strings.ReplaceAll(string(text), `\n`, "\n") + "\n"
}

// file sends a file of a page.
func (c *call) file() error { return c.Files.Serve(c.W, c.R, c.user, c.ID("fileId")) }
