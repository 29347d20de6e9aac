package cascade

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// messagesAbout returns the first message of conversation n.
func messagesAbout(n int) string {
	return fmt.Sprintf(`"messages":[{"role":"user","content":"conversation %d"}]`, n)
}

// TestKeysOfConversations checks that a provider's keys take turns by conversation, for every way of
// recognizing a conversation.
func TestKeysOfConversations(t *testing.T) {
	t.Parallel()
	// turn returns turn i of conversation n.
	ways := map[string]struct {
		surface hub.Format
		turn    func(n, i int) (members, session string)
	}{
		"chat, its beginning": {hub.Chat, func(n, i int) (string, string) {
			return fmt.Sprintf(`"messages":[{"role":"system","content":"Be kind."},{"role":"user","content":"about %d"}%s]`,
				n, strings.Repeat(`,{"role":"assistant","content":"yes"},{"role":"user","content":"more"}`, i)), ""
		}},
		"messages, its beginning": {hub.Messages, func(n, i int) (string, string) {
			return fmt.Sprintf(`"system":"Be kind.","messages":[{"role":"user","content":"about %d"}%s]`,
				n, strings.Repeat(`,{"role":"assistant","content":"yes"},{"role":"user","content":"more"}`, i)), ""
		}},
		"responses, its beginning": {hub.Responses, func(n, i int) (string, string) {
			return fmt.Sprintf(`"instructions":"Be kind.","input":[{"role":"user","content":"about %d"}%s]`,
				n, strings.Repeat(`,{"role":"assistant","content":"yes"},{"role":"user","content":"more"}`, i)), ""
		}},
		"chat, prompt_cache_key": {hub.Chat, func(n, i int) (string, string) {
			return fmt.Sprintf(`"prompt_cache_key":"k%d","messages":[{"role":"user","content":"turn %d"}]`, n, i), ""
		}},
		"responses, prompt_cache_key": {hub.Responses, func(n, i int) (string, string) {
			return fmt.Sprintf(`"prompt_cache_key":"k%d","input":"turn %d"`, n, i), ""
		}},
		"messages, metadata.user_id": {hub.Messages, func(n, i int) (string, string) {
			return fmt.Sprintf(`"metadata":{"user_id":"u%d"},"messages":[{"role":"user","content":"turn %d"}]`, n, i), ""
		}},
		"chat, metadata.user_id": {hub.Chat, func(n, i int) (string, string) {
			return fmt.Sprintf(`"metadata":{"user_id":"u%d"},"messages":[{"role":"user","content":"turn %d"}]`, n, i), ""
		}},
		"messages, a session": {hub.Messages, func(n, i int) (string, string) {
			return fmt.Sprintf(`"messages":[{"role":"user","content":"turn %d"}]`, i), fmt.Sprint("session ", n)
		}},
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, setup{keys: []string{"alpha", "alpha", "alpha"}})
			r.alpha.defaultStep = reply(200, completion("hi"))
			const conversations, turns = 48, 3
			for i := range turns {
				for n := range conversations {
					members, session := way.turn(n, i)
					request := r.parseRequest(way.surface, question(way.surface, "keychain-low", false, members))
					request.Session = session
					r.answer(request).wantAnswer(t, "alpha/a-low", "hi")
				}
			}
			keys := r.alpha.keys()
			for i := 1; i < turns; i++ {
				if turn := keys[i*conversations:][:conversations]; !slices.Equal(turn, keys[:conversations]) {
					t.Errorf("in turn %d the keys are\n%v\nin the first\n%v", i, turn, keys[:conversations])
				}
			}
			for n := 1; n <= 3; n++ {
				if got := countOf(keys, fmt.Sprint("key-alpha-", n)); got == 0 || got == len(keys) {
					t.Errorf("key %d serves %d requests of %d", n, got, len(keys))
				}
			}
		})
	}
}

// askInConversation sends a request whose conversation is recognized by its first messages.
func (r *rig) askInConversation(model, members string) *outcome {
	r.t.Helper()
	request := r.request(model, false, []string{members})
	request.Session = ""
	return r.answer(request)
}

// TestConversationsStay checks that a conversation which has moved to a working key or candidate stays there, while
// other conversations begin in the usual order.
func TestConversationsStay(t *testing.T) {
	t.Parallel()
	ok := reply(200, completion("hi"))
	t.Run("with a key", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, setup{keys: []string{"alpha", "alpha"}})
		r.alpha.addSteps(refusal(429, "", "slow down", "Retry-After", "20"))
		r.alpha.defaultStep = ok
		r.askInConversation("keychain-low", messagesAbout(1)).wantAnswer(t, "alpha/a-low", "hi")
		first, second := r.alpha.keys()[0], r.alpha.keys()[1]
		r.clock.advance(stayTime / 2) // the first key works again
		r.askInConversation("keychain-low", messagesAbout(1)).wantAnswer(t, "alpha/a-low", "hi")
		r.clock.advance(stayTime - 1)
		r.askInConversation("keychain-low", messagesAbout(1)).wantAnswer(t, "alpha/a-low", "hi")
		if keys := r.alpha.keys()[2:]; first == second || countOf(keys, second) != 2 {
			t.Errorf("it goes on with %v, has moved to %s", keys, second)
		}
		r.clock.advance(stayTime + 1)
		r.askInConversation("keychain-low", messagesAbout(1)).wantAnswer(t, "alpha/a-low", "hi")
		if keys := r.alpha.keys()[4:]; keys[0] != first {
			t.Errorf("after a long pause it uses the keys %v, want %s", keys, first)
		}
	})
	t.Run("with a candidate", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, setup{keys: []string{"alpha", "beta"}})
		r.alpha.addSteps(refusal(500, "", "down"))
		r.alpha.defaultStep, r.beta.defaultStep = ok, ok
		r.askInConversation("keychain-medium", messagesAbout(1)).wantAnswer(t, "beta/b-medium", "hi")
		r.askInConversation("keychain-medium", messagesAbout(1)).wantAnswer(t, "beta/b-medium", "hi")
		r.askInConversation("keychain-medium", messagesAbout(2)).wantAnswer(t, "alpha/a-medium", "hi")
	})
	t.Run("not below its tier", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, setup{keys: []string{"alpha"}})
		r.alpha.addSteps(refusal(500, "", "down"))
		r.alpha.defaultStep = ok
		r.askInConversation("keychain-high", messagesAbout(1)).wantAnswer(t, "alpha/a-medium", "hi")
		r.askInConversation("keychain-high", messagesAbout(1)).wantAnswer(t, "alpha/a-high", "hi")
	})
	t.Run("not of another user", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, setup{keys: []string{"alpha", "beta"}})
		r.alpha.addSteps(refusal(500, "", "down"))
		r.alpha.defaultStep, r.beta.defaultStep = ok, ok
		r.askInConversation("keychain-medium", messagesAbout(1)).wantAnswer(t, "beta/b-medium", "hi")
		other := r.request("keychain-medium", false, []string{messagesAbout(1)})
		other.User, other.Session = "somebody else", ""
		r.answer(other).wantAnswer(t, "alpha/a-medium", "hi")
	})
}
