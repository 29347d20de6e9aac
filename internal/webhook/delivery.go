package webhook

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/jobs"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

const (
	// maxAttempts limits the attempts of a delivery.
	maxAttempts = 6
	// lease is how long a claimed delivery belongs to a node. It is longer than an attempt can take.
	lease = 30 * time.Second
	// maxReason limits the stored reason of a failed attempt, in characters.
	maxReason = 200
)

// outgoing is a delivery that this node has claimed. After the lease another node may claim the delivery.
type outgoing struct {
	id      int64
	webhook int64 // id of the webhook
	url     string
	secret  []byte
	event   string // id of the event, the same for all attempts
	topic   string
	body    string

	attempts int64 // including the present one
}

// due returns the ids of the enabled webhooks with a delivery to send now. If the keyring cannot be used it returns
// nil; another node or a later run will send their deliveries.
func (h *Hooks) due(ctx context.Context) (ids []int64, err error) {
	if _, err := h.Keyring(); err != nil {
		return nil, nil // the keyring has logged it
	}
	err = h.DB.Read(ctx, func(c store.Conn) error {
		now := h.micros()
		ids, err = store.List(c, func(r store.Row) (id int64, err error) { return id, r.Scan(&id) },
			"SELECT w.id FROM "+h.hooks+" w WHERE w.enabled = 1 AND EXISTS (SELECT 1 FROM "+h.deliveries+" d"+
				" WHERE d.webhook_id = w.id AND d.next_at <= ? AND d.leased_until <= ?) ORDER BY w.id", now, now)
		return err
	})
	return ids, err
}

// claim claims the next delivery of a webhook for this node. It returns nil if no delivery is due now. The attempt
// counts even if this process ends during it.
func (h *Hooks) claim(ctx context.Context, webhook int64) (*outgoing, error) {
	var sealed string
	o := &outgoing{webhook: webhook}
	err := h.DB.Write(ctx, func(c store.Conn) error {
		o.id = 0 // Write may call this function again
		now := h.micros()
		err := c.Row("SELECT url, secret FROM "+h.hooks+" WHERE id = ? AND enabled = 1", webhook).Scan(&o.url, &sealed)
		if err == nil {
			err = c.Row("UPDATE "+h.deliveries+
				" SET leased_until = ?, attempts = attempts + 1, tried_at = ? WHERE id = (SELECT id FROM "+h.deliveries+
				" WHERE webhook_id = ? AND next_at <= ? AND leased_until <= ? ORDER BY next_at, id LIMIT 1"+c.LockFree()+
				") RETURNING id, event, topic, body, attempts",
				now+lease.Microseconds(), now, webhook, now, now).Scan(&o.id, &o.event, &o.topic, &o.body, &o.attempts)
		}
		if errors.Is(err, sql.ErrNoRows) { // nothing is due, or the webhook was disabled
			return nil
		}
		return err
	})
	if err != nil || o.id == 0 {
		return nil, err
	}
	o.secret, err = h.openSecret(ctx, o.url, sealed)
	switch {
	case errors.Is(err, keyring.ErrOpen): // do not try again for ever
		return nil, errors.Join(err, h.settle(ctx, o, 0, "the secret of this webhook cannot be decrypted; set a new secret"))
	case err != nil: // the keyring cannot be used for now
		return nil, errors.Join(err, h.giveBack(ctx, o))
	}
	return o, nil
}

// settle records the result of an attempt: the status of the answer or, if status is 0, the reason why no answer came.
// The status 410 disables the webhook.
func (h *Hooks) settle(ctx context.Context, o *outgoing, status int, reason string) error {
	answer := text.Short(reason, maxReason)
	if status != 0 {
		answer = strconv.Itoa(status) + " " + http.StatusText(status)
	}
	state, next := "pending", sql.NullInt64{Int64: h.Now().Add(jobs.Backoff(o.attempts)).UnixMicro(), Valid: true}
	switch {
	case status >= 200 && status <= 299:
		state, next = "delivered", sql.NullInt64{}
	case status == http.StatusGone, o.attempts >= maxAttempts:
		state, next = "failed", sql.NullInt64{}
	}
	return h.DB.Write(ctx, func(c store.Conn) error {
		_, err := c.Exec("UPDATE "+h.deliveries+
			" SET state = ?, next_at = ?, leased_until = 0, answer = ? WHERE id = ?", state, next, answer, o.id)
		if err != nil || status != http.StatusGone {
			return err
		}
		if _, err := c.Exec("UPDATE "+h.hooks+" SET enabled = 0, disabled_reason = ? WHERE id = ?",
			"the address answered 410 Gone", o.webhook); err != nil {
			return err
		}
		_, err = c.Exec("UPDATE "+h.deliveries+
			" SET state = 'failed', next_at = NULL, answer = 'the webhook was switched off' WHERE webhook_id = ? AND next_at IS NOT NULL",
			o.webhook)
		return err
	})
}

// giveBack releases a delivery whose attempt was interrupted by the end of this process. That attempt does not count.
func (h *Hooks) giveBack(ctx context.Context, o *outgoing) error {
	return h.DB.Write(ctx, func(c store.Conn) error {
		_, err := c.Exec("UPDATE "+h.deliveries+" SET attempts = attempts - 1, leased_until = 0 WHERE id = ?", o.id)
		return err
	})
}
