package hub

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestRecall(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	m := NewRecall(func() time.Time { return now })
	reasoning := func(data string) []Reasoning { return []Reasoning{{Text: "hm", State: &State{Data: data}}} }
	found := func(user, call string) string {
		if r := m.Find(user, call); len(r) > 0 {
			return r[0].State.Data
		}
		return ""
	}
	m.Keep("ann", "a", reasoning("1"))
	m.Keep("bob", "a", reasoning("2"))
	m.Keep("", "a", reasoning("3"))
	if found("ann", "a") != "1" || found("bob", "a") != "2" || found("", "a") != "" || found("ann", "b") != "" {
		t.Error("a user finds another user's entry, or not the own one")
	}
	m.Keep("ann", "a", reasoning("4"))
	if found("ann", "a") != "4" || m.order.Len() != 2 {
		t.Error("a call is kept twice")
	}
	m.Keep("ann", "large", reasoning(strings.Repeat("x", recallEntry)))
	if found("ann", "large") != "" {
		t.Error("an entry has no bound")
	}
	m.Keep("ann", "many", make([]Reasoning, recallEntry/RecallItem))
	if m.Find("ann", "many") != nil {
		t.Error("many pieces count nothing")
	}
	now = now.Add(recallTime + time.Second)
	if found("ann", "x") != "" || m.order.Len() != 0 || len(m.known) != 0 || m.bytes != 0 {
		t.Errorf("%d entries of %d bytes are left behind their time", m.order.Len(), m.bytes)
	}
}

// TestRecallForgets checks that the least recently used entries are removed, by number and by size.
func TestRecallForgets(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1, recallEntry / 2} {
		m := NewRecall(time.Now)
		data := strings.Repeat("x", size)
		for i := range recallEntries + 10 {
			m.Keep("u", strconv.Itoa(i), []Reasoning{{State: &State{Data: data}}})
			m.Find("u", "0")
		}
		if m.order.Len() > recallEntries || m.bytes > recallBytes || m.order.Len() != len(m.known) || m.order.Len() < 100 {
			t.Errorf("%d entries, %d keys, %d bytes", m.order.Len(), len(m.known), m.bytes)
		}
		if m.Find("u", "0") == nil || m.Find("u", "1") != nil {
			t.Error("the entry in use was removed, or the oldest was not")
		}
	}
}
