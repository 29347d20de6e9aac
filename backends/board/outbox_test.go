package board

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/board/accounts"
	"github.com/tollgate-gateway/tollgate/backends/board/api"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/webhook"
)

// sentEvent is the body of a webhook delivery.
type sentEvent struct{ Data any }

// written returns the topics and bodies of all deliveries, oldest first.
func (s *site) written() (topics []string, bodies []sentEvent) {
	s.t.Helper()
	err := s.service.kernel.Read(s.t.Context(), func(c store.Conn) error {
		topics, bodies = nil, nil
		return c.All("SELECT topic, body FROM board_webhook_deliveries ORDER BY id", nil, func(r store.Row) error {
			var topic, body string
			if err := r.Scan(&topic, &body); err != nil {
				return err
			}
			var e sentEvent
			topics, bodies = append(topics, topic), append(bodies, e)
			return json.Unmarshal([]byte(body), &bodies[len(bodies)-1])
		})
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return topics, bodies
}

// wantTopics fails unless the deliveries have these topics. It returns their bodies and deletes the deliveries.
func (s *site) wantTopics(want ...string) []sentEvent {
	s.t.Helper()
	topics, bodies := s.written()
	if !slices.Equal(topics, want) {
		s.t.Errorf("topics %v, want %v", topics, want)
	}
	s.exec("DELETE FROM board_webhook_deliveries")
	return bodies
}

func webhookSite(t *testing.T, db *store.DB) *site {
	ring, err := keyring.NewAES([]byte("0123456789abcdef0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	return newSite(t, db, kernel.Options{NoFlood: true, Keyring: func() (keyring.Keyring, error) { return ring, nil }})
}

// TestOutbox checks that each change writes the deliveries of its topics in its own transaction, and none for topics
// to which no webhook subscribes.
func TestOutbox(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := webhookSite(t, db)
		public := path("/forums/%d/threads", s.forum("public"))
		s.do("alice", "POST", public, `{"title":"Nobody listens","message":"Nobody at all"}`).want(201)
		s.wantTopics()

		admin := s.actor("admin")
		id, secret, err := s.service.Admin.AddWebhook(t.Context(), admin, "https://hooks.example.com/a", kernel.Topics)
		if err != nil || !strings.HasPrefix(secret, "whsec_") {
			t.Fatal(id, err)
		}
		created := data[api.Created](s.do("alice", "POST", public, `{"title":"A new thread","message":"First of all"}`).want(201))
		events := s.wantTopics(kernel.TopicThreadCreated, kernel.TopicPostCreated)
		body, ok := events[1].Data.(map[string]any)
		if !ok || body["threadId"] != float64(created.ID) || body["postId"] != float64(created.PostID) || body["visibility"] != "visible" || body["authorUsername"] != "alice" || body["message"] != nil {
			t.Errorf("%v", events[1])
		}
		list := path("/threads/%d/posts", created.ID)
		reply := data[api.Replied](s.do("bob", "POST", list, `{"message":"An answer to it"}`).want(201))
		s.wantTopics(kernel.TopicPostCreated)
		s.do("bob", "PATCH", path("%s/%d", list, reply.ID), `{"message":"Another answer"}`).want(200)
		s.wantTopics(kernel.TopicPostEdited)
		s.do("bob", "PATCH", path("%s/%d", list, reply.ID), `{"message":"Another answer"}`).want(200)
		s.wantTopics()
		s.do("alice", "POST", path("/posts/%d/report", reply.ID), `{"reason":"this is spam"}`).want(201)
		s.wantTopics(kernel.TopicReportCreated)
		s.do("mod", "DELETE", path("%s/%d", list, reply.ID), "").want(200)
		s.wantTopics(kernel.TopicPostDeleted)
		s.do("mod", "POST", path("/posts/%d/restore", reply.ID), "").want(200)
		if events = s.wantTopics(kernel.TopicPostApproved); events[0].Data.(map[string]any)["previousVisibility"] != "deleted" {
			t.Errorf("%v", events[0])
		}

		s.exec("UPDATE board_forums SET moderate_posts = 1, moderate_threads = 1 WHERE slug = 'public'")
		held := data[api.Replied](s.do("bob", "POST", list, `{"message":"To be held now"}`).want(201))
		if events = s.wantTopics(kernel.TopicPostHeld); events[0].Data.(map[string]any)["reason"] != "forum_moderated" {
			t.Errorf("%v", events[0])
		}
		s.do("mod", "POST", path("/moderation/queue/%d/approve", held.ID), "").want(200)
		s.wantTopics(kernel.TopicPostApproved)
		held = data[api.Replied](s.do("bob", "POST", list, `{"message":"To be held again"}`).want(201))
		s.wantTopics(kernel.TopicPostHeld)
		s.do("mod", "POST", path("/moderation/queue/%d/reject", held.ID), "").want(200)
		s.wantTopics(kernel.TopicPostRejected)

		if _, err := s.service.Accounts.Register(t.Context(), accounts.NewMember{Name: "newcomer", Email: "new@example.com", Password: "correct horse battery", Form: s.joinForm()}); err != nil {
			t.Fatal(err)
		}
		s.wantTopics(kernel.TopicUserRegistered)
		s.do("bob", "POST", list, `{"message":"x"}`).want(422)
		s.wantTopics() // refused changes emit no events
	})
}

// TestWebhooks checks that administrators can manage webhooks, and that their secrets are shown once and stored
// sealed.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := webhookSite(t, db)
		ctx, admin := t.Context(), s.actor("admin")
		if _, _, err := s.service.Admin.AddWebhook(ctx, s.actor("mod"), "https://example.com/", kernel.Topics); err == nil {
			t.Error("a moderator made a webhook")
		}
		for _, address := range []string{"", "example.com", "ftp://example.com/", "https://", "https://user:pass@example.com/", "https://example.com/#x", "https://example.com/" + strings.Repeat("x", 2000), "javascript:alert(1)", "https://example.com/\x00"} {
			if _, _, err := s.service.Admin.AddWebhook(ctx, admin, address, kernel.Topics); err == nil {
				t.Errorf("%q is an address", address)
			}
		}
		for _, topics := range [][]string{nil, {"post.unknown"}, {"post.created post.held"}, {"%"}, {webhook.TestTopic}} {
			if _, _, err := s.service.Admin.AddWebhook(ctx, admin, "https://example.com/", topics); err == nil {
				t.Errorf("%q are topics", topics)
			}
		}
		id, secret, err := s.service.Admin.AddWebhook(ctx, admin, "https://example.com/hook?key=k", []string{kernel.TopicPostHeld, kernel.TopicPostHeld})
		if err != nil {
			t.Fatal(err)
		}
		if n := s.number("SELECT count(*) FROM board_webhooks WHERE secret LIKE ?", "%"+secret[6:]+"%"); n != 0 {
			t.Error("the secret is stored as it is")
		}
		if n := s.number("SELECT count(*) FROM board_moderation_log WHERE detail LIKE '%key=k%'"); n != 0 {
			t.Error("the log shows the whole address")
		}
		list, err := s.service.Admin.Webhooks(ctx, admin)
		if err != nil || len(list) != 1 || !list[0].Enabled || !slices.Equal(list[0].Topics, []string{kernel.TopicPostHeld}) || list[0].CreatedBy != "admin" {
			t.Errorf("%+v %v", list, err)
		}
		if err := s.service.Admin.TestWebhook(ctx, admin, id); err != nil {
			t.Fatal(err)
		}
		if list, err := s.service.Admin.Deliveries(ctx, admin, id, 10); err != nil || len(list) != 1 || list[0].Topic != webhook.TestTopic || list[0].State != "pending" {
			t.Errorf("%+v %v", list, err)
		}
		fresh, err := s.service.Admin.RotateWebhook(ctx, admin, id)
		if err != nil || fresh == secret {
			t.Error(fresh == secret, err)
		}
		if err := s.service.Admin.SetWebhook(ctx, admin, id, false); err != nil {
			t.Fatal(err)
		}
		if err := s.service.Admin.TestWebhook(ctx, admin, id); err == nil {
			t.Error("one that is off is tested")
		}
		if err := s.service.Admin.DeleteWebhook(ctx, admin, id); err != nil {
			t.Fatal(err)
		}
		if err := s.service.Admin.DeleteWebhook(ctx, admin, id); !kernel.IsNotFound(err) {
			t.Error(err)
		}
		for range kernel.MaxWebhooks {
			if _, _, err = s.service.Admin.AddWebhook(ctx, admin, "https://example.com/", kernel.Topics); err != nil {
				t.Fatal(err)
			}
		}
		if _, _, err = s.service.Admin.AddWebhook(ctx, admin, "https://example.com/", kernel.Topics); err == nil {
			t.Error("there is no bound")
		}
	})
}
