package content

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/backends/cms/selector"
	"github.com/tollgate-gateway/tollgate/internal/instant"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// drafted is a draft as it is stored.
type drafted struct {
	Title  string         `json:"title"`
	Fields map[string]any `json:"fields"`
	By     int64          `json:"by"`
}

// useDraft puts the draft of a page into it, without what the template has no more.
func (s *schema) useDraft(page *Page) error {
	var d drafted
	if err := json.Unmarshal([]byte(page.draft), &d); err != nil {
		return fmt.Errorf("the stored draft of a page: %w", err)
	}
	t := s.names[page.Template]
	if t == nil {
		t = &Template{}
	}
	page.Title = d.Title
	page.Fields, _ = s.named(t, d.Fields)
	return nil
}

// takeDraft makes a page that is not published what its draft says: it is a draft itself then, and has none beside it.
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

// keepDraft keeps what a page is to be beside what it is, and returns what it is.
func (s *schema) keepDraft(c kernel.Conn, u *kernel.User, before, draft *Page) (*Page, error) {
	_, err := c.Exec("UPDATE cms_pages SET draft = ?, publish_at = NULLIF(CAST(? AS BIGINT), 0), unpublish_at = NULLIF(CAST(? AS BIGINT), 0), version = version + 1 WHERE id = ?",
		encode(drafted{draft.Title, s.keyed(draft.Fields), u.ID}), draft.PublishAt, draft.UnpublishAt, draft.ID)
	page := *before
	page.Draft, page.PublishAt, page.UnpublishAt = true, draft.PublishAt, draft.UnpublishAt
	page.Version++
	return &page, err
}

// schedule puts the times of an Edit into a page.
func (p *Content) schedule(page *Page, e *Edit) error {
	for _, at := range []struct {
		field string
		set   *kernel.Moment
		into  *kernel.Moment
	}{{"publish_at", e.PublishAt, &page.PublishAt}, {"unpublish_at", e.UnpublishAt, &page.UnpublishAt}} {
		if at.set == nil {
			continue
		}
		if *at.set != 0 && *at.set <= p.Moment() {
			return kernel.Invalid(at.field, "past", "this time is over")
		}
		*at.into = *at.set
	}
	switch {
	case page.PublishAt != 0 && page.UnpublishAt != 0 && page.UnpublishAt <= page.PublishAt:
		return kernel.Invalid("unpublish_at", "order", "a page is published before it is unpublished")
	case e.PublishAt != nil && page.PublishAt != 0 && page.status != selector.Unpublished && !e.Draft && page.draft == "":
		return kernel.Invalid("publish_at", "published", "the page is published, and has no draft that could be")
	}
	return nil
}

// PublishDraft makes a page what its draft says, or publishes a page that is unpublished.
// version is as in Edit.
func (p *Content) PublishDraft(ctx context.Context, u *kernel.User, id, version int64) (page *Page, err error) {
	s, err := p.schema(ctx)
	if err != nil {
		return nil, err
	}
	err = p.Write(ctx, func(c kernel.Conn) error {
		before, err := s.editable(c, u, id, version)
		if err == nil {
			page, err = p.publish(c, s, u, before)
		}
		return err
	})
	return page, err
}

func (p *Content) publish(c kernel.Conn, s *schema, u *kernel.User, before *Page) (*Page, error) {
	title, fields := before.Title, before.Fields
	if before.draft != "" {
		draft := *before
		if err := s.useDraft(&draft); err != nil {
			return nil, err
		}
		title, fields = draft.Title, draft.Fields
	} else if before.status != selector.Unpublished {
		return nil, kernel.Conflict("the page is published, and has no draft")
	}
	then := *before
	then.draft, then.Draft, then.PublishAt = "", false, 0
	was := then.status
	if was == selector.Unpublished {
		then.status = selector.Published
	}
	page, err := p.become(c, s, u, &then, title, fields)
	if err == nil && was == selector.Unpublished {
		err = p.tell(c, TopicPublished, page) // become knows no other state of before
	}
	return page, err
}

// DropDraft forgets the draft of a page. version is as in Edit.
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

// Draft is a page as its draft says, for those who may edit it; one without a draft as it
// is.
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

// PreviewMost is how long a link to a preview is good at most.
const PreviewMost = 30 * 24 * time.Hour

// PreviewLink is a token with which whoever has it sees a page as its draft says, or
// while it is unpublished, until a time. Only those who may edit it get one.
func (p *Content) PreviewLink(ctx context.Context, u *kernel.User, id int64, lasts time.Duration) (token string, until kernel.Moment, err error) {
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
	until = instant.Of(p.Now().Add(min(lasts, PreviewMost)).Truncate(time.Second))
	return p.Signer("cms preview").Sign(fmt.Appendf(nil, "%d %d", id, until)), until, nil
}

// Preview is the page of a token of PreviewLink. One that is no token, that is over, or
// whose page is in the trash, is not found.
func (p *Content) Preview(ctx context.Context, token string) (*Page, error) {
	payload, ok := p.Signer("cms preview").Open(token)
	var id, until int64
	if ok {
		_, err := fmt.Sscanf(string(payload), "%d %d", &id, &until)
		ok = err == nil
	}
	if !ok || kernel.Moment(until) <= p.Moment() {
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

// dueMost is how many pages a run of PublishDue publishes.
const dueMost = 200

// PublishDue publishes and unpublishes the pages whose time has come, in the name of the
// site. One that cannot be published, such as one without a field that is required since,
// is told of in the log and left unpublished.
func (p *Content) PublishDue(ctx context.Context) (done int, err error) {
	s, err := p.schema(ctx)
	if err != nil {
		return 0, err
	}
	for _, due := range []struct {
		column string
		act    func(c kernel.Conn, page *Page) error
	}{
		{"publish_at", func(c kernel.Conn, page *Page) error {
			_, err := p.publish(c, s, kernel.Site(), page)
			return err
		}},
		{"unpublish_at", func(c kernel.Conn, page *Page) error {
			then := *page
			then.status, then.UnpublishAt = selector.Unpublished, 0
			if err := s.takeDraft(&then); err != nil {
				return err
			}
			_, err := p.write(c, s, kernel.Site(), page, &then, s.store(then.Fields), p.Moment())
			return err
		}},
	} {
		var ids []int64
		err := p.Read(ctx, func(c kernel.Conn) (err error) {
			ids, err = store.List(c, func(r store.Row) (id int64, err error) {
				err = r.Scan(&id)
				return id, err
			}, "SELECT id FROM cms_pages WHERE "+due.column+" <= ? ORDER BY "+due.column+" LIMIT ?", p.Moment(), dueMost)
			return err
		})
		if err != nil {
			return done, err
		}
		for _, id := range ids {
			err := p.Write(ctx, func(c kernel.Conn) error {
				page, err := s.scan(c.Row("SELECT "+columns+" FROM cms_pages p WHERE p.id = ? AND p."+due.column+" <= ?"+c.Lock(), id, p.Moment()))
				if err != nil {
					return kernel.OrNotFound(err, "page")
				}
				return due.act(c, page)
			})
			switch status := kernel.Status(err); {
			case status == 0:
				done++
			case status == 404: // it has been changed meanwhile
			case status < 500:
				p.Logger().Warn("page cannot be published at its time", zap.Int64("page", id), zap.Error(err))
				err = p.Write(ctx, func(c kernel.Conn) error {
					_, err := c.Exec("UPDATE cms_pages SET "+due.column+" = NULL WHERE id = ?", id)
					return err
				})
				fallthrough
			default:
				if err != nil {
					return done, err
				}
			}
		}
	}
	return done, nil
}
