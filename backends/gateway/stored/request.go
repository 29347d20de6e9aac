package stored

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
	"github.com/tollgate-gateway/tollgate/internal/memory"
)

// request holds the members of a request body that concern stored objects.
type request struct {
	store, background, stream bool
	explicit                  bool            // the client has set the member store to true
	previous                  string          // previous_response_id, or empty
	conversation              string          // the id of the conversation, or empty
	input                     []byte          // JSON; part of the body
	members                   []jsontext.Item // all members of the body; Drop marks those to remove
	names                     []string        // the names of members
}

// parseRequest parses a request body. ok is false if the request does not concern this package, because it neither
// stores nor continues anything. ok is also false for a malformed request: the reader of the format later reports the
// error of such a request.
func parseRequest(body []byte) (q *request, ok bool, err error) {
	q = &request{store: true}
	s := jsontext.NewScanner(body)
	if s.Kind() != jsontext.Object {
		return q, false, nil
	}
	var memberErr error // the first error of a member; a malformed body takes precedence
	duplicate := false
	q.members, err = s.ObjectItems(func(key []byte, item *jsontext.Item) error {
		name := string(key)
		duplicate = duplicate || slices.Contains(handledMembers[:], name) && slices.Contains(q.names, name)
		q.names = append(q.names, name)
		kind, start := s.Kind(), s.Start()
		if err := s.Skip(); err != nil {
			return err
		}
		if err := q.member(name, kind, s.Since(start), item); err != nil && memberErr == nil {
			memberErr = err
		}
		return nil
	})
	switch {
	case err != nil || duplicate || s.End() != nil:
		return q, false, nil
	case memberErr != nil:
		return q, false, memberErr
	}
	return q, q.store || q.previous != "" || q.conversation != "" || q.background, nil
}

// handledMembers are the members that this package reads.
var handledMembers = [...]string{"store", "stream", "background", "previous_response_id", "conversation", "input"}

// member reads a member and sets item.Drop if the member must be removed from the body. A member of the wrong type
// stays in the body, where the reader of the format refuses it.
func (q *request) member(name string, kind jsontext.Kind, value []byte, item *jsontext.Item) error {
	switch name {
	case "store":
		q.store, q.explicit = string(value) != "false", string(value) == "true" // stored by default
	case "stream":
		q.stream = string(value) == "true"
	case "background":
		q.background = string(value) == "true"
		item.Drop = kind == jsontext.Bool
	case "previous_response_id":
		if kind == jsontext.String {
			q.previous = gjson.ParseBytes(value).Str
			item.Drop = true
		}
	case "conversation":
		item.Drop = true
		if kind == jsontext.Null {
			return nil
		}
		id := gjson.ParseBytes(value)
		if kind == jsontext.Object {
			id = id.Get("id")
		}
		if id.Type != gjson.String || id.Str == "" {
			return invalid("conversation", "must be the id of a conversation, or an object with it")
		}
		q.conversation = id.Str
	case "input":
		if kind == jsontext.String || kind == jsontext.Array {
			q.input = value
		}
	}
	return nil
}

// check returns an error if the request has members that cannot be combined.
func (q *request) check() error {
	switch {
	case q.previous != "" && q.conversation != "":
		return invalid(
			"previous_response_id", "cannot be combined with conversation, which has the earlier items already",
		)
	case q.background && !q.store:
		return invalid("background", "needs store: without it, the answer could not be fetched later")
	}
	return nil
}

// compose returns the body without the members that are marked to be removed. If history is not empty, the member input
// is replaced by one with the history and the items of the request.
func (q *request) compose(body []byte, history []json.RawMessage) []byte {
	var edits jsontext.Edits
	membersRemain := false // whether a comma must follow the new input
	for i := range q.members {
		m := &q.members[i]
		m.Drop = m.Drop || len(history) > 0 && q.names[i] == "input"
		membersRemain = membersRemain || !m.Drop
	}
	if len(history) > 0 {
		start := bytes.IndexByte(body, '{') + 1
		edits.Replace(start, start, q.inputMember(history, membersRemain))
	}
	edits.Remove(q.members)
	if len(edits) == 0 {
		return body
	}
	return edits.Apply(make([]byte, 0, len(body)+int(itemsSize(history))+64), body)
}

// inputMember returns the member input with the history and the items of the request, followed by a comma if comma is
// set.
func (q *request) inputMember(history []json.RawMessage, comma bool) string {
	text := append(make([]byte, 0, int(itemsSize(history))+len(q.input)+64), `"input":[`...)
	for i, item := range slices.Concat(history, inputItems(q.input)) {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, item...)
	}
	text = append(text, ']')
	if comma {
		text = append(text, ',')
	}
	return string(text)
}

// Turn is one request whose answer is stored, or that continues a stored response or conversation.
type Turn struct {
	// ID is the id of the response.
	ID string
	// Background means that the client does not wait for the answer. Stream means that the client reads events.
	Background, Stream bool
	// Share has the memory for a whole answer in the background. With the zero value the memory is not limited.
	Share memory.Share

	service      *Service
	options      *Options
	owner        string
	stores       bool                       // whether the answer is stored
	previous     string                     // the response that the request continues, or empty
	depth        int                        // the number of responses in the chain, with this one
	renews       bool                       // whether the chain's expiry must be extended
	conversation string                     // the conversation that the request continues, or empty
	input        []json.RawMessage          // the items of the request to store
	items        map[string]json.RawMessage // complete forms of items of the answer by id; see KeepItem
	created      int64                      // Unix time in seconds
	log          *eventLog                  // only for a streamed answer in the background
	// failure and finished are set by the goroutine that calls storeAnswer, and read when the run ends.
	failure  string // the error of a failed response as JSON, or empty if it is not known
	finished bool   // the answer is stored, or no longer wanted
}

// Begin reads the members of a request that concern stored objects, and returns the body with the continued items
// inserted into the input. A request that neither stores nor continues anything has a nil Turn; its body is returned
// unchanged, without access to the database. Errors are *apierror.Error or those of the database. They have status 400
// for missing objects, contradictory members and an owner whose quota is used up, and 413 for too much input.
func (s *Service) Begin(ctx context.Context, owner string, o *Options, body []byte) (*Turn, []byte, error) {
	q, ok, err := parseRequest(body)
	if err != nil || !ok {
		return nil, body, err
	}
	if err := q.check(); err != nil {
		return nil, nil, err
	}
	t := &Turn{
		ID:           newResponseID(),
		Background:   q.background,
		Stream:       q.stream,
		service:      s,
		options:      o,
		owner:        owner,
		stores:       q.store,
		previous:     q.previous,
		depth:        1,
		conversation: q.conversation,
		created:      s.now().Unix(),
		items:        make(map[string]json.RawMessage),
	}
	var history []json.RawMessage
	switch {
	case q.previous != "":
		history, err = t.chain(ctx)
	case q.conversation != "":
		history, err = t.history(ctx, q)
	}
	if err != nil {
		return nil, nil, err
	}
	if size := itemsSize(history); size > 0 && size+int64(len(body)) > maxHistory {
		e := apierror.New(
			http.StatusRequestEntityTooLarge, "request_too_large",
			"the request and the items that it continues are larger than 32 MB: start a new conversation",
		)
		e.NoRetry = true
		return nil, nil, e
	}
	if t.stores {
		switch {
		case int64(len(q.input)) <= o.Size:
			t.input = inputItems(q.input)
		case t.Background:
			return nil, nil, tooLarge("input", o.Size)
		default:
			t.stores = false // answer nevertheless; the response states that it is not stored
		}
	}
	if err := t.checkQuota(ctx, q); err != nil {
		return nil, nil, err
	}
	return t, q.compose(body, history), nil
}

// checkQuota checks the owner's quota. If it is used up, checkQuota returns an error for a request that depends on
// storage. Any other request is answered nevertheless, and the response states that it is not stored.
func (t *Turn) checkQuota(ctx context.Context, q *request) error {
	if !t.stores {
		return nil
	}
	err := t.service.checkRoom(ctx, t.owner, itemsSize(t.input), t.options)
	refusal, _ := apierror.From(err)
	switch {
	case refusal == nil || refusal.Code != codeFull:
		return nil // the database may be reachable again when the answer is stored
	case q.explicit || q.background || q.previous != "" || q.conversation != "":
		return err
	}
	t.stores, t.input = false, nil
	return nil
}

// chain loads the items of the responses that the request continues, oldest first. It sets t.depth and t.renews.
func (t *Turn) chain(ctx context.Context) (history []json.RawMessage, err error) {
	links, err := t.service.chain(ctx, t.owner, t.previous)
	if broken, ok := errors.AsType[*chainError](err); ok {
		return nil, broken.apiError(t.previous)
	}
	if err != nil {
		return nil, err
	}
	t.depth = len(links) + 1
	if t.stores && t.depth > t.options.Depth {
		return nil, invalid(
			"previous_response_id", "%s is at the end of a chain of %d responses, which is the maximum: start a new conversation",
			hub.Shown(t.previous), len(links),
		)
	}
	renewBefore := t.service.now().Add(t.options.Retention - renewAfter(t.options.Retention))
	for i := range links {
		history = append(append(history, links[i].document.Input...), links[i].document.output()...)
		t.renews = t.renews || links[i].expires.Before(renewBefore)
	}
	return history, nil
}

// history loads the items of the conversation that the request continues, oldest first. It returns an error if the
// conversation has no room for the items of the request and one item of the answer.
func (t *Turn) history(ctx context.Context, q *request) (history []json.RawMessage, err error) {
	items, err := t.service.conversationItems(ctx, t.owner, t.conversation)
	if err != nil {
		return nil, err
	}
	added := 1 // a text is one item
	if v := gjson.ParseBytes(q.input); v.IsArray() {
		added = int(v.Get("#").Int())
	}
	if t.stores && len(items)+added >= t.options.Items { // at least one item of the answer must fit
		return nil, conversationFull(t.conversation, t.options.Items)
	}
	for i := range items {
		history = append(history, items[i].item)
	}
	return history, nil
}

// KeepItem keeps an item of the answer in its complete form, with parts that the client does not see. It returns false
// if the answer is not stored; the caller then has to keep the item. text is the item as JSON, and is only valid during
// the call. A nil Turn keeps nothing.
func (t *Turn) KeepItem(id string, text []byte) bool {
	const limit = 1000 // items of an answer
	if t == nil || !t.stores {
		return false
	}
	if id != "" && len(t.items) < limit && int64(len(text)) <= t.options.Size { // else only the client's form is stored
		t.items[id] = slices.Clone(text)
	}
	return true
}

// FindItems returns the items with these ids in stored answers of the owner, as a map from id to JSON text. Unknown ids
// are left out.
func (s *Service) FindItems(ctx context.Context, owner string, ids []string) (map[string]string, error) {
	documents, err := s.responsesWith(ctx, owner, ids)
	if err != nil {
		return nil, err
	}
	requested := make(map[string]bool, len(ids))
	for _, id := range ids {
		requested[id] = true
	}
	found := make(map[string]string, len(ids))
	for _, d := range documents {
		for _, item := range d.output() {
			if id := gjson.GetBytes(item, "id").Str; requested[id] {
				found[id] = string(item)
			}
		}
	}
	return found, nil
}
