package api

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/cms/content"
	"github.com/tollgate-gateway/tollgate/backends/cms/handler"
)

// The following methods change drafts, revisions and the position of a page in the tree, and manage the trash.

// changePage calls act with the ID of the page in the path and the version in If-Match, and answers with the resulting
// page.
func changePage(call *handler.Call, act func(page, version int64) (*content.Page, error)) (any, error) {
	ifVersion, err := version(call)
	if err != nil {
		return nil, err
	}
	page, err := act(id(call), ifVersion)
	return withETag(call, page, err)
}

// revisions lists the revisions of a page, newest first.
func (c Content) revisions(ctx context.Context, call *handler.Call) (any, error) {
	list, err := c.Pages.Revisions(ctx, &call.User, id(call))
	return map[string]any{"revisions": nonNil(list)}, err
}

// revert restores a page from the revision in the path.
func (c Content) revert(ctx context.Context, call *handler.Call) (any, error) {
	revision, err := strconv.ParseInt(call.Params["revision"], 10, 64)
	if err != nil {
		return nil, err
	}
	return changePage(call, func(page, version int64) (*content.Page, error) {
		return c.Pages.Revert(ctx, &call.User, page, revision, version)
	})
}

// draft answers with the draft of a page, or with the page itself if it has no draft.
func (c Content) draft(ctx context.Context, call *handler.Call) (any, error) {
	page, err := c.Pages.Draft(ctx, &call.User, id(call))
	return withETag(call, page, err)
}

// dropDraft discards the draft of a page.
func (c Content) dropDraft(ctx context.Context, call *handler.Call) (any, error) {
	return changePage(call, func(page, version int64) (*content.Page, error) {
		return c.Pages.DropDraft(ctx, &call.User, page, version)
	})
}

// publish publishes the draft of a page, or an unpublished page.
func (c Content) publish(ctx context.Context, call *handler.Call) (any, error) {
	return changePage(call, func(page, version int64) (*content.Page, error) {
		return c.Pages.PublishDraft(ctx, &call.User, page, version)
	})
}

// unpublish makes a page unpublished.
func (c Content) unpublish(ctx context.Context, call *handler.Call) (any, error) {
	status := content.StatusUnpublished
	return changePage(call, func(page, version int64) (*content.Page, error) {
		return c.Pages.Save(ctx, &call.User, content.Edit{ID: page, Version: version, Status: &status})
	})
}

// move moves a page below the page parent.
func (c Content) move(ctx context.Context, call *handler.Call) (any, error) {
	var body struct {
		Parent int64 `json:"parent"`
	}
	if err := members(call, &body, "parent"); err != nil {
		return nil, err
	}
	page, err := c.Pages.Move(ctx, &call.User, id(call), body.Parent)
	return withETag(call, page, err)
}

// order sorts the children of a page; see content.Content.Order.
func (c Content) order(ctx context.Context, call *handler.Call) (any, error) {
	var body struct {
		Children []int64 `json:"children"`
	}
	if err := members(call, &body, "children"); err != nil {
		return nil, err
	}
	return nil, c.Pages.Order(ctx, &call.User, id(call), body.Children)
}

// trashed lists the pages in the trash, newest first.
func (c Content) trashed(ctx context.Context, call *handler.Call) (any, error) {
	beforeID, err := number(call, "before", 0, math.MaxInt64)
	if err != nil {
		return nil, err
	}
	limit, err := number(call, "limit", 25, 500)
	if err != nil {
		return nil, err
	}
	list, next, err := c.Pages.Trashed(ctx, &call.User, beforeID, int(limit))
	if len(list) == int(limit) { // a full part always has a cursor, even if the following part is empty
		next = list[len(list)-1].ID
	}
	return map[string]any{"pages": nonNil(list), "before": next}, err
}

// restore takes a page out of the trash.
func (c Content) restore(ctx context.Context, call *handler.Call) (any, error) {
	page, err := c.Pages.Restore(ctx, &call.User, id(call))
	return withETag(call, page, err)
}

// remove permanently deletes a page in the trash.
func (c Content) remove(ctx context.Context, call *handler.Call) (any, error) {
	return nil, c.Pages.Delete(ctx, &call.User, id(call))
}

// link answers with a preview link for a page. The link is valid for the requested number of seconds, by default for an
// hour.
func (c Content) link(ctx context.Context, call *handler.Call) (any, error) {
	request := struct {
		Seconds int64 `json:"seconds"`
	}{3600}
	if err := members(call, &request, "seconds"); err != nil {
		return nil, err
	}
	if limit := int64(content.MaxPreview / time.Second); request.Seconds < 1 || request.Seconds > limit {
		return nil, handler.Errorf(http.StatusBadRequest, "seconds must be a number from 1 to %d", limit)
	}
	token, expiry, err := c.Pages.PreviewLink(ctx, &call.User, id(call), time.Duration(request.Seconds)*time.Second)
	return map[string]any{"url": call.BaseURL + "/" + previews + token, "until": expiry}, err
}

// preview answers with the page of a preview link. The headers keep caches from storing the answer, and other sites
// from learning the link.
func (c Content) preview(ctx context.Context, call *handler.Call) (any, error) {
	page, err := c.Pages.Preview(ctx, call.Params["token"])
	if err != nil {
		return nil, err
	}
	for name, value := range map[string]string{
		"Cache-Control": "private, no-store", "Referrer-Policy": "no-referrer",
		"X-Robots-Tag": "noindex",
	} {
		if err := call.SetHeader(name, value); err != nil {
			return nil, err
		}
	}
	return page, nil
}

// members decodes the body into the struct that dst points to. It returns an error if the body has members that are not
// in known.
func members(call *handler.Call, dst any, known ...string) error {
	for name := range call.Body {
		if !slices.Contains(known, name) {
			return handler.Errorf(http.StatusBadRequest, "unknown member %q; allowed members: %s",
				name, strings.Join(known, ", "))
		}
	}
	raw, err := json.Marshal(call.Body)
	if err == nil {
		err = json.Unmarshal(raw, dst)
	}
	if err != nil {
		return handler.Errorf(http.StatusBadRequest, "a member of the body has the wrong type: %s",
			strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// number returns a query parameter between 1 and limit, or fallback if the parameter is missing.
func number(call *handler.Call, name string, fallback, limit int64) (int64, error) {
	text, ok := call.Query[name]
	if !ok {
		return fallback, nil
	}
	digits, _ := text.(string)
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 1 || n > limit {
		return 0, handler.Errorf(http.StatusBadRequest, "%s must be a number from 1 to %d", name, limit)
	}
	return n, nil
}
