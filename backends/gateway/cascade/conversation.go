package cascade

import (
	"crypto/sha256"
	"encoding/binary"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// conversation identifies a conversation of a user with a model. It is a hash, so all nodes compute the same value for
// all requests of a conversation.
type conversation [16]byte

// conversation returns the conversation that the request belongs to. A conversation is identified by its
// prompt_cache_key, its agent's session or its metadata.user_id, whichever is found first. Without these it is
// identified by its system text and first message. ok is false for a request that has no messages. The first call reads
// the client's body, so it must be made before the body is released.
func (r *run) conversation() (name conversation, ok bool) {
	if r.conversationID == nil {
		r.conversationID = new(conversation)
		sum := sha256.New()
		add := func(text string) {
			var size [8]byte
			binary.LittleEndian.PutUint64(size[:], uint64(len(text)))
			_, _ = sum.Write(size[:]) // never fails
			_, _ = sum.Write([]byte(text))
		}
		add(r.req.User)
		add(r.model)
		if r.req.identify(add) {
			copy(r.conversationID[:], sum.Sum(nil))
		}
	}
	return *r.conversationID, *r.conversationID != conversation{}
}

// identify calls add with each of the texts that identify the conversation, and reports whether there are any.
func (q *Request) identify(add func(text string)) bool {
	if q.passes() {
		return false
	}
	for _, name := range [...]string{q.cacheKey(), q.Session, q.metadataUser()} {
		if name != "" {
			add("named") // a name cannot have the hash of a conversation's beginning
			add(name)
			return true
		}
	}
	add("begins")
	if q.Hub != nil {
		return beginning(q.Hub, add)
	}
	found := false
	gjson.GetBytes(q.Chat.Body, "messages").ForEach(func(_, m gjson.Result) bool {
		add(m.Raw)
		found = true
		role := m.Get("role").Str
		return role == "system" || role == "developer"
	})
	return found
}

// cacheKey returns the prompt_cache_key in the client's request.
func (q *Request) cacheKey() string {
	if q.Hub != nil {
		return gjson.Parse(q.Hub.Param("prompt_cache_key")).Str
	}
	return gjson.GetBytes(q.Chat.Body, "prompt_cache_key").Str
}

// metadataUser returns the metadata.user_id in the client's request. Agents put their session's name there. In the
// messages format, the format's reader has replaced the value by a hash, in the parameter user. metadataUser then
// returns the hash.
func (q *Request) metadataUser() string {
	switch {
	case q.Hub == nil:
		return gjson.GetBytes(q.Chat.Body, "metadata.user_id").Str
	case q.Hub.Format == hub.Messages:
		return q.Hub.Param("user")
	}
	return gjson.Get(q.Hub.Param("metadata"), "user_id").Str
}

// beginning calls add with the system messages at the start and with the first other message. It reports whether there
// are any messages.
func beginning(h *hub.Request, add func(text string)) bool {
	for i := range h.Messages {
		m := &h.Messages[i]
		for j := range m.Parts {
			p := &m.Parts[j]
			add(p.Text)
			add(p.URL)
		}
		if m.Role != hub.System && m.Role != hub.Developer {
			break
		}
	}
	return len(h.Messages) > 0
}

// The limits of Stays. Providers keep a cached prompt for five minutes or longer.
const (
	stayTime = 10 * time.Minute
	maxStays = 20_000
)

// Stays remembers where moved conversations stay. A conversation is moved when the candidate or key whose turn it was
// did not work and another one answered. Later requests of the conversation go first to the one that answered, since
// its provider has cached the prompt. A conversation is forgotten when it has had no answer for stayTime.
type Stays struct {
	mu    sync.Mutex
	stays map[conversation]stay
	now   func() time.Time
}

// stay is the entry and key to which a conversation was moved.
type stay struct {
	entry, key string // entry of the candidate, and id of its key
	until      time.Time
}

// newStays returns an empty memory. now is its clock.
func newStays(now func() time.Time) *Stays {
	return &Stays{stays: make(map[conversation]stay), now: now}
}

// any reports whether any conversation is remembered.
func (s *Stays) any() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.stays) > 0
}

// find returns the entry and key with which a conversation stays. The zero value means that the conversation was not
// moved and follows the usual order.
func (s *Stays) find(name conversation) stay {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.stays[name]
	if ok && s.now().After(found.until) {
		delete(s.stays, name)
		return stay{}
	}
	return found
}

// keep records that a conversation stays with the candidate and the key, for stayTime from now on.
func (s *Stays) keep(name conversation, c *keychain.Candidate, key *keychain.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.stays[name]; !known && len(s.stays) >= maxStays {
		clear(s.stays) // each conversation moves at most once more
	}
	s.stays[name] = stay{entry: c.Entry, key: key.Mine, until: s.now().Add(stayTime)}
}

// stayed returns the entry and key with which the request's conversation stays, or the zero value if it was not moved.
func (r *run) stayed() stay {
	if r.req.passes() || !r.Memory.Stays.any() {
		return stay{}
	}
	name, ok := r.conversation()
	if !ok {
		return stay{}
	}
	return r.Memory.Stays.find(name)
}

// keepStay records that the conversation stays with the candidate and the key that have answered, if it was moved to
// them in this request or in an earlier one.
func (r *run) keepStay(c *keychain.Candidate, key *keychain.Key) {
	if r.moved || r.stay.entry == c.Entry {
		if name, ok := r.conversation(); ok {
			r.Memory.Stays.keep(name, c, key)
		}
	}
}

// markMoved records that a candidate or key was passed over although it was its turn. It also computes the conversation
// for keepStay, because the body may be released before keepStay is called.
func (r *run) markMoved() {
	if !r.req.passes() {
		r.moved = true
		r.conversation()
	}
}

// firstKey returns the index of the key to try first. keys are a candidate's keys of one owner. The key with which the
// conversation stays comes first; for a conversation that was not moved, a hash of the conversation chooses the key.
// Requests without a conversation take the keys in turn.
func (r *run) firstKey(c *keychain.Candidate, keys []keychain.Key) int {
	n := uint32(len(keys)) //nolint:gosec // at most 200
	if n < 2 {
		return 0
	}
	if r.stay.entry == c.Entry {
		for i := range keys {
			if keys[i].Mine == r.stay.key {
				return i
			}
		}
	}
	if name, ok := r.conversation(); ok {
		return int(binary.LittleEndian.Uint32(name[:]) % n)
	}
	if r.turn == 0 { // one number per request, for the keys of all providers
		r.turn = max(r.req.Account.NextKey(), 1)
	}
	return int(r.turn % n)
}
