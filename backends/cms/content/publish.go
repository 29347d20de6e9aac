package content

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/backends/cms/selector"
	"github.com/tollgate-gateway/tollgate/internal/instant"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// storedDraft is the stored form of a draft.
type storedDraft struct {
	Title  string         `json:"title"`
	Fields map[string]any `json:"fields"`
	By     int64          `json:"by"`
}

// useDraft replaces the title and fields of a page by those of its draft, without fields that the template no longer
// has.
func (s *schema) useDraft(page *Page) error {
	var d storedDraft
	if err := json.Unmarshal([]byte(page.draft), &d); err != nil {
		return fmt.Errorf("the stored draft of a page: %w", err)
	}
	t := s.templatesByName[page.Template]
	if t == nil {
		t = &Template{}
	}
	page.Title = d.Title
	page.Fields, _ = s.byName(t, d.Fields)
	return nil
}

// takeDraft replaces the title and fields of a page that becomes unpublished by those of its draft, and removes the
// draft. An unpublished page needs no draft, because it can be edited directly.
func (s *schema) takeDraft(page *Page) error {
	if page.draft == "" {
		return nil
	}
	if err := s.useDraft(page); err != nil {
		return err
	}
	page.draft, page.Draft = "", false
	return nil
}

// keepDraft stores draft as the draft of a published page. It returns the published page, which keeps its title and
// fields.
func (s *schema) keepDraft(c kernel.Conn, u *kernel.User, published, draft *Page) (*Page, error) {
	_, err := c.Exec("UPDATE cms_pages SET draft = ?, publish_at = NULLIF(CAST(? AS BIGINT), 0), unpublish_at = NULLIF(CAST(? AS BIGINT), 0), version = version + 1 WHERE id = ?",
		encode(storedDraft{draft.Title, s.byKey(draft.Fields), u.ID}), draft.PublishAt, draft.UnpublishAt, draft.ID)
	page := *published
	page.Draft, page.PublishAt, page.UnpublishAt = true, draft.PublishAt, draft.UnpublishAt
	page.Version++
	return &page, err
}

// schedule copies PublishAt and UnpublishAt of an Edit into a page. It returns an error for a time in the past, for an
// UnpublishAt that is not after PublishAt, and for a planned publication without anything to publish.
func (p *Content) schedule(page *Page, e *Edit) error {
	for _, plan := range []struct {
		field     string
		requested *kernel.Moment
		target    *kernel.Moment
	}{{"publish_at", e.PublishAt, &page.PublishAt}, {"unpublish_at", e.UnpublishAt, &page.UnpublishAt}} {
		if plan.requested == nil {
			continue
		}
		if *plan.requested != 0 && *plan.requested <= p.Moment() {
			return kernel.Invalid(plan.field, "past", plan.field+" must be in the future")
		}
		*plan.target = *plan.requested
	}
	if page.PublishAt != 0 && page.UnpublishAt != 0 && page.UnpublishAt <= page.PublishAt {
		return kernel.Invalid("unpublish_at", "order", "unpublish_at must be later than publish_at")
	}
	publishable := page.status == selector.Unpublished || e.Draft || page.draft != ""
	if e.PublishAt != nil && page.PublishAt != 0 && !publishable {
		return kernel.Invalid("publish_at", "published", "the page is already published and has no draft to publish")
	}
	return nil
}

// PublishDraft publishes the draft of a page, or an unpublished page. See Edit for version.
func (p *Content) PublishDraft(ctx context.Context, u *kernel.User, id, version int64) (page *Page, err error) {
	s, err := p.schema(ctx)
	if err != nil {
		return nil, err
	}
	err = p.Write(ctx, func(c kernel.Conn) error {
		previous, err := s.editable(c, u, id, version)
		if err == nil {
			page, err = p.publish(c, s, u, previous)
		}
		return err
	})
	return page, err
}

// publish publishes an unpublished page, or the draft of a published page, and removes the time of a planned
// publication. It returns an error for a published page without a draft.
func (p *Content) publish(c kernel.Conn, s *schema, u *kernel.User, previous *Page) (*Page, error) {
	title, fields := previous.Title, previous.Fields
	if previous.draft != "" {
		draft := *previous
		if err := s.useDraft(&draft); err != nil {
			return nil, err
		}
		title, fields = draft.Title, draft.Fields
	} else if previous.status != selector.Unpublished {
		return nil, kernel.Conflict("the page is already published and has no draft to publish")
	}
	next := *previous
	next.draft, next.Draft, next.PublishAt = "", false, 0
	oldStatus := next.status
	if oldStatus == selector.Unpublished {
		next.status = selector.Published
	}
	page, err := p.restoreState(c, s, u, &next, title, fields)
	if err == nil && oldStatus == selector.Unpublished {
		// restoreState does not send this event: it notices no change of the status, because next already has the new one.
		err = p.notify(c, TopicPublished, page)
	}
	return page, err
}

// DropDraft removes the draft of a page. See Edit for version.
func (p *Content) DropDraft(ctx context.Context, u *kernel.User, id, version int64) (page *Page, err error) {
	s, err := p.schema(ctx)
	if err != nil {
		return nil, err
	}
	err = p.Write(ctx, func(c kernel.Conn) error {
		if page, err = s.editable(c, u, id, version); err != nil {
			return err
		}
		page.draft, page.Draft, page.PublishAt = "", false, 0
		page.Version++
		_, err := c.Exec("UPDATE cms_pages SET draft = NULL, publish_at = NULL, version = version + 1 WHERE id = ?", id)
		return err
	})
	return page, err
}

// Draft returns a page with the title and fields of its draft. If there is no draft, it returns the page unchanged.
// It also returns the page unchanged to users who may see but not edit it, because Page hides drafts from them.
func (p *Content) Draft(ctx context.Context, u *kernel.User, id int64) (*Page, error) {
	s, err := p.schema(ctx)
	if err != nil {
		return nil, err
	}
	page, err := p.Page(ctx, u, id)
	if err != nil || page.draft == "" {
		return page, err
	}
	return page, s.useDraft(page)
}

// MaxPreview limits the period of validity of a preview link.
const MaxPreview = 30 * 24 * time.Hour

// PreviewLink returns a token with which anybody can see a page with the values of its draft, or an unpublished page.
// The token is valid for lifetime, but at most for MaxPreview; expiry is the end of its validity. u must be allowed to
// edit the page.
func (p *Content) PreviewLink(
	ctx context.Context, u *kernel.User, id int64, lifetime time.Duration,
) (token string, expiry kernel.Moment, err error) {
	s, err := p.schema(ctx)
	if err != nil {
		return "", 0, err
	}
	page, err := p.Page(ctx, u, id)
	if err != nil {
		return "", 0, err
	}
	if !s.may(u, page.Template, editing) {
		return "", 0, kernel.Forbidden("you may not change pages of the template %s", page.Template)
	}
	expiry = instant.Of(p.Now().Add(min(lifetime, MaxPreview)).Truncate(time.Second))
	return p.Signer("cms preview").Sign(fmt.Appendf(nil, "%d %d", id, expiry)), expiry, nil
}

// Preview returns the page for a token that PreviewLink has returned. It returns a not-found error if the token is
// invalid or expired, or if the page is in the trash.
func (p *Content) Preview(ctx context.Context, token string) (*Page, error) {
	payload, ok := p.Signer("cms preview").Open(token)
	var id, expiry int64
	if ok {
		_, err := fmt.Sscanf(string(payload), "%d %d", &id, &expiry)
		ok = err == nil
	}
	if !ok || kernel.Moment(expiry) <= p.Moment() {
		return nil, kernel.NotFound("page")
	}
	page, err := p.Draft(ctx, kernel.Site(), id)
	if err == nil && page.status == selector.Trash {
		err = kernel.NotFound("page")
	}
	if err != nil {
		return nil, err
	}
	return page, nil
}

// maxDue limits the number of pages that one call of PublishDue publishes, and likewise the number of pages that it
// unpublishes.
const maxDue = 200

// PublishDue publishes and unpublishes the pages whose planned time has come, in the name of the site. If a page cannot
// be published, for instance because a field has become required, it logs the error and removes the planned time. done
// is the number of pages that have been published or unpublished, also if there is an error.
func (p *Content) PublishDue(ctx context.Context) (done int, err error) {
	s, err := p.schema(ctx)
	if err != nil {
		return 0, err
	}
	done, err = p.changeDue(ctx, s, "publish_at", func(c kernel.Conn, page *Page) error {
		_, err := p.publish(c, s, kernel.Site(), page)
		return err
	})
	if err != nil {
		return done, err
	}
	unpublished, err := p.changeDue(ctx, s, "unpublish_at", func(c kernel.Conn, page *Page) error {
		next := *page
		next.status, next.UnpublishAt = selector.Unpublished, 0
		if err := s.takeDraft(&next); err != nil {
			return err
		}
		_, err := p.write(c, s, kernel.Site(), page, &next, s.encodeFields(next.Fields), p.Moment())
		return err
	})
	return done + unpublished, err
}

// changeDue calls change for at most maxDue pages whose planned time has come, each in a transaction of its own.
// column is the column with this time: publish_at or unpublish_at. change must remove the time. If change refuses a
// page with a status below 500, a later call would be refused as well, so changeDue logs the error and removes the
// time itself. done is the number of changed pages.
func (p *Content) changeDue(
	ctx context.Context, s *schema, column string, change func(c kernel.Conn, page *Page) error,
) (done int, err error) {
	var ids []int64
	err = p.Read(ctx, func(c kernel.Conn) (err error) {
		ids, err = store.List(c, func(r store.Row) (id int64, err error) {
			err = r.Scan(&id)
			return id, err
		}, "SELECT id FROM cms_pages WHERE "+column+" <= ? ORDER BY "+column+" LIMIT ?", p.Moment(), maxDue)
		return err
	})
	for _, id := range ids {
		err := p.Write(ctx, func(c kernel.Conn) error {
			// Check the time again, now with a lock: another node may have changed the page since the list was read.
			page, err := s.scan(c.Row("SELECT "+columns+" FROM cms_pages p WHERE p.id = ? AND p."+column+" <= ?"+c.Lock(),
				id, p.Moment()))
			if err != nil {
				return kernel.OrNotFound(err, "page")
			}
			return change(c, page)
		})
		switch status := kernel.Status(err); {
		case status == 0:
			done++
		case status == http.StatusNotFound: // the page was changed in the meantime
		case status < http.StatusInternalServerError:
			p.Logger().Warn("scheduled change of a page failed and is cancelled", zap.Int64("page", id),
				zap.String("schedule", column), zap.Error(err))
			err := p.Write(ctx, func(c kernel.Conn) error {
				_, err := c.Exec("UPDATE cms_pages SET "+column+" = NULL WHERE id = ?", id)
				return err
			})
			if err != nil {
				return done, err
			}
		default:
			return done, err
		}
	}
	return done, err
}
