package converse

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/messages"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// messages writes the messages from index rest on. The format requires turns of user and assistant to alternate,
// beginning with the user, and all results of an assistant turn's calls in the following user turn.
func (w *writer) messages(rest int) error {
	all := w.r.Messages
	var open []string // ids of the calls of the last assistant turn
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

// block begins a content block in a turn of the given role. It begins a new turn if the role changes.
func (w *writer) block(role hub.Role) {
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

// opening writes a user turn for a conversation that does not begin with one.
func (w *writer) opening() {
	w.block(hub.User)
	w.text("Continue.")
}

// endTurn ends the turn being written. It adds a text to a turn that has a document but no text, which the format
// refuses.
func (w *writer) endTurn() {
	if w.bare {
		w.dst = append(w.dst, `,{"text":"See the document."}`...)
		w.bare = false
	}
	if w.role != 0 {
		w.dst = append(w.dst, "]}"...)
	}
	w.role = 0
}

// assistant writes message i: first its reasoning, then its text, then its calls.
func (w *writer) assistant(i int) error {
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
			continue // it belongs to another format and is part of the history
		default:
			return fmt.Errorf("messages[%d] is of the assistant and holds more than text, which the Converse format does not carry", i)
		}
		if last && j == len(m.Parts)-1 {
			text = strings.TrimRight(text, " \t\r\n") // a text that is to be continued must not end in white space
		}
		if !blank(text) {
			w.block(hub.Assistant)
			w.text(text)
			w.cachePoint(p.Cache)
		}
	}
	for j := range m.Calls {
		c := &m.Calls[j]
		w.block(hub.Assistant)
		w.dst = jsontext.AppendMember(w.dst, `{"toolUse":{"toolUseId":`, c.ID)
		w.dst = jsontext.AppendMember(w.dst, `,"name":`, c.Name)
		w.dst = jsontext.AppendAll(w.dst, `,"input":`, input(c.Arguments), "}}")
	}
	return nil
}

// restore writes a piece of earlier reasoning, if the model accepts it.
func (w *writer) restore(x *hub.Reasoning) {
	if !messages.Restores(x, w.t) {
		return
	}
	w.block(hub.Assistant)
	if x.State.Form == hub.FormRedacted {
		w.dst = append(jsontext.AppendMember(w.dst, `{"reasoningContent":{"redactedContent":`, x.State.Data), "}}"...)
		return
	}
	w.dst = jsontext.AppendMember(w.dst, `{"reasoningContent":{"reasoningText":{"text":`, x.Text)
	w.dst = append(jsontext.AppendMember(w.dst, `,"signature":`, x.State.Data), "}}}"...)
}

// input returns the arguments of a call, or an empty object if they are not a JSON object.
func input(arguments string) string {
	s := jsontext.NewScanner([]byte(arguments))
	if s.Kind() != jsontext.Object || s.Skip() != nil || s.End() != nil {
		return "{}"
	}
	return arguments
}

// user writes messages [from, to), none of which is from the assistant. open are the ids of the calls that wait for a
// result. A call without a result gets a placeholder, because the format would refuse the request.
func (w *writer) user(from, to int, open []string) error {
	var answered []string
	for i := from; i < to; i++ {
		if m := &w.r.Messages[i]; m.Role == hub.ToolResult {
			answered = append(answered, m.CallID)
			if err := w.result(i); err != nil {
				return err
			}
		}
	}
	for _, id := range open {
		if !slices.Contains(answered, id) {
			w.block(hub.User)
			w.dst = append(jsontext.AppendMember(w.dst, `{"toolResult":{"toolUseId":`, id), `,"content":[{"text":"[no result]"}]}}`...)
		}
	}
	for i := from; i < to; i++ {
		if m := &w.r.Messages[i]; m.Role != hub.ToolResult {
			if err := w.parts(m, i, func() { w.block(hub.User) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// parts writes the content of message i. begin is called before each block. A system message after the first turn is
// written as a reminder in a user turn, as in the messages format (specification 4.2).
func (w *writer) parts(m *hub.Message, i int, begin func()) error {
	late := m.Role == hub.System || m.Role == hub.Developer
	texts, documents := 0, w.documents
	for j := range m.Parts {
		p := &m.Parts[j]
		switch p.Kind {
		case hub.PartText, hub.PartRefusal:
			if blank(p.Text) {
				continue
			}
			text := p.Text
			if late {
				text = "<system-reminder>\n" + text + "\n</system-reminder>"
			}
			begin()
			w.text(text)
			texts++
		case hub.PartImage, hub.PartFile:
			begin()
			if err := w.media(p); err != nil {
				return fmt.Errorf("messages[%d]: %w", i, err)
			}
		default:
			return fmt.Errorf("messages[%d] holds a part that the Converse format does not carry", i)
		}
		w.cachePoint(p.Cache)
	}
	if m.Role != hub.ToolResult {
		w.bare = texts == 0 && (w.bare || w.documents > documents)
	}
	return nil
}

// result writes a tool result. Only some models know the status of a result, but its text describes the error in any
// case.
func (w *writer) result(i int) error {
	m := &w.r.Messages[i]
	w.block(hub.User)
	w.dst = append(jsontext.AppendMember(w.dst, `{"toolResult":{"toolUseId":`, m.CallID), `,"content":[`...)
	blocks, mark := 0, ""
	bare := *m
	bare.Parts = slices.Clone(m.Parts)
	for j := range bare.Parts {
		if bare.Parts[j].Cache != "" {
			mark = bare.Parts[j].Cache // it applies to the whole result
		}
		bare.Parts[j].Cache = ""
	}
	err := w.parts(&bare, i, func() {
		if blocks++; blocks > 1 {
			w.dst = append(w.dst, ',')
		}
	})
	if err != nil {
		return err
	}
	if blocks == 0 {
		w.text("[no output]")
	}
	w.dst = append(w.dst, ']')
	if m.Failed && (w.maker == anthropic || w.maker == nova) {
		w.dst = append(w.dst, `,"status":"error"`...)
	}
	w.dst = append(w.dst, "}}"...)
	w.cachePoint(mark)
	return nil
}

// imageFormats and documentFormats map media types to the format's names.
var (
	imageFormats = map[string]string{"image/png": "png", "image/jpeg": "jpeg", "image/gif": "gif", "image/webp": "webp"}

	documentFormats = map[string]string{
		"application/pdf": "pdf", "text/csv": "csv", "text/html": "html", "text/plain": "txt", "text/markdown": "md",
		"application/msword": "doc", "application/vnd.ms-excel": "xls",
		"application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
		"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet":       "xlsx",
	}
)

// media writes an image or a document. The format takes only inline data.
func (w *writer) media(p *hub.Part) error {
	kind, formats := "image", imageFormats
	if p.Kind == hub.PartFile {
		kind, formats = "document", documentFormats
	}
	media, data, ok := wire.CutDataURL(p.URL)
	if !ok {
		return fmt.Errorf("the address of the %s is not base64 data, and the Converse format takes no other", kind)
	}
	format := formats[media]
	if format == "" {
		return fmt.Errorf("the Converse format takes no %s of the type %q", kind, wire.Mask(media, 100))
	}
	w.dst = jsontext.AppendAll(w.dst, `{"`, kind, `":{"format":"`, format, `"`)
	if kind == "document" {
		w.documents++
		w.dst = jsontext.AppendMember(w.dst, `,"name":`, documentName(p.Detail, w.documents))
	}
	w.dst = append(jsontext.AppendMember(w.dst, `,"source":{"bytes":`, data), "}}}"...)
	return nil
}

// documentName returns the name for document n of a request. It contains only letters, digits, single blanks, hyphens
// and brackets, and is different for each document.
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
