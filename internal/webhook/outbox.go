package webhook

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

const (
	// keepFinished is how long finished deliveries are kept.
	keepFinished = 7 * 24 * time.Hour
	// keepPending is how long a delivery may be pending before it fails; the usual reason is a disabled webhook.
	keepPending = 3 * 24 * time.Hour

	purgeBatch = 500 // rows per transaction, for which others wait
)

// event is the body of a delivery.
type event struct {
	Event     string `json:"event"` // id, the same for every webhook
	Topic     string `json:"topic"`
	CreatedAt string `json:"createdAt"`
	Data      any    `json:"data"`
}

// Emit writes a delivery with data for each enabled webhook that subscribes to the topic. It does so in the transaction
// of the change, so that neither the change nor the deliveries exist without the other. Without such webhooks it writes
// nothing.
func (h *Hooks) Emit(c store.Conn, topic string, data any) error {
	return h.emit(c, topic, data, "enabled = 1 AND topics LIKE ?", "% "+topic+" %")
}

// Test writes a test delivery for a webhook. It returns ErrOff if the webhook is disabled.
func (h *Hooks) Test(c store.Conn, id int64) error {
	var enabled bool
	if err := c.Row("SELECT enabled = 1 FROM "+h.hooks+" WHERE id = ?", id).Scan(&enabled); err != nil {
		return err
	}
	if !enabled {
		return ErrOff
	}
	return h.emit(c, TestTopic, struct {
		WebhookID int64 `json:"webhookId"`
	}{id}, "id = ?", id)
}

// emit writes a delivery for the webhooks that match an SQL condition. args are the arguments of the condition.
func (h *Hooks) emit(c store.Conn, topic string, data any, condition string, args ...any) error {
	now := h.Now()
	e := event{
		Event: "evt_" + rand.Text(), Topic: topic, CreatedAt: now.UTC().Format("2006-01-02T15:04:05.000Z"), Data: data,
	}
	body, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return c.Later("INSERT INTO "+h.deliveries+" (webhook_id, event, topic, body, next_at, created_at)"+
		" SELECT id, ?, ?, ?, CAST(? AS BIGINT), CAST(? AS BIGINT) FROM "+h.hooks+" WHERE "+condition,
		append([]any{e.Event, topic, string(body), now.UnixMicro(), now.UnixMicro()}, args...)...)
}

// Delivery is a message to a webhook.
type Delivery struct {
	ID        int64  // the same for all attempts
	Event     string // id of the event, the same for every webhook
	Topic     string
	Body      string
	State     string // pending, delivered or failed
	Attempts  int64
	Answer    string // result of the last attempt: the status, or the reason why no answer came
	CreatedAt int64
	TriedAt   int64 // 0 before the first attempt
	NextAt    int64 // 0 if there is no further attempt
}

// Deliveries returns the last deliveries of a webhook, newest first, at most limit.
func (h *Hooks) Deliveries(c store.Conn, id int64, limit int) ([]Delivery, error) {
	return store.List(c, func(r store.Row) (d Delivery, err error) {
		return d, r.Scan(&d.ID, &d.Event, &d.Topic, &d.Body, &d.State, &d.Attempts, &d.Answer, &d.CreatedAt,
			&d.TriedAt, &d.NextAt)
	}, "SELECT id, event, topic, body, state, attempts, answer, created_at, COALESCE(tried_at, 0), COALESCE(next_at, 0)"+
		" FROM "+h.deliveries+" WHERE webhook_id = ? ORDER BY id DESC LIMIT ?", id, limit)
}

// Purge fails deliveries that are still pending three days after they were written, and deletes finished deliveries
// that are a week old. It returns the number of rows.
func (h *Hooks) Purge(ctx context.Context) (n int64, err error) {
	now := h.Now()
	n, err = h.DB.Purge(ctx, purgeBatch, "UPDATE "+h.deliveries+
		" SET state = 'failed', next_at = NULL, answer = 'waited too long' WHERE id IN"+
		" (SELECT id FROM "+h.deliveries+" WHERE created_at <= ? AND next_at IS NOT NULL LIMIT ?)",
		now.Add(-keepPending).UnixMicro())
	if err != nil {
		return n, err
	}
	deleted, err := h.DB.Purge(ctx, purgeBatch, "DELETE FROM "+h.deliveries+" WHERE id IN"+
		" (SELECT id FROM "+h.deliveries+" WHERE created_at <= ? AND next_at IS NULL LIMIT ?)",
		now.Add(-keepFinished).UnixMicro())
	return n + deleted, err
}
