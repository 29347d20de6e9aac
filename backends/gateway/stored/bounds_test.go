package stored

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/schema/schematest"
	"github.com/tollgate-gateway/tollgate/internal/memory"
)

// TestConversationBounds checks that the number of an owner's conversations and the size of each are bounded.
func TestConversationBounds(t *testing.T) {
	t.Parallel()
	schematest.OnBoth(t, func(t *testing.T, p schematest.Place) {
		n := startNode(t, p)
		_, reply := n.call(alice, "POST /conversations", `{}`)
		path := "/conversations/" + reply.Get("id").Str
		const item = `{"items":[{"id":"msg_large","role":"user","content":"x"}]}`
		n.checkAnswer("POST "+path+"/items", item, "data.0.id", `"msg_large"`)
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
			t.Errorf("another owner: got status %d, want 200", status)
		}
	})
}

// TestFollowers checks that the number of streams that an owner follows is bounded, and that the end of one frees its
// place.
func TestFollowers(t *testing.T) {
	t.Parallel()
	s := New(nil, nil, nil, nil, nil)
	for range maxFollowers {
		if !s.addFollower("user a") {
			t.Fatal("addFollower refuses a follower below the limit")
		}
	}
	if s.addFollower("user a") || !s.addFollower("user b") {
		t.Error("the limit does not apply to each owner separately")
	}
	s.removeFollower("user a")
	if !s.addFollower("user a") {
		t.Error("a follower is refused although there is room")
	}
	for range maxFollowers {
		s.removeFollower("user a")
	}
	s.removeFollower("user b")
	if len(s.followers) != 0 {
		t.Errorf("%v are still counted", s.followers)
	}
}

// TestBackgroundMemory checks that an unstreamed background response is charged to the memory budget, and that the
// memory is released even if the response fails.
func TestBackgroundMemory(t *testing.T) {
	t.Parallel()
	schematest.OnBoth(t, func(t *testing.T, p schematest.Place) {
		n := startNode(t, p)
		budget := memory.New(1 << 20)
		for name, failure := range map[string]error{"is whole": nil, "fails": errBroken} {
			turn, _ := n.begin(`{"model":"m","input":"x","background":true}`)
			turn.Share = budget.Share(alice)
			done, held := make(chan struct{}), int64(0)
			_, err := n.Start(t.Context(), turn, "m", nil, func(ctx context.Context, w http.ResponseWriter) error {
				if err := whole("1", strings.Repeat("x", 100_000))(ctx, w); err != nil {
					return err
				}
				held = budget.Taken()
				return failure
			}, func() { close(done) })
			if err != nil {
				t.Fatal(err)
			}
			<-done
			if held < 100_000 || budget.Taken() != 0 {
				t.Errorf("%s: %d bytes are taken during the answer and %d afterwards", name, held, budget.Taken())
			}
		}
	})
}

// TestQuota checks that an owner's quota counts everything that is stored, and that a deletion frees room. Requests
// that do not depend on storage are answered even without room.
func TestQuota(t *testing.T) {
	t.Parallel()
	schematest.OnBoth(t, func(t *testing.T, p schematest.Place) {
		n := startNode(t, p)
		n.options.Quota = 200_000
		large := strings.Repeat("x", 40_000)
		first := n.turn(`{"model":"m","input":"`+large+`"}`, "1", large)
		_, reply := n.call(alice, "POST /conversations", `{"items":[{"role":"user","content":"`+large+`"}]}`)
		conversation := reply.Get("id").Str
		id, done := n.work(`{"model":"m","input":"x","background":true,"stream":true}`, streamed("2", large))
		<-done

		other := startNode(t, p) // this node has stored nothing itself
		other.options.Quota = n.options.Quota
		if total, err := other.readSize(t.Context(), alice); err != nil || total < 200_000 || total > 400_000 {
			t.Errorf("%d bytes are stored, %v", total, err)
		}
		if shown := other.turn(`{"model":"m","input":"x"}`, "3", "y"); shown.Get("store").Raw != "false" {
			t.Errorf("a response is stored although there is no room: %s", shown.Get("store").Raw)
		}
		for _, body := range []string{
			`{"model":"m","input":"x","store":true}`, `{"model":"m","input":"x","background":true}`,
			`{"model":"m","input":"x","previous_response_id":"` + first.Get("id").Str + `"}`,
			`{"model":"m","input":"x","conversation":"` + conversation + `"}`,
		} {
			other.checkRefused(alice, body, http.StatusBadRequest, "the storage of this user is full: it may store 195 KiB")
		}
		for _, path := range []string{"POST /conversations", "POST /conversations/" + conversation + "/items"} {
			if status, body := other.call(alice, path, `{"items":[{"role":"user","content":"more"}]}`); status != http.StatusBadRequest || body.Get("Code").Str != codeFull {
				t.Errorf("%s: got status %d, want 400 with the code %s: %s", path, status, codeFull, body.Raw)
			}
		}
		if status, _ := other.call("user b", "POST /conversations", `{}`); status != http.StatusOK {
			t.Errorf("another owner: got status %d, want 200", status)
		}
		if status, body := other.call(alice, "DELETE /responses/"+id, ""); status != http.StatusOK {
			t.Fatal(body.Raw)
		}
		if shown := other.turn(`{"model":"m","input":"x","store":true}`, "4", "y"); shown.Get("store").Raw != "true" {
			t.Errorf("nothing is stored although there is room: %s", shown.Raw)
		}
	})
}
