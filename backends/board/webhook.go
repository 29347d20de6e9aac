package board

import (
	"context"
	"net/url"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

const (
	// maxWebhooks bounds what every change may have to write.
	maxWebhooks = 20

	webhookSecretPrefix = "whsec_"
	// plainPrefix marks a secret of a board without a keyring.
	plainPrefix = "plain."
)

// Webhook is an address that is told of changes. It sees all of its topics,
// whatever the forum: an administrator has made it.
type Webhook struct {
	ID             int64
	URL            string
	Topics         []string
	Enabled        bool
	DisabledReason string // empty: switched off by hand
	CreatedBy      string
	CreatedAt      int64
	Pending        int64 // deliveries that wait
}

// Delivery is one message to a webhook.
type Delivery struct {
	ID        int64 // stable over attempts
	Event     string
	Topic     string
	Body      string
	State     string // pending, delivered or failed
	Attempts  int64
	Answer    string // of the last attempt
	CreatedAt int64
	TriedAt   int64 // 0: not tried
	NextAt    int64 // 0: no more
}

// Webhooks lists the webhooks.
func (s *Service) Webhooks(ctx context.Context, a *rights.Actor) (list []Webhook, err error) {
	err = s.Survey(ctx, a, func(c store.Conn) error {
		list = nil
		return c.All("SELECT w.id, w.url, w.topics, w.enabled, w.disabled_reason, w.created_by, w.created_at,"+
			" (SELECT count(*) FROM board_webhook_deliveries d WHERE d.webhook_id = w.id AND d.next_at IS NOT NULL) FROM board_webhooks w ORDER BY w.id", nil, func(r store.Row) error {
			var w Webhook
			var topics string
			err := r.Scan(&w.ID, &w.URL, &topics, &w.Enabled, &w.DisabledReason, &w.CreatedBy, &w.CreatedAt, &w.Pending)
			w.Topics = strings.Fields(topics)
			list = append(list, w)
			return err
		})
	})
	return list, err
}

// AddWebhook makes a webhook and returns the secret that signs its deliveries,
// this once.
func (s *Service) AddWebhook(ctx context.Context, a *rights.Actor, address string, topics []string) (id int64, secret string, err error) {
	address, err = checkWebhookURL(address)
	if err != nil {
		return 0, "", err
	}
	stored, err := topicList(topics)
	if err != nil {
		return 0, "", err
	}
	if err := s.Administrator(a); err != nil {
		return 0, "", err
	}
	secret, sealed, err := s.newWebhookSecret(ctx, address)
	if err != nil {
		return 0, "", err
	}
	err = s.Administer(ctx, a, func(c store.Conn) error {
		var n int
		if err := c.Row("SELECT count(*) FROM board_webhooks").Scan(&n); err != nil {
			return err
		}
		if n >= maxWebhooks {
			return kernel.Conflict("there are 20 webhooks already, delete one first")
		}
		err := c.Row("INSERT INTO board_webhooks (url, topics, secret, created_by, created_at) VALUES (?, ?, ?, ?, ?) RETURNING id",
			address, stored, sealed, a.User.Name, s.Micros()).Scan(&id)
		if err != nil {
			return err
		}
		return s.Note(c, a, "webhook.add", host(address)+":"+strings.TrimRight(stored, " "))
	})
	return id, secret, err
}

// SetWebhook switches a webhook on or off. What waits for one that is off is
// sent once it is on again.
func (s *Service) SetWebhook(ctx context.Context, a *rights.Actor, id int64, enabled bool) error {
	return s.changeWebhook(ctx, a, id, "webhook.enable", map[bool]string{true: "on", false: "off"}[enabled], func(c store.Conn) error {
		_, err := c.Exec("UPDATE board_webhooks SET enabled = ?, disabled_reason = '' WHERE id = ?", kernel.Bool(enabled), id)
		return err
	})
}

// DeleteWebhook removes a webhook with its deliveries.
func (s *Service) DeleteWebhook(ctx context.Context, a *rights.Actor, id int64) error {
	return s.changeWebhook(ctx, a, id, "webhook.delete", "", func(c store.Conn) error {
		if _, err := c.Exec("DELETE FROM board_webhook_deliveries WHERE webhook_id = ?", id); err != nil {
			return err
		}
		_, err := c.Exec("DELETE FROM board_webhooks WHERE id = ?", id)
		return err
	})
}

// RotateWebhook gives a webhook a new secret, which counts at once.
func (s *Service) RotateWebhook(ctx context.Context, a *rights.Actor, id int64) (secret string, err error) {
	var address string
	err = s.Survey(ctx, a, func(c store.Conn) error {
		return kernel.OrNotFound(c.Row("SELECT url FROM board_webhooks WHERE id = ?", id).Scan(&address))
	})
	if err != nil {
		return "", err
	}
	secret, sealed, err := s.newWebhookSecret(ctx, address)
	if err != nil {
		return "", err
	}
	return secret, s.changeWebhook(ctx, a, id, "webhook.rotate", "", func(c store.Conn) error {
		_, err := c.Exec("UPDATE board_webhooks SET secret = ? WHERE id = ?", sealed, id)
		return err
	})
}

// TestWebhook sends a webhook a message of no consequence.
func (s *Service) TestWebhook(ctx context.Context, a *rights.Actor, id int64) error {
	return s.changeWebhook(ctx, a, id, "webhook.test", "", func(c store.Conn) error {
		var enabled bool
		if err := c.Row("SELECT enabled = 1 FROM board_webhooks WHERE id = ?", id).Scan(&enabled); err != nil {
			return err
		}
		if !enabled {
			return kernel.Conflict("the webhook is off: switch it on first")
		}
		return s.deliverTo(c, topicTest, struct {
			WebhookID int64 `json:"webhookId"`
		}{id}, "id = ?", id)
	})
}

func (s *Service) changeWebhook(ctx context.Context, a *rights.Actor, id int64, action, detail string, fn func(c store.Conn) error) error {
	return s.Administer(ctx, a, func(c store.Conn) error {
		var address string
		if err := c.Row("SELECT url FROM board_webhooks WHERE id = ?"+c.Lock(), id).Scan(&address); err != nil {
			return kernel.OrNotFound(err)
		}
		if err := fn(c); err != nil {
			return err
		}
		return s.Note(c, a, action, kernel.JoinDetail(host(address), detail))
	})
}

// Deliveries lists the last deliveries of a webhook, newest first.
func (s *Service) Deliveries(ctx context.Context, a *rights.Actor, id int64, limit int) (list []Delivery, err error) {
	err = s.Survey(ctx, a, func(c store.Conn) error {
		list = nil
		return c.All("SELECT id, event, topic, body, state, attempts, answer, created_at, COALESCE(tried_at, 0), COALESCE(next_at, 0)"+
			" FROM board_webhook_deliveries WHERE webhook_id = ? ORDER BY id DESC LIMIT ?", []any{id, min(max(limit, 1), pageMost)}, func(r store.Row) error {
			var d Delivery
			err := r.Scan(&d.ID, &d.Event, &d.Topic, &d.Body, &d.State, &d.Attempts, &d.Answer, &d.CreatedAt, &d.TriedAt, &d.NextAt)
			list = append(list, d)
			return err
		})
	})
	return list, err
}

// checkWebhookURL checks the form of an address; where it leads is checked with
// each connection.
func checkWebhookURL(address string) (string, error) {
	address = strings.TrimSpace(address)
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil || u.Fragment != "" || len(address) > 2000 || !text.IsLine(address) {
		return "", kernel.Invalid("url", "form", "the address must be a URL such as https://example.com/hook, without a user and a fragment")
	}
	return address, nil
}

// host is the part of an address that may be shown: the rest may have a secret.
func host(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}
