package messages

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// messages writes the turns from the index rest on. The format requires alternating turns of user and assistant,
// beginning with the user's, and all results of an assistant turn's calls at the front of the turn after it.
func (w *upstreamWriter) messages(rest int) error {
	all := w.r.Messages
	var open []string // ids of calls of the last assistant turn
	for i := rest; i < len(all); {
		if all[i].Role == hub.Assistant {
			if err := w.assistant(i); err != nil {
				return err
			}
			for _, c := range all[i].Calls {
				open = append(open, c.ID)
			}
			i++
			continue
		}
		to := i + 1
		for to < len(all) && all[to].Role != hub.Assistant {
			to++
		}
		if err := w.user(i, to, open); err != nil {
			return err
		}
		open = open[:0]
		i = to
	}
	if w.turns == 0 {
		w.opening()
	}
	w.endTurn()
	return nil
}

// written records the end of the block that has just been written as the last place for a mark of the prompt cache.
func (w *upstreamWriter) written() { w.marks.message = len(w.dst) - 1 }

// block begins a content block in a turn of the given role.
func (w *upstreamWriter) block(role hub.Role) {
	if w.role == role {
		w.dst = append(w.dst, ',')
		return
	}
	if w.turns == 0 && role == hub.Assistant {
		w.opening()
	}
	w.endTurn()
	if w.turns > 0 {
		w.dst = append(w.dst, ',')
	}
	w.turns++
	w.role = role
	w.dst = jsontext.AppendAll(w.dst, `{"role":"`, role.String(), `","content":[`)
}

// opening writes a turn of the user for a conversation that does not begin with one.
func (w *upstreamWriter) opening() {
	w.block(hub.User)
	w.textBlock("Continue.", "")
	w.written()
}

func (w *upstreamWriter) endTurn() {
	if w.role != 0 {
		w.dst = append(w.dst, "]}"...)
	}
	w.role = 0
}

// assistant writes message i: first the thinking, then the text, then the calls.
func (w *upstreamWriter) assistant(i int) error {
	m := &w.r.Messages[i]
	for j := range m.Reasoning {
		w.restore(&m.Reasoning[j])
	}
	last := i == len(w.r.Messages)-1 && len(m.Calls) == 0
	for j := range m.Parts {
		p := &m.Parts[j]
		text := p.Text
		switch p.Kind {
		case hub.PartText, hub.PartRefusal:
		case hub.PartOther:
			continue // it belongs to another format, and is history
		default:
			return fmt.Errorf("messages[%d] is of the assistant and holds more than text, which the messages format does not carry", i)
		}
		if last && j == len(m.Parts)-1 {
			text = strings.TrimRight(text, " \t\r\n") // a text to be continued must not end in white space
		}
		if !upstreamBlank(text) {
			w.block(hub.Assistant)
			w.textBlock(text, p.Cache)
			w.written()
		}
	}
	for j := range m.Calls {
		c := &m.Calls[j]
		w.block(hub.Assistant)
		w.dst = jsontext.AppendMember(w.dst, `{"type":"tool_use","id":`, c.ID)
		w.dst = jsontext.AppendMember(w.dst, `,"name":`, c.Name)
		w.dst = jsontext.AppendAll(w.dst, `,"input":`, upstreamInput(c.Arguments), `}`)
		w.written()
	}
	return nil
}

// restore writes a piece of earlier reasoning as a thinking block, if the candidate accepts it.
func (w *upstreamWriter) restore(x *hub.Reasoning) {
	if !upstreamRestores(x, w.t) {
		return
	}
	w.block(hub.Assistant)
	if x.State.Form == hub.FormRedacted {
		w.dst = append(w.dst, `{"type":"redacted_thinking","data":`...)
	} else {
		w.dst = jsontext.AppendMember(w.dst, `{"type":"thinking","thinking":`, x.Text)
		w.dst = append(w.dst, `,"signature":`...)
	}
	w.dst = append(jsontext.AppendQuoted(w.dst, x.State.Data), '}')
}

// upstreamInput returns the input of a call, which is always an object.
func upstreamInput(arguments string) string {
	s := jsontext.NewScanner([]byte(arguments))
	if s.Kind() != jsontext.Object || s.Skip() != nil || s.End() != nil {
		return "{}"
	}
	return arguments
}

// user writes messages [from, to), none of which is the assistant's. open are the calls that wait for a result. A call
// without one is an error, so it gets a placeholder.
func (w *upstreamWriter) user(from, to int, open []string) error {
	var answered map[string]struct{}
	if len(open) > 0 {
		answered = make(map[string]struct{}, len(open))
	}
	for i := from; i < to; i++ {
		m := &w.r.Messages[i]
		if m.Role != hub.ToolResult {
			continue
		}
		if answered != nil {
			answered[m.CallID] = struct{}{}
		}
		if err := w.result(i); err != nil {
			return err
		}
		w.written()
	}
	for _, id := range open {
		if _, ok := answered[id]; !ok {
			w.block(hub.User)
			w.dst = append(jsontext.AppendMember(w.dst, `{"type":"tool_result","tool_use_id":`, id), `,"content":"[no result]"}`...)
			w.written()
		}
	}
	for i := from; i < to; i++ {
		m := &w.r.Messages[i]
		if m.Role == hub.ToolResult {
			continue
		}
		start := len(w.dst)
		if err := w.parts(m, i, func() { w.block(hub.User) }); err != nil {
			return err
		}
		if len(w.dst) > start {
			w.written()
		}
	}
	return nil
}

// parts writes the content of message i. begin is called before each block. A system message after the first turn
// becomes a reminder in a user turn: not all models accept the role there, and moving it would break the order
// (specification 4.2).
func (w *upstreamWriter) parts(m *hub.Message, i int, begin func()) error {
	late := m.Role == hub.System || m.Role == hub.Developer
	for j := range m.Parts {
		p := &m.Parts[j]
		text := p.Text
		switch p.Kind {
		case hub.PartText, hub.PartRefusal:
			if upstreamBlank(text) {
				continue
			}
			if late {
				text = "<system-reminder>\n" + text + "\n</system-reminder>"
			}
			begin()
			w.textBlock(text, p.Cache)
			continue
		case hub.PartImage, hub.PartFile:
			begin()
			if err := w.media(p); err != nil {
				return fmt.Errorf("messages[%d]: %w", i, err)
			}
		case hub.PartOther:
			if w.r.Format != hub.Messages {
				return fmt.Errorf("messages[%d] holds a part that only the %s format knows", i, w.r.Format)
			}
			begin()
			w.dst = append(w.dst, p.Raw...)
		default:
			return fmt.Errorf("messages[%d] holds audio, which the messages format does not carry", i)
		}
	}
	return nil
}

// result writes a tool result.
func (w *upstreamWriter) result(i int) error {
	m := &w.r.Messages[i]
	w.block(hub.User)
	w.dst = jsontext.AppendMember(w.dst, `{"type":"tool_result","tool_use_id":`, m.CallID)
	cache, n := "", 0
	from := len(w.dst)
	w.dst = append(w.dst, `,"content":[`...)
	bare := *m
	bare.Parts = make([]hub.Part, len(m.Parts))
	for j, p := range m.Parts {
		if p.Cache != "" {
			cache = p.Cache // the mark applies to the whole result
		}
		p.Cache = ""
		bare.Parts[j] = p
	}
	err := w.parts(&bare, i, func() {
		if n++; n > 1 {
			w.dst = append(w.dst, ',')
		}
	})
	if err != nil {
		return err
	}
	if n == 0 {
		w.dst = w.dst[:from]
	} else {
		w.dst = append(w.dst, ']')
	}
	if m.Failed {
		w.dst = append(w.dst, `,"is_error":true`...)
	}
	w.cache(cache)
	w.dst = append(w.dst, '}')
	return nil
}

func (w *upstreamWriter) textBlock(text, cache string) {
	w.dst = jsontext.AppendMember(w.dst, `{"type":"text","text":`, text)
	w.cache(cache)
	w.dst = append(w.dst, '}')
}

// media writes an image or a document.
func (w *upstreamWriter) media(p *hub.Part) error {
	kind := "image"
	if p.Kind == hub.PartFile {
		kind = "document"
	}
	w.dst = jsontext.AppendAll(w.dst, `{"type":"`, kind, `","source":`)
	media, data, isData := wire.CutDataURL(p.URL)
	switch {
	case !isData && strings.HasPrefix(p.URL, "https://"):
		w.dst = jsontext.AppendMember(w.dst, `{"type":"url","url":`, p.URL)
	case !isData:
		return fmt.Errorf("the address of the %s is neither https nor base64 data", kind)
	case kind == "document" && media == "text/plain":
		text, err := base64.StdEncoding.DecodeString(data)
		if err != nil {
			return fmt.Errorf("the document is not valid base64")
		}
		w.dst = jsontext.AppendMember(w.dst, `{"type":"text","media_type":"text/plain","data":`, text)
	case !upstreamTakes(kind, media):
		return fmt.Errorf("the messages format takes no %s of the type %q", kind, wire.Mask(media, 100))
	default:
		w.dst = jsontext.AppendMember(w.dst, `{"type":"base64","media_type":`, media)
		w.dst = jsontext.AppendMember(w.dst, `,"data":`, data)
	}
	w.dst = append(w.dst, '}')
	if kind == "document" && p.Detail != "" {
		w.dst = jsontext.AppendMember(w.dst, `,"title":`, p.Detail)
	}
	w.cache(p.Cache)
	w.dst = append(w.dst, '}')
	return nil
}

// upstreamTakes reports whether the format has blocks of a kind (image or document) for a media type.
func upstreamTakes(kind, media string) bool {
	switch media {
	case "image/jpeg", "image/png", "image/gif", "image/webp":
		return kind == "image"
	case "application/pdf":
		return kind == "document"
	}
	return false
}

// upstreamBlank reports whether a text is white space only. The format refuses blocks with such a text.
func upstreamBlank(text string) bool { return strings.TrimSpace(text) == "" }
