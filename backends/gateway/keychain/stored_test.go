package keychain

import (
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/sealed"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// storedTables are the tables of stored responses and conversations that have encrypted texts.
var storedTables = []string{"gateway_responses", "gateway_response_events", "gateway_conversations", "gateway_conversation_items"}

// storeResponse writes a response with an item and an event, and a conversation with an item, for an owner.
func (n *node) storeResponse(t *testing.T, owner string) {
	t.Helper()
	seal := func(table, id string) string {
		text, err := n.ring.Seal(t.Context(), []byte(owner), []byte(table+"/"+id))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	n.sql(t, `INSERT INTO gateway_responses (id, owner, depth, status, background, events, runner, leased_until, sealed, size, created_at, expires_at)
		VALUES (?, ?, 1, 'completed', 0, 0, '', 0, ?, 1, 0, 0)`, owner+"r", owner, seal("gateway_responses", owner+"r"))
	n.sql(t, `INSERT INTO gateway_response_items (id, response) VALUES (?, ?)`, owner+"/i", owner+"r")
	n.sql(t, `INSERT INTO gateway_response_events (id, response, last, sealed, expires_at) VALUES (?, ?, 1, ?, 0)`, owner+"r/0", owner+"r", seal("gateway_response_events", owner+"r/0"))
	n.sql(t, `INSERT INTO gateway_conversations (id, owner, sealed, places, created_at, expires_at) VALUES (?, ?, ?, 1, 0, 0)`, owner+"c", owner, seal("gateway_conversations", owner+"c"))
	n.sql(t, `INSERT INTO gateway_conversation_items (id, conversation, place, sealed, size) VALUES (?, ?, 1, ?, 1)`, owner+"c/i", owner+"c", seal("gateway_conversation_items", owner+"c/i"))
}

// countStored counts the rows of all tables of stored responses.
func (n *node) countStored(t *testing.T) (rows int) {
	t.Helper()
	for _, table := range append([]string{"gateway_response_items"}, storedTables...) {
		err := n.db.Read(t.Context(), func(c store.Conn) error {
			var some int
			err := c.Row(`SELECT count(*) FROM ` + table).Scan(&some)
			rows += some
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return rows
}

// TestReencryptStored checks that stored responses are encrypted anew, each text bound to its row.
func TestReencryptStored(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		before, after := rings(t)
		n := p.start(t)
		n.ring = before
		owners := []string{"user a", "user b", "team c", "user d", "user e", "user f"} // the large texts need more than one page
		for _, owner := range owners {
			n.storeResponse(t, owner)
		}
		n.ring = after
		total := len(owners) * len(storedTables)
		result, err := n.Reencrypt(t.Context(), nil)
		if want := (sealed.Result{Checked: total, Total: total, Resealed: total}); err != nil || result != want {
			t.Errorf("%+v, %v, want %+v", result, err, want)
		}
		for _, table := range storedTables {
			err := n.db.Read(t.Context(), func(c store.Conn) error {
				texts, err := store.List(c, func(row store.Row) (s sealedText, err error) { return s, row.Scan(&s.id, &s.sealed) }, `SELECT id, sealed FROM `+table)
				for _, text := range texts {
					if _, err := after.Open(t.Context(), text.sealed, []byte(table+"/"+text.id)); err != nil || !after.Current(text.sealed) {
						t.Errorf("%s %s: %v", table, text.id, err)
					}
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestRemovedOwners checks that stored responses are removed with the user or team that owns them.
func TestRemovedOwners(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		n := p.start(t)
		n.user(t, "alice")
		red, err := n.AddTeam(t.Context(), "red")
		if err != nil {
			t.Fatal(err)
		}
		for _, owner := range []string{"user alice", "user bob", "team " + red.ID} {
			n.storeResponse(t, owner)
		}
		rowsPerOwner := n.countStored(t) / 3
		if err := n.RemoveUser(t.Context(), "alice"); err != nil {
			t.Fatal(err)
		}
		if rows := n.countStored(t); rows != 2*rowsPerOwner {
			t.Errorf("%d rows without the user", rows)
		}
		if err := n.RemoveTeam(t.Context(), red.ID); err != nil {
			t.Fatal(err)
		}
		if rows := n.countStored(t); rows != rowsPerOwner {
			t.Errorf("%d rows without the team", rows)
		}
	})
}
