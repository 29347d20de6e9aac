// Package alerts notifies the operator of the model gateway, and the people concerned, of three things: a set
// percentage of a budget has been spent, a provider refuses one of the operator's keys, or too many requests fail or
// take too long. A period in which too many requests fail or take too long is called an episode; there is an alert at
// its beginning and one at its end.
//
// An alert is first written to the database together with one message for each recipient. The messages are then sent in
// the background, by mail and by webhook. Each message is sent by one of the nodes (processes that share the database).
package alerts

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/internal/jobs"
	"github.com/tollgate-gateway/tollgate/internal/mail"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/webhook"
)

// Kinds of alerts.
const (
	KindBudget      = "budget.threshold"
	KindProviderKey = "provider_key.failing"
	KindTest        = "test"
)

// OnProvider is the subject of alerts of KindProviderKey. Budget alerts have the subjects of keychain.Imposed; alerts
// of a Watch have OnModel or keychain.OnOrganisation.
const OnProvider = "provider"

// DefaultThresholds are the percentages of a budget at which an alert is raised by default.
var DefaultThresholds = []int{50, 80, 95, 100}

const (
	checkEvery = 10 * time.Second
	sendEvery  = 5 * time.Second
	// fullEvery is how often all budgets are checked. In between, a budget is checked only if one of its keys was used
	// within usedWithin. usedWithin is longer than fullEvery, because the use of a long request is recorded only when
	// the request ends.
	fullEvery  = 10 * time.Minute
	usedWithin = 20 * time.Minute
	// keepFor is how long alerts are kept. Alerts of total budgets are never deleted: they would otherwise be raised
	// again.
	keepFor   = 180 * 24 * time.Hour
	purgeRows = 500 // rows per transaction
)

// Options say which alerts are raised and who receives them.
type Options struct {
	// Thresholds are percentages of a budget, in ascending order.
	Thresholds []int
	// Addresses are the mail addresses that get every alert.
	Addresses []string
	// Concerned sends mails also to the people that an alert concerns: the administrators of the team, the user, or the
	// user of the key.
	Concerned bool
	// Mail sends the mails. If it is nil, no mail is sent.
	Mail mail.Transport
	// Webhooks get every alert.
	Webhooks []Webhook
	// Failing returns the operator's keys that providers currently refuse, as far as this node knows. If it is nil,
	// keys are not checked.
	Failing func() []FailingKey
	// Watch sets the error rate and the latency from which alerts are raised.
	Watch Watch
}

// Webhook is an address to which alerts are posted according to the Standard Webhooks specification.
type Webhook struct {
	URL    string
	Secret []byte // see webhook.ParseStandardSecret
}

// FailingKey is a key of the operator that a provider refuses.
type FailingKey struct{ Provider, State string }

// Service raises and sends alerts. It does nothing until Use is called. Close stops it.
type Service struct {
	db             *store.DB
	keychain       *keychain.Service
	sender         *webhook.Sender
	logger         *zap.Logger
	observe        func(job, outcome string, done int)
	now            func() time.Time
	options        atomic.Pointer[Options]
	lastFullCheck  time.Time        // when all budgets were last checked; used by the check job only
	optionsChanged atomic.Bool      // makes the next check a full one
	wake           [3]chan struct{} // indexed by the job constants
	mu             sync.Mutex       // guards stop
	stop           func()           // stops the jobs; nil before they are started
}

// The jobs, as indexes of Service.wake.
const (
	jobCheck = iota
	jobMail
	jobWebhook
)

// Deps are the dependencies of a Service.
type Deps struct {
	// Keychain also provides the database.
	Keychain *keychain.Service
	Sender   *webhook.Sender
	Logger   *zap.Logger
	// Observe is called after each run of a background job; see jobs.Options.
	Observe func(job, outcome string, done int)
	Now     func() time.Time
}

// New returns the alert service of a gateway.
func New(d Deps) *Service {
	s := &Service{
		db: d.Keychain.DB(), keychain: d.Keychain, sender: d.Sender, logger: d.Logger, observe: d.Observe, now: d.Now,
	}
	for i := range s.wake {
		s.wake[i] = make(chan struct{}, 1)
	}
	return s
}

// Use starts the service with options o, or replaces the options if it already runs. Nil options stop all alerts until
// the next call of Use.
func (s *Service) Use(o *Options) {
	s.options.Store(o)
	if o == nil {
		return
	}
	s.optionsChanged.Store(true)
	s.wakeJob(jobCheck)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop == nil {
		s.stop = jobs.New(jobs.Options{
			Jobs: []jobs.Job{
				{Name: "alerts", Every: checkEvery, Run: s.withOptions(s.check), Wake: s.wake[jobCheck]},
				{Name: "alert_mails", Every: sendEvery, Run: s.withOptions(s.mail), Wake: s.wake[jobMail]},
				{Name: "alert_webhooks", Every: sendEvery, Run: s.withOptions(s.deliver), Wake: s.wake[jobWebhook]},
			},
			Observe: s.observe, Logger: func() *zap.Logger { return s.logger },
		}).Start()
	}
}

// Close stops the jobs and the webhook sender. The service cannot be started again.
func (s *Service) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop != nil {
		s.stop()
	}
	s.stop = func() {} // keeps Use from starting the jobs again
	s.sender.Close()
}

// withOptions returns a job that calls run with the current options, or does nothing while the service has no options.
func (s *Service) withOptions(
	run func(ctx context.Context, o *Options) (int, error),
) func(ctx context.Context) (int, error) {
	return func(ctx context.Context) (int, error) {
		o := s.options.Load()
		if o == nil {
			return 0, nil
		}
		return run(ctx, o)
	}
}

// wakeJob makes a job run now rather than at its next interval. It never blocks.
func (s *Service) wakeJob(job int) {
	select {
	case s.wake[job] <- struct{}{}:
	default: // it was woken already
	}
}

// check raises the alerts that are due, and returns how many were raised. In a full check it also deletes old alerts.
func (s *Service) check(ctx context.Context, o *Options) (raised int, err error) {
	now := s.now()
	var usedSince time.Time // zero checks all budgets
	clockSetBack := now.Before(s.lastFullCheck)
	checkAll := s.optionsChanged.Swap(false) || now.Sub(s.lastFullCheck) >= fullEvery || clockSetBack
	if !checkAll {
		usedSince = now.Add(-usedWithin)
	}
	raised, err = s.raiseDue(ctx, o, usedSince)
	if err == nil && checkAll {
		s.lastFullCheck = now
		err = s.purge(ctx)
	}
	if err != nil && checkAll {
		s.optionsChanged.Store(true) // repeat the full check at the next run
	}
	return raised, err
}

// raiseDue raises the alerts that are due, and returns how many were raised. For usedSince, see
// keychain.Service.EachImposedBudget.
func (s *Service) raiseDue(ctx context.Context, o *Options, usedSince time.Time) (raised int, err error) {
	raise := func(a *Alert) error {
		written, err := s.raise(ctx, o, a)
		if written {
			raised++
		}
		return err
	}
	err = s.keychain.EachImposedBudget(ctx, usedSince, func(b *keychain.ImposedBudget) error {
		threshold := o.reachedThreshold(b)
		if threshold == 0 {
			return nil
		}
		return raise(&Alert{
			Kind: KindBudget, On: b.On, Holder: b.Holder, Budget: b.Name, begins: unixMicros(b.Begins),
			ends: unixMicros(b.Ends), Threshold: threshold, amount: b.Amount, spent: b.Spent, money: b.Money,
		})
	})
	if err != nil {
		return raised, err
	}
	for _, key := range o.failing() {
		day := spending.StartOfDay(s.now()) // at most one alert a day
		if err := raise(&Alert{
			Kind: KindProviderKey, On: OnProvider, Holder: key.Provider, Budget: key.State, begins: day.UnixMicro(),
			ends: day.AddDate(0, 0, 1).UnixMicro(),
		}); err != nil {
			return raised, err
		}
	}
	n, err := s.watch(ctx, o)
	return raised + n, err
}

// failing returns the keys that Options.Failing reports, or nil if it is not set.
func (o *Options) failing() []FailingKey {
	if o.Failing == nil {
		return nil
	}
	return o.Failing()
}

// reachedThreshold returns the largest threshold that the spending from a budget has reached, or 0 if it has reached
// none.
func (o *Options) reachedThreshold(b *keychain.ImposedBudget) (percent int) {
	for _, t := range o.Thresholds {
		if float64(b.Spent)*100 >= float64(b.Amount)*float64(t) {
			percent = t
		}
	}
	return percent
}

// unixMicros returns t in microseconds since the Unix epoch, and 0 for the zero time.
func unixMicros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// raise writes an alert and a message for each recipient, and wakes the jobs that send. It writes nothing and returns
// false if an alert for this threshold or a larger one already exists.
func (s *Service) raise(ctx context.Context, o *Options, a *Alert) (written bool, err error) {
	var exists bool
	err = s.db.Read(ctx, func(c store.Conn) error {
		return c.Row(`SELECT EXISTS (SELECT 1 FROM gateway_alerts WHERE kind = ? AND subject = ? AND holder = ? AND budget = ? AND begins = ?
			AND amount = ? AND threshold >= ?)`, a.Kind, a.On, a.Holder, a.Budget, a.begins, a.amount, a.Threshold).Scan(&exists)
	})
	if err != nil || exists {
		return false, err
	}
	concerned, err := s.keychain.ConcernedBy(ctx, a.On, a.Holder)
	if err != nil {
		return false, err
	}
	a.Name = cmp.Or(concerned.Name, a.Name)
	var addresses []string
	if o.Concerned {
		addresses = concerned.Addresses
	}
	return s.write(ctx, a, func(c store.Conn) (bool, error) { return s.insert(c, o, a, addresses) })
}

// write calls insert in a transaction. insert writes the alert a, unless the alert exists already. After the
// transaction, write announces the alert if it is new. written is what insert has returned.
func (s *Service) write(
	ctx context.Context, a *Alert, insert func(c store.Conn) (written bool, err error),
) (written bool, err error) {
	err = s.db.Write(ctx, func(c store.Conn) (err error) {
		written, err = insert(c)
		return err
	})
	if err != nil {
		return false, err
	}
	if written {
		s.announce(a)
	}
	return written, nil
}

// insert writes an alert and one message for each recipient in the options. addresses are further mail addresses for
// the alert. It writes nothing and returns false if the same alert already exists.
func (s *Service) insert(c store.Conn, o *Options, a *Alert, addresses []string) (written bool, err error) {
	now := s.now().UnixMicro()
	var id int64
	err = c.Row(`INSERT INTO gateway_alerts (event, kind, subject, holder, name, budget, begins, ends, threshold, amount, spent, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (kind, subject, holder, budget, begins, amount, threshold) DO NOTHING RETURNING id`,
		"alert_"+rand.Text(), a.Kind, a.On, a.Holder, a.Name, a.Budget, a.begins, a.ends, a.Threshold, a.amount, a.spent,
		now).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	addMessage := func(channel, target string) error {
		_, err := c.Exec(`INSERT INTO gateway_alert_messages (alert_id, channel, target, state, attempts, next_at, leased_until, answer)
			VALUES (?, ?, ?, 'pending', 0, ?, 0, '') ON CONFLICT (alert_id, channel, target) DO NOTHING`, id,
			channel, target, now)
		return err
	}
	if o.Mail != nil {
		for _, address := range slices.Concat(o.Addresses, addresses) {
			if err := addMessage(channelMail, address); err != nil {
				return false, err
			}
		}
	}
	for i := range o.Webhooks {
		if err := addMessage(channelWebhook, o.Webhooks[i].target()); err != nil {
			return false, err
		}
	}
	return true, nil
}

// purge deletes old alerts, and marks messages that have waited too long as failed.
func (s *Service) purge(ctx context.Context) error {
	now := s.now()
	_, err := s.db.Purge(ctx, purgeRows,
		`UPDATE gateway_alert_messages SET state = 'failed', next_at = NULL, answer = 'waited too long' WHERE id IN (
		SELECT m.id FROM gateway_alert_messages AS m JOIN gateway_alerts AS a ON a.id = m.alert_id
		WHERE m.next_at IS NOT NULL AND a.created_at < ? LIMIT ?)`, now.Add(-sentWithin).UnixMicro())
	if err != nil {
		return err
	}
	keepSince := now.Add(-keepFor).UnixMicro()
	// The column begins is 0 for alerts of total budgets, which are kept; see keepFor.
	if _, err = s.db.Purge(ctx, purgeRows, `DELETE FROM gateway_alert_messages WHERE id IN (
		SELECT m.id FROM gateway_alert_messages AS m JOIN gateway_alerts AS a ON a.id = m.alert_id
		WHERE a.created_at < ? AND a.begins > 0 LIMIT ?)`, keepSince); err != nil {
		return err
	}
	_, err = s.db.Purge(ctx, purgeRows, `DELETE FROM gateway_alerts WHERE id IN (
		SELECT a.id FROM gateway_alerts AS a WHERE a.created_at < ? AND a.begins > 0
		AND NOT EXISTS (SELECT 1 FROM gateway_alert_messages AS m WHERE m.alert_id = a.id) LIMIT ?)`, keepSince)
	return err
}

// Test writes a test alert, which is sent to the addresses and webhooks of the options. It returns ErrOff if the
// service has no options.
func (s *Service) Test(ctx context.Context) error {
	o := s.options.Load()
	if o == nil {
		return ErrOff
	}
	a := &Alert{
		Kind: KindTest, On: keychain.OnOrganisation, Holder: keychain.Organisation,
		Budget: rand.Text(), // makes the alert different from all earlier ones
		begins: s.now().UnixMicro(),
	}
	err := s.db.Write(ctx, func(c store.Conn) error {
		_, err := s.insert(c, o, a, nil)
		return err
	})
	s.wakeJob(jobMail)
	s.wakeJob(jobWebhook)
	return err
}

// ErrOff is returned by Test if alerts are not configured.
var ErrOff = errors.New("alerts are not configured: set their recipients with the gateway's option alerts")
