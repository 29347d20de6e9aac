package spending

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// purses caches the spending of each Purse: the sums that the database had when it was last read, and the records that
// this node has added since. It holds only purses for which Spent was called.
type purses struct {
	// writer identifies this process in gateway_usage_writers.
	writer string

	tracked atomic.Int64 // number of cached purses; while it is 0 addRecord does nothing
	mu      sync.RWMutex // guards the fields below; taken after the mutex of the Log, and before that of a purseSpend
	purses  map[Purse]*purseSpend
	shared  map[string]Purse // the purses of kind OfKey, by the ids of the keys that are paid from them
	swept   time.Time        // when sweep was last called
}

// Purse identifies a set of requests whose spending is summed, because a budget applies to all of them: the requests of
// one key, of the keys that share a key's limits, of a user, of a team or of the whole organisation, or the requests
// sent with one provider key. A request is paid from several purses, for instance from those of its key, of its user
// and of its team.
type Purse struct {
	On string // OwnKey, OfKey, OfUser, OfTeam, OfOrganisation or OfProviderKey
	ID string // id of the key, of the key with the shared limits, of the user or of the team; or Organisation
}

// The kinds of purses.
const (
	// OwnKey is the kind for a single gateway key.
	OwnKey = "own"
	// OfKey is the kind for all gateway keys that share the limits of one key, such as a key and its replacements.
	OfKey          = "key"
	OfUser         = "user"
	OfTeam         = "team"
	OfOrganisation = "organisation"
	OfProviderKey  = "provider_key"
)

// Organisation is the id of the only purse of kind OfOrganisation.
const Organisation = "organisation"

// Limits of the cache of sums.
const (
	forgetSpendAfter = 10 * time.Minute // since the last call for the purse
	maxLocalSpends   = 1 << 16          // records of one purse between two reads of the database
)

// Sum is an amount in tokens and millionths of a dollar.
type Sum struct{ Tokens, Micros int64 }

func (s *Sum) add(o Sum) { s.Tokens, s.Micros = s.Tokens+o.Tokens, s.Micros+o.Micros }

// localSpend is a record of this node that the sums from the database do not include yet.
type localSpend struct {
	record int64 // number of the record, in the order in which this node writes them
	began  time.Time
	Sum
}

// purseSpend holds the spending of one purse. The mutex is never held during I/O.
type purseSpend struct {
	mu        sync.Mutex
	read      time.Time // when the sums were read; zero means never
	lastUsed  time.Time
	day       time.Time // the day for which the sums were read
	through   int64     // the number of the last record of this node that is in the sums
	totalRead bool      // whether the sum of InTotal was read, too
	sums      WindowSums
	local     []localSpend // records of this node that are not in the sums read
}

// WindowSums are the sums of all windows that contain a given day, indexed by Window.
type WindowSums [NumberOfWindows]Sum

// StartOfDay returns the beginning of the UTC day that contains a time.
func StartOfDay(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

func startOfMonth(day time.Time) time.Time {
	return time.Date(day.Year(), day.Month(), 1, 0, 0, 0, 0, time.UTC)
}

// lookup returns the cached sums of a purse from which the key keyID is paid. It returns nil if the purse is not
// cached, or if the key shares the purse with other keys and join was not called for the key.
func (s *purses) lookup(p Purse, keyID string) *purseSpend {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if p.On == OfKey && s.shared[keyID] != p {
		return nil
	}
	return s.purses[p]
}

// join returns the cached sums of a purse. If the sums do not exist, join creates them. If the purse is of the kind
// OfKey, join records that the key is paid from it.
func (s *purses) join(p Purse, keyID string, now time.Time) *purseSpend {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.purses == nil {
		s.purses, s.shared = make(map[Purse]*purseSpend), make(map[string]Purse)
	}
	if p.On == OfKey {
		s.shared[keyID] = p
	}
	if spend := s.purses[p]; spend != nil {
		return spend
	}
	if now.Sub(s.swept) > forgetSpendAfter {
		s.sweep(now)
	}
	spend := &purseSpend{lastUsed: now}
	s.purses[p] = spend
	s.tracked.Store(int64(len(s.purses)))
	return spend
}

// purse returns the cached sums of a purse from which the key keyID is paid. If the sums do not exist, purse creates
// them and adds the records that wait in the log, since the sums in the database do not include these records.
func (s *Ledger) purse(p Purse, keyID string, now time.Time) *purseSpend {
	if spend := s.purses.lookup(p, keyID); spend != nil {
		return spend
	}
	log := s.log.Load()
	if log == nil {
		return s.purses.join(p, keyID, now)
	}
	// Another goroutine may have joined the purse since the lookup above, so lookup is called again. While the log is
	// locked, no record is added between join and the loop.
	log.mu.Lock()
	defer log.mu.Unlock()
	if spend := s.purses.lookup(p, keyID); spend != nil {
		return spend
	}
	spend := s.purses.join(p, keyID, now)
	for n, r := range log.unwritten() {
		if p.pays(r, keyID) {
			spend.addLocal(r.spent(n))
		}
	}
	return spend
}

// pays reports whether a record is paid from the purse p. The key keyID is paid from this purse. For the kinds OwnKey
// and OfKey, pays reports whether the record is of that key. It then reports false for records of other keys, even if
// these keys share the purse.
func (p Purse) pays(r *Record, keyID string) bool {
	switch p.On {
	case OfUser:
		return r.UserID == p.ID
	case OfTeam:
		return r.TeamID == p.ID
	case OfOrganisation:
		return true
	case OfProviderKey:
		return r.ProviderKey == p.ID
	default:
		return r.KeyID == keyID
	}
}

// sweep removes the purses that have not been used for forgetSpendAfter. The caller holds the mutex.
func (s *purses) sweep(now time.Time) {
	maps.DeleteFunc(s.purses, func(_ Purse, k *purseSpend) bool { return k.idle(now) })
	maps.DeleteFunc(s.shared, func(_ string, p Purse) bool { return s.purses[p] == nil })
	s.swept = now
}

// idle reports whether the purse has not been used for forgetSpendAfter.
func (k *purseSpend) idle(now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return now.Sub(k.lastUsed) > forgetSpendAfter
}

// addRecord adds the record with the number n to the cached purses from which it is paid. The caller holds the mutex of
// the log.
func (s *purses) addRecord(r *Record, n int64) {
	if s.tracked.Load() == 0 {
		return
	}
	s.mu.RLock()
	paying := [...]*purseSpend{ // nil for purses that are not cached
		s.purses[Purse{OwnKey, r.KeyID}], s.purses[Purse{OfUser, r.UserID}], s.purses[s.shared[r.KeyID]],
		s.purses[Purse{OfTeam, r.TeamID}], s.purses[Purse{OfOrganisation, Organisation}],
		s.purses[Purse{OfProviderKey, r.ProviderKey}],
	}
	s.mu.RUnlock()
	spent := r.spent(n)
	for _, purse := range paying {
		if purse != nil {
			purse.addLocal(spent)
		}
	}
}

// spent returns the amounts of the record, whose number is n.
func (r *Record) spent(n int64) localSpend {
	input, output := r.tokens()
	return localSpend{record: n, began: r.At, Sum: Sum{input + output, r.cost()}}
}

// addLocal adds a record of this node, unless the sums from the database already include the record. Once k.local has
// maxLocalSpends elements, further records are merged into the last element.
func (k *purseSpend) addLocal(l localSpend) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if l.record <= k.through {
		return // it was written and read in the meantime
	}
	k.addToWindows(&l)
	if len(k.local) >= maxLocalSpends {
		last := &k.local[len(k.local)-1]
		last.record = max(last.record, l.record)
		last.add(l.Sum)
		return
	}
	k.local = append(k.local, l)
}

// addToWindows adds a record of this node to the sums of the windows that contain it.
func (k *purseSpend) addToWindows(l *localSpend) {
	for w := range NumberOfWindows {
		if !l.began.Before(w.Begin(k.day)) {
			k.sums[w].add(l.Sum)
		}
	}
}

// set stores sums from the database, which include the records of this node up to the number lastRecord, and adds the
// later records of this node. The query ran at queryTime, and the sums were read for the given day. total reports
// whether the sum of InTotal was read, too.
func (k *purseSpend) set(queryTime, day time.Time, lastRecord int64, total bool, sums *WindowSums) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.read, k.day, k.through, k.totalRead, k.sums = queryTime, day, max(lastRecord, k.through), total, *sums
	later := k.local[:0]
	for i := range k.local {
		if k.local[i].record > k.through {
			later = append(later, k.local[i])
			k.addToWindows(&k.local[i])
		}
	}
	k.local = later
}

// cached returns the cached sums of the purse, and records its use. ok is false if the sums must be read from the
// database first, because they are too old, or because total is set and the sum of InTotal was not read.
func (k *purseSpend) cached(now time.Time, total bool) (sums WindowSums, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.lastUsed = now
	ok = !k.read.IsZero() && now.Sub(k.read) < SumsTTL && k.day.Equal(StartOfDay(now)) && (k.totalRead || !total)
	return k.sums, ok
}

// Spent returns the sums spent from a purse from which the key keyID is paid. The sum of InTotal is valid only if total
// is set. The database is read at most every SumsTTL; records that this node has added since are included.
func (s *Ledger) Spent(ctx context.Context, keyID string, p Purse, total bool, now time.Time) (WindowSums, error) {
	purse := s.purse(p, keyID, now)
	sums, ok := purse.cached(now, total)
	// Two attempts, since the first one may share a read that another goroutine started before midnight.
	for attempt := 0; !ok && attempt < 2; attempt++ {
		_, err := s.reads.Do(ctx, fmt.Sprint(total, "/", p.On, "/", p.ID), func(ctx context.Context) (any, error) {
			return nil, s.readSpending(ctx, p, purse, total, now)
		})
		if err != nil {
			return WindowSums{}, err
		}
		sums, ok = purse.cached(now, total)
	}
	return sums, nil
}

// sumsSource returns the table and the condition that select the rows of sums of a purse. The only parameter of the
// condition is the purse's id.
func (p Purse) sumsSource() string {
	switch p.On {
	case OfUser:
		return `gateway_usage_days WHERE user_id = ?`
	case OfKey:
		return `gateway_usage_days WHERE key_id IN (SELECT id FROM gateway_keys WHERE limited_by = ?)`
	case OfTeam:
		return `gateway_team_days WHERE team_id = ?`
	case OfProviderKey:
		return `gateway_provider_key_days WHERE provider_key = ?`
	case OfOrganisation:
		return `gateway_model_days WHERE ? = '` + Organisation + `'`
	default:
		return `gateway_usage_days WHERE key_id = ?`
	}
}

// selectSpending is the beginning of a query for the spending since the beginning of each window.
var selectSpending = `SELECT coalesce((SELECT records FROM gateway_usage_writers WHERE writer = ?), 0)` +
	strings.Repeat(`,
	CAST(coalesce(sum(CASE WHEN day >= ? THEN input_tokens + output_tokens ELSE 0 END), 0) AS BIGINT),
	CAST(coalesce(sum(CASE WHEN day >= ? THEN cost_micro_usd ELSE 0 END), 0) AS BIGINT)`, int(NumberOfWindows)) + ` FROM `

// readSpending reads the sums of a purse into spend. The sum of InTotal is read only if total is set.
func (s *Ledger) readSpending(ctx context.Context, p Purse, spend *purseSpend, total bool, now time.Time) error {
	lastRecord, sums, err := s.sumSpending(ctx, p, total, now)
	if err == nil {
		spend.set(now, StartOfDay(now), lastRecord, total, &sums)
	}
	return err
}

// Stored returns the sums spent from a purse according to the database, without the cache and without the records that
// wait in memory. The sum of InTotal is valid only if total is set.
func (s *Ledger) Stored(ctx context.Context, p Purse, total bool, now time.Time) (WindowSums, error) {
	_, sums, err := s.sumSpending(ctx, p, total, now)
	return sums, err
}

// sumSpending returns the spending of a purse in each window, and the number of the last record of this process that
// the sums include. Both are read in one statement, so that they are consistent. The sum for InTotal is valid only if
// total is set.
func (s *Ledger) sumSpending(
	ctx context.Context, p Purse, total bool, now time.Time,
) (lastRecord int64, sums WindowSums, err error) {
	day := StartOfDay(now)
	args := append(make([]any, 0, 3+2*NumberOfWindows), s.purses.writer)
	first := unixDay(day) // the first day of all windows that are read
	for w := range NumberOfWindows {
		start := int64(0)
		if w != InTotal {
			start = unixDay(w.Begin(day))
			first = min(first, start)
		}
		args = append(args, start, start)
	}
	if total {
		first = 0
	}
	cells := append(make([]any, 0, 1+2*len(sums)), &lastRecord)
	for w := range sums {
		cells = append(cells, &sums[w].Tokens, &sums[w].Micros)
	}
	err = s.db.Read(ctx, func(c store.Conn) error {
		return c.Row(selectSpending+p.sumsSource()+` AND day >= ?`, append(args, p.ID, first)...).Scan(cells...)
	})
	return lastRecord, sums, err
}

// writersKept is how long the row of a process in gateway_usage_writers is kept after its last batch.
const writersKept = 7 * 24 * time.Hour

// markWritten stores lastRecord, the number of the last record of a batch, in the transaction that writes the batch.
// previousRecord is the number of the last record before the batch. If the stored number is larger than previousRecord,
// a batch that seemed to fail was committed after all, and the insertion at the end fails because the row exists. A
// smaller number is not an error: the database may have been replaced by a backup or a standby without the last
// batches, and that must not stop the log.
func (s *Ledger) markWritten(c store.Conn, previousRecord, lastRecord int64) error {
	now := s.now()
	updated, err := c.Exec(`UPDATE gateway_usage_writers SET records = ?, at = ? WHERE writer = ? AND records <= ?`, lastRecord,
		schema.Micros(now), s.purses.writer, previousRecord)
	if err != nil || updated == 1 {
		return err
	}
	if _, err = c.Exec(`DELETE FROM gateway_usage_writers WHERE at < ?`,
		schema.Micros(now.Add(-writersKept))); err != nil {
		return err
	}
	_, err = c.Exec(`INSERT INTO gateway_usage_writers (writer, records, at) VALUES (?, ?, ?)`, s.purses.writer, lastRecord,
		schema.Micros(now))
	return err
}

// written returns the number of records of this process that are in the database.
func (s *Ledger) written(ctx context.Context) (records int64, err error) {
	err = s.db.Read(ctx, func(c store.Conn) error {
		return c.Row(`SELECT coalesce(max(records), 0) FROM gateway_usage_writers WHERE writer = ?`,
			s.purses.writer).Scan(&records)
	})
	return records, err
}
