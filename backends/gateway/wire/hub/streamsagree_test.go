package hub_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/chat"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/messages"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/responses"
)

// spoken is a generated answer of a model. Its pieces are in the order in which they were produced.
type spoken struct {
	pieces []spokenPiece
	cut    bool // at the token limit
	usage  bool
}

type spokenPiece struct {
	kind       string // reasoning, text, refusal or call
	text, name string // text of a call: its arguments
	state      string // of reasoning
	id         string
}

var spokenWords = [...]string{
	"Look", " at", " \"this\"", "\n", "é東😀", " {", "}", "\\", "</b>", "\u2028", "\t", " twice", "data: x\n\n", "a",
}

func spokenText(r *rand.Rand) string {
	var b strings.Builder
	for range 1 + r.IntN(6) {
		b.WriteString(spokenWords[r.IntN(len(spokenWords))])
	}
	return b.String()
}

// speak generates an answer. With inOrder, it has at most one reasoning, text and refusal, and then calls, in the order
// of a whole chat completion.
func speak(r *rand.Rand, inOrder bool) *spoken {
	s := &spoken{cut: r.IntN(6) == 0, usage: r.IntN(4) > 0}
	call := func() {
		n := len(s.pieces)
		arguments, _ := json.Marshal(map[string]any{"city": spokenText(r), "n": r.IntN(5)})
		name := [...]string{"get_weather", "apply_patch"}[r.IntN(2)]
		if name == "apply_patch" {
			arguments, _ = json.Marshal(map[string]any{"input": spokenText(r)})
		} else if r.IntN(5) == 0 {
			arguments = []byte("{}")
		}
		s.pieces = append(s.pieces, spokenPiece{kind: "call", name: name, id: fmt.Sprintf("call_%d", n), text: string(arguments)})
	}
	if inOrder {
		if r.IntN(2) == 0 {
			s.pieces = append(s.pieces, spokenPiece{kind: "reasoning", text: spokenText(r)})
		}
		if r.IntN(3) > 0 {
			s.pieces = append(s.pieces, spokenPiece{kind: "text", text: spokenText(r)})
		}
		if r.IntN(6) == 0 {
			s.pieces = append(s.pieces, spokenPiece{kind: "refusal", text: spokenText(r)})
			return s
		}
		for range r.IntN(4) {
			call()
		}
		return s
	}
	for range r.IntN(6) {
		switch r.IntN(4) {
		case 0:
			p := spokenPiece{kind: "reasoning", text: spokenText(r)}
			if r.IntN(2) == 0 {
				p.state = spokenText(r)
			}
			s.pieces = append(s.pieces, p)
		case 1:
			s.pieces = append(s.pieces, spokenPiece{kind: "text", text: spokenText(r)})
		default:
			call()
		}
	}
	return s
}

func quotedJSON(text string) string {
	out, _ := json.Marshal(text)
	return string(out)
}

// bits cuts a text into random pieces at characters, and calls fn with each.
func bits(r *rand.Rand, text string, fn func(bit string)) {
	runes := []rune(text)
	for len(runes) > 0 {
		n := 1 + r.IntN(len(runes))
		fn(string(runes[:n]))
		runes = runes[n:]
	}
}

func (s *spoken) calls() (n int) {
	for i := range s.pieces {
		if s.pieces[i].kind == "call" {
			n++
		}
	}
	return n
}

func (s *spoken) joined(kind string) string {
	text := ""
	for i := range s.pieces {
		if s.pieces[i].kind == kind {
			text += s.pieces[i].text
		}
	}
	return text
}

// Answers of a chat upstream.

func (s *spoken) chatFinish() string {
	switch {
	case s.cut:
		return "length"
	case s.calls() > 0:
		return "tool_calls"
	}
	return "stop"
}

const chatUsage = `{"prompt_tokens":100,"completion_tokens":50,"total_tokens":150,"prompt_tokens_details":{"cached_tokens":30,"cache_write_tokens":7},"completion_tokens_details":{"reasoning_tokens":9}}`

func (s *spoken) chatWhole() string {
	m := map[string]any{"role": "assistant", "content": nil, "refusal": nil}
	for _, member := range [...][2]string{{"text", "content"}, {"reasoning", "reasoning_content"}, {"refusal", "refusal"}} {
		if text := s.joined(member[0]); text != "" {
			m[member[1]] = text
		}
	}
	var calls []any
	for _, p := range s.pieces {
		if p.kind == "call" {
			calls = append(calls, map[string]any{"id": p.id, "type": "function", "function": map[string]any{"name": p.name, "arguments": p.text}})
		}
	}
	if calls != nil {
		m["tool_calls"] = calls
	}
	message, _ := json.Marshal(m)
	usage := ""
	if s.usage {
		usage = `,"usage":` + chatUsage
	}
	return `{"id":"x","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":` + string(message) + `,"finish_reason":"` + s.chatFinish() + `"}]` + usage + `}`
}

// manners are the variations of chat upstreams from the standard form.
type manners struct {
	nulls, roles, parts, bothReasonings bool
	repeated                            bool // id and name in every piece of a call
	late                                bool // the name comes after the first arguments
	objects, again                      bool // arguments as an object; all arguments repeated at the end
	inTurn                              bool // calls do not interleave
	indexless, zero, jumps              bool // no index, always 0, or gaps; only with gaps calls interleave
	stop, twice, undone                 bool // finish_reason is always "stop"; is repeated; no [DONE]
	usageBeside, usageNull, emptyChunks bool
	crlf, comments, lines               bool
}

func anyManners(r *rand.Rand) manners {
	chance := func() bool { return r.IntN(4) == 0 }
	m := manners{
		nulls: chance(), roles: chance(), parts: chance(), bothReasonings: chance(), repeated: chance(), late: chance(), objects: chance(), again: chance(),
		inTurn: chance(), indexless: chance(), zero: chance(), jumps: chance(), stop: chance(), twice: chance(), undone: chance(),
		usageBeside: chance(), usageNull: chance(), emptyChunks: chance(), crlf: chance(), comments: chance(), lines: chance(),
	}
	if m.indexless || m.zero {
		m.inTurn, m.jumps = true, false
		m.zero = !m.indexless
		m.late = false // the call of such arguments would be unknown
	}
	m.inTurn = m.inTurn || m.late // the order of the names is the order of the calls
	return m
}

func (s *spoken) chatStream(r *rand.Rand, m manners) string {
	var b strings.Builder
	event := func(data string) {
		if m.comments && r.IntN(3) == 0 {
			b.WriteString(": working\n\n")
		}
		if m.lines {
			data = strings.Replace(data, `,"choices"`, ",\ndata: \"choices\"", 1)
		}
		b.WriteString("data: " + data + "\n\n")
	}
	chunk := func(delta, finish string) {
		if m.nulls {
			for _, name := range [...]string{"content", "reasoning_content", "refusal", "tool_calls", "function_call", "audio"} {
				if !strings.Contains(delta, `"`+name+`"`) {
					delta = strings.TrimPrefix(delta+`,"`+name+`":null`, ",")
				}
			}
		}
		if m.roles && !strings.Contains(delta, `"role"`) {
			delta = strings.TrimSuffix(`"role":"assistant",`+delta, ",")
		}
		usage := ""
		if m.usageNull {
			usage = `,"usage":null`
		}
		if m.usageBeside && s.usage && finish != "null" {
			usage = `,"usage":` + chatUsage
		}
		if m.emptyChunks && r.IntN(3) == 0 {
			event(`{"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[]}`)
		}
		event(`{"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{` + delta + `},"finish_reason":` + finish + `}]` + usage + `}`)
	}
	chunk(`"role":"assistant","content":""`, "null")
	var pieces [][]string // of each call
	for _, p := range s.pieces {
		switch p.kind {
		case "reasoning":
			bits(r, p.text, func(bit string) {
				delta := `"reasoning_content":` + quotedJSON(bit)
				if m.bothReasonings {
					delta += `,"reasoning":` + quotedJSON(bit)
				}
				chunk(delta, "null")
			})
		case "text":
			bits(r, p.text, func(bit string) {
				if bit = quotedJSON(bit); m.parts {
					bit = `[{"type":"text","text":` + bit + `}]`
				}
				chunk(`"content":`+bit, "null")
			})
		case "refusal":
			bits(r, p.text, func(bit string) { chunk(`"refusal":`+quotedJSON(bit), "null") })
		case "call":
			pieces = append(pieces, s.callPieces(r, m, &p, len(pieces)))
		}
	}
	for i := range pieces {
		if !m.inTurn { // calls still begin in order
			chunk(pieces[i][0], "null")
			pieces[i] = pieces[i][1:]
		}
	}
	for left := true; left; {
		left = false
		for i := range pieces {
			for len(pieces[i]) > 0 && (m.inTurn || r.IntN(2) == 0) {
				chunk(pieces[i][0], "null")
				pieces[i] = pieces[i][1:]
			}
			left = left || len(pieces[i]) > 0
		}
	}
	finish := s.chatFinish()
	if m.stop && finish == "tool_calls" {
		finish = "stop"
	}
	chunk("", `"`+finish+`"`)
	if m.twice {
		chunk("", `"`+finish+`"`)
	}
	if s.usage && !m.usageBeside {
		event(`{"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":` + chatUsage + `}`)
	}
	if !m.undone {
		b.WriteString("data: [DONE]\n\n")
	}
	if m.crlf {
		return strings.ReplaceAll(b.String(), "\n", "\r\n")
	}
	return b.String()
}

// callPieces returns the deltas of call n.
func (s *spoken) callPieces(r *rand.Rand, m manners, p *spokenPiece, n int) (pieces []string) {
	index := fmt.Sprintf(`"index":%d,`, n)
	switch {
	case m.indexless:
		index = ""
	case m.zero:
		index = `"index":0,`
	case m.jumps:
		index = fmt.Sprintf(`"index":%d,`, 3+4*n)
	}
	piece := func(id, name bool, arguments string) {
		var members []string
		if name {
			members = append(members, `"name":`+quotedJSON(p.name))
		}
		if arguments != "" {
			members = append(members, `"arguments":`+arguments)
		}
		entry := index
		if id {
			entry += `"id":"` + p.id + `","type":"function",`
		}
		pieces = append(pieces, `"tool_calls":[{`+entry+`"function":{`+strings.Join(members, ",")+`}}]`)
	}
	if m.objects {
		piece(true, true, p.text)
		return pieces
	}
	piece(true, !m.late, `""`)
	first := true
	bits(r, p.text, func(bit string) {
		piece(m.repeated, m.repeated && !m.late, quotedJSON(bit))
		if first && m.late {
			piece(m.repeated, true, "")
		}
		first = false
	})
	if m.again && p.text != "{}" {
		piece(m.repeated, m.repeated, quotedJSON(p.text))
	}
	return pieces
}

// Answers of a messages upstream.

func (s *spoken) messagesStop() string {
	switch {
	case s.cut:
		return "max_tokens"
	case s.calls() > 0:
		return "tool_use"
	}
	return "end_turn"
}

func (s *spoken) messagesUsage() string {
	if !s.usage {
		return `{"input_tokens":0,"output_tokens":0}`
	}
	return `{"input_tokens":63,"cache_read_input_tokens":30,"cache_creation_input_tokens":7,"output_tokens":50,"output_tokens_details":{"thinking_tokens":9}}`
}

func (s *spoken) messagesWhole() string {
	blocks := []string{}
	for _, p := range s.pieces {
		switch p.kind {
		case "reasoning":
			blocks = append(blocks, `{"type":"thinking","thinking":`+quotedJSON(p.text)+`,"signature":`+quotedJSON(p.state)+`}`)
		case "text":
			blocks = append(blocks, `{"type":"text","text":`+quotedJSON(p.text)+`,"citations":null}`)
		case "call":
			blocks = append(blocks, `{"type":"tool_use","id":"`+p.id+`","name":"`+p.name+`","input":`+p.text+`}`)
		}
	}
	return `{"id":"msg_x","type":"message","role":"assistant","model":"m","content":[` + strings.Join(blocks, ",") + `],"stop_reason":"` + s.messagesStop() + `","stop_sequence":null,"usage":` + s.messagesUsage() + `}`
}

func (s *spoken) messagesStream(r *rand.Rand) string {
	var b strings.Builder
	chance := func() bool { return r.IntN(4) == 0 }
	pings, nameless, whole, unstopped, open, nulls, crlf, done := chance(), chance(), chance(), chance(), chance(), chance(), chance(), chance()
	event := func(name, members string) {
		if !nameless {
			b.WriteString("event: " + name + "\n")
		}
		fmt.Fprintf(&b, "data: {\"type\":%q%s}\n\n", name, members)
		if pings && r.IntN(3) == 0 {
			b.WriteString("event: ping\ndata: {\"type\": \"ping\"}\n\n")
		}
	}
	event("message_start", `,"message":{"id":"msg_x","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":0,"output_tokens":0}}`)
	for i, p := range s.pieces {
		index := fmt.Sprintf(`,"index":%d`, i)
		delta := func(members string) { event("content_block_delta", index+`,"delta":{`+members+`}`) }
		switch p.kind {
		case "reasoning":
			event("content_block_start", index+`,"content_block":{"type":"thinking","thinking":"","signature":""}`)
			bits(r, p.text, func(bit string) { delta(`"type":"thinking_delta","thinking":` + quotedJSON(bit)) })
			if p.state != "" {
				delta(`"type":"signature_delta","signature":` + quotedJSON(p.state))
			}
		case "text":
			event("content_block_start", index+`,"content_block":{"type":"text","text":""}`)
			bits(r, p.text, func(bit string) { delta(`"type":"text_delta","text":` + quotedJSON(bit)) })
		case "call":
			input := "{}"
			if whole {
				input = p.text
			}
			event("content_block_start", index+`,"content_block":{"type":"tool_use","id":"`+p.id+`","name":"`+p.name+`","input":`+input+`}`)
			if nulls {
				delta(`"type":"input_json_delta","partial_json":"","text":null,"thinking":null`)
			}
			if p.text != "{}" && !whole {
				bits(r, p.text, func(bit string) { delta(`"type":"input_json_delta","partial_json":` + quotedJSON(bit)) })
			}
		}
		if !open {
			event("content_block_stop", index)
		}
	}
	event("message_delta", `,"delta":{"stop_reason":"`+s.messagesStop()+`","stop_sequence":null},"usage":`+s.messagesUsage())
	if !unstopped {
		event("message_stop", "")
	}
	if done {
		b.WriteString("data: [DONE]\n\n")
	}
	if crlf {
		return strings.ReplaceAll(b.String(), "\n", "\r\n")
	}
	return b.String()
}

// Answers of a Responses upstream.

func (s *spoken) item(i int) string {
	p := s.pieces[i]
	switch p.kind {
	case "reasoning":
		state := ""
		if p.state != "" {
			state = `,"encrypted_content":` + quotedJSON(p.state)
		}
		return fmt.Sprintf(`{"id":"rs_%d","type":"reasoning","summary":[{"type":"summary_text","text":%s}]%s}`, i, quotedJSON(p.text), state)
	case "text":
		return fmt.Sprintf(`{"id":"msg_%d","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":%s,"annotations":[]}]}`, i, quotedJSON(p.text))
	case "refusal":
		return fmt.Sprintf(`{"id":"msg_%d","type":"message","status":"completed","role":"assistant","content":[{"type":"refusal","refusal":%s}]}`, i, quotedJSON(p.text))
	}
	return fmt.Sprintf(`{"id":"fc_%d","type":"function_call","status":"completed","call_id":%q,"name":%q,"arguments":%s}`, i, p.id, p.name, quotedJSON(p.text))
}

func (s *spoken) response(status string) string {
	if status == "in_progress" {
		return `{"id":"resp_x","object":"response","status":"in_progress","model":"m","output":[],"usage":null}`
	}
	items := make([]string, len(s.pieces))
	for i := range items {
		items[i] = s.item(i)
	}
	details, usage := "null", "null"
	if s.cut {
		details = `{"reason":"max_output_tokens"}`
	}
	if s.usage {
		usage = `{"input_tokens":100,"input_tokens_details":{"cached_tokens":30,"cache_write_tokens":7},"output_tokens":50,"output_tokens_details":{"reasoning_tokens":9},"total_tokens":150}`
	}
	return `{"id":"resp_x","object":"response","status":"` + status + `","model":"m","error":null,"incomplete_details":` + details + `,"output":[` + strings.Join(items, ",") + `],"usage":` + usage + `}`
}

func (s *spoken) responsesStatus() string {
	if s.cut {
		return "incomplete"
	}
	return "completed"
}

func (s *spoken) responsesWhole() string { return s.response(s.responsesStatus()) }

func (s *spoken) responsesStream(r *rand.Rand) string {
	var b strings.Builder
	n := 0
	chance := func() bool { return r.IntN(4) == 0 }
	nameless, whole, unadded, undone, last, parts, done := chance(), chance(), chance(), chance(), chance(), chance(), chance()
	event := func(name, members string) {
		if !nameless {
			b.WriteString("event: " + name + "\n")
		}
		fmt.Fprintf(&b, "data: {\"type\":%q,\"sequence_number\":%d%s}\n\n", name, n, members)
		n++
	}
	event("response.created", `,"response":`+s.response("in_progress"))
	event("response.in_progress", `,"response":`+s.response("in_progress"))
	for i, p := range s.pieces {
		if last { // the whole output in the last event
			break
		}
		index := fmt.Sprintf(`,"output_index":%d`, i)
		added := map[string]string{
			"reasoning": `{"id":"rs_%d","type":"reasoning","summary":[]}`, "text": `{"id":"msg_%d","type":"message","status":"in_progress","role":"assistant","content":[]}`,
			"refusal": `{"id":"msg_%d","type":"message","status":"in_progress","role":"assistant","content":[]}`,
			"call":    `{"id":"fc_%d","type":"function_call","status":"in_progress","call_id":"` + p.id + `","name":"` + p.name + `","arguments":""}`,
		}[p.kind]
		if unadded && whole {
			event("response.output_item.done", index+`,"item":`+s.item(i))
			continue
		}
		event("response.output_item.added", index+`,"item":`+fmt.Sprintf(added, i))
		name := map[string]string{
			"reasoning": "response.reasoning_summary_text.delta", "text": "response.output_text.delta",
			"refusal": "response.refusal.delta", "call": "response.function_call_arguments.delta",
		}[p.kind]
		if parts {
			event("response.content_part.added", index+`,"content_index":0,"part":{"type":"output_text","text":"","annotations":[]}`)
		}
		if !whole {
			bits(r, p.text, func(bit string) {
				event(name, index+`,"content_index":0,"summary_index":0,"delta":`+quotedJSON(bit))
			})
		}
		if parts && p.kind == "call" {
			event("response.function_call_arguments.done", index+`,"name":"`+p.name+`","arguments":`+quotedJSON(p.text))
		}
		if !undone || whole || p.state != "" {
			event("response.output_item.done", index+`,"item":`+s.item(i))
		}
	}
	status := s.responsesStatus()
	event("response."+status, `,"response":`+s.response(status))
	if done {
		b.WriteString("data: [DONE]\n\n")
	}
	return b.String()
}

// Answers that clients assemble from a stream.

// collectChat returns the message of a stream's first choice, and its usage and finish reason.
func collectChat(t *testing.T, stream []byte) map[string]any {
	t.Helper()
	events, err := sentEvents(stream, false)
	if err != nil {
		t.Fatal(err)
	}
	m := map[string]any{"content": "", "refusal": "", "reasoning_content": ""}
	var calls []map[string]any
	out := map[string]any{}
	for _, e := range events {
		data := gjson.ParseBytes(e.data)
		if usage := data.Get("usage"); usage.IsObject() {
			out["usage"] = usage.Raw
		}
		choice := data.Get("choices.0")
		if finish := choice.Get("finish_reason"); finish.Type == gjson.String {
			out["finish_reason"] = finish.Str
		}
		delta := choice.Get("delta")
		for name := range m {
			m[name] = m[name].(string) + delta.Get(name).Str
		}
		for _, call := range delta.Get("tool_calls").Array() {
			if index := int(call.Get("index").Int()); index == len(calls) {
				calls = append(calls, map[string]any{"id": "", "type": call.Get("type").Str, "name": "", "text": ""})
			}
			last := calls[call.Get("index").Int()]
			last["id"] = last["id"].(string) + call.Get("id").Str // SDKs concatenate the strings
			last["name"] = last["name"].(string) + call.Get("function.name").Str + call.Get("custom.name").Str
			last["text"] = last["text"].(string) + call.Get("function.arguments").Str + call.Get("custom.input").Str
		}
	}
	out["message"], out["calls"] = m, calls
	return out
}

func wholeChat(body []byte) map[string]any {
	choice := gjson.GetBytes(body, "choices.0")
	m := map[string]any{}
	for _, name := range [...]string{"content", "refusal", "reasoning_content"} {
		m[name] = choice.Get("message." + name).Str
	}
	var calls []map[string]any
	choice.Get("message.tool_calls").ForEach(func(_, call gjson.Result) bool {
		calls = append(calls, map[string]any{
			"id": call.Get("id").Str, "type": call.Get("type").Str, "name": call.Get("function.name").Str + call.Get("custom.name").Str,
			"text": call.Get("function.arguments").Str + call.Get("custom.input").Str,
		})
		return true
	})
	out := map[string]any{"message": m, "calls": calls, "finish_reason": choice.Get("finish_reason").Str}
	if usage := gjson.GetBytes(body, "usage"); usage.IsObject() {
		out["usage"] = usage.Raw
	}
	return out
}

// collectMessages returns the message that an SDK assembles from a stream.
func collectMessages(t *testing.T, stream []byte) map[string]any {
	t.Helper()
	blocks, _ := receivedBlocks(t, stream)
	events, err := sentEvents(stream, true)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]any{"content": blocks}
	delta := gjson.ParseBytes(events[len(events)-2].data)
	for _, name := range [...]string{"stop_reason", "stop_sequence", "stop_details"} {
		out[name] = delta.Get("delta." + name).Value()
	}
	out["usage"] = delta.Get("usage").Value()
	return out
}

func wholeMessages(t *testing.T, body []byte) map[string]any {
	t.Helper()
	var m struct {
		Content []map[string]any
	}
	if err := json.Unmarshal(body, &m); err != nil {
		t.Fatal(err)
	}
	if len(m.Content) == 1 && m.Content[0]["type"] == "text" && m.Content[0]["text"] == "" {
		m.Content = nil // an empty answer has no block in a stream
	}
	out := map[string]any{"content": m.Content}
	for _, name := range [...]string{"stop_reason", "stop_sequence", "stop_details"} {
		out[name] = gjson.GetBytes(body, name).Value()
	}
	usage := map[string]any{}
	for _, name := range [...]string{"input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens_details"} {
		usage[name] = gjson.GetBytes(body, "usage."+name).Value()
	}
	out["usage"] = usage
	return out
}

// TestWholeAndStreamAgree checks that a client gets the same answer streamed and whole, whatever format the upstream
// speaks.
func TestWholeAndStreamAgree(t *testing.T) {
	t.Parallel()
	clients := map[hub.Format]*hub.Request{
		hub.Messages:  readRequest(t, hub.Messages, []byte(`{"model":"m","max_tokens":9999,"messages":[{"role":"user","content":"hi"}],"tools":[{"name":"get_weather","input_schema":{"type":"object"}}]}`), hub.ReadOptions{}),
		hub.Responses: readRequest(t, hub.Responses, []byte(`{"model":"m","input":"hi","include":["reasoning.encrypted_content"],"tools":[{"type":"function","name":"get_weather"},{"type":"custom","name":"apply_patch"}]}`), hub.ReadOptions{}),
	}
	ask, err := chat.Format{}.Read([]byte(`{"model":"m","messages":[{"role":"user","content":"hi"}],"stream_options":{"include_usage":true},"tools":[{"type":"function","function":{"name":"get_weather"}},{"type":"custom","custom":{"name":"apply_patch"}}]}`), hub.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	clients[hub.Chat] = ask
	writers := map[hub.Format]func(*hub.Request, hub.Reply) hub.Writer{hub.Chat: chat.Format{}.NewWriter, hub.Messages: messages.Format{}.NewWriter, hub.Responses: responses.Format{}.NewWriter}
	upstreams := map[hub.Format]func() hub.Reader{
		hub.Chat: func() hub.Reader { return chat.NewReader("", false) }, hub.Messages: func() hub.Reader { return messages.Format{}.NewReader(nil) }, hub.Responses: func() hub.Reader { return responses.Format{}.NewReader(nil) },
	}
	for src, reader := range upstreams {
		for dst, r := range clients {
			t.Run(string(src)+" to "+string(dst), func(t *testing.T) {
				t.Parallel()
				for seed := range uint64(150) {
					random := rand.New(rand.NewPCG(seed, 1))
					s := speak(random, src == hub.Chat || dst == hub.Chat)
					var body, events string
					switch src {
					case hub.Chat:
						body, events = s.chatWhole(), s.chatStream(random, anyManners(random))
					case hub.Messages:
						body, events = s.messagesWhole(), s.messagesStream(random)
					case hub.Responses:
						body, events = s.responsesWhole(), s.responsesStream(random)
					}
					whole, err := hub.Translate(reader(), writers[dst](r, reply(r, sealReadably))).Whole(nil, []byte(body))
					if err != nil {
						t.Fatalf("seed %d: %v of %s", seed, err, body)
					}
					stream, err := relay(hub.Translate(reader(), writers[dst](r, reply(r, sealReadably))), strings.NewReader(events))
					if err != nil {
						t.Fatalf("seed %d: %v of %s", seed, err, events)
					}
					if err := checkStream(dst, stream, true); err != nil {
						t.Fatalf("seed %d: %v of\n%s", seed, err, events)
					}
					switch dst {
					case hub.Responses:
						clientEvents, _ := sentEvents(stream, true)
						if last := gjson.GetBytes(clientEvents[len(clientEvents)-1].data, "response").Raw; last != string(whole) {
							t.Fatalf("seed %d: as a stream it is\n%s\nas a whole\n%s", seed, last, whole)
						}
					case hub.Messages:
						same(t, seed, collectMessages(t, stream), wholeMessages(t, whole))
					case hub.Chat:
						same(t, seed, collectChat(t, stream), wholeChat(whole))
					}
				}
			})
		}
	}
}

// TestPassedOnAgree checks that a chat answer passed on to a chat client is the same streamed and whole, and that calls
// are numbered from 0.
func TestPassedOnAgree(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 4))
		s := speak(random, true)
		whole, err := chat.NewPass("m", true, 29).Whole(nil, []byte(s.chatWhole()))
		if err != nil {
			t.Fatalf("seed %d: %v of %s", seed, err, s.chatWhole())
		}
		events := s.chatStream(random, anyManners(random))
		stream, err := relay(chat.NewPass("m", true, 29), strings.NewReader(events))
		if err == nil {
			err = checkStream(hub.Chat, stream, true)
		}
		if err != nil {
			t.Fatalf("seed %d: %v of\n%s", seed, err, events)
		}
		a, b := collectChat(t, stream), wholeChat(whole)
		if !s.usage { // only a stream has an estimate
			delete(a, "usage")
		}
		same(t, seed, a, b)
	}
}

func same(t *testing.T, seed uint64, stream, whole map[string]any) {
	t.Helper()
	plain := func(v any) (out any) {
		text, _ := json.Marshal(v)
		_ = json.NewDecoder(bytes.NewReader(text)).Decode(&out)
		return drop(out)
	}
	if a, b := plain(stream), plain(whole); !reflect.DeepEqual(a, b) {
		left, _ := json.MarshalIndent(a, "", " ")
		right, _ := json.MarshalIndent(b, "", " ")
		t.Fatalf("seed %d: as a stream it is\n%s\nas a whole\n%s", seed, left, right)
	}
}

// drop removes members that are null.
func drop(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		if list, ok := v.([]any); ok {
			for i := range list {
				list[i] = drop(list[i])
			}
		}
		return v
	}
	for name, member := range m {
		if member == nil {
			delete(m, name)
		} else {
			m[name] = drop(member)
		}
	}
	return m
}
