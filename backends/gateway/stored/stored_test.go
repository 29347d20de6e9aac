package stored

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/schema/schematest"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// inputText returns the texts of a request's input items, or their types if they have no text.
func inputText(body string) string {
	var parts []string
	gjson.Get(body, "input").ForEach(func(_, item gjson.Result) bool {
		switch {
		case item.Get("encrypted_content").Exists():
			parts = append(parts, "thought")
		case item.Get("content.0.text").Exists():
			parts = append(parts, item.Get("content.0.text").Str)
		case item.Get("content").Exists():
			parts = append(parts, item.Get("content").Str)
		default:
			parts = append(parts, item.Get("type").Str)
		}
		return true
	})
	return strings.Join(parts, " ")
}

// TestChain checks that a response continues a chain of earlier ones with all their messages and reasoning, on every
// node. Only the owner can see it.
func TestChain(t *testing.T) {
	t.Parallel()
	schematest.OnBoth(t, func(t *testing.T, p schematest.Place) {
		n, other := startNode(t, p), startNode(t, p)
		first := n.turn(`{"model":"m","input":"one"}`, "1", "ONE")
		id := first.Get("id").Str
		if !strings.HasPrefix(id, "resp_") || id == "resp_up" || !first.Get("store").Bool() || first.Get("previous_response_id").Raw != "null" {
			t.Errorf("the client gets %s", first.Raw)
		}
		second := other.turn(`{"model":"m","input":[{"role":"user","content":"two"}],"previous_response_id":"`+id+`"}`, "2", "TWO")
		if got := second.Get("previous_response_id").Str; got != id {
			t.Errorf("it continues %s", got)
		}
		secondID := second.Get("id").Str
		turn, body := n.begin(`{"previous_response_id":"` + secondID + `","model":"m", "input":"three","store":false}`)
		if got := inputText(body); got != "one thought ONE two thought TWO three" {
			t.Errorf("the input is %s", got)
		}
		if gjson.Get(body, "previous_response_id").Exists() || gjson.Get(body, "model").Str != "m" || !gjson.Valid(body) {
			t.Errorf("the body is %s", body)
		}
		if got := gjson.Parse(answered(t, turn, answerOf("3", "THREE"))); got.Get("store").Bool() || got.Get("previous_response_id").Str != secondID {
			t.Errorf("an answer that is not stored is %s", got.Raw)
		}
		if rows := n.rows("gateway_responses"); rows != 2 {
			t.Errorf("%d responses are stored", rows)
		}

		// Branches share the responses before them.
		_, branch := n.begin(`{"model":"m","input":"other","previous_response_id":"` + id + `"}`)
		if got := inputText(branch); got != "one thought ONE other" {
			t.Errorf("the branch is %s", got)
		}

		n.checkAnswer("GET /responses/"+secondID, "", "output.1.content.0.text", `"TWO"`)
		if _, got := n.call(alice, "GET /responses/"+secondID, ""); strings.Contains(got.Raw, "STATE") {
			t.Errorf("the client sees the state: %s", got.Raw)
		}
		found, err := n.FindItems(t.Context(), alice, []string{"rs_1", "msg_2", "none", "\x00"})
		if err != nil || len(found) != 2 || !strings.Contains(found["rs_1"], "STATE") {
			t.Errorf("FindItems: got %v, error %v, want rs_1 with its state and msg_2", found, err)
		}

		for _, owner := range []string{"user b", "team a", ""} {
			n.checkNotFound(owner, "GET /responses/"+id)
			n.checkNotFound(owner, "GET /responses/"+id+"/input_items")
			n.checkNotFound(owner, "POST /responses/"+id+"/cancel")
			n.checkNotFound(owner, "DELETE /responses/"+id)
			n.checkRefused(owner, `{"model":"m","input":"x","previous_response_id":"`+id+`"}`, http.StatusBadRequest, "previous_response_not_found")
			if found, err := n.FindItems(t.Context(), owner, []string{"rs_1"}); err != nil || len(found) > 0 {
				t.Errorf("%s finds %v, %v", owner, found, err)
			}
		}

		n.checkAnswer("DELETE /responses/"+id, "", "deleted", "true")
		other.checkNotFound(alice, "GET /responses/"+id)
		other.checkNotFound(alice, "DELETE /responses/"+id)
		other.checkRefused(alice, `{"model":"m","input":"x","previous_response_id":"`+secondID+`"}`, http.StatusBadRequest, "a response before")
		if rows := n.rows("gateway_response_items"); rows != 2 {
			t.Errorf("%d items are left", rows)
		}
	})
}

// TestSealed checks that the database has no text in plaintext.
func TestSealed(t *testing.T) {
	t.Parallel()
	schematest.OnBoth(t, func(t *testing.T, p schematest.Place) {
		n := startNode(t, p)
		_, conversation := n.call(alice, "POST /conversations", `{"metadata":{"topic":"SECRET"},"items":[{"role":"user","content":"SECRET"}]}`)
		n.turn(`{"model":"m","input":"SECRET","conversation":"`+conversation.Get("id").Str+`"}`, "1", "SECRET")
		_, done := n.work(`{"model":"m","input":"SECRET","background":true,"stream":true}`, streamed("2", "SECRET"))
		<-done
		for _, table := range []string{"gateway_responses", "gateway_response_events", "gateway_conversations", "gateway_conversation_items"} {
			err := n.db.Read(t.Context(), func(c store.Conn) error {
				list, err := store.List(c, func(row store.Row) (text string, err error) { return text, row.Scan(&text) }, `SELECT sealed FROM `+table)
				for _, text := range list {
					if text == "" || strings.Contains(text, "SECRET") || strings.Contains(text, "response") {
						t.Errorf("%s has %s", table, text)
					}
				}
				if len(list) == 0 {
					t.Errorf("%s has no rows", table)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestInputItems checks the pages of a response's input items.
func TestInputItems(t *testing.T) {
	t.Parallel()
	schematest.OnBoth(t, func(t *testing.T, p schematest.Place) {
		n := startNode(t, p)
		first := n.turn(`{"model":"m","input":"one"}`, "1", "ONE").Get("id").Str
		id := n.turn(`{"model":"m","previous_response_id":"`+first+`","input":[{"role":"user","content":"two"},{"id":"msg_own","role":"assistant","content":"said"}]}`, "2", "TWO").Get("id").Str
		list := "GET /responses/" + id + "/input_items"
		status, all := n.call(alice, list+"?order=asc", "")
		if status != http.StatusOK || all.Get("data.#").Int() != 5 || all.Get("has_more").Bool() || strings.Contains(all.Raw, "STATE") {
			t.Fatalf("got status %d, want 200 with 5 items: %s", status, all.Raw)
		}
		if all.Get("data.0.content.0.text").Str != "one" || all.Get("data.0.type").Str != "message" || all.Get("data.4.content.0.type").Str != "output_text" {
			t.Errorf("the items are %s", all.Raw)
		}
		n.checkAnswer(list+"?order=asc&include[]=reasoning.encrypted_content", "", "data.1.encrypted_content", `"STATE"`)
		n.checkAnswer(list+"?limit=2", "", "data.#.id", fmt.Sprintf(`["msg_own","%s"]`, all.Get("data.3.id").Str))
		n.checkAnswer(list+"?limit=2", "", "has_more", "true")
		n.checkAnswer(list+"?limit=2&after="+all.Get("data.3.id").Str, "", "data.#.id", `["msg_1","rs_1"]`)
		n.checkAnswer(list+"?limit=2&order=asc&after=msg_own", "", "data", "[]")
		for _, query := range []string{"limit=0", "limit=101", "limit=x", "order=up", "after=none"} {
			if status, _ := n.call(alice, list+"?"+query, ""); status != http.StatusBadRequest {
				t.Errorf("%s is a %d", query, status)
			}
		}
	})
}

// TestConversation checks that the messages of a conversation are added to it in order, and that only its owner can
// change, page and delete it.
func TestConversation(t *testing.T) {
	t.Parallel()
	schematest.OnBoth(t, func(t *testing.T, p schematest.Place) {
		n, other := startNode(t, p), startNode(t, p)
		_, conversation := n.call(alice, "POST /conversations", `{"metadata":{"topic":"rain"},"items":[{"role":"developer","content":"be short"}]}`)
		id := conversation.Get("id").Str
		path := "/conversations/" + id
		n.checkAnswer("GET "+path, "", "metadata", `{"topic":"rain"}`)
		other.checkAnswer("POST "+path, `{"metadata":{"topic":"snow"}}`, "metadata.topic", `"snow"`)
		answer := n.turn(`{"model":"m","input":"one","conversation":"`+id+`"}`, "1", "ONE")
		if got := answer.Get("conversation.id").Str; got != id {
			t.Errorf("the response is of %s", got)
		}
		other.turn(`{"model":"m","input":"two","conversation":{"id":"`+id+`"}}`, "1", "TWO") // the upstream uses the same ids again
		_, body := n.begin(`{"model":"m","input":"three","conversation":"` + id + `","store":false}`)
		if got := inputText(body); got != "be short one thought ONE two thought TWO three" {
			t.Errorf("the input is %s", got)
		}
		n.checkAnswer("POST "+path+"/items", `{"items":[{"id":"msg_mine","role":"user","content":"late"}]}`, "data.0.id", `"msg_mine"`)
		n.checkAnswer("GET "+path+"/items?limit=3", "", "data.0.content.0.text", `"late"`)
		_, all := n.call(alice, "GET "+path+"/items?order=asc&limit=100", "")
		if all.Get("data.#").Int() != 8 || strings.Contains(all.Raw, "STATE") {
			t.Errorf("the items are %s", all.Raw)
		}
		_, page := n.call(alice, "GET "+path+"/items?order=asc&limit=3", "")
		n.checkAnswer("GET "+path+"/items?order=asc&limit=100&after="+page.Get("last_id").Str, "", "data.#", "5")
		n.checkAnswer("GET "+path+"/items/msg_mine", "", "content.0.text", `"late"`)
		for _, owner := range []string{"user b", "team a"} {
			n.checkNotFound(owner, "GET "+path)
			n.checkNotFound(owner, "GET "+path+"/items")
			n.checkNotFound(owner, "GET "+path+"/items/msg_mine")
			n.checkNotFound(owner, "DELETE "+path+"/items/msg_mine")
			n.checkNotFound(owner, "DELETE "+path)
			n.checkRefused(owner, `{"model":"m","input":"x","conversation":"`+id+`"}`, http.StatusNotFound, "")
			if status, _ := n.call(owner, "POST "+path+"/items", `{"items":[{"role":"user","content":"x"}]}`); status != http.StatusNotFound {
				t.Errorf("%s adds items: %d", owner, status)
			}
			if status, _ := n.call(owner, "POST "+path, `{"metadata":{}}`); status != http.StatusNotFound {
				t.Errorf("%s changes it: %d", owner, status)
			}
		}
		n.checkAnswer("DELETE "+path+"/items/msg_mine", "", "id", `"`+id+`"`)
		n.checkNotFound(alice, "GET "+path+"/items/msg_mine")

		n.options.Items = 8
		n.checkRefused(alice, `{"model":"m","input":"x","conversation":"`+id+`"}`, http.StatusBadRequest, "conversation_full")
		if status, _ := n.call(alice, "POST "+path+"/items", `{"items":[{"role":"user","content":"x"},{"role":"user","content":"y"}]}`); status != http.StatusBadRequest {
			t.Errorf("a full one takes items: %d", status)
		}

		n.checkAnswer("DELETE "+path, "", "object", `"conversation.deleted"`)
		other.checkNotFound(alice, "GET "+path)
		if rows := n.rows("gateway_conversation_items"); rows != 0 {
			t.Errorf("%d items are left", rows)
		}
		n.checkAnswer("GET /responses/"+answer.Get("id").Str, "", "status", `"completed"`)
	})
}

// TestRetention checks that expired objects are deleted, and that continuing a chain keeps all of it.
func TestRetention(t *testing.T) {
	t.Parallel()
	schematest.OnBoth(t, func(t *testing.T, p schematest.Place) {
		n := startNode(t, p)
		n.options.Retention = 30 * 24 * time.Hour
		old := n.turn(`{"model":"m","input":"old"}`, "o", "OLD").Get("id").Str
		first := n.turn(`{"model":"m","input":"one"}`, "1", "ONE").Get("id").Str
		_, conversation := n.call(alice, "POST /conversations", `{}`)
		n.clock.Offset.Add(int64(20 * 24 * time.Hour))
		second := n.turn(`{"model":"m","input":"two","previous_response_id":"`+first+`"}`, "2", "TWO").Get("id").Str
		n.clock.Offset.Add(int64(20 * 24 * time.Hour))
		n.checkNotFound(alice, "GET /responses/"+old)
		n.checkNotFound(alice, "GET /conversations/"+conversation.Get("id").Str)
		n.checkRefused(alice, `{"model":"m","input":"x","previous_response_id":"`+old+`"}`, http.StatusBadRequest, "")
		_, body := n.begin(`{"model":"m","input":"three","previous_response_id":"` + second + `"}`)
		if got := inputText(body); got != "one thought ONE two thought TWO three" {
			t.Errorf("the chain is %s", got)
		}
		sweep := func() {
			for _, expiry := range []func(time.Time, int) (string, []any){Expired, ExpiredConversations, ExpiredEvents} {
				statement, args := expiry(n.now(), 1)
				n.exec(statement, args...)
			}
		}
		sweep()
		if rows := [2]int{n.rows("gateway_responses"), n.rows("gateway_conversations")}; rows != [2]int{2, 0} {
			t.Errorf("%d rows are left", rows)
		}
		n.clock.Offset.Add(int64(40 * 24 * time.Hour))
		sweep()
		if rows := n.rows("gateway_responses"); rows != 1 {
			t.Errorf("a batch of one leaves %d rows", rows)
		}
	})
}

// TestBounds checks requests that are too large, exceed the depth of a chain, or have contradictory members.
func TestBounds(t *testing.T) {
	t.Parallel()
	schematest.OnBoth(t, func(t *testing.T, p schematest.Place) {
		n := startNode(t, p)
		n.options.Size, n.options.Depth = 2000, 3
		large := strings.Repeat("x", 2000)
		turn, _ := n.begin(`{"model":"m","input":"` + large + `"}`)
		if got := gjson.Parse(answered(t, turn, answerOf("1", "ONE"))); got.Get("store").Bool() {
			t.Errorf("a response with too large an input is stored: %s", got.Raw)
		}
		turn, _ = n.begin(`{"model":"m","input":"one"}`)
		if got := gjson.Parse(answered(t, turn, answerOf("1", large))); got.Get("store").Bool() || got.Get("output.1.content.0.text").Str != large {
			t.Errorf("an answer that is too large is stored, or changed: %s", got.Raw)
		}
		n.checkRefused(alice, `{"model":"m","background":true,"input":"`+large+`"}`, http.StatusRequestEntityTooLarge, "")
		if rows := n.rows("gateway_responses"); rows != 0 {
			t.Errorf("%d responses are stored", rows)
		}
		id := ""
		for i := range 3 {
			id = n.turn(`{"model":"m","input":"one","previous_response_id":"`+id+`"}`, fmt.Sprint(i), "ONE").Get("id").Str
		}
		n.checkRefused(alice, `{"model":"m","input":"one","previous_response_id":"`+id+`"}`, http.StatusBadRequest, "which is the maximum")
		n.begin(`{"model":"m","input":"one","store":false,"previous_response_id":"` + id + `"}`)
		for _, body := range []string{
			`{"model":"m","input":"x","background":true,"store":false}`,
			`{"model":"m","input":"x","previous_response_id":"` + id + `","conversation":"conv_1"}`,
			`{"model":"m","input":"x","conversation":1}`,
			`{"model":"m","input":"x","conversation":{}}`,
			`{"model":"m","input":"x","previous_response_id":"no\u0000ne"}`,
		} {
			n.checkRefused(alice, body, http.StatusBadRequest, "")
		}
		many := strings.Repeat(`{"role":"user","content":"x"},`, 20)
		for _, body := range []string{
			`[]`, `{"metadata":1}`, `{"metadata":{"a":1}}`, `{"metadata":{"a":"` + large + `"}}`, `{"items":{}}`, `{"items":[1]}`, `{"items":[{}]}`,
			`{"items":[{"type":"item_reference","id":"x"}]}`, `{"items":[` + many + `{"role":"user","content":"x"}]}`,
		} {
			if status, _ := n.call(alice, "POST /conversations", body); status != http.StatusBadRequest {
				t.Errorf("%.60s is a %d", body, status)
			}
		}
	})
}

// TestUnrelatedRequestIsUnchanged checks that a request that stores nothing is passed on unchanged, without access to
// the database.
func TestUnrelatedRequestIsUnchanged(t *testing.T) {
	t.Parallel()
	s := new(Service) // any use of its nil fields would panic
	for _, body := range []string{
		`{"model":"m","input":"x","store":false}`, `{"store":false,"background":false,"conversation":null,"previous_response_id":null}`,
		`{"model":"m","store":true,"store":true}`, `{"model":"m"`, `[]`, ``, `{"a":1}x`,
	} {
		turn, text, err := s.Begin(t.Context(), alice, new(Options{}.WithDefaults()), []byte(body))
		if turn != nil || string(text) != body || err != nil {
			t.Errorf("%s: got turn %v, body %s, error %v, want no turn and the same body", body, turn, text, err)
		}
	}
}

// TestCompose checks that only members about stored objects are removed from a body.
func TestCompose(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"model":"m","input":"x"}`:                          `{"model":"m","input":"x"}`,
		`{ "background":true , "model":"m","input":"x"}`:     `{ "model":"m","input":"x"}`,
		`{"model":"m","input":"x","conversation":null}`:      `{"model":"m","input":"x"}`,
		`{"model":"m","input":"x","previous_response_id":1}`: `{"model":"m","input":"x","previous_response_id":1}`,
		`{"background":false}`:                               `{}`,
		`{"model":"m","background":1}`:                       `{"model":"m","background":1}`,
	} {
		q, _, err := parseRequest([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(q.compose([]byte(body), nil)); got != want {
			t.Errorf("%s becomes %s, want %s", body, got, want)
		}
	}
	history := inputItems([]byte(`[{"a":1}]`))
	for body, want := range map[string]string{
		`{"model":"m","input":"x"}`:                    `{"input":[{"a":1},{"type":"message","role":"user","content":"x"}],"model":"m"}`,
		`{"input":[{"b":2}]}`:                          `{"input":[{"a":1},{"b":2}]}`,
		` {"previous_response_id":"r","model":"m"}`:    ` {"input":[{"a":1}],"model":"m"}`,
		`{"model":"m" , "input" : [ ] , "store":true}`: `{"input":[{"a":1}],"model":"m" , "store":true}`,
	} {
		q, _, err := parseRequest([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(q.compose([]byte(body), history)); got != want {
			t.Errorf("%s becomes %s, want %s", body, got, want)
		}
	}
}

// FuzzBegin checks that a valid JSON body never becomes an invalid one.
func FuzzBegin(f *testing.F) {
	for _, seed := range []string{
		`{"model":"m","input":"x"}`, `{"input":[{"b":2}],"conversation":{"id":"c"},"store":false}`, `{"background":true,"previous_response_id":"r","stream":true}`,
		"{\"in\\u0070ut\":\"x\"}", `{"input":"\ud800"}`, "{\"\":0,\n\"store\" :\tfalse }",
	} {
		f.Add([]byte(seed))
	}
	history := inputItems([]byte(`[{"a":1}]`))
	f.Fuzz(func(t *testing.T, body []byte) {
		q, ok, err := parseRequest(body)
		if !ok || err != nil {
			return
		}
		if text := q.compose(body, history); !gjson.ValidBytes(text) || gjson.GetBytes(text, "input.0.a").Int() != 1 {
			t.Errorf("%q becomes %q", body, text)
		}
		if text := setMembers(body, []member{{"id", `"x"`}}); !gjson.ValidBytes(text) {
			t.Errorf("%q becomes %q", body, text)
		}
	})
}

// TestFind checks which methods and paths have a route.
func TestFind(t *testing.T) {
	t.Parallel()
	for request, want := range map[string]string{
		"GET /responses/r": "/responses/{id}", "DELETE /conversations/c/items/i": "/conversations/{id}/items/{item}", "POST /conversations": "/conversations",
		"PUT /responses/r": "GET, DELETE", "GET /conversations": "POST", "GET /responses/": "", "GET /responses/a/b": "", "GET /models": "", "GET /conversations/c/items//": "",
	} {
		method, path, _ := strings.Cut(request, " ")
		e, got := Find(method, path)
		if e != nil {
			got = e.route.path
		}
		if got != want {
			t.Errorf("%s is %q, want %q", request, got, want)
		}
	}
}

// TestUnreadableText checks that a stored text which cannot be decrypted is an error, and is not left out of an answer.
func TestUnreadableText(t *testing.T) {
	t.Parallel()
	schematest.OnBoth(t, func(t *testing.T, p schematest.Place) {
		n := startNode(t, p)
		first := n.turn(`{"model":"m","input":"one"}`, "1", "ONE").Get("id").Str
		second := n.turn(`{"model":"m","input":"two"}`, "2", "TWO").Get("id").Str
		n.exec(`UPDATE gateway_responses SET sealed = (SELECT sealed FROM gateway_responses WHERE id = ?) WHERE id = ?`, second, first)
		if status, _ := n.call(alice, "GET /responses/"+first, ""); status != http.StatusInternalServerError {
			t.Errorf("the text of another response is a %d", status)
		}
		_, _, err := n.Begin(t.Context(), alice, n.options, []byte(`{"model":"m","input":"x","previous_response_id":"`+first+`"}`))
		if err == nil || errors.Is(err, store.ErrUnavailable) {
			t.Errorf("it is continued: %v", err)
		}
	})
}
