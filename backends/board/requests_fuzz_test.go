package board

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

var (
	requestsFlag     = flag.Int("requests", 600, "requests that TestRequestsMatchDocument makes")
	requestsSeedFlag = flag.Uint64("requests.seed", 1, "what TestRequestsMatchDocument begins with")
)

// TestRequestsMatchDocument reads the served document, makes valid and broken requests for every operation in it, and
// checks every response against it. With `-requests 100000` and another `-requests.seed` it tests more.
func TestRequestsMatchDocument(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true, Mails: func() bool { return true }})
		n := *requestsFlag
		if s.document == nil {
			n /= 4 // responses are not validated there
		}
		m := newRequestMaker(s, *requestsSeedFlag)
		statuses := make(map[string]map[int]int) // by operation
		for i := range n {
			op := m.operations[i%len(m.operations)]
			req := m.request(op)
			r := httptest.NewRequest(req.method, kernel.Mount+req.path, strings.NewReader(req.body))
			if req.body == "" {
				r = httptest.NewRequest(req.method, kernel.Mount+req.path, nil)
			}
			if req.token != "" {
				r.Header.Set("Authorization", "Bearer "+req.token)
			}
			if req.media != "" {
				r.Header.Set("Content-Type", req.media)
			}
			a := s.send(r)
			if statuses[op.name] == nil {
				statuses[op.name] = make(map[int]int)
			}
			statuses[op.name][a.status]++
			if req.wants != 0 && a.status != req.wants || req.wants == 0 && a.status == 400 && !req.broken || a.status >= 500 {
				t.Fatalf("request %d of seed %d, %s: %d\n%s %s\n%.500s\n%s", i, *requestsSeedFlag, req.why, a.status, req.method, req.path, req.body, a.body)
			}
			s.clock.advance(time.Second)
		}
		s.exact()
		if n < 80*len(m.operations) {
			return
		}
		for name, got := range statuses {
			if strings.Contains(name, "attachment") {
				continue // the board of this test stores none
			}
			if !slices.ContainsFunc(slices.Collect(maps.Keys(got)), func(status int) bool { return status < 300 }) {
				t.Errorf("%s never succeeded: %v", name, got)
			}
		}
	})
}

// operation is an operation of the document.
type operation struct {
	name, method, path string
	parameters         []requestParameter
	body               *bodySchema // nil if there is no JSON body
	guest              bool
}

type requestParameter struct {
	Name     string
	In       string
	Required bool
	Schema   bodySchema
}

// bodySchema has those parts of JSON Schema that requestMaker knows.
type bodySchema struct {
	Ref        string                `json:"$ref"`
	Type       any                   `json:"type"` // a word or several
	Enum       []any                 `json:"enum"`
	Properties map[string]bodySchema `json:"properties"`
	Required   []string              `json:"required"`
	Items      *bodySchema           `json:"items"`
}

func (b bodySchema) kinds() (kinds []string) {
	switch kind := b.Type.(type) {
	case string:
		kinds = append(kinds, kind)
	case []any:
		for _, k := range kind {
			kinds = append(kinds, k.(string))
		}
	}
	return kinds
}

// requestMaker makes random requests. The same seed makes the same requests.
type requestMaker struct {
	s          *site
	random     *rand.Rand
	operations []operation
	schemas    map[string]bodySchema
	ids        map[string][]int64 // by the name of a parameter of the path
	tokens     []string
}

func newRequestMaker(s *site, seed uint64) *requestMaker {
	s.t.Helper()
	text, err := s.api.OpenAPI()
	if err != nil {
		s.t.Fatal(err)
	}
	var document struct {
		Paths map[string]map[string]struct {
			OperationID string `json:"operationId"`
			Parameters  []requestParameter
			Security    []map[string][]string
			RequestBody *struct {
				Content map[string]struct{ Schema bodySchema }
			}
		}
		Components struct{ Schemas map[string]bodySchema }
	}
	if err := json.Unmarshal(text, &document); err != nil {
		s.t.Fatal(err)
	}
	m := &requestMaker{s: s, random: rand.New(rand.NewPCG(seed, 1)), schemas: document.Components.Schemas}
	for _, path := range slices.Sorted(maps.Keys(document.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(document.Paths[path])) {
			read := document.Paths[path][method]
			op := operation{name: method + " " + path, method: strings.ToUpper(method), path: path, parameters: read.Parameters}
			op.guest = len(read.Security) == 0 || slices.ContainsFunc(read.Security, func(requirement map[string][]string) bool { return len(requirement) == 0 })
			if read.RequestBody != nil {
				if content, ok := read.RequestBody.Content["application/json"]; ok {
					op.body = &content.Schema
				}
			}
			m.operations = append(m.operations, op)
		}
	}
	if len(m.operations) < 26 {
		s.t.Fatalf("the document has %d operations", len(m.operations))
	}
	m.ids = map[string][]int64{
		"forumId": {s.forum("public"), s.forum("members"), s.forum("staff"), s.forum("held"), s.forum("link"), s.forum("closed"), s.forum("prefixed"), s.forum("wordy")},
		"userId":  {1, 2, 3, 4},
	}
	for _, name := range []string{"admin", "mod", "alice", "bob", "newbie", "watched"} {
		if token := s.tokens[name]; token != "" {
			m.tokens = append(m.tokens, token)
		}
	}
	return m
}

// madeRequest is a request, with the result that it must have.
type madeRequest struct {
	method, path, body, media, token, why string
	broken                                bool // a 400 is right
	wants                                 int  // the status; 0 means any that the document has
}

func pick[T any](m *requestMaker, list ...T) T { return list[m.random.IntN(len(list))] }

func (m *requestMaker) chance(percent int) bool { return m.random.IntN(100) < percent }

func (m *requestMaker) request(op operation) madeRequest {
	req := madeRequest{method: op.method, token: pick(m, m.tokens...), why: "good"}
	if m.chance(15) {
		req.token = pick(m, "", m.s.tokens["narrow"], "brd_pat_aaaaaaaaaa_wrong", "x")
	}
	query := make(url.Values)
	replaced := op.path
	thread, post := m.place()
	for _, p := range op.parameters {
		value := m.parameter(p, thread, post)
		switch {
		case p.In == "path":
			if m.chance(10) {
				value = pick(m, "0", "-1", "x", "99999999999999999999", "9223372036854775807", "1.5", "%00", "é", "+1")
			}
			replaced = strings.ReplaceAll(replaced, "{"+p.Name+"}", strings.ReplaceAll(url.PathEscape(value), "%2500", "%00"))
		case p.Required || m.chance(40):
			if m.chance(20) {
				value, req.broken = pick(m, "-1", "0", "", "x", "99999999999999999999", "\x00", strings.Repeat("9", 300), "AAAA", "ä ö"), true
			}
			if p.Name == "after" && !slices.Contains(p.Schema.kinds(), "integer") {
				req.broken = true // the cursor may be that of another forum
			}
			query.Set(p.Name, value)
			if m.chance(5) {
				query.Add(p.Name, value)
				req.broken = true
			}
		}
	}
	if m.chance(5) {
		query.Set("unknown", "1")
	}
	req.path = replaced
	if len(query) > 0 {
		req.path += "?" + query.Encode()
	}
	if op.body != nil {
		m.fillBody(op, &req)
	}
	return req
}

// place returns a thread and one of its posts in their current state.
func (m *requestMaker) place() (thread, post int64) {
	id := 1 + m.random.Int64N(m.s.number("SELECT max(id) FROM board_post_ids"))
	if m.chance(40) { // one that is held or deleted
		id = m.s.number("SELECT COALESCE((SELECT min(id) FROM board_post_ids WHERE visibility = ? AND id >= ?), ?)", pick(m, rights.Unapproved, rights.Deleted), id, id)
	}
	return m.s.number("SELECT COALESCE((SELECT thread_id FROM board_post_ids WHERE id = ?), 1)", id), id
}

// parameter returns a valid value for a parameter.
func (m *requestMaker) parameter(p requestParameter, thread, post int64) string {
	switch {
	case p.Name == "threadId":
		return kernel.Itoa(thread)
	case p.Name == "postId":
		return kernel.Itoa(post)
	case m.ids[p.Name] != nil:
		return kernel.Itoa(pick(m, m.ids[p.Name]...))
	case p.Name == "q":
		return pick(m, "public", "first", "public first", "nothing at all", `"quoted" OR NOT`, "é")
	case p.Name == "author":
		return pick(m, "alice", "nobody")
	case p.Name == "forum":
		return kernel.Itoa(pick(m, m.ids["forumId"]...))
	case p.Name == "after" && !slices.Contains(p.Schema.kinds(), "integer"):
		return m.s.service.Posts.Cursor(m.s.forum("public"), posts.Position{At: kernel.Moment(m.s.clock.micros.Load()), ID: post}) // good for one forum
	}
	return kernel.Itoa(1 + m.random.Int64N(120))
}

func (m *requestMaker) schema(b bodySchema) bodySchema {
	if b.Ref == "" {
		return b
	}
	return m.schemas[b.Ref[strings.LastIndexByte(b.Ref, '/')+1:]]
}

// object returns a body of the right shape.
func (m *requestMaker) object(schema bodySchema) map[string]any {
	object := make(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		if slices.Contains(schema.Required, name) || m.chance(40) {
			object[name] = m.value(name, m.schema(schema.Properties[name]))
		}
	}
	return object
}

func (m *requestMaker) value(name string, schema bodySchema) any {
	if len(schema.Enum) > 0 {
		return pick(m, schema.Enum...)
	}
	if name == "email" && m.chance(70) {
		return fmt.Sprintf("%d@example.com", m.random.IntN(20))
	}
	kinds := schema.kinds()
	if len(kinds) == 0 {
		return "text"
	}
	switch pick(m, kinds...) {
	case "integer":
		if name == "forumId" {
			return pick(m, m.ids["forumId"]...)
		}
		return 1 + m.random.Int64N(20)
	case "boolean":
		return m.chance(50)
	case "null":
		return nil
	case "array":
		return []any{m.value("", m.schema(*schema.Items))}
	case "object":
		return m.object(schema)
	}
	return pick(m,
		fmt.Sprint("text number ", m.random.Int64()), "three words here", "x", "", "  ", "é\u0301 中文 🎉", "zero \x00 byte", "line\nline", strings.Repeat("long ", 7000),
		"**bold** <script>alert(1)</script>", "https://example.com/ https://example.org/ https://example.net/")
}

// fillBody adds a body to the request. A third of the bodies are broken.
func (m *requestMaker) fillBody(op operation, req *madeRequest) {
	schema := m.schema(*op.body)
	object := m.object(schema)
	text, err := json.Marshal(object)
	if err != nil {
		m.s.t.Fatal(err)
	}
	req.body, req.media = string(text), pick(m, "application/json", "application/json; charset=utf-8", "application/problem+json", "")
	if !m.chance(33) {
		return
	}
	req.broken = true
	required := slices.Clone(schema.Required)
	kinds := []string{"cut", "trailing", "array", "unknown", "type", "twice", "utf8", "deep", "large", "media", "empty"}
	if len(required) > 0 {
		kinds = append(kinds, "missing")
	}
	req.why = pick(m, kinds...)
	req.wants = 400
	switch req.why {
	case "cut":
		req.body = req.body[:len(req.body)-1]
	case "trailing":
		req.body += "{}"
	case "array":
		req.body = "[" + req.body + "]"
	case "unknown":
		object["surprise"] = 1
		req.body = quotedObject(object)
	case "type":
		object[pick(m, slices.Sorted(maps.Keys(schema.Properties))...)] = map[string]any{"an": "object"}
		req.body = quotedObject(object)
	case "twice":
		name := pick(m, slices.Sorted(maps.Keys(schema.Properties))...)
		value, err := json.Marshal(m.value(name, m.schema(schema.Properties[name])))
		if err != nil {
			m.s.t.Fatal(err)
		}
		req.body = fmt.Sprintf("{%q:%s,%q:%s}", name, value, name, value)
	case "utf8":
		req.body = strings.Replace(req.body, "{", "{\"\xff\":1,", 1)
	case "deep":
		req.body = strings.Replace(req.body, "{", `{"surprise":`+strings.Repeat("[", 40)+strings.Repeat("]", 40)+",", 1)
	case "large":
		req.body, req.wants = `{"message":"`+strings.Repeat("a", 300<<10)+`"}`, 413
	case "media":
		req.media = pick(m, "text/plain", "application/x-www-form-urlencoded", "x")
	case "missing":
		delete(object, pick(m, required...))
		req.body = quotedObject(object)
	case "empty":
		req.body = pick(m, " ", "\n", "\t\t")
	}
	// Checks that come before that of the body may refuse the request first.
	if !m.privileged(req.token) {
		req.wants = 0
	}
}

// privileged reports whether requests of an actor get as far as the check of their body.
func (m *requestMaker) privileged(token string) bool { return slices.Contains(m.tokens, token) }

func quotedObject(object map[string]any) string {
	text, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	return string(text)
}
