package hub_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// checkStream reads a stream like a strict client of a format. If sound is set, the upstream's output was valid, and
// all calls of a complete answer must have objects as arguments. For the messages format this must always be so.
func checkStream(f hub.Format, stream []byte, sound bool) error {
	switch f {
	case hub.Messages:
		return checkMessages(stream)
	case hub.Responses:
		return checkResponses(stream, sound)
	case hub.Chat:
	}
	return checkChat(stream)
}

// sentEvent is an event as a client sees it.
type sentEvent struct {
	name string
	data []byte
}

// sentEvents splits a stream into events. The gateway's events have a narrower form than server-sent events may have:
// at most one event line, one data line, one blank line.
func sentEvents(stream []byte, named bool) ([]sentEvent, error) {
	text, ok := bytes.CutSuffix(stream, []byte("\n\n"))
	if !ok {
		return nil, errors.New("the last event has no blank line behind it")
	}
	if bytes.ContainsRune(stream, '\r') {
		return nil, errors.New("a carriage return")
	}
	var events []sentEvent
	for block := range bytes.SplitSeq(text, []byte("\n\n")) {
		var e sentEvent
		lines := bytes.Split(block, []byte("\n"))
		if named {
			name, ok := bytes.CutPrefix(lines[0], []byte("event: "))
			if !ok || len(lines) != 2 {
				return nil, fmt.Errorf("not an event: %.200q", block)
			}
			e.name = string(name)
			lines = lines[1:]
		}
		data, ok := bytes.CutPrefix(lines[0], []byte("data: "))
		if !ok || len(lines) != 1 {
			return nil, fmt.Errorf("not an event: %.200q", block)
		}
		e.data = data
		events = append(events, e)
	}
	return events, nil
}

type sentBlock struct {
	Type, ID, Name, Data      string
	Text, Thinking, Signature *string
	Input                     json.RawMessage
	collected, signed         string
}

type messagesEvent struct {
	Type    string
	Index   *int
	Message struct {
		ID, Type, Role, Model string
		Content               []any
		StopReason            any `json:"stop_reason"`
		Usage                 map[string]int64
	}
	ContentBlock sentBlock `json:"content_block"`
	Delta        struct {
		Type, Text, Thinking, Signature string
		PartialJSON                     *string `json:"partial_json"`
		StopReason                      string  `json:"stop_reason"`
	}
	Usage map[string]any
	Error struct{ Type, Message string }
}

// checkMessages checks the invariants of the events of a messages stream.
func checkMessages(stream []byte) error {
	events, err := sentEvents(stream, true)
	if err != nil {
		return err
	}
	var (
		open          *sentBlock
		blocks        int
		tools         []string
		stop          string
		ended, pinged bool
	)
	for i, raw := range events {
		var e messagesEvent
		if err := json.Unmarshal(raw.data, &e); err != nil {
			return fmt.Errorf("event %d: %w", i, err)
		}
		wrong := func(text string) error { return fmt.Errorf("event %d: %s: %.300s", i, text, raw.data) }
		switch {
		case e.Type != raw.name:
			return wrong("its name is " + raw.name)
		case ended:
			return wrong("it stands behind the end")
		case e.Type == "error" && i == 0: // it failed after the commit point and before its first content
		case (i == 0) != (e.Type == "message_start"):
			return wrong("message_start is not exactly the first event")
		case stop != "" && e.Type != "message_stop":
			return wrong("it stands behind message_delta")
		case e.Index != nil && e.Type == "content_block_start" && *e.Index != blocks:
			return wrong(fmt.Sprintf("the block should be %d", blocks))
		case e.Index != nil && e.Type != "content_block_start" && (*e.Index != blocks-1 || open == nil):
			return wrong("the block is not open")
		}
		switch e.Type {
		case "message_start":
			m := e.Message
			if m.ID == "" || m.Type != "message" || m.Role != "assistant" || m.Model == "" || m.Content == nil || len(m.Content) > 0 || m.StopReason != nil || len(m.Usage) != 4 {
				return wrong("the message is not that of the specification")
			}
		case "ping":
			pinged = true
			if blocks == 0 {
				return wrong("it stands before all blocks")
			}
		case "content_block_start":
			if open != nil || e.Index == nil {
				return wrong("another block is open")
			}
			open = &e.ContentBlock
			blocks++
			switch open.Type {
			case "text":
				if open.Text == nil || *open.Text != "" {
					return wrong("the block has no empty text")
				}
			case "thinking":
				if open.Thinking == nil || open.Signature == nil || *open.Thinking+*open.Signature != "" {
					return wrong("the block has no empty thinking and signature")
				}
			case "redacted_thinking":
				if open.Data == "" {
					return wrong("the block has no data")
				}
			case "tool_use":
				if !wire.LegalID(open.ID) || open.Name == "" || string(open.Input) != "{}" {
					return wrong("the block has no id, name and empty input")
				}
				if slices.Contains(tools, open.ID) {
					return wrong("two calls have one id")
				}
				tools = append(tools, open.ID)
			default:
				return wrong("an unknown block")
			}
		case "content_block_delta":
			d := e.Delta
			switch {
			case e.Index == nil:
				return wrong("no index")
			case open.signed != "":
				return wrong("it stands behind the signature")
			case d.Type == "text_delta" && open.Type == "text" && d.Text != "":
				open.collected += d.Text
			case d.Type == "thinking_delta" && open.Type == "thinking" && d.Thinking != "":
				open.collected += d.Thinking
			case d.Type == "signature_delta" && open.Type == "thinking" && d.Signature != "":
				open.signed = d.Signature
			case d.Type == "input_json_delta" && open.Type == "tool_use" && d.PartialJSON != nil:
				open.collected += *d.PartialJSON
			default:
				return wrong("the delta does not fit the block " + open.Type)
			}
		case "content_block_stop":
			switch {
			case e.Index == nil:
				return wrong("no index")
			case open.Type == "thinking" && open.signed == "":
				return wrong("the thinking is not signed")
			case open.Type == "text" && open.collected == "":
				return wrong("the text is empty")
			case open.Type == "tool_use" && open.collected == "":
				return wrong("the input is empty")
			}
			if open.Type == "tool_use" && i+2 < len(events) && !isObject(open.collected) && !cutOff(events) {
				return wrong("the input is not an object: " + open.collected)
			}
			open = nil
		case "message_delta":
			stop = e.Delta.StopReason
			switch {
			case open != nil:
				return wrong("a block is open")
			case !slices.Contains([]string{"end_turn", "stop_sequence", "tool_use", "max_tokens", "model_context_window_exceeded", "refusal"}, stop):
				return wrong("an unknown stop_reason")
			case stop == "tool_use" && len(tools) == 0, len(tools) > 0 && (stop == "end_turn" || stop == "stop_sequence"):
				return wrong(fmt.Sprintf("the stop_reason does not fit %d calls", len(tools)))
			}
			for _, name := range [...]string{"input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"} {
				if n, ok := e.Usage[name].(float64); !ok || n < 0 {
					return wrong("no " + name)
				}
			}
		case "message_stop":
			if stop == "" {
				return wrong("there was no message_delta")
			}
			ended = true
		case "error":
			if e.Error.Type == "" || e.Error.Message == "" {
				return wrong("the error says nothing")
			}
			ended = true
		default:
			return wrong("an unknown event")
		}
	}
	switch {
	case !ended:
		return errors.New("the stream has no end")
	case blocks > 0 && !pinged:
		return errors.New("there was no ping")
	}
	return nil
}

// cutOff reports whether an answer ended at its token limit or with an error.
func cutOff(events []sentEvent) bool {
	last := events[len(events)-1]
	return last.name == "error" || len(events) > 1 && bytes.Contains(events[len(events)-2].data, []byte(`"stop_reason":"max_tokens"`)) ||
		last.name == "response.incomplete" || last.name == "response.failed"
}

func isObject(text string) bool {
	var o map[string]any
	return json.Unmarshal([]byte(text), &o) == nil && o != nil
}

type sentItem struct {
	ID, Type, Status string
	CallID           string `json:"call_id"`
	Name             string
	Arguments, Input *string
	Content          []sentPart
	Summary          []sentPart
}

type sentPart struct {
	Type          string
	Text, Refusal *string
}

// text returns the text of either kind of part.
func (p *sentPart) text() string {
	switch {
	case p.Type == "refusal" && p.Refusal != nil:
		return *p.Refusal
	case p.Type != "refusal" && p.Text != nil:
		return *p.Text
	}
	return "no text"
}

type responsesEvent struct {
	Type         string
	Sequence     *int   `json:"sequence_number"`
	OutputIndex  *int   `json:"output_index"`
	ContentIndex *int   `json:"content_index"`
	SummaryIndex *int   `json:"summary_index"`
	ItemID       string `json:"item_id"`
	Item         json.RawMessage
	Part         sentPart
	Delta        *string
	Text         *string
	Refusal      *string
	Arguments    *string
	Input        *string
	Name         string
	Response     struct {
		ID, Status, Object string
		Output             []json.RawMessage
		Usage              *struct {
			Input  int64 `json:"input_tokens"`
			Output int64 `json:"output_tokens"`
			Total  int64 `json:"total_tokens"`
		}
		Error   *struct{ Code, Message string }
		Details *struct{ Reason string } `json:"incomplete_details"`
	}
}

// itemState is the part of an item that a client has received so far.
type itemState struct {
	sentItem
	parts    []string // the completed texts
	part     *string  // the text of the open part
	kind     string   // the kind of the open part
	textDone bool     // its done event has been received
	call     string   // arguments or input
	callDone bool
	done     json.RawMessage
}

// checkResponses checks the invariants of the events of a Responses stream.
func checkResponses(stream []byte, sound bool) error {
	events, err := sentEvents(stream, true)
	if err != nil {
		return err
	}
	c := &responsesClient{sound: sound && !cutOff(events)}
	for i, raw := range events {
		var e responsesEvent
		err := json.Unmarshal(raw.data, &e)
		switch {
		case err != nil:
		case e.Type != raw.name:
			err = errors.New("its name is " + raw.name)
		case e.Sequence == nil || *e.Sequence != i:
			err = fmt.Errorf("the sequence number should be %d", i)
		case c.ended:
			err = errors.New("it stands behind the end")
		case e.Type == "error" && i == 0: // it failed before the response began
			c.ended = true
		case (i == 0) != (e.Type == "response.created"), (i == 1) != (e.Type == "response.in_progress"):
			err = errors.New("the stream does not begin with created and in_progress")
		default:
			err = c.take(&e)
		}
		if err != nil {
			return fmt.Errorf("event %d: %w: %.300s", i, err, raw.data)
		}
	}
	if !c.ended {
		return errors.New("the stream has no end")
	}
	return nil
}

type responsesClient struct {
	id    string
	items []*itemState
	sound bool
	ended bool
}

func (c *responsesClient) take(e *responsesEvent) error {
	if status, ok := strings.CutPrefix(e.Type, "response."); ok && e.Response.Object != "" {
		return c.lifecycle(e, status)
	}
	if e.OutputIndex == nil {
		return errors.New("no output_index")
	}
	if e.Type == "response.output_item.added" {
		return c.added(e)
	}
	if *e.OutputIndex < 0 || *e.OutputIndex >= len(c.items) {
		return errors.New("the item was not added")
	}
	item := c.items[*e.OutputIndex]
	switch {
	case item.done != nil:
		return errors.New("the item is done")
	case e.Type == "response.output_item.done":
		return c.itemDone(item, e)
	case e.ItemID != item.ID:
		return errors.New("the item's id is " + item.ID)
	}
	return item.take(e)
}

func (c *responsesClient) lifecycle(e *responsesEvent, status string) error {
	r := &e.Response
	if c.id == "" {
		c.id = r.ID
	}
	switch want := map[string]string{"created": "in_progress"}[status]; {
	case r.ID == "" || r.ID != c.id || r.Object != "response":
		return errors.New("the response has another id")
	case want == "" && r.Status != status, want != "" && r.Status != want:
		return errors.New("the response has another status")
	case r.Status == "in_progress":
		if r.Output == nil || len(r.Output) > 0 || r.Usage != nil {
			return errors.New("the response is not empty")
		}
		return nil
	case (status == "failed") != (r.Error != nil && r.Error.Message != "" && r.Error.Code != ""):
		return errors.New("the error does not fit")
	case (status == "incomplete") != (r.Details != nil && r.Details.Reason != ""):
		return errors.New("incomplete_details do not fit")
	case status != "failed" && (r.Usage == nil || r.Usage.Total != r.Usage.Input+r.Usage.Output):
		return errors.New("the usage does not fit")
	case len(r.Output) != len(c.items):
		return fmt.Errorf("%d items were added", len(c.items))
	}
	c.ended = true
	for i, item := range c.items {
		var last sentItem
		if err := json.Unmarshal(r.Output[i], &last); err != nil {
			return err
		}
		switch {
		case item.done != nil && !bytes.Equal(item.done, r.Output[i]):
			return fmt.Errorf("item %d was done as %s", i, item.done)
		case item.done == nil && (status != "failed" || last.ID != item.ID || last.Type != item.Type || last.Status != "incomplete"):
			return fmt.Errorf("item %d is not done", i)
		case item.done == nil && !item.holds(&last):
			return fmt.Errorf("item %d is not the sum of its deltas", i)
		}
	}
	return nil
}

func (c *responsesClient) added(e *responsesEvent) error {
	item := &itemState{}
	if err := json.Unmarshal(e.Item, &item.sentItem); err != nil {
		return err
	}
	if *e.OutputIndex != len(c.items) || item.ID == "" {
		return fmt.Errorf("the item should have the index %d", len(c.items))
	}
	for _, other := range c.items {
		switch {
		case other.ID == item.ID, item.CallID != "" && other.CallID == item.CallID:
			return errors.New("two items have one id")
		case other.done == nil && (other.CallID == "" || item.CallID == "" && item.Type == other.Type):
			return fmt.Errorf("item %s is open", other.ID)
		}
	}
	empty := false
	switch item.Type {
	case "message":
		empty = item.Content != nil && len(item.Content) == 0 && item.Status == "in_progress"
	case "reasoning":
		empty = item.Summary != nil && len(item.Summary) == 0
	case "function_call":
		empty = item.Arguments != nil && *item.Arguments == "" && wire.LegalID(item.CallID) && item.Name != ""
	case "custom_tool_call":
		empty = item.Input != nil && *item.Input == "" && wire.LegalID(item.CallID) && item.Name != ""
	}
	if !empty {
		return errors.New("the item does not begin empty")
	}
	c.items = append(c.items, item)
	return nil
}

// take processes an event within an item.
func (it *itemState) take(e *responsesEvent) error {
	var fits bool
	index, kind := e.ContentIndex, "message"
	if strings.HasPrefix(e.Type, "response.reasoning_summary_") {
		index, kind = e.SummaryIndex, "reasoning"
	}
	switch e.Type {
	case "response.content_part.added", "response.reasoning_summary_part.added":
		text := ""
		fits = it.part == nil && e.Part.text() == ""
		it.part, it.kind, it.textDone = &text, e.Part.Type, false
	case "response.output_text.delta", "response.refusal.delta", "response.reasoning_summary_text.delta":
		fits = it.part != nil && !it.textDone && e.Delta != nil && *e.Delta != "" && strings.Contains(e.Type, it.kind)
		if fits {
			*it.part += *e.Delta
		}
	case "response.output_text.done", "response.refusal.done", "response.reasoning_summary_text.done":
		text := e.Text
		if it.kind == "refusal" {
			text = e.Refusal
		}
		fits = it.part != nil && !it.textDone && text != nil && *text == *it.part && strings.Contains(e.Type, it.kind)
		it.textDone = true
	case "response.content_part.done", "response.reasoning_summary_part.done":
		fits = it.part != nil && it.textDone && e.Part.text() == *it.part && e.Part.Type == it.kind
		if !fits {
			break
		}
		it.parts = append(it.parts, *it.part)
		it.part = nil
		if index == nil || *index != len(it.parts)-1 || it.Type != kind {
			return errors.New("the part has another index")
		}
		return nil
	case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta":
		if e.Delta == nil || *e.Delta == "" || it.callDone || !strings.Contains(e.Type, strings.TrimSuffix(it.Type, "_call")) {
			return errors.New("the delta does not fit")
		}
		it.call += *e.Delta
		return nil
	case "response.function_call_arguments.done":
		it.callDone = true
		if it.Type != "function_call" || e.Arguments == nil || *e.Arguments != it.call || e.Name != it.Name {
			return errors.New("the arguments are not the sum of the deltas")
		}
		return nil
	case "response.custom_tool_call_input.done":
		it.callDone = true
		if it.Type != "custom_tool_call" || e.Input == nil || *e.Input != it.call {
			return errors.New("the input is not the sum of the deltas")
		}
		return nil
	default:
		return errors.New("an unknown event")
	}
	switch {
	case !fits:
		return errors.New("it does not fit the part")
	case index == nil || *index != len(it.parts) || it.Type != kind:
		return errors.New("the part has another index")
	}
	return nil
}

func (c *responsesClient) itemDone(item *itemState, e *responsesEvent) error {
	var last sentItem
	if err := json.Unmarshal(e.Item, &last); err != nil {
		return err
	}
	item.done = e.Item
	switch {
	case last.ID != item.ID || last.Type != item.Type || last.CallID != item.CallID || last.Name != item.Name:
		return errors.New("the item is another one")
	case last.Type != "reasoning" && last.Status != "completed" && last.Status != "incomplete":
		return errors.New("the item is not done")
	case item.part != nil || item.CallID != "" && !item.callDone:
		return errors.New("a part of the item is open")
	case !item.holds(&last):
		return errors.New("the item is not the sum of its deltas")
	case c.sound && item.Type == "function_call" && !isObject(item.call):
		return errors.New("the arguments are not an object")
	}
	return nil
}

// holds reports whether a completed item agrees with its deltas.
func (it *itemState) holds(last *sentItem) bool {
	texts := it.parts
	if it.part != nil {
		texts = append(slices.Clone(texts), *it.part)
	}
	switch it.Type {
	case "function_call":
		return last.Arguments != nil && *last.Arguments == it.call
	case "custom_tool_call":
		return last.Input != nil && *last.Input == it.call
	}
	parts := last.Content
	if it.Type == "reasoning" {
		parts = last.Summary
	}
	return slices.EqualFunc(texts, parts, func(text string, p sentPart) bool { return text == p.text() })
}

// checkChat checks the properties of chat chunks on which clients rely: one id, one model, choices with indices, calls
// numbered from 0, and one [DONE] at the end unless there was an error.
func checkChat(stream []byte) error {
	events, err := sentEvents(stream, false)
	if err != nil {
		return err
	}
	id, calls, ended := "", 0, false
	for i, raw := range events {
		if ended {
			return fmt.Errorf("event %d stands behind the end", i)
		}
		if string(raw.data) == "[DONE]" {
			ended = true
			continue
		}
		var e struct {
			ID, Object, Model string
			Created           *int64
			Error             any
			Choices           []struct {
				Index  *int
				Finish *string `json:"finish_reason"`
				Delta  struct {
					Calls []struct {
						Index *int
						ID    string
					} `json:"tool_calls"`
				}
			}
		}
		if err := json.Unmarshal(raw.data, &e); err != nil {
			return fmt.Errorf("event %d: %w", i, err)
		}
		if e.Error != nil {
			ended = true
			continue
		}
		if id == "" {
			id = e.ID
		}
		if e.ID == "" || e.ID != id || e.Object != "chat.completion.chunk" || e.Model == "" || e.Created == nil {
			return fmt.Errorf("event %d is not a chunk of the answer: %.300s", i, raw.data)
		}
		for _, choice := range e.Choices {
			if choice.Index == nil || choice.Finish != nil && *choice.Finish == "" {
				return fmt.Errorf("event %d: the choice has no index or an empty finish_reason: %.300s", i, raw.data)
			}
			for _, call := range choice.Delta.Calls {
				if call.Index == nil || *call.Index > calls {
					return fmt.Errorf("event %d: the calls are not numbered: %.300s", i, raw.data)
				}
				if *call.Index == calls && call.ID == "" {
					return fmt.Errorf("event %d: the call begins without an id: %.300s", i, raw.data)
				}
				calls = max(calls, *call.Index+1)
			}
		}
	}
	if !ended {
		return errors.New("the stream has no end")
	}
	return nil
}
