package api

import (
	"context"
	_ "embed"
	"encoding/json"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/cms/handler"
	"github.com/tollgate-gateway/tollgate/backends/cms/routes"
	"github.com/tollgate-gateway/tollgate/backends/cms/settings"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

// contentRoute is a route of the content API. The site's router uses the fields Method, Guest and endpoint, and the
// OpenAPI document uses rest.Route.
type contentRoute struct {
	rest.Route
	endpoint string // the pattern of the site's router for Path, below content/
	name     string // of the method in Content.Methods
	writes   bool   // whether the route is only served if the setting content is write
}

// Patterns of the site's router.
const (
	pageEndpoint = `pages/{id:\d{1,18}}`
	hookEndpoint = `webhooks/{id:\d{1,18}}`
)

// Statuses of errors that several routes have.
var (
	unseen    = []int{http.StatusNotFound}
	refused   = []int{http.StatusForbidden, http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity}
	oversized = []int{
		http.StatusForbidden, http.StatusNotFound, http.StatusConflict, http.StatusRequestEntityTooLarge,
		http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity,
	}
)

// contentRoutes lists the routes of the content API.
var contentRoutes = []contentRoute{
	{rest.Route{
		Method: http.MethodGet, Path: "/openapi.json", Tag: "Document", Summary: "Read this document", Guest: true,
		Answer: "Document",
	}, "openapi.json", "openapi", false},

	{rest.Route{
		Method: http.MethodGet, Path: "/pages", Tag: "Pages", Summary: "List pages",
		Query: []rest.Param{{
			Name: "selector", Schema: `{"type":"string"}`,
			Description: "Which pages, in which order and how many, such as template=article, sort=-published, limit=10.",
		}},
		Answer: "Pages",
	}, "pages", "list", false},
	{rest.Route{
		Method: http.MethodGet, Path: "/pages/{id}", Tag: "Pages", Summary: "Read a page", Answer: "Page",
		Versioned: true, Errors: unseen,
	}, pageEndpoint, "page", false},
	{rest.Route{
		Method: http.MethodGet, Path: "/path/{path...}", Tag: "Pages", Summary: "Read the page at a path",
		Description: "If the page has moved, the answer is a redirect (301). Without a path, the root page is returned.",
		Answer:      "Page",
		Versioned:   true, Errors: unseen,
	}, "path[/{path:.+}]", "path", false},
	{rest.Route{
		Method: http.MethodGet, Path: "/templates", Tag: "Pages", Summary: "List templates", Answer: "Templates",
	}, "templates", "templates", false},
	{rest.Route{
		Method: http.MethodGet, Path: "/fields", Tag: "Pages", Summary: "List fields", Answer: "Fields",
	}, "fields", "fields", false},
	{rest.Route{
		Method: http.MethodGet, Path: "/files/{id}", Tag: "Files", Summary: "Read a file or an image", Guest: true,
		Description: "Guests get files of pages that guests may see.",
		Query: []rest.Param{
			{Name: "width", Schema: `{"type":"integer","minimum":1,"maximum":2560}`, Description: "In pixels, for images."},
			{Name: "height", Schema: `{"type":"integer","minimum":1,"maximum":2560}`, Description: "In pixels, for images."},
			{Name: "fit", Schema: `{"type":"string","enum":["cover"]}`, Description: "Scales and crops the image to fill width and height."},
		},
		Media: "*/*", Errors: unseen,
	}, `files/{id:\d{1,18}}`, "file", false},
	{rest.Route{
		Method: http.MethodGet, Path: "/preview/{token}", Tag: "Drafts", Summary: "Read the page of a preview link",
		Guest: true, Answer: "Page", Errors: unseen,
	}, strings.TrimPrefix(previews, "content/") + "{token}", "preview", false},

	{rest.Route{
		Method: http.MethodPost, Path: "/pages", Tag: "Pages", Summary: "Create a page", Body: "NewPage", Answer: "Page",
		Status: http.StatusCreated, Errors: oversized,
	}, "pages", "create", true},
	{rest.Route{
		Method: http.MethodPatch, Path: "/pages/{id}", Tag: "Pages", Summary: "Change a page",
		Description: "If draft is true, the change is stored as a draft until it is published.", Body: "Change",
		Answer:    "Page",
		Versioned: true, Errors: oversized,
	}, pageEndpoint, "change", true},
	{rest.Route{
		Method: http.MethodDelete, Path: "/pages/{id}", Tag: "Pages", Summary: "Move a page to the trash",
		Versioned: true, Errors: refused,
	}, pageEndpoint, "trash", true},
	{rest.Route{
		Method: http.MethodPost, Path: "/pages/{id}/move", Tag: "Pages", Summary: "Move a page below another",
		Body: "Move", Answer: "Page", Errors: refused,
	}, pageEndpoint + "/move", "move", true},
	{rest.Route{
		Method: http.MethodPost, Path: "/pages/{id}/order", Tag: "Pages", Summary: "Order the pages below a page",
		Body: "Order", Errors: refused,
	}, pageEndpoint + "/order", "order", true},
	{rest.Route{
		Method: http.MethodPost, Path: "/pages/{id}/files/{field}", Tag: "Files", Summary: "Add a file to a field",
		Description: "The body is the file, or a form (multipart/form-data) whose first file is added.",
		Query: []rest.Param{{
			Name: "name", Schema: `{"type":"string"}`, Description: "Name of the file. Required if the body is the file.",
		}},
		BodyMedia: "*/*", Answer: "Page", Status: http.StatusCreated, Errors: oversized,
	}, pageEndpoint + "/files/{field}", "attach", true},

	{rest.Route{
		Method: http.MethodGet, Path: "/pages/{id}/revisions", Tag: "Revisions", Summary: "List revisions",
		Answer: "Revisions", Errors: refused,
	}, pageEndpoint + "/revisions", "revisions", true},
	{rest.Route{
		Method: http.MethodPost, Path: "/pages/{id}/revisions/{revision}/restore", Tag: "Revisions",
		Summary: "Make a revision the current version", Answer: "Page", Versioned: true, Errors: refused,
	}, pageEndpoint + `/revisions/{revision:\d{1,18}}/restore`, "revert", true},
	{rest.Route{
		Method: http.MethodGet, Path: "/pages/{id}/draft", Tag: "Drafts", Summary: "Read the draft", Answer: "Page",
		Versioned: true, Errors: refused,
	}, pageEndpoint + "/draft", "draft", true},
	{rest.Route{
		Method: http.MethodDelete, Path: "/pages/{id}/draft", Tag: "Drafts", Summary: "Discard the draft", Answer: "Page",
		Versioned: true, Errors: refused,
	}, pageEndpoint + "/draft", "dropDraft", true},
	{rest.Route{
		Method: http.MethodPost, Path: "/pages/{id}/publish", Tag: "Drafts", Summary: "Publish the page, or its draft",
		Answer: "Page", Versioned: true, Errors: refused,
	}, pageEndpoint + "/publish", "publish", true},
	{rest.Route{
		Method: http.MethodPost, Path: "/pages/{id}/unpublish", Tag: "Drafts", Summary: "Unpublish the page",
		Answer: "Page", Versioned: true, Errors: refused,
	}, pageEndpoint + "/unpublish", "unpublish", true},
	{rest.Route{
		Method: http.MethodPost, Path: "/pages/{id}/preview", Tag: "Drafts", Summary: "Create a preview link",
		Body: "Preview", OptionalBody: true, Answer: "PreviewLink", Errors: refused,
	}, pageEndpoint + "/preview", "link", true},

	{rest.Route{
		Method: http.MethodGet, Path: "/trash", Tag: "Trash", Summary: "List the trash, newest first",
		Query: []rest.Param{
			{
				Name: "before", Schema: `{"type":"integer","minimum":1}`,
				Description: "The value of before in the previous answer.",
			},
			{Name: "limit", Schema: `{"type":"integer","minimum":1,"maximum":500,"default":25}`},
		},
		Answer: "Trash", Errors: []int{http.StatusForbidden},
	}, "trash", "trashed", true},
	{rest.Route{
		Method: http.MethodPost, Path: "/pages/{id}/restore", Tag: "Trash", Summary: "Restore a page from the trash",
		Answer: "Page", Errors: refused,
	}, pageEndpoint + "/restore", "restore", true},
	{rest.Route{
		Method: http.MethodDelete, Path: "/trash/{id}", Tag: "Trash", Summary: "Permanently delete a page in the trash",
		Errors: refused,
	}, `trash/{id:\d{1,18}}`, "remove", true},

	{rest.Route{
		Method: http.MethodGet, Path: "/webhooks", Tag: "Webhooks", Summary: "List webhooks", Answer: "Webhooks",
		Errors: []int{http.StatusForbidden},
	}, "webhooks", "webhooks", true},
	{rest.Route{
		Method: http.MethodPost, Path: "/webhooks", Tag: "Webhooks", Summary: "Add a webhook",
		Description: "The answer contains the secret, which is not shown again.", Body: "NewWebhook", Answer: "Webhook",
		Status: http.StatusCreated, Errors: refused,
	}, "webhooks", "addWebhook", true},
	{rest.Route{
		Method: http.MethodPatch, Path: "/webhooks/{id}", Tag: "Webhooks", Summary: "Enable or disable a webhook",
		Body: "WebhookChange", Errors: refused,
	}, hookEndpoint, "setWebhook", true},
	{rest.Route{
		Method: http.MethodDelete, Path: "/webhooks/{id}", Tag: "Webhooks", Summary: "Delete a webhook", Errors: refused,
	}, hookEndpoint, "dropWebhook", true},
	{rest.Route{
		Method: http.MethodPost, Path: "/webhooks/{id}/secret", Tag: "Webhooks", Summary: "Replace the secret",
		Answer: "Secret", Errors: refused,
	}, hookEndpoint + "/secret", "rotateWebhook", true},
	{rest.Route{
		Method: http.MethodPost, Path: "/webhooks/{id}/test", Tag: "Webhooks", Summary: "Send a test event",
		Errors: refused,
	}, hookEndpoint + "/test", "testWebhook", true},
	{rest.Route{
		Method: http.MethodGet, Path: "/webhooks/{id}/deliveries", Tag: "Webhooks", Summary: "List deliveries",
		Answer: "Deliveries", Errors: refused,
	}, hookEndpoint + "/deliveries", "deliveries", true},
}

// ContentRoutes returns the routes of the content API. contentMode is the value of the setting content: off, read or
// write.
func ContentRoutes(contentMode string) []routes.Entry {
	if contentMode == settings.ContentOff {
		return nil
	}
	var list []routes.Entry
	for i := range contentRoutes {
		r := &contentRoutes[i]
		if r.writes && contentMode != settings.ContentWrite {
			continue
		}
		options := routes.Defaults()
		options.Auth = !r.Guest // browsers request files and previews without a token
		if r.BodyMedia != "" {
			// Instead of BodyLimit and Timeout, the settings of the field and the minimum speed of the body limit uploads.
			options.Stream, options.BodyLimit, options.Timeout = true, math.MaxInt64, time.Hour
		}
		list = append(list, routes.Entry{
			Method: r.Method, Endpoint: "content/" + r.endpoint, Class: ContentClass, Func: r.name, Options: options,
		})
	}
	return list
}

// contentSchemas contains the schemas that the routes refer to.
//
//go:embed schemas.json
var contentSchemas []byte

// openapi answers with the OpenAPI document of the content API.
func (c Content) openapi(_ context.Context, call *handler.Call) (any, error) {
	table := make([]rest.Route, len(contentRoutes))
	for i := range contentRoutes {
		table[i] = contentRoutes[i].Route
	}
	document, err := rest.Document{
		Title: "Content", Version: "1", Components: contentSchemas, Security: "bearerToken",
		Server: call.BaseURL + "/content",
		Description: "The pages, templates, fields and files of a site. The list, single pages, files, templates and fields " +
			"require the setting content: read; drafts, revisions, the trash, webhooks and all changes require content: write.",
	}.OpenAPI(table)
	return json.RawMessage(document), err
}
