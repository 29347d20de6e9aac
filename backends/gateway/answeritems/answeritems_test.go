package answeritems

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/schema/schematest"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/store/storetest"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// node is a store with its clock, on a database that other nodes may share.
type node struct {
	*Store
	clock *schematest.Clock
}

// startNode starts a store on a database, and closes it with the test.
func startNode(t *testing.T, place schematest.Place) *node {
	t.Helper()
	db := place.Open(t)
	testenv.Open(t, db)
	ring, err := keyring.NewAES([]byte("0123456789abcdef0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	clock := new(schematest.Clock)
	s := New(db, ring, zap.NewNop(), clock.Now)
	t.Cleanup(func() {
		if err := s.Close(t.Context()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	return &node{s, clock}
}

// count returns the number of rows in the database.
func (n *node) count(t *testing.T) (count int) {
	t.Helper()
	err := n.db.Read(t.Context(), func(c store.Conn) error {
		return c.Row("SELECT count(*) FROM gateway_answer_items").Scan(&count)
	})
	if err != nil {
		t.Fatal(err)
	}
	return count
}

// finds checks the texts that are found for ids, in the order of the ids.
func (s *Store) finds(t *testing.T, owner, ids, want string) {
	t.Helper()
	list := strings.Fields(ids)
	found, err := s.Find(t.Context(), owner, list)
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
func (s *Store) settle(t *testing.T) {
	t.Helper()
	schematest.Eventually(t, "the items are written", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.order) == 0
	})
}

// TestFind checks that an owner finds an item at once on the node that stored it, and soon on every node. Items are
// encrypted, found only by their owner, and expire.
func TestFind(t *testing.T) {
	t.Parallel()
	schematest.OnBoth(t, func(t *testing.T, p schematest.Place) {
		first, other := startNode(t, p), startNode(t, p)
		first.Keep("gk_1", Item{"msg_1", `{"text":"one"}`}, time.Hour)
		first.Keep("gk_1", Item{"fc_2", `{"text":"two"}`}, time.Hour)
		first.Keep("gk_2", Item{"msg_1", `{"text":"of another"}`}, time.Hour)
		first.Keep("gk_1", Item{"short", `{"text":"short"}`}, time.Minute)
		first.Keep("gk_1", Item{"off", "{}"}, 0)
		first.Keep("", Item{"nobody's", "{}"}, time.Hour)
		first.Keep("gk_1", Item{"", "{}"}, time.Hour)
		first.Keep("gk_1", Item{strings.Repeat("x", maxID+1), "{}"}, time.Hour)
		first.Keep("gk_1", Item{"large", strings.Repeat("x", maxItem+1)}, time.Hour)
		for _, items := range []*node{first, other} { // the other node waits until the first has written
			items.finds(t, "gk_1", "fc_2 msg_1", `{"text":"two"} {"text":"one"}`)
			items.finds(t, "gk_2", "msg_1", `{"text":"of another"}`)
		}
		first.settle(t)
		first.finds(t, "gk_1", "msg_1 fc_2 none off large", `{"text":"one"} {"text":"two"}`)
		first.finds(t, "gk_3", "msg_1 \x00 \xff", "")
		first.finds(t, "", "nobody's msg_1", "")
		err := first.db.Read(t.Context(), func(c store.Conn) error {
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
		if rows := first.count(t); rows != 4 {
			t.Errorf("%d rows", rows)
		}
		first.clock.Offset.Add(int64(10 * time.Minute))
		first.finds(t, "gk_1", "short msg_1", `{"text":"one"}`)
		statement, args := Expired(first.now(), 100)
		err = first.db.Write(t.Context(), func(c store.Conn) error {
			_, err := c.Exec(statement, args...)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if rows := first.count(t); rows != 3 {
			t.Errorf("%d rows are left", rows)
		}
		if (*Store)(nil).Keep("gk_1", Item{"x", "{}"}, time.Hour); t.Failed() {
			return
		}
		(*Store)(nil).finds(t, "gk_1", "x", "")
	})
}

// TestBounds checks that only the newest items of an owner are kept, within the bounds.
func TestBounds(t *testing.T) {
	t.Parallel()
	schematest.OnBoth(t, func(t *testing.T, p schematest.Place) {
		items := startNode(t, p)
		large := strings.Repeat("x", maxItem)
		items.Keep("gk_2", Item{"other", "{}"}, time.Hour)
		for i := range maxOwnerBytes/maxItem + 3 {
			items.Keep("gk_1", Item{fmt.Sprint("large", i), large}, time.Hour)
		}
		items.settle(t)
		if rows := items.count(t); rows != maxOwnerBytes/maxItem+1 {
			t.Errorf("%d rows of large items", rows)
		}
		items.finds(t, "gk_1", "large0 large2", "")
		items.finds(t, "gk_2", "other", "{}")
		for i := range maxOwnerItems + 10 {
			items.Keep("gk_1", Item{fmt.Sprint("small", i), "{}"}, 2*time.Hour)
		}
		items.settle(t)
		if rows := items.count(t); rows > maxOwnerItems+1 {
			t.Errorf("%d rows of small items", rows)
		}
		items.finds(t, "gk_1", fmt.Sprint("small0 small", maxOwnerItems+9), "{}")
	})
}
