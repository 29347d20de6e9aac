package messages

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/blocks"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// endBlock records the end of the block just written as the position for the conversation's cache mark.
func (w *upstreamWriter) endBlock() { w.marks.message = len(w.Dst) - 1 }

// Text implements blocks.Contents.
func (w *upstreamWriter) Text(text, mark string) {
	w.textBlock(text, mark)
	w.endBlock()
}

// Call implements blocks.Contents.
func (w *upstreamWriter) Call(c *hub.Call, input string) {
	w.Dst = jsontext.AppendMember(w.Dst, `{"type":"tool_use","id":`, c.ID)
	w.Dst = jsontext.AppendMember(w.Dst, `,"name":`, c.Name)
	w.Dst = jsontext.AppendAll(w.Dst, `,"input":`, input, "}")
	w.endBlock()
}

// Reasoning implements blocks.Contents.
func (w *upstreamWriter) Reasoning(x *hub.Reasoning) {
	if x.State.Form == hub.FormRedacted {
		w.Dst = append(w.Dst, `{"type":"redacted_thinking","data":`...)
	} else {
		w.Dst = jsontext.AppendMember(w.Dst, `{"type":"thinking","thinking":`, x.Text)
		w.Dst = append(w.Dst, `,"signature":`...)
	}
	w.Dst = append(jsontext.AppendQuoted(w.Dst, x.State.Data), '}')
}

// NoResult implements blocks.Contents.
func (w *upstreamWriter) NoResult(id string) {
	w.Dst = jsontext.AppendMember(w.Dst, `{"type":"tool_result","tool_use_id":`, id)
	w.Dst = append(w.Dst, `,"content":"[no result]"}`...)
	w.endBlock()
}

// Content implements blocks.Contents.
func (w *upstreamWriter) Content(i int) error {
	start := len(w.Dst)
	err := w.parts(&w.Request.Messages[i], i, func() { w.Begin(w, hub.User) })
	if len(w.Dst) > start {
		w.endBlock()
	}
	return err
}

// EndTurn implements blocks.Contents.
func (*upstreamWriter) EndTurn() {}

// parts writes the content of m, the message with index i, and calls beginBlock before each block. A system message
// after the first turn becomes a reminder in a user turn: not all models accept the role system there, and moving the
// message would break the order.
func (w *upstreamWriter) parts(m *hub.Message, i int, beginBlock func()) error {
	isSystem := m.Role == hub.System || m.Role == hub.Developer
	for j := range m.Parts {
		p := &m.Parts[j]
		text := p.Text
		switch p.Kind {
		case hub.PartText, hub.PartRefusal:
			if blocks.Blank(text) {
				continue
			}
			if isSystem {
				text = hub.Reminder(text)
			}
			beginBlock()
			w.textBlock(text, p.Cache)
		case hub.PartImage, hub.PartFile:
			beginBlock()
			if err := w.media(p); err != nil {
				return fmt.Errorf("messages[%d]: %w", i, err)
			}
		case hub.PartOther:
			if w.Request.Format != hub.Messages {
				return fmt.Errorf("messages[%d] has a part that exists only in the %s format", i, w.Request.Format)
			}
			beginBlock()
			w.Dst = append(w.Dst, p.Raw...)
		default:
			return fmt.Errorf("messages[%d] contains audio, which the messages format cannot represent", i)
		}
	}
	return nil
}

// Result implements blocks.Contents.
func (w *upstreamWriter) Result(i int) error {
	m := &w.Request.Messages[i]
	w.Dst = jsontext.AppendMember(w.Dst, `{"type":"tool_result","tool_use_id":`, m.CallID)
	contentStart := len(w.Dst)
	w.Dst = append(w.Dst, `,"content":[`...)
	n, mark, err := w.ResultParts(m, func(m *hub.Message, beginBlock func()) error {
		return w.parts(m, i, beginBlock)
	})
	if err != nil {
		return err
	}
	if n == 0 {
		w.Dst = w.Dst[:contentStart]
	} else {
		w.Dst = append(w.Dst, ']')
	}
	if m.Failed {
		w.Dst = append(w.Dst, `,"is_error":true`...)
	}
	w.cache(mark)
	w.Dst = append(w.Dst, '}')
	w.endBlock()
	return nil
}

// textBlock writes a text block. cache is the JSON text of its cache_control, or empty.
func (w *upstreamWriter) textBlock(text, cache string) {
	w.Dst = jsontext.AppendMember(w.Dst, `{"type":"text","text":`, text)
	w.cache(cache)
	w.Dst = append(w.Dst, '}')
}

// media writes an image or a document.
func (w *upstreamWriter) media(p *hub.Part) error {
	kind := "image"
	if p.Kind == hub.PartFile {
		kind = "document"
	}
	w.Dst = jsontext.AppendAll(w.Dst, `{"type":"`, kind, `","source":`)
	media, data, isData := wire.CutDataURL(p.URL)
	switch {
	case !isData && strings.HasPrefix(p.URL, "https://"):
		w.Dst = jsontext.AppendMember(w.Dst, `{"type":"url","url":`, p.URL)
	case !isData:
		return fmt.Errorf("the address of the %s is neither https nor base64 data", kind)
	case kind == "document" && media == "text/plain":
		text, err := base64.StdEncoding.DecodeString(data)
		if err != nil {
			return fmt.Errorf("the document is not valid base64")
		}
		w.Dst = jsontext.AppendMember(w.Dst, `{"type":"text","media_type":"text/plain","data":`, text)
	case !upstreamTakes(kind, media):
		return fmt.Errorf("the messages format takes no %s of the type %q", kind, wire.Mask(media, 100))
	default:
		w.Dst = jsontext.AppendMember(w.Dst, `{"type":"base64","media_type":`, media)
		w.Dst = jsontext.AppendMember(w.Dst, `,"data":`, data)
	}
	w.Dst = append(w.Dst, '}')
	if kind == "document" && p.Detail != "" {
		w.Dst = jsontext.AppendMember(w.Dst, `,"title":`, p.Detail)
	}
	w.cache(p.Cache)
	w.Dst = append(w.Dst, '}')
	return nil
}

// upstreamTakes reports whether the format accepts a media type in a block of the given kind ("image" or "document").
func upstreamTakes(kind, media string) bool {
	switch media {
	case "image/jpeg", "image/png", "image/gif", "image/webp":
		return kind == "image"
	case "application/pdf":
		return kind == "document"
	}
	return false
}
