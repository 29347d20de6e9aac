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

// MaxLabels is how many different tags, and how many different end users, a UTC day has sums of.
// What comes on top of them is counted as OtherLabels. Nodes that meet new ones in the same
// moment may exceed it by a few.
const MaxLabels = 1000

// OtherLabels is the name in sums of the tags or end users beyond MaxLabels.
const OtherLabels = "(other)"

// addLabels adds a record to the rows of its labels. The key is that of its hour.
func (t sumsTable) addLabels(hour *sumsKey, r *Record) {
	key := sumsKey{team: r.TeamID, at: hour.at / 24, provider: r.Provider, model: hour.model, tier: labelTag}
	for i, tag := range r.Tags {
		if !slices.Contains(r.Tags[:i], tag) {
			key.key = tidy(tag)
			t.row(key).add(r)
		}
	}
	if r.EndUser != "" {
		key.tier, key.key = labelEndUser, tidy(r.EndUser)
		t.row(key).add(r)
	}
}

// labelDay is a day of a kind of labels.
type labelDay struct {
	kind string
	day  int64
}

// labelNames are the names that have rows in the database, as far as it was asked, of the days
// that this node has written last. Only the one batch that is written touches it.
type labelNames map[labelDay]map[string]bool

// maxLabelDays bounds labelNames.
const maxLabelDays = 8

// addLabels adds the sums of labels to the rows that there are, under OtherLabels what is beyond
// MaxLabels.
func (s *Ledger) addLabels(c store.Conn, rows []*sumsRow) error {
	if len(rows) == 0 {
		return nil
	}
	if s.labels == nil || len(s.labels) > maxLabelDays {
		s.labels = make(labelNames)
	}
	fresh := make(map[labelDay]map[string]bool) // read or let in by this batch, which may be given up
	within := make(sumsTable, len(rows))
	for _, row := range rows {
		of, key := labelDay{row.tier, row.at}, row.sumsKey
		known, err := s.admitLabel(c, of, key.key, fresh)
		if err != nil {
			return err
		}
		if !known {
			key.key = OtherLabels
		}
		within.row(key).addAll(&row.sums)
	}
	return s.addSums(c, labelDaily, within.sorted())
}

// admitLabel reports whether a name has a row of its own, or gets one. The database is asked once for
// a batch where a name is new and there is room.
func (s *Ledger) admitLabel(c store.Conn, of labelDay, name string, fresh map[labelDay]map[string]bool) (bool, error) {
	if s.labels[of][name] || fresh[of][name] {
		return true, nil
	}
	if len(s.labels[of]) >= MaxLabels {
		return false, nil
	}
	if fresh[of] == nil {
		names, err := store.List(c, schema.Text, `SELECT DISTINCT name FROM gateway_label_days WHERE day = ? AND kind = ? AND name <> ?`,
			of.day, of.kind, OtherLabels)
		if err != nil {
			return false, err
		}
		there, known := make(map[string]bool, len(names)), make(map[string]bool, len(names))
		for _, n := range names {
			there[n], known[n] = true, true
		}
		fresh[of], s.labels[of] = there, known
	}
	if !fresh[of][name] && len(fresh[of]) >= MaxLabels {
		return false, nil
	}
	fresh[of][name] = true
	return true, nil
}
