package keychain

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/schema/schematest"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// items starts an Items over a node, and closes it with the test.
func (n *node) items(t *testing.T) *Items {
	t.Helper()
	i := NewItems(n.Service, n.logger)
	t.Cleanup(func() {
		if err := i.Close(t.Context()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	return i
}

// finds checks what is found of some ids: the texts, in the order of the ids.
func (i *Items) finds(t *testing.T, owner, ids, want string) {
	t.Helper()
	list := strings.Fields(ids)
	found, err := i.Find(t.Context(), owner, list)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, id := range list {
		if text, ok := found[id]; ok {
			texts = append(texts, text)
		}
	}
	if got := strings.Join(texts, " "); got != want || len(found) != len(texts) {
		t.Errorf("%s finds %q of %s, want %q", owner, got, ids, want)
	}
}

// settle waits until all items are in the database.
func (i *Items) settle(t *testing.T) {
	t.Helper()
	schematest.Eventually(t, "the items are written", func() bool {
		i.mu.Lock()
		defer i.mu.Unlock()
		return len(i.order) == 0
	})
}

// TestItems checks that what one node keeps is found by its owner there at once, and on
// every node soon, and that it is sealed, stays with its owner, and ends.
func TestItems(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		n, other := p.start(t), p.start(t)
		here, there := n.items(t), other.items(t)
		here.Keep("gk_1", Item{"msg_1", `{"text":"one"}`}, time.Hour)
		here.Keep("gk_1", Item{"fc_2", `{"text":"two"}`}, time.Hour)
		here.Keep("gk_2", Item{"msg_1", `{"text":"of another"}`}, time.Hour)
		here.Keep("gk_1", Item{"short", `{"text":"short"}`}, time.Minute)
		here.Keep("gk_1", Item{"off", "{}"}, 0)
		here.Keep("", Item{"nobody's", "{}"}, time.Hour)
		here.Keep("gk_1", Item{"", "{}"}, time.Hour)
		here.Keep("gk_1", Item{strings.Repeat("x", maxItemID+1), "{}"}, time.Hour)
		here.Keep("gk_1", Item{"large", strings.Repeat("x", maxItem+1)}, time.Hour)
		for _, items := range []*Items{here, there} { // the other one waits for the first to write
			items.finds(t, "gk_1", "fc_2 msg_1", `{"text":"two"} {"text":"one"}`)
			items.finds(t, "gk_2", "msg_1", `{"text":"of another"}`)
		}
		here.settle(t)
		here.finds(t, "gk_1", "msg_1 fc_2 none off large", `{"text":"one"} {"text":"two"}`)
		here.finds(t, "gk_3", "msg_1 \x00 \xff", "")
		here.finds(t, "", "nobody's msg_1", "")
		err := n.db.Read(t.Context(), func(c store.Conn) error {
			var sealed string
			err := c.Row(`SELECT sealed FROM gateway_answer_items WHERE id = 'gk_1/msg_1'`).Scan(&sealed)
			if strings.Contains(sealed, "one") || sealed == "" {
				t.Errorf("the database holds %q", sealed)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if rows := n.countItems(t); rows != 4 {
			t.Errorf("%d rows", rows)
		}
		n.clock.Offset.Add(int64(10 * time.Minute))
		here.finds(t, "gk_1", "short msg_1", `{"text":"one"}`)
		statement, args := ExpiredItems(n.now(), 100)
		n.sql(t, statement, args...)
		if rows := n.countItems(t); rows != 3 {
			t.Errorf("%d rows are left", rows)
		}
		if (*Items)(nil).Keep("gk_1", Item{"x", "{}"}, time.Hour); t.Failed() {
			return
		}
		(*Items)(nil).finds(t, "gk_1", "x", "")
	})
}

// TestItemsAreBounded checks that of an owner the newest items stay, within the bounds.
func TestItemsAreBounded(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		n := p.start(t)
		items := n.items(t)
		large := strings.Repeat("x", maxItem)
		items.Keep("gk_2", Item{"other", "{}"}, time.Hour)
		for i := range maxOwnerBytes/maxItem + 3 {
			items.Keep("gk_1", Item{fmt.Sprint("large", i), large}, time.Hour)
		}
		items.settle(t)
		if rows := n.countItems(t); rows != maxOwnerBytes/maxItem+1 {
			t.Errorf("%d rows of large items", rows)
		}
		items.finds(t, "gk_1", "large0 large2", "")
		items.finds(t, "gk_2", "other", "{}")
		for i := range maxOwnerItems + 10 {
			items.Keep("gk_1", Item{fmt.Sprint("small", i), "{}"}, 2*time.Hour)
		}
		items.settle(t)
		if rows := n.countItems(t); rows > maxOwnerItems+1 {
			t.Errorf("%d rows of small items", rows)
		}
		items.finds(t, "gk_1", fmt.Sprint("small0 small", maxOwnerItems+9), "{}")
	})
}
