package spending

import (
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// The kinds of labels.
const (
	labelTag     = "tag"
	labelEndUser = "end_user"
)

// MaxLabels limits the number of different tags that have sums on a UTC day, and likewise the number of different end
// users. Further labels are counted as OtherLabels. If several nodes add new labels at the same moment, the limit may
// be exceeded by a few.
const MaxLabels = 1000

// OtherLabels is the name under which the sums of all labels beyond MaxLabels are stored.
const OtherLabels = "(other)"

// addLabels adds a record to the rows of its labels. hour is the key of the record's hourly row.
func (t sumsTable) addLabels(hour *sumsKey, r *Record) {
	key := sumsKey{team: r.TeamID, slot: hour.slot / 24, provider: r.Provider, model: hour.model, tier: labelTag}
	for i, tag := range r.Tags {
		if !slices.Contains(r.Tags[:i], tag) { // a repeated tag counts once
			key.key = tidy(tag)
			t.row(key).add(r)
		}
	}
	if r.EndUser != "" {
		key.tier, key.key = labelEndUser, tidy(r.EndUser)
		t.row(key).add(r)
	}
}

// labelDay identifies a UTC day and a kind of labels.
type labelDay struct {
	kind string
	day  int64
}

// labelNames caches the names that have rows in the database, for the days that this node has written last. Only one
// batch at a time uses it, so it has no mutex.
type labelNames map[labelDay]map[string]bool

// maxLabelDays bounds labelNames.
const maxLabelDays = 8

// addLabels adds the sums of labels to the rows in the database. Labels beyond MaxLabels are added to the row of
// OtherLabels.
func (s *Ledger) addLabels(c store.Conn, rows []*sumsRow) error {
	if len(rows) == 0 {
		return nil
	}
	if s.labels == nil || len(s.labels) > maxLabelDays {
		s.labels = make(labelNames)
	}
	// The names that were read or admitted in this transaction. They are not put into the cache s.labels, since the
	// transaction may be rolled back.
	fresh := make(map[labelDay]map[string]bool)
	limited := make(sumsTable, len(rows))
	for _, row := range rows {
		day, key := labelDay{row.tier, row.slot}, row.sumsKey
		admitted, err := s.admitLabel(c, day, key.key, fresh)
		if err != nil {
			return err
		}
		if !admitted {
			key.key = OtherLabels
		}
		limited.row(key).addAll(&row.sums)
	}
	return s.addSums(c, labelDaily, limited.sorted())
}

// admitLabel reports whether the sums of a label are stored under the label's name rather than under OtherLabels: the
// name already has a row on that day, or fewer than MaxLabels names have one. fresh holds, for each day that was read
// for this batch, the names that have rows or were admitted. The database is read once per batch and day, and only if
// the name is not cached and the cache has fewer than MaxLabels names of the day.
func (s *Ledger) admitLabel(c store.Conn, day labelDay, name string, fresh map[labelDay]map[string]bool) (bool, error) {
	if s.labels[day][name] || fresh[day][name] {
		return true, nil
	}
	if len(s.labels[day]) >= MaxLabels {
		return false, nil
	}
	if fresh[day] == nil {
		names, err := store.List(c, schema.Text,
			`SELECT DISTINCT name FROM gateway_label_days WHERE day = ? AND kind = ? AND name <> ?`,
			day.day, day.kind, OtherLabels)
		if err != nil {
			return false, err
		}
		inBatch, inCache := make(map[string]bool, len(names)), make(map[string]bool, len(names))
		for _, n := range names {
			inBatch[n], inCache[n] = true, true
		}
		fresh[day], s.labels[day] = inBatch, inCache
	}
	if !fresh[day][name] && len(fresh[day]) >= MaxLabels {
		return false, nil
	}
	fresh[day][name] = true
	return true, nil
}
