package stored

import (
	"net/http"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/schema/schematest"
)

// TestConversationBounds checks that an owner can have neither conversations nor items of one without end.
func TestConversationBounds(t *testing.T) {
	t.Parallel()
	schematest.OnBoth(t, func(t *testing.T, p schematest.Place) {
		n := startNode(t, p)
		_, made := n.call(alice, "POST /conversations", `{}`)
		path := "/conversations/" + made.Get("id").Str
		const item = `{"items":[{"id":"msg_large","role":"user","content":"x"}]}`
		n.gives("POST "+path+"/items", item, "data.0.id", `"msg_large"`)
		n.exec(`UPDATE gateway_conversation_items SET size = ?`, maxHistory)
		if status, body := n.call(alice, "POST "+path+"/items", `{"items":[{"role":"user","content":"more"}]}`); status != http.StatusRequestEntityTooLarge {
			t.Errorf("more than a request can have: %d %s", status, body.Raw)
		}
		if rows := n.rows("gateway_conversation_items"); rows != 1 {
			t.Errorf("%d items are stored", rows)
		}
		n.exec(`INSERT INTO gateway_conversations (id, owner, sealed, places, created_at, expires_at)
			WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
			SELECT 'conv_filled' || i, ?, '', 0, 0, 0 FROM n`, maxConversations-1, alice)
		if status, body := n.call(alice, "POST /conversations", `{}`); status != http.StatusBadRequest || body.Get("Code").Str != "too_many_conversations" {
			t.Errorf("one more than there may be: %d %s", status, body.Raw)
		}
		if status, _ := n.call("user b", "POST /conversations", `{}`); status != http.StatusOK {
			t.Errorf("somebody else: %d", status)
		}
	})
}

// TestFollowers checks that an owner follows a bounded number of streams, and may follow another once one has ended.
func TestFollowers(t *testing.T) {
	t.Parallel()
	s := New(nil, nil, nil, nil, nil)
	for range maxFollowers {
		if !s.arrive("user a") {
			t.Fatal("fewer may follow than are allowed")
		}
	}
	if s.arrive("user a") || !s.arrive("user b") {
		t.Error("the bound is not that of each owner")
	}
	s.depart("user a")
	if !s.arrive("user a") {
		t.Error("a place that is free is not given")
	}
	for range maxFollowers {
		s.depart("user a")
	}
	s.depart("user b")
	if len(s.followers) != 0 {
		t.Errorf("%v are counted still", s.followers)
	}
}
