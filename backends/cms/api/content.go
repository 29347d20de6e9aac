package api

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/cms/content"
	"github.com/tollgate-gateway/tollgate/backends/cms/files"
	"github.com/tollgate-gateway/tollgate/backends/cms/handler"
	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/backends/cms/webhooks"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

// ContentClass is the class name of the built-in content API.
const ContentClass = "Content"

// Content is the built-in content API: users see and change pages, templates and fields according to their rights. All
// routes require authorization, except those for files, for previews and for the OpenAPI document. The ETag of a page
// is its version. PATCH and DELETE honor If-Match (RFC 9110, 13.1.1); without If-Match they change any version.
type Content struct {
	Pages    *content.Content
	Files    *files.Files
	Webhooks webhooks.Webhooks
}

// Methods returns the methods of the class by name.
func (c Content) Methods() map[string]handler.Func {
	return map[string]handler.Func{
		"list": c.list, "page": c.page, "path": c.path, "create": c.create, "change": c.change, "trash": c.trash,
		"templates": c.templates, "fields": c.fields, "file": c.file, "attach": c.attach,
		"revisions": c.revisions, "revert": c.revert, "draft": c.draft, "dropDraft": c.dropDraft, "publish": c.publish,
		"unpublish": c.unpublish, "move": c.move, "order": c.order, "trashed": c.trashed, "restore": c.restore,
		"remove": c.remove, "link": c.link, "preview": c.preview, "webhooks": c.webhooks, "addWebhook": c.addWebhook,
		"setWebhook": c.setWebhook, "dropWebhook": c.dropWebhook, "rotateWebhook": c.rotateWebhook,
		"testWebhook": c.testWebhook, "deliveries": c.deliveries, "openapi": c.openapi,
	}
}

// The following methods implement the routes of contentRoutes, which describes each of them.

// list answers with one part of the pages that match the query parameter selector.
func (c Content) list(ctx context.Context, call *handler.Call) (any, error) {
	selector, ok := call.Query["selector"].(string)
	if !ok && call.Query["selector"] != nil {
		return nil, handler.Errorf(http.StatusBadRequest, "the parameter selector occurs more than once")
	}
	return c.Pages.Find(ctx, &call.User, selector)
}

// page answers with the page whose ID is in the path.
func (c Content) page(ctx context.Context, call *handler.Call) (any, error) {
	page, err := c.Pages.Page(ctx, &call.User, id(call))
	return withETag(call, page, err)
}

// path answers with the page at a path, or with a redirect if a page was there before. The redirect must not be
// cached, because another page may be created at the previous path.
func (c Content) path(ctx context.Context, call *handler.Call) (any, error) {
	page, err := c.Pages.At(ctx, &call.User, "/"+call.Params["path"])
	if kernel.IsNotFound(err) {
		newPath, movedErr := c.Pages.Moved(ctx, &call.User, "/"+call.Params["path"])
		if movedErr == nil {
			header := http.Header{"Location": {call.BaseURL + "/content/path" + newPath}, "Cache-Control": {"no-store"}}
			return handler.Response{Status: http.StatusMovedPermanently, Header: header}, nil
		}
		if !kernel.IsNotFound(movedErr) {
			err = movedErr
		}
	}
	return withETag(call, page, err)
}

// create creates a page below the given parent. It answers with 201 and the address of the new page in Location.
func (c Content) create(ctx context.Context, call *handler.Call) (any, error) {
	edit, err := decodeEdit(call, "template", "parent")
	if err != nil {
		return nil, err
	}
	page, err := c.Pages.Save(ctx, &call.User, edit)
	if err == nil {
		if err := call.SetStatus(http.StatusCreated); err != nil {
			return nil, err
		}
		if err := call.SetHeader("Location", call.BaseURL+"/content/pages/"+strconv.FormatInt(page.ID, 10)); err != nil {
			return nil, err
		}
	}
	return withETag(call, page, err)
}

// change changes a page, or its draft, if the page has the version in If-Match.
func (c Content) change(ctx context.Context, call *handler.Call) (any, error) {
	edit, err := decodeEdit(call, "draft")
	if err != nil {
		return nil, err
	}
	edit.ID = id(call)
	if edit.Version, err = version(call); err != nil {
		return nil, err
	}
	page, err := c.Pages.Save(ctx, &call.User, edit)
	return withETag(call, page, err)
}

// trash moves a page to the trash, if the page has the version in If-Match.
func (c Content) trash(ctx context.Context, call *handler.Call) (any, error) {
	ifVersion, err := version(call)
	if err != nil {
		return nil, err
	}
	_, err = c.Pages.Trash(ctx, &call.User, id(call), ifVersion)
	return nil, err
}

// templates lists the templates that the user may see.
func (c Content) templates(ctx context.Context, call *handler.Call) (any, error) {
	list, err := c.Pages.Templates(ctx, &call.User)
	return map[string]any{"templates": nonNil(list)}, err
}

// fields lists the fields that the user may see.
func (c Content) fields(ctx context.Context, call *handler.Call) (any, error) {
	list, err := c.Pages.Fields(ctx, &call.User)
	return map[string]any{"fields": nonNil(list)}, err
}

// nonNil returns list, or an empty list instead of nil.
func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// id returns the page ID in the path. The pattern of the route admits at most 18 digits.
func id(call *handler.Call) int64 {
	n, err := strconv.ParseInt(call.Params["id"], 10, 64)
	if err != nil {
		return 0 // an ID that no page has
	}
	return n
}

// withETag returns a page and sets the ETag header to the page's version. If err is not nil, withETag returns err.
func withETag(call *handler.Call, page *content.Page, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return page, call.SetHeader("ETag", `"`+strconv.FormatInt(page.Version, 10)+`"`)
}

// version returns the version in If-Match, or 0 if the request accepts any version.
func version(call *handler.Call) (int64, error) {
	header := strings.TrimSpace(call.Header.Get("If-Match"))
	if header == "" || header == "*" {
		return 0, nil
	}
	text, quoted := strings.CutPrefix(rest.Uncoded(header), `"`)
	text, closed := strings.CutSuffix(text, `"`)
	n, err := strconv.ParseInt(text, 10, 64)
	if !quoted || !closed || err != nil || n <= 0 {
		return 0, handler.Errorf(http.StatusPreconditionFailed, "If-Match is not the ETag of the page")
	}
	return n, nil
}

// decodeEdit decodes the body of a request into an Edit. It accepts the members name, title, status, fields, publish_at
// and unpublish_at, and the members named in extra.
func decodeEdit(call *handler.Call, extra ...string) (e content.Edit, err error) {
	known := append([]string{"name", "title", "status", "fields", "publish_at", "unpublish_at"}, extra...)
	var body struct {
		Template    string          `json:"template"`
		Parent      int64           `json:"parent"`
		Name        *string         `json:"name"`
		Title       *string         `json:"title"`
		Status      *string         `json:"status"`
		Fields      map[string]any  `json:"fields"`
		Draft       bool            `json:"draft"`
		PublishAt   json.RawMessage `json:"publish_at"`
		UnpublishAt json.RawMessage `json:"unpublish_at"`
	}
	if err := members(call, &body, known...); err != nil {
		return e, err
	}
	e = content.Edit{
		Template: body.Template, Parent: body.Parent, Name: body.Name, Title: body.Title, Status: body.Status,
		Fields: body.Fields, Draft: body.Draft,
	}
	if e.PublishAt, err = moment("publish_at", body.PublishAt); err == nil {
		e.UnpublishAt, err = moment("unpublish_at", body.UnpublishAt)
	}
	return e, err
}

// moment parses raw as an RFC 3339 time. raw is the value of the member with the given name. If raw is nil, because
// the member is missing, moment returns nil. For null it returns the zero time, which means never.
func moment(name string, raw json.RawMessage) (*kernel.Moment, error) {
	if raw == nil {
		return nil, nil
	}
	parsed := new(kernel.Moment)
	if string(raw) == "null" {
		return parsed, nil
	}
	if err := json.Unmarshal(raw, parsed); err != nil {
		return nil, handler.Errorf(http.StatusBadRequest, "%s must be a time such as 2026-01-31T12:00:00Z", name)
	}
	return parsed, nil
}
