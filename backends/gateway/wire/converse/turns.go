package converse

import (
	"fmt"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/blocks"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// Text implements blocks.Contents. It writes a text block, and a cachePoint block if there is a mark.
func (w *writer) Text(text, mark string) {
	w.text(text)
	w.cachePoint(mark)
}

// EndTurn implements blocks.Contents. The format refuses a turn that has a document but no text. To such a turn EndTurn
// adds the text "See the document."
func (w *writer) EndTurn() {
	if w.lacksText {
		w.Dst = append(w.Dst, `,{"text":"See the document."}`...)
		w.lacksText = false
	}
}

// Call implements blocks.Contents. It writes a toolUse block.
func (w *writer) Call(c *hub.Call, input string) {
	w.Dst = jsontext.AppendMember(w.Dst, `{"toolUse":{"toolUseId":`, c.ID)
	w.Dst = jsontext.AppendMember(w.Dst, `,"name":`, c.Name)
	w.Dst = jsontext.AppendAll(w.Dst, `,"input":`, input, "}}")
}

// Reasoning implements blocks.Contents. It writes a reasoningContent block.
func (w *writer) Reasoning(x *hub.Reasoning) {
	if x.State.Form == hub.FormRedacted {
		w.Dst = jsontext.AppendMember(w.Dst, `{"reasoningContent":{"redactedContent":`, x.State.Data)
		w.Dst = append(w.Dst, "}}"...)
		return
	}
	w.Dst = jsontext.AppendMember(w.Dst, `{"reasoningContent":{"reasoningText":{"text":`, x.Text)
	w.Dst = append(jsontext.AppendMember(w.Dst, `,"signature":`, x.State.Data), "}}}"...)
}

// NoResult implements blocks.Contents. It writes a toolResult block with the text "[no result]".
func (w *writer) NoResult(id string) {
	w.Dst = jsontext.AppendMember(w.Dst, `{"toolResult":{"toolUseId":`, id)
	w.Dst = append(w.Dst, `,"content":[{"text":"[no result]"}]}}`...)
}

// Content implements blocks.Contents.
func (w *writer) Content(i int) error {
	return w.parts(&w.Request.Messages[i], i, func() { w.Begin(w, hub.User) })
}

// parts writes the content blocks of m, which is message i of the request, and a cachePoint block after each part with
// a mark. It calls beginBlock before each block. The text of a system message is put in <system-reminder> tags, as in
// the messages format, since the blocks are in a user turn. It also updates w.lacksText: the API refuses a turn that
// has documents but no text. An error means that the format cannot express one of the parts.
func (w *writer) parts(m *hub.Message, i int, beginBlock func()) error {
	isSystem := m.Role == hub.System || m.Role == hub.Developer
	texts, documentsAtStart := 0, w.documentsBefore // w.media counts documents in documentsBefore
	for j := range m.Parts {
		p := &m.Parts[j]
		switch p.Kind {
		case hub.PartText, hub.PartRefusal:
			if blocks.Blank(p.Text) {
				continue
			}
			text := p.Text
			if isSystem {
				text = hub.Reminder(text)
			}
			beginBlock()
			w.text(text)
			texts++
		case hub.PartImage, hub.PartFile:
			beginBlock()
			if err := w.media(p); err != nil {
				return fmt.Errorf("messages[%d]: %w", i, err)
			}
		default:
			return fmt.Errorf("messages[%d] has a part that the Converse format does not support", i)
		}
		w.cachePoint(p.Cache)
	}
	if m.Role != hub.ToolResult { // the parts of a result are within its own block, so they do not count for the turn
		w.lacksText = texts == 0 && (w.lacksText || w.documentsBefore > documentsAtStart)
	}
	return nil
}

// Result implements blocks.Contents. It writes a toolResult block. Only some models accept its field status, but the
// text of a failed result describes the error in any case.
func (w *writer) Result(i int) error {
	m := &w.Request.Messages[i]
	w.Dst = append(jsontext.AppendMember(w.Dst, `{"toolResult":{"toolUseId":`, m.CallID), `,"content":[`...)
	n, mark, err := w.ResultParts(m, func(m *hub.Message, beginBlock func()) error {
		return w.parts(m, i, beginBlock)
	})
	if err != nil {
		return err
	}
	if n == 0 {
		w.text("[no output]")
	}
	w.Dst = append(w.Dst, ']')
	if m.Failed && (w.maker == anthropic || w.maker == nova) {
		w.Dst = append(w.Dst, `,"status":"error"`...)
	}
	w.Dst = append(w.Dst, "}}"...)
	w.cachePoint(mark)
	return nil
}

// imageFormats and documentFormats map media types to the format names of Converse.
var (
	imageFormats = map[string]string{"image/png": "png", "image/jpeg": "jpeg", "image/gif": "gif", "image/webp": "webp"}

	documentFormats = map[string]string{
		"application/pdf": "pdf", "text/csv": "csv", "text/html": "html", "text/plain": "txt", "text/markdown": "md",
		"application/msword": "doc", "application/vnd.ms-excel": "xls",
		"application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
		"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet":       "xlsx",
	}
)

// media writes an image or document block for p. The format accepts only base64 data, so any other address is an error.
// A media type that the format does not know is an error too.
func (w *writer) media(p *hub.Part) error {
	kind, formats := "image", imageFormats
	if p.Kind == hub.PartFile {
		kind, formats = "document", documentFormats
	}
	media, data, ok := wire.CutDataURL(p.URL)
	if !ok {
		return fmt.Errorf("the URL of the %s is not a data URL in base64, but the Converse format accepts nothing else", kind)
	}
	format := formats[media]
	if format == "" {
		return fmt.Errorf("the Converse format has no %s of the type %q", kind, wire.Mask(media, 100))
	}
	w.Dst = jsontext.AppendAll(w.Dst, `{"`, kind, `":{"format":"`, format, `"`)
	if kind == "document" {
		w.documentsBefore++
		w.Dst = jsontext.AppendMember(w.Dst, `,"name":`, documentName(p.Detail, w.documentsBefore))
	}
	w.Dst = append(jsontext.AppendMember(w.Dst, `,"source":{"bytes":`, data), "}}}"...)
	return nil
}

// documentName returns a name for document n of the request, counted from 1. The result is made from the given name.
// It contains only letters, digits, single blanks, hyphens and brackets, as the format requires. It ends with n in
// brackets unless n is 1, so that names differ.
func documentName(name string, n int) string {
	const longest = 100
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("-()[]", r):
			return r
		}
		return ' '
	}, name[:min(len(name), longest)])
	if name = strings.Join(strings.Fields(name), " "); name == "" {
		name = "document"
	}
	if n > 1 {
		name = fmt.Sprintf("%s (%d)", name, n)
	}
	return name
}
