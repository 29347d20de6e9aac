package alerts

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/jobs"
	"github.com/tollgate-gateway/tollgate/internal/mail"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
	"github.com/tollgate-gateway/tollgate/internal/webhook"
)

// The channels of messages.
const (
	channelMail    = "mail"
	channelWebhook = "webhook"
)

const (
	// maxAttempts is how often a message is tried. With the pauses of jobs.Backoff this takes about a day.
	maxAttempts = 30
	// sentWithin is the maximum age of an alert whose messages are still sent.
	sentWithin = 3 * 24 * time.Hour
	// mailLease and webhookLease are how long a node reserves a message. They are longer than one attempt can take.
	mailLease    = 40 * time.Second
	webhookLease = 15 * time.Second
	// maxRun limits how many messages one webhook gets in one run.
	maxRun    = 100
	maxAnswer = 200 // characters of Message.Answer
	userAgent = "Tollgate-Gateway"
)

// target returns the name of a webhook in the database: the origin of its URL and a fingerprint of the whole URL. The
// path is left out because it may contain a secret.
func (w *Webhook) target() string {
	origin := ""
	if u, err := url.Parse(w.URL); err == nil {
		origin = u.Scheme + "://" + u.Host
	}
	sum := sha256.Sum256([]byte(w.URL))
	return origin + "#" + hex.EncodeToString(sum[:8])
}

// publicTarget returns the target of a message in the form of Message.Target, without a webhook's fingerprint.
func publicTarget(channel, target string) string {
	if channel == channelWebhook {
		target, _, _ = strings.Cut(target, "#")
	}
	return target
}

// outbox implements mail.Outbox.
type outbox struct{ *Service }

// Due implements mail.Outbox.
func (o outbox) Due(ctx context.Context, limit int) (due []mail.Due, err error) {
	ids, err := o.due(ctx, channelMail, "", limit)
	for _, id := range ids {
		due = append(due, letter{o.Service, id})
	}
	return due, err
}

// due returns the ids of at most limit messages of a channel that are to be sent now. If target is not empty, only
// messages to that target are returned.
func (s *Service) due(ctx context.Context, channel, target string, limit int) (ids []int64, err error) {
	now := s.now().UnixMicro()
	err = s.db.Read(ctx, func(c store.Conn) error {
		ids, err = store.List(c, func(r store.Row) (id int64, err error) { return id, r.Scan(&id) },
			`SELECT id FROM gateway_alert_messages WHERE channel = ? AND next_at <= ? AND leased_until <= ? AND (? = '' OR target = ?)
			ORDER BY next_at, id LIMIT ?`, channel, now, now, target, target, limit)
		return err
	})
	return ids, err
}

// letter implements mail.Due.
type letter struct {
	*Service
	id int64
}

// Claim implements mail.Due.
func (l letter) Claim(ctx context.Context) (mail.Claimed, error) {
	m, err := l.claim(ctx, l.id, mailLease)
	if m == nil || err != nil {
		return nil, err
	}
	return m, nil
}

// outgoing is a message that this node has reserved for sending. It implements mail.Claimed.
type outgoing struct {
	service  *Service
	id       int64
	target   string
	attempts int64
	alert    Alert
}

// claim reserves a message for this node until the lease ends. It returns nil if another node has reserved the message
// or the message is no longer due. The attempt is counted at once, in case this process ends during the attempt.
func (s *Service) claim(ctx context.Context, id int64, lease time.Duration) (*outgoing, error) {
	m := &outgoing{service: s, id: id}
	claimed := false
	err := s.db.Write(ctx, func(c store.Conn) error {
		claimed = false // this function may be called more than once
		now := s.now()
		var alertID, created int64
		err := c.Row(`UPDATE gateway_alert_messages SET leased_until = ?, attempts = attempts + 1, tried_at = ?
			WHERE id = ? AND next_at <= ? AND leased_until <= ? RETURNING alert_id, target, attempts`,
			now.Add(lease).UnixMicro(), now.UnixMicro(), id, now.UnixMicro(), now.UnixMicro()).Scan(&alertID,
			&m.target, &m.attempts)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		claimed = true
		if err = c.Row(`SELECT `+alertColumns+` FROM gateway_alerts AS a WHERE a.id = ?`, alertID).
			Scan(m.alert.scanArgs(&created)...); err == nil {
			m.alert.complete(created)
		}
		return err
	})
	if err != nil || !claimed {
		return nil, err
	}
	return m, nil
}

// Message implements mail.Claimed.
func (m *outgoing) Message() (*mail.Message, error) {
	subject, body := m.alert.text()
	return &mail.Message{
		ID: m.alert.Event + "." + strconv.FormatInt(m.id, 10), Email: m.target, Subject: subject, Text: body,
	}, nil
}

// Over implements mail.Claimed. It stores that the message was sent or, if refused is not nil, that it failed and is
// not tried again.
func (m *outgoing) Over(ctx context.Context, refused error) error {
	state, answer := "sent", ""
	if refused != nil {
		state, answer = "failed", refused.Error()
	}
	return m.storeResult(ctx, state, answer, nil)
}

// Failed implements mail.Claimed. The message is tried again unless it was tried maxAttempts times.
func (m *outgoing) Failed(ctx context.Context, reason error) (retry bool, err error) {
	if m.attempts >= maxAttempts {
		return false, m.storeResult(ctx, "failed", reason.Error(), nil)
	}
	next := m.service.now().Add(jobs.Backoff(m.attempts)).UnixMicro()
	return true, m.storeResult(ctx, "pending", reason.Error(), &next)
}

// Hold implements mail.Claimed. The postponed attempt does not count.
func (m *outgoing) Hold(ctx context.Context, wait time.Duration) error {
	return m.service.db.Write(ctx, func(c store.Conn) error {
		_, err := c.Exec(`UPDATE gateway_alert_messages SET attempts = attempts - 1, leased_until = 0, next_at = ? WHERE id = ?`,
			m.service.now().Add(wait).UnixMicro(), m.id)
		return err
	})
}

// storeResult stores the result of an attempt and releases the reservation. state and answer are as in Message. next is
// the time of the next attempt in Unix microseconds; nil means that the message is not tried again.
func (m *outgoing) storeResult(ctx context.Context, state, answer string, next *int64) error {
	return m.service.db.Write(ctx, func(c store.Conn) error {
		_, err := c.Exec(`UPDATE gateway_alert_messages SET state = ?, answer = ?, next_at = ?, leased_until = 0 WHERE id = ?`,
			state, text.Short(answer, maxAnswer), next, m.id)
		return err
	})
}

// mail sends the due mails. It runs as a job.
func (s *Service) mail(ctx context.Context, o *Options) (done int, err error) {
	if o.Mail == nil {
		return 0, nil
	}
	return mail.Send(ctx, outbox{s}, o.Mail, s.logger)
}

// deliver posts due messages to the webhooks, which are served concurrently. It runs as a job. After the first failed
// attempt for a webhook, this run makes no further attempt for the same webhook. Messages for a webhook that is not
// in this node's options wait for a node that has it.
func (s *Service) deliver(ctx context.Context, o *Options) (done int, err error) {
	var delivered atomic.Int64
	var running sync.WaitGroup
	errs := make([]error, len(o.Webhooks))
	for i := range o.Webhooks {
		running.Go(func() {
			var n int
			n, errs[i] = s.deliverTo(ctx, &o.Webhooks[i])
			delivered.Add(int64(n))
		})
	}
	running.Wait()
	return int(delivered.Load()), errors.Join(errs...)
}

// deliverTo posts the due messages of one webhook in order, until an attempt fails. It returns the number of sent
// messages.
func (s *Service) deliverTo(ctx context.Context, w *Webhook) (done int, err error) {
	ids, err := s.due(ctx, channelWebhook, w.target(), maxRun)
	for _, id := range ids {
		m, err := s.claim(ctx, id, webhookLease)
		if err != nil {
			return done, err
		}
		if m == nil {
			continue
		}
		sent, err := s.post(ctx, w, m)
		if err != nil || !sent {
			return done, err
		}
		done++
	}
	return done, err
}

// post makes one attempt to send a message to a webhook and stores the result. A 2xx status means that the message was
// sent. After 410 Gone the message is not tried again. The error is one of the database.
func (s *Service) post(ctx context.Context, w *Webhook, m *outgoing) (sent bool, err error) {
	body, err := m.alert.body()
	if err != nil {
		return false, err
	}
	header := webhook.StandardHeader(w.Secret, m.alert.Event, s.now(), body)
	header.Set("User-Agent", userAgent)
	status, reason := s.sender.Post(ctx, w.URL, header, body)
	settleCtx, cancel := jobs.Settling(ctx) // the result is stored even if this process shuts down
	defer cancel()
	if status != 0 {
		reason = strconv.Itoa(status) + " " + http.StatusText(status)
	}
	switch {
	case status == 0 && ctx.Err() != nil: // interrupted by the shutdown of this process
		return false, m.Hold(settleCtx, 0)
	case status >= 200 && status <= 299:
		return true, m.Over(settleCtx, nil)
	case status == http.StatusGone:
		return false, m.Over(settleCtx, errors.New(reason))
	}
	_, err = m.Failed(settleCtx, errors.New(reason))
	return false, err
}
