package keychain

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// spending remembers what the keys that have budgets spent: what the database
// had when it was last asked, and what this node has recorded since. Only keys
// that Admit has met are in it.
type spending struct {
	// writer is this process in gateway_usage_writers.
	writer string

	tracked atomic.Int64 // number of keys, so that Add is free while there are none
	mu      sync.RWMutex
	keys    map[string]*keySpend
	swept   time.Time
}

// Bounds of the memory of spending.
const (
	forgetSpendAfter = 10 * time.Minute // not asked for
	maxLocalSpends   = 1 << 16          // records of one key between two reads
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

// keySpend is what one key spent. The mutex is never held over I/O.
type keySpend struct {
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

// key finds or begins the memory of a key.
func (s *spending) key(id string, now time.Time) *keySpend {
	s.mu.RLock()
	k := s.keys[id]
	s.mu.RUnlock()
	if k != nil {
		return k
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if k = s.keys[id]; k != nil {
		return k
	}
	if s.keys == nil {
		s.keys = make(map[string]*keySpend)
	}
	if now.Sub(s.swept) > forgetSpendAfter {
		for id, k := range s.keys {
			if k.idle(now) {
				delete(s.keys, id)
			}
		}
		s.swept = now
	}
	k = &keySpend{used: now}
	s.keys[id] = k
	s.tracked.Store(int64(len(s.keys)))
	return k
}

func (k *keySpend) idle(now time.Time) bool {
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
	k := s.keys[r.KeyID]
	s.mu.RUnlock()
	if k == nil {
		return
	}
	input, output := r.tokens()
	k.note(localSpend{record: n, at: r.At, spent: spent{input + output, r.cost()}})
}

func (k *keySpend) note(l localSpend) {
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
func (k *keySpend) count(l *localSpend) {
	if !l.at.Before(k.day) {
		k.dayNow.add(l.spent)
	}
	if !l.at.Before(startOfMonth(k.day)) {
		k.monthNow.add(l.spent)
	}
}

// set takes what the database had, which has the records of this node up to
// through.
func (k *keySpend) set(read, day time.Time, through int64, ofDay, ofMonth spent) {
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

// now is what the key has spent this day and this month; ok is false when that
// has to be read first.
func (k *keySpend) now(at time.Time) (ofDay, ofMonth spent, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.used = at
	ok = !k.read.IsZero() && at.Sub(k.read) < CacheTTL && k.day.Equal(startOfDay(at))
	return k.dayNow, k.monthNow, ok
}

// Admit refuses a key that has spent a budget: 402 insufficient_quota. A key without
// budgets costs nothing here. The sums are read at most every CacheTTL and are
// joined by what this node has recorded since, so a budget is passed by what the
// requests under way spend, and by what other nodes spend within CacheTTL and
// FlushInterval. While the database cannot be reached the error wraps
// store.ErrUnavailable.
func (s *Service) Admit(ctx context.Context, id *Identity) error {
	if id.Budgets.none() {
		return nil
	}
	now := s.now()
	key := s.spending.key(id.KeyID, now)
	ofDay, ofMonth, ok := key.now(now)
	for tries := 0; !ok && tries < 2; tries++ { // again: it may have joined a read of the day before
		_, err := s.shared(ctx, "spend/"+id.KeyID, func() (any, error) {
			// The read serves every waiting request: one of them leaving must not end it.
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
			defer cancel()
			return nil, tooSlow(s.readSpending(ctx, id, key, now))
		})
		if err != nil {
			return err
		}
		ofDay, ofMonth, ok = key.now(now)
	}
	return id.Budgets.admit(ofDay, ofMonth, now)
}

// admit looks at the budgets that last longest first: its end is when the same
// request may succeed.
func (b *Budgets) admit(ofDay, ofMonth spent, now time.Time) error {
	day := startOfDay(now)
	switch {
	case b.TokensPerMonth != nil && ofMonth.tokens >= *b.TokensPerMonth:
		return exceeded("tokens_per_month", fmt.Sprint(*b.TokensPerMonth, " tokens a month"), now, startOfMonth(day).AddDate(0, 1, 0))
	case b.USDPerMonth != nil && ofMonth.micros >= int64(*b.USDPerMonth):
		return exceeded("usd_per_month", b.USDPerMonth.String()+" USD a month", now, startOfMonth(day).AddDate(0, 1, 0))
	case b.TokensPerDay != nil && ofDay.tokens >= *b.TokensPerDay:
		return exceeded("tokens_per_day", fmt.Sprint(*b.TokensPerDay, " tokens a day"), now, day.AddDate(0, 0, 1))
	case b.USDPerDay != nil && ofDay.micros >= int64(*b.USDPerDay):
		return exceeded("usd_per_day", b.USDPerDay.String()+" USD a day", now, day.AddDate(0, 0, 1))
	}
	return nil
}

func exceeded(name, amount string, now, anew time.Time) error {
	refusal := apierror.New(http.StatusPaymentRequired, "insufficient_quota",
		"the gateway key has spent its budget %s, %s; it begins anew at %s", name, amount, anew.Format(time.RFC3339))
	refusal.RetryAfter = anew.Sub(now)
	refusal.NoRetry = true // an SDK would not wait that long
	return refusal
}

// readSpending reads the sums of a key. One statement, so that the number of the
// last record fits to the sums.
func (s *Service) readSpending(ctx context.Context, id *Identity, key *keySpend, now time.Time) error {
	day := startOfDay(now)
	type row struct {
		through        int64
		ofDay, ofMonth spent
	}
	const from = ` FROM gateway_usage_days WHERE key_id = ? AND day >= ?`
	found, err := read(ctx, s, func(cells store.Row) (r row, err error) {
		return r, cells.Scan(&r.through, &r.ofDay.tokens, &r.ofDay.micros, &r.ofMonth.tokens, &r.ofMonth.micros)
	}, `SELECT coalesce((SELECT records FROM gateway_usage_writers WHERE writer = ?), 0),
		CAST(coalesce(sum(CASE WHEN day >= ? THEN input_tokens + output_tokens ELSE 0 END), 0) AS BIGINT),
		CAST(coalesce(sum(CASE WHEN day >= ? THEN cost_micro_usd ELSE 0 END), 0) AS BIGINT),
		CAST(coalesce(sum(input_tokens + output_tokens), 0) AS BIGINT), CAST(coalesce(sum(cost_micro_usd), 0) AS BIGINT)`+from,
		s.spending.writer, unixDay(day), unixDay(day), id.KeyID, unixDay(startOfMonth(day)))
	if err == nil {
		key.set(now, day, found[0].through, found[0].ofDay, found[0].ofMonth)
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
