package keychain

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// spending remembers what was spent of budgets: what the database had when it was
// last asked, and what this node has recorded since. Only budgets that Admit has met
// are in it.
type spending struct {
	// writer is this process in gateway_usage_writers.
	writer string

	tracked atomic.Int64 // number of purses, so that Add is free while there are none
	mu      sync.RWMutex
	purses  map[purse]*purseSpend
	shared  map[string]purse // of OnKey, by the keys that draw on them
	swept   time.Time
}

// purse is what budgets are spent from: a key, the keys that share the limits of one, or
// all keys of a user.
type purse struct {
	on string // onOwn, OnKey or OnUser
	id string // of the key, of the holder of the limits, or of the user
}

// onOwn is a key with budgets of its own.
const onOwn = "own"

// Bounds of the memory of spending.
const (
	forgetSpendAfter = 10 * time.Minute // not asked for
	maxLocalSpends   = 1 << 16          // records of one purse between two reads
)

// spent is an amount in tokens and millionths of a dollar.
type spent struct{ tokens, micros int64 }

func (s *spent) add(o spent) { s.tokens, s.micros = s.tokens+o.tokens, s.micros+o.micros }

// localSpend is a record of this node that the sums read last do not have.
type localSpend struct {
	record int64 // the records of a node are numbered in the order they are written
	at     time.Time
	spent
}

// purseSpend is what was spent from one purse. The mutex is never held over I/O.
type purseSpend struct {
	mu      sync.Mutex
	read    time.Time // when the sums were read; zero: never
	used    time.Time
	day     time.Time // the begin of the day that the sums are of
	through int64     // the records of this node up to this one are in the sums
	// The sums, with what this node has recorded since.
	dayNow, monthNow spent
	local            []localSpend
}

func startOfDay(at time.Time) time.Time { return at.UTC().Truncate(24 * time.Hour) }

func startOfMonth(day time.Time) time.Time {
	return time.Date(day.Year(), day.Month(), 1, 0, 0, 0, 0, time.UTC)
}

// purse finds or begins the memory of a purse that a key draws on.
func (s *spending) purse(p purse, keyID string, now time.Time) *purseSpend {
	s.mu.RLock()
	k, known := s.purses[p], p.on != OnKey || s.shared[keyID] == p
	s.mu.RUnlock()
	if k != nil && known {
		return k
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.purses == nil {
		s.purses, s.shared = make(map[purse]*purseSpend), make(map[string]purse)
	}
	if p.on == OnKey {
		s.shared[keyID] = p
	}
	if k = s.purses[p]; k != nil {
		return k
	}
	if now.Sub(s.swept) > forgetSpendAfter {
		s.sweep(now)
	}
	k = &purseSpend{used: now}
	s.purses[p] = k
	s.tracked.Store(int64(len(s.purses)))
	return k
}

// sweep forgets the purses that nobody has asked for in a while. The caller holds the
// mutex.
func (s *spending) sweep(now time.Time) {
	maps.DeleteFunc(s.purses, func(_ purse, k *purseSpend) bool { return k.idle(now) })
	maps.DeleteFunc(s.shared, func(_ string, p purse) bool { return s.purses[p] == nil })
	s.swept = now
}

func (k *purseSpend) idle(now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return now.Sub(k.used) > forgetSpendAfter
}

// note counts a record that Add took as its n-th.
func (s *spending) note(r *Record, n int64) {
	if s.tracked.Load() == 0 {
		return
	}
	s.mu.RLock()
	purses := [...]*purseSpend{
		s.purses[purse{onOwn, r.KeyID}], s.purses[purse{OnUser, r.UserID}], s.purses[s.shared[r.KeyID]],
	}
	s.mu.RUnlock()
	input, output := r.tokens()
	for _, k := range purses {
		if k != nil {
			k.note(localSpend{record: n, at: r.At, spent: spent{input + output, r.cost()}})
		}
	}
}

func (k *purseSpend) note(l localSpend) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if l.record <= k.through {
		return // it was written and read meanwhile
	}
	k.count(&l)
	if last := len(k.local) - 1; last+1 >= maxLocalSpends {
		k.local[last].record = max(k.local[last].record, l.record)
		k.local[last].add(l.spent)
		return
	}
	k.local = append(k.local, l)
}

// count adds a record of this node to the sums of the day and the month.
func (k *purseSpend) count(l *localSpend) {
	if !l.at.Before(k.day) {
		k.dayNow.add(l.spent)
	}
	if !l.at.Before(startOfMonth(k.day)) {
		k.monthNow.add(l.spent)
	}
}

// set takes what the database had, which has the records of this node up to
// through.
func (k *purseSpend) set(read, day time.Time, through int64, ofDay, ofMonth spent) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.read, k.day, k.through = read, day, max(through, k.through)
	k.dayNow, k.monthNow = ofDay, ofMonth
	kept := k.local[:0]
	for i := range k.local {
		if k.local[i].record > k.through {
			kept = append(kept, k.local[i])
			k.count(&k.local[i])
		}
	}
	k.local = kept
}

// now is what was spent from the purse this day and this month; ok is false when that
// has to be read first.
func (k *purseSpend) now(at time.Time) (ofDay, ofMonth spent, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.used = at
	ok = !k.read.IsZero() && at.Sub(k.read) < CacheTTL && k.day.Equal(startOfDay(at))
	return k.dayNow, k.monthNow, ok
}

// budget is a bound on what is spent from a purse.
type budget struct {
	purse
	*Budgets
}

// budgets appends those that bind the key.
func (id *Identity) budgets(list []budget) []budget {
	if !id.Budgets.none() {
		list = append(list, budget{purse{onOwn, id.KeyID}, &id.Budgets})
	}
	for i := range id.Imposed {
		if l := &id.Imposed[i]; !l.Budgets.none() {
			list = append(list, budget{purse{l.On, l.Holder}, &l.Budgets})
		}
	}
	return list
}

// Admit refuses a key that has spent a budget: its own, or one that the operator has set
// on it or on its user, with 402 insufficient_quota. A key without
// budgets costs nothing here. The sums are read at most every CacheTTL and are
// joined by what this node has recorded since, so a budget is passed by what the
// requests under way spend, and by what other nodes spend within CacheTTL and
// FlushInterval. While the database cannot be reached the error wraps
// store.ErrUnavailable.
func (s *Service) Admit(ctx context.Context, id *Identity) error {
	var room [3]budget
	var longest error
	var wait time.Duration
	for _, b := range id.budgets(room[:0]) {
		err := s.admit(ctx, id.KeyID, b)
		refusal, ok := apierror.From(err)
		if err != nil && !ok {
			return err
		}
		if err != nil && (longest == nil || refusal.RetryAfter > wait) {
			longest, wait = err, refusal.RetryAfter // its end is when the same request may succeed
		}
	}
	return longest
}

// admit refuses a key that has spent one budget.
func (s *Service) admit(ctx context.Context, keyID string, b budget) error {
	now := s.now()
	purse := s.spending.purse(b.purse, keyID, now)
	ofDay, ofMonth, ok := purse.now(now)
	for tries := 0; !ok && tries < 2; tries++ { // again: it may have joined a read of the day before
		_, err := s.shared(ctx, "spend/"+b.on+"/"+b.id, func() (any, error) {
			// The read serves every waiting request: one of them leaving must not end it.
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
			defer cancel()
			return nil, tooSlow(s.readSpending(ctx, b.purse, purse, now))
		})
		if err != nil {
			return err
		}
		ofDay, ofMonth, ok = purse.now(now)
	}
	return b.admit(ofDay, ofMonth, now)
}

// admit looks at the budgets that last longest first: its end is when the same
// request may succeed.
func (b *budget) admit(ofDay, ofMonth spent, now time.Time) error {
	day := startOfDay(now)
	month := startOfMonth(day).AddDate(0, 1, 0)
	switch {
	case b.TokensPerMonth != nil && ofMonth.tokens >= *b.TokensPerMonth:
		return b.exceeded("tokens_per_month", fmt.Sprint(*b.TokensPerMonth, " tokens a month"), now, month)
	case b.USDPerMonth != nil && ofMonth.micros >= int64(*b.USDPerMonth):
		return b.exceeded("usd_per_month", b.USDPerMonth.String()+" USD a month", now, month)
	case b.TokensPerDay != nil && ofDay.tokens >= *b.TokensPerDay:
		return b.exceeded("tokens_per_day", fmt.Sprint(*b.TokensPerDay, " tokens a day"), now, day.AddDate(0, 0, 1))
	case b.USDPerDay != nil && ofDay.micros >= int64(*b.USDPerDay):
		return b.exceeded("usd_per_day", b.USDPerDay.String()+" USD a day", now, day.AddDate(0, 0, 1))
	}
	return nil
}

// exceeded says whose budget is spent, how much it is, and until when.
func (b *budget) exceeded(name, amount string, now, anew time.Time) error {
	whose := map[string]string{
		onOwn:  "the gateway key has spent its budget %s, %s",
		OnKey:  "the gateway key has spent the budget %s that the operator has set on it, %s",
		OnUser: "the user of the gateway key has spent the budget %s that the operator has set on all their keys, %s",
	}[b.on]
	refusal := apierror.New(http.StatusPaymentRequired, "insufficient_quota",
		whose+"; it begins anew at %s", name, amount, anew.Format(time.RFC3339))
	refusal.RetryAfter = anew.Sub(now)
	refusal.NoRetry = true // an SDK would not wait that long
	return refusal
}

// records is the condition for the rows of gateway_usage_days that count.
func (p purse) records() string {
	switch p.on {
	case OnUser:
		return `user_id = ?`
	case OnKey:
		return `key_id IN (SELECT id FROM gateway_keys WHERE limited_by = ?)`
	default:
		return `key_id = ?`
	}
}

// readSpending reads the sums of a purse. One statement, so that the number of the
// last record fits to the sums.
func (s *Service) readSpending(ctx context.Context, from purse, into *purseSpend, now time.Time) error {
	day := startOfDay(now)
	type row struct {
		through        int64
		ofDay, ofMonth spent
	}
	found, err := read(ctx, s, func(cells store.Row) (r row, err error) {
		return r, cells.Scan(&r.through, &r.ofDay.tokens, &r.ofDay.micros, &r.ofMonth.tokens, &r.ofMonth.micros)
	}, `SELECT coalesce((SELECT records FROM gateway_usage_writers WHERE writer = ?), 0),
		CAST(coalesce(sum(CASE WHEN day >= ? THEN input_tokens + output_tokens ELSE 0 END), 0) AS BIGINT),
		CAST(coalesce(sum(CASE WHEN day >= ? THEN cost_micro_usd ELSE 0 END), 0) AS BIGINT),
		CAST(coalesce(sum(input_tokens + output_tokens), 0) AS BIGINT), CAST(coalesce(sum(cost_micro_usd), 0) AS BIGINT)
		FROM gateway_usage_days WHERE `+from.records()+` AND day >= ?`,
		s.spending.writer, unixDay(day), unixDay(day), from.id, unixDay(startOfMonth(day)))
	if err == nil {
		into.set(now, day, found[0].through, found[0].ofDay, found[0].ofMonth)
	}
	return err
}

// writersKept is how long the row of a process stays after its last batch.
const writersKept = 7 * 24 * time.Hour

// markWritten notes, with a batch, how far this process has come, and from where. It is an
// error where the row says more: a batch that was given up has come through after all. It says
// less where the database went back, to a backup or to a standby that had not heard of the last
// batches; what is lost so is no reason to write nothing more.
func (s *Service) markWritten(c store.Conn, from, records int64) error {
	now := s.now()
	n, err := c.Exec(`UPDATE gateway_usage_writers SET records = ?, at = ? WHERE writer = ? AND records <= ?`, records, micros(now), s.spending.writer, from)
	if err != nil || n == 1 {
		return err
	}
	if _, err = c.Exec(`DELETE FROM gateway_usage_writers WHERE at < ?`, micros(now.Add(-writersKept))); err != nil {
		return err
	}
	_, err = c.Exec(`INSERT INTO gateway_usage_writers (writer, records, at) VALUES (?, ?, ?)`, s.spending.writer, records, micros(now))
	return err
}

// written is how many records of this process are in the database.
func (s *Service) written(ctx context.Context) (records int64, err error) {
	err = s.db.Read(ctx, func(c store.Conn) error {
		return c.Row(`SELECT coalesce(max(records), 0) FROM gateway_usage_writers WHERE writer = ?`, s.spending.writer).Scan(&records)
	})
	return records, err
}
