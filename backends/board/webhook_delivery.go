package board

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/jobs"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

const (
	// deliveryAttempts is how often a delivery is tried.
	deliveryAttempts = 6
	// deliveryLease is how long a node has a delivery for itself; more than an
	// attempt can take.
	deliveryLease = 30 * time.Second
	// answerMost bounds what is kept of how an attempt ended.
	answerMost = 200
)

// Outgoing is a delivery that this node has to send. Another node takes it when
// the lease ends.
type Outgoing struct {
	ID      int64
	Webhook int64
	URL     string
	Secret  []byte
	Event   string // stable over attempts
	Topic   string
	Body    string

	attempts int64
}

// DueWebhooks lists the webhooks that have something to be sent now: none where the
// keyring cannot be used, whose deliveries are for other nodes, or for later.
func (s *Service) DueWebhooks(ctx context.Context) (ids []int64, err error) {
	if _, err := s.keyring(); err != nil {
		return nil, nil //nolint:nilerr // the keyring has said so
	}
	err = s.Read(ctx, func(c store.Conn) error {
		ids = nil
		now := s.Micros()
		return c.All("SELECT w.id FROM board_webhooks w WHERE w.enabled = 1 AND EXISTS (SELECT 1 FROM board_webhook_deliveries d"+
			" WHERE d.webhook_id = w.id AND d.next_at <= ? AND d.leased_until <= ?) ORDER BY w.id", []any{now, now}, func(r store.Row) error {
			var id int64
			err := r.Scan(&id)
			ids = append(ids, id)
			return err
		})
	})
	return ids, err
}

// ClaimDelivery takes the next delivery of a webhook for this node alone; nil:
// there is none now. The attempt counts even if this process ends in it.
func (s *Service) ClaimDelivery(ctx context.Context, webhook int64) (*Outgoing, error) {
	var sealed string
	o := &Outgoing{Webhook: webhook}
	err := s.Write(ctx, func(c store.Conn) error {
		o.ID = 0
		now := s.Micros()
		skip := ""
		if c.Dialect() == store.Postgres {
			skip = " FOR UPDATE SKIP LOCKED"
		}
		err := c.Row("SELECT url, secret FROM board_webhooks WHERE id = ? AND enabled = 1", webhook).Scan(&o.URL, &sealed)
		if err == nil {
			err = c.Row("UPDATE board_webhook_deliveries SET leased_until = ?, attempts = attempts + 1, tried_at = ? WHERE id = (SELECT id FROM board_webhook_deliveries"+
				" WHERE webhook_id = ? AND next_at <= ? AND leased_until <= ? ORDER BY next_at, id LIMIT 1"+skip+") RETURNING id, event, topic, body, attempts",
				now+deliveryLease.Microseconds(), now, webhook, now, now).Scan(&o.ID, &o.Event, &o.Topic, &o.Body, &o.attempts)
		}
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
	if err != nil || o.ID == 0 {
		return nil, err
	}
	o.Secret, err = s.openWebhookSecret(ctx, o.URL, sealed)
	switch {
	case errors.Is(err, keyring.ErrOpen): // not to be tried for ever
		return nil, errors.Join(err, s.Delivered(ctx, o, 0, "the secret of this webhook does not open; give it a new one"))
	case err != nil: // the keyring is away for now
		return nil, errors.Join(err, s.NotDelivered(ctx, o))
	}
	return o, nil
}

// Delivered notes how an attempt ended: with the status of an answer, or
// without one and why. 410 switches the webhook off.
func (s *Service) Delivered(ctx context.Context, o *Outgoing, status int, why string) error {
	now := s.Micros()
	answer := text.Short(why, answerMost)
	if status != 0 {
		answer = kernel.Itoa(int64(status)) + " " + http.StatusText(status)
	}
	state, next := "pending", now+jobs.Backoff(o.attempts).Microseconds()
	switch {
	case status >= 200 && status <= 299:
		state, next = "delivered", 0
	case status == http.StatusGone, o.attempts >= deliveryAttempts:
		state, next = "failed", 0
	}
	return s.Write(ctx, func(c store.Conn) error {
		_, err := c.Exec("UPDATE board_webhook_deliveries SET state = ?, next_at = ?, leased_until = 0, answer = ? WHERE id = ?", state, kernel.Null(next), answer, o.ID)
		if err != nil || status != http.StatusGone {
			return err
		}
		if _, err := c.Exec("UPDATE board_webhooks SET enabled = 0, disabled_reason = ? WHERE id = ?", "the address answered 410 Gone", o.Webhook); err != nil {
			return err
		}
		_, err = c.Exec("UPDATE board_webhook_deliveries SET state = 'failed', next_at = NULL, answer = 'the webhook was switched off' WHERE webhook_id = ? AND next_at IS NOT NULL", o.Webhook)
		return err
	})
}

// NotDelivered gives a delivery back that was cut short by the end of this
// process.
func (s *Service) NotDelivered(ctx context.Context, o *Outgoing) error {
	return s.Write(ctx, func(c store.Conn) error {
		_, err := c.Exec("UPDATE board_webhook_deliveries SET attempts = attempts - 1, leased_until = 0 WHERE id = ?", o.ID)
		return err
	})
}
