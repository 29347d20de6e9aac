// Package alerts tells the operator of the model gateway, and whom else it concerns, when parts
// of the budgets are spent that the operator has set, and when a provider does not take a key of
// the operator's. What is told is written first, with a message for each who is told, and sent
// from there in the background, by mail and by webhook, by one node of those that share the
// database.
package alerts

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
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

// OnProvider is the subject of alerts of KindProviderKey. Those of budgets have the subjects of
// keychain.Imposed.
const OnProvider = "provider"

// DefaultThresholds are the parts of a budget that are told of, in percent.
var DefaultThresholds = []int{50, 80, 95, 100}

const (
	checkEvery = 10 * time.Second
	sendEvery  = 5 * time.Second
	// fullEvery is how often all budgets are looked at; between, only those are whose keys were
	// used within usedWithin: a request that lasts is noted when it ends.
	fullEvery  = 10 * time.Minute
	usedWithin = 20 * time.Minute
	// kept is how long alerts are kept. Those of budgets in total stay: they would come again.
	kept      = 180 * 24 * time.Hour
	purgeRows = 500 // of a transaction
)

// Options say who is told of what.
type Options struct {
	// Thresholds are parts of budgets in percent, the smallest first.
	Thresholds []int
	// Addresses are the mail addresses that are told everything.
	Addresses []string
	// Concerned has administrators of a team be told of it by mail, and users of themselves and
	// of their keys.
	Concerned bool
	// Mail takes mails to where they are sent on. Nil means that nobody is mailed.
	Mail mail.Transport
	// Webhooks are told everything.
	Webhooks []Webhook
	// Failing returns the operator's keys that providers do not take now, as this node knows.
	// Nil means that nobody looks.
	Failing func() []FailingKey
}

// Webhook is an address that is told of alerts as Standard Webhooks has it.
type Webhook struct {
	URL    string
	Secret []byte // see webhook.ParseStandardSecret
}

// FailingKey is a key of the operator's that a provider does not take.
type FailingKey struct{ Provider, State string }

// Service tells of alerts. It does nothing before Use is called. Close it.
type Service struct {
	db       *store.DB
	keychain *keychain.Service
	sender   *webhook.Sender
	logger   *zap.Logger
	observe  func(job, outcome string, done int)
	now      func() time.Time
	options  atomic.Pointer[Options]
	full     time.Time // when all budgets were looked at last; of the job alone
	anew     atomic.Bool
	wake     [3]chan struct{} // of the jobs
	mu       sync.Mutex
	end      func() // nil: it has not begun
}

// The jobs, by their places in wake.
const (
	jobCheck = iota
	jobMail
	jobWebhook
)

// Deps are what a Service needs.
type Deps struct {
	// Keychain has the database, too.
	Keychain *keychain.Service
	Sender   *webhook.Sender
	Logger   *zap.Logger
	// Observe is told of runs of the jobs; see jobs.Options.
	Observe func(job, outcome string, done int)
	Now     func() time.Time
}

// New returns the alerts of a gateway.
func New(d Deps) *Service {
	s := &Service{
		db: d.Keychain.DB(), keychain: d.Keychain, sender: d.Sender, logger: d.Logger, observe: d.Observe, now: d.Now,
	}
	for i := range s.wake {
		s.wake[i] = make(chan struct{}, 1)
	}
	return s
}

// Use begins to tell of alerts as the options say, or goes on with other options. Nil options end it.
func (s *Service) Use(o *Options) {
	s.options.Store(o)
	if o == nil {
		return
	}
	s.anew.Store(true)
	s.rouse(jobCheck)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.end == nil {
		s.end = jobs.New(jobs.Options{
			Jobs: []jobs.Job{
				{Name: "alerts", Every: checkEvery, Run: s.using(s.check), Wake: s.wake[jobCheck]},
				{Name: "alert_mails", Every: sendEvery, Run: s.using(s.mail), Wake: s.wake[jobMail]},
				{Name: "alert_webhooks", Every: sendEvery, Run: s.using(s.deliver), Wake: s.wake[jobWebhook]},
			},
			Observe: s.observe, Logger: func() *zap.Logger { return s.logger },
		}).Start()
	}
}

// Close ends it for good.
func (s *Service) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.end != nil {
		s.end()
	}
	s.end = func() {}
	s.sender.Close()
}

func (s *Service) using(run func(ctx context.Context, o *Options) (int, error)) func(ctx context.Context) (int, error) {
	return func(ctx context.Context) (int, error) {
		o := s.options.Load()
		if o == nil {
			return 0, nil
		}
		return run(ctx, o)
	}
}

func (s *Service) rouse(job int) {
	select {
	case s.wake[job] <- struct{}{}:
	default:
	}
}

// check looks what there is to tell of, and writes it down. It returns how much that is.
func (s *Service) check(ctx context.Context, o *Options) (told int, err error) {
	now, since := s.now(), time.Time{}
	whole := s.anew.Swap(false) || now.Sub(s.full) >= fullEvery || now.Before(s.full)
	if !whole {
		since = now.Add(-usedWithin)
	}
	raise := func(a *Alert) error {
		made, err := s.raise(ctx, o, a)
		if made {
			told++
		}
		return err
	}
	err = s.keychain.EachImposedBudget(ctx, since, func(b *keychain.ImposedBudget) error {
		reached := o.reached(b)
		if reached == 0 {
			return nil
		}
		return raise(&Alert{
			Kind: KindBudget, On: b.On, Holder: b.Holder, Budget: b.Name, begins: unix(b.Begins), ends: unix(b.Ends),
			Threshold: reached, amount: b.Amount, spent: b.Spent, money: b.Money,
		})
	})
	for _, key := range o.failing() {
		if err != nil {
			break
		}
		day := now.UTC().Truncate(24 * time.Hour) // told once a day
		err = raise(&Alert{
			Kind: KindProviderKey, On: OnProvider, Holder: key.Provider, Budget: key.State, begins: day.UnixMicro(), ends: day.AddDate(0, 0, 1).UnixMicro(),
		})
	}
	if err == nil && whole {
		s.full = now
		err = s.purge(ctx)
	}
	if err != nil && whole {
		s.anew.Store(true)
	}
	return told, err
}

func (o *Options) failing() []FailingKey {
	if o.Failing == nil {
		return nil
	}
	return o.Failing()
}

// reached returns the largest threshold that is reached, 0 where none is.
func (o *Options) reached(b *keychain.ImposedBudget) (percent int) {
	for _, t := range o.Thresholds {
		if float64(b.Spent)*100 >= float64(b.Amount)*float64(t) {
			percent = t
		}
	}
	return percent
}

// unix is 0 for the zero time.
func unix(at time.Time) int64 {
	if at.IsZero() {
		return 0
	}
	return at.UnixMicro()
}

// raise writes an alert down with a message for each who is told, unless there is one for this
// threshold or a larger one.
func (s *Service) raise(ctx context.Context, o *Options, a *Alert) (made bool, err error) {
	var there bool
	err = s.db.Read(ctx, func(c store.Conn) error {
		return c.Row(`SELECT EXISTS (SELECT 1 FROM gateway_alerts WHERE kind = ? AND subject = ? AND holder = ? AND budget = ? AND begins = ?
			AND amount = ? AND threshold >= ?)`, a.Kind, a.On, a.Holder, a.Budget, a.begins, a.amount, a.Threshold).Scan(&there)
	})
	if err != nil || there {
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
	err = s.db.Write(ctx, func(c store.Conn) error {
		made, err = s.insert(c, o, a, addresses)
		return err
	})
	if err == nil && made {
		s.logger.Info("alert", zap.String("kind", a.Kind), zap.String("on", a.On), zap.String("holder", a.Holder),
			zap.String("budget", a.Budget), zap.Int("threshold", a.Threshold))
		s.rouse(jobMail)
		s.rouse(jobWebhook)
	}
	return made, err
}

// insert writes an alert and its messages, unless there is that alert already.
func (s *Service) insert(c store.Conn, o *Options, a *Alert, concerned []string) (made bool, err error) {
	now := s.now().UnixMicro()
	var id int64
	err = c.Row(`INSERT INTO gateway_alerts (event, kind, subject, holder, name, budget, begins, ends, threshold, amount, spent, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (kind, subject, holder, budget, begins, amount, threshold) DO NOTHING RETURNING id`,
		"alert_"+rand.Text(), a.Kind, a.On, a.Holder, a.Name, a.Budget, a.begins, a.ends, a.Threshold, a.amount, a.spent, now).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	send := func(channel, target string) error {
		_, err := c.Exec(`INSERT INTO gateway_alert_messages (alert_id, channel, target, state, attempts, next_at, leased_until, answer)
			VALUES (?, ?, ?, 'pending', 0, ?, 0, '') ON CONFLICT (alert_id, channel, target) DO NOTHING`, id, channel, target, now)
		return err
	}
	if o.Mail != nil {
		for _, list := range [][]string{o.Addresses, concerned} {
			for _, address := range list {
				if err := send(channelMail, address); err != nil {
					return false, err
				}
			}
		}
	}
	for i := range o.Webhooks {
		if err := send(channelWebhook, o.Webhooks[i].target()); err != nil {
			return false, err
		}
	}
	return true, nil
}

// purge deletes old alerts, and ends messages that waited for too long.
func (s *Service) purge(ctx context.Context) error {
	now := s.now()
	_, err := s.db.Purge(ctx, purgeRows, `UPDATE gateway_alert_messages SET state = 'failed', next_at = NULL, answer = 'waited too long' WHERE id IN (
		SELECT m.id FROM gateway_alert_messages AS m JOIN gateway_alerts AS a ON a.id = m.alert_id
		WHERE m.next_at IS NOT NULL AND a.created_at < ? LIMIT ?)`, now.Add(-sentWithin).UnixMicro())
	if err != nil {
		return err
	}
	old := now.Add(-kept).UnixMicro()
	if _, err = s.db.Purge(ctx, purgeRows, `DELETE FROM gateway_alert_messages WHERE id IN (
		SELECT m.id FROM gateway_alert_messages AS m JOIN gateway_alerts AS a ON a.id = m.alert_id
		WHERE a.created_at < ? AND a.begins > 0 LIMIT ?)`, old); err != nil {
		return err
	}
	_, err = s.db.Purge(ctx, purgeRows, `DELETE FROM gateway_alerts WHERE id IN (
		SELECT a.id FROM gateway_alerts AS a WHERE a.created_at < ? AND a.begins > 0
		AND NOT EXISTS (SELECT 1 FROM gateway_alert_messages AS m WHERE m.alert_id = a.id) LIMIT ?)`, old)
	return err
}

// Test writes an alert of no consequence, which is sent to the addresses and webhooks of the options.
func (s *Service) Test(ctx context.Context) error {
	o := s.options.Load()
	if o == nil {
		return ErrOff
	}
	a := &Alert{Kind: KindTest, On: keychain.OnOrganisation, Holder: keychain.Organisation, Budget: rand.Text(), begins: s.now().UnixMicro()}
	err := s.db.Write(ctx, func(c store.Conn) error {
		_, err := s.insert(c, o, a, nil)
		return err
	})
	s.rouse(jobMail)
	s.rouse(jobWebhook)
	return err
}

// ErrOff is the error of a test where nobody is told of alerts.
var ErrOff = errors.New("the gateway tells nobody of alerts: its option alerts says who is told")
