package cascade

import (
	"bytes"
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/answeritems"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/chat/native"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/embeddings"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/formats"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// Request is a model request to be answered.
type Request struct {
	ID string
	// Exactly one of these fields is set: Chat (the request of a chat client), Embed (a request for vectors), Hub (the
	// request of any other client) or Forward (a request that is passed on without translation). For a chat client Hub
	// is filled later if a candidate needs the common form.
	Chat    *native.Request
	Embed   *embeddings.Request
	Hub     *hub.Request
	Forward *Forward
	Account *keychain.Account
	// Header holds header fields for a candidate that gets the client's bytes in the client's own format. They are sent
	// only if the format has such fields. It may be nil.
	Header map[string]string
	// EffortMode selects how output_config.effort influences the tier.
	EffortMode keychain.EffortMode
	// User is the sender. A user learns about a provider's state only from failures of the user's own requests.
	User string
	// Sealer seals and opens tokens of reasoning state for User. Nil means that no tokens are used.
	Sealer *hub.Sealer
	// TeamID is the team whose spending the request counts towards. It is empty if the user is in no team.
	TeamID string
	// Tags are the client's labels of the request. EndUser is the person for whom the client sends the request. See
	// Label.
	Tags    []string
	EndUser string
	// KeyID is the id of the gateway key. It is part of prompt cache keys, so that the caches of different keys are
	// separate. If it is empty no prompt cache key is sent.
	KeyID string
	// Items stores the items of answers. Nil means that no items are stored.
	Items *answeritems.Store
	// Stored gives access to the sender's stored responses. It is preferred to Items, for storing the items of an
	// answer and for finding those of earlier answers. Nil means that no responses are stored.
	Stored Stored
	// Session is the name of an agent's session, from the client's header. It is empty if the client sent none.
	Session string
	// Forbids returns the display name of the list of allowed models from which a candidate is missing, or an empty
	// string if the sender may use the candidate. A nil Forbids allows all candidates.
	Forbids func(c *keychain.Candidate) (list string)
	// AdmitTools returns an error if the request asks its provider to run a tool that is not allowed. tools are the
	// names that wire.ServerTools returns. A nil AdmitTools allows all tools.
	AdmitTools func(tools []string) error
	// Via holds the Via fields of the client's request. It may be nil.
	Via []string
	// Lease is the memory of the body to which Hub or Embed refers. Nil means that the memory is not counted.
	Lease *wire.Lease
}

// Stored gives a request access to the stored responses of its sender.
type Stored interface {
	// FindItems returns the items with these ids that stored answers contain, by id. Ids that are not found are missing
	// from the map.
	FindItems(ctx context.Context, ids []string) (map[string]string, error)
	// KeepItem stores an item of the answer, like hub.Reply.KeepItem. It reports false if the answer is not stored.
	KeepItem(id string, text []byte) bool
}

// Release returns the memory of the body to the budget. Further calls do nothing.
func (q *Request) Release() {
	if q.Chat != nil {
		q.Chat.Release()
	}
	q.Lease.Give()
	q.Lease = nil
}

// Read parses body, which a client sent in the given format. The options come from the request's path and header, see
// formats.Place. Read opens tokens of reasoning state with the Sealer. Its errors are *apierror.Error with status 400,
// and those of AdmitTools.
func (q *Request) Read(format formats.Format, body []byte, o hub.ReadOptions) (err error) {
	if err := q.parse(format, body, o); err != nil || q.AdmitTools == nil {
		return err
	}
	tools, err := wire.ServerTools(format.Facts().API, body)
	if err != nil {
		return err
	}
	return q.AdmitTools(tools)
}

// parse parses body, which is in the client's format, into q.Chat or q.Hub.
func (q *Request) parse(format formats.Format, body []byte, o hub.ReadOptions) (err error) {
	if direct, ok := format.(formats.Native); ok {
		q.Chat, err = direct.Parse(body)
	} else {
		o.Open = q.open
		q.Hub, err = format.Read(body, o)
	}
	return err
}

// Expand replaces references to items of earlier answers in a client's body by these items. A body without references
// is returned unchanged. The errors are *apierror.Error with status 400 for an item that is not stored and with status
// 413 for a body that becomes too large, and those of answeritems.Store.
func (q *Request) Expand(ctx context.Context, format formats.Format, body []byte) ([]byte, error) {
	referrer, ok := format.(formats.Referrer)
	if !ok {
		return body, nil
	}
	return referrer.Expand(body, func(ids []string) (map[string]string, error) { return q.findItems(ctx, ids) })
}

// findItems returns the stored items with the given ids, by id. It asks Stored first, whose items are complete. Items
// is asked only for the missing ids, since its Find may wait for other nodes.
func (q *Request) findItems(ctx context.Context, ids []string) (map[string]string, error) {
	if q.Stored == nil {
		return q.Items.Find(ctx, q.owner(), ids)
	}
	found, err := q.Stored.FindItems(ctx, ids)
	if err != nil {
		return nil, err
	}
	missing := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return found[id] != "" })
	if len(missing) == 0 {
		return found, nil
	}
	others, err := q.Items.Find(ctx, q.owner(), missing)
	maps.Copy(found, others)
	return found, err
}

// owner returns the owner under which items of answers are stored: the gateway key, or the user if the request came
// without a gateway key.
func (q *Request) owner() string {
	if q.KeyID == "" && q.User != "" {
		return "user " + q.User
	}
	return q.KeyID
}

// ReadCount parses a request to count tokens. Parameters and errors are those of Read.
func (q *Request) ReadCount(format formats.Counter, body []byte, o hub.ReadOptions) (err error) {
	o.Open = q.open
	q.Hub, err = format.ReadCount(body, o)
	return err
}

// Asked returns the client's format, the requested model and whether the client wants a stream. For requests for
// vectors and for forwarded requests the format is chat, in which their errors are written.
func (q *Request) Asked() (format formats.Format, model string, stream bool) {
	switch {
	case q.Forward != nil:
		return formats.Chat(), q.Forward.Model, false
	case q.Embed != nil:
		return formats.Chat(), q.Embed.Model, false
	case q.Chat != nil:
		return formats.Chat(), q.Chat.Model, q.Chat.Stream
	}
	format, _ = formats.Of(q.Hub.Format)
	return format, q.Hub.Model, q.Hub.Stream
}

// surface returns the name of the client's API in the usage log.
func (q *Request) surface() string {
	if q.Forward != nil {
		return q.Forward.Surface
	}
	if q.Embed != nil {
		return embeddings.Surface
	}
	format, _, _ := q.Asked()
	return format.Facts().Surface
}

// forbids calls Forbids. It returns an empty string if Forbids is nil.
func (q *Request) forbids(c *keychain.Candidate) (list string) {
	if q.Forbids == nil {
		return ""
	}
	return q.Forbids(c)
}

// TagsHeader is the request header with tags, separated by commas. The header is not passed on to providers.
const TagsHeader = "X-Gateway-Tags"

// Limits of tags and end users.
const (
	maxTags    = 10
	maxTagSize = 64  // bytes
	maxEndUser = 128 // bytes
)

// Label sets Tags and EndUser from the client's request. Tags come from the header and from metadata.tags, which is a
// text with commas or a list of texts. The end user is the first of metadata.user_id, safety_identifier and user in the
// body. The body must have been accepted by Read or ReadEmbeddings. If the header has too many tags or a tag that is
// too long, Label returns an *apierror.Error with status 400. Excess tags in a body are ignored without an error, since
// the body is meant for providers.
func (q *Request) Label(header http.Header, body []byte) error {
	for _, line := range header.Values(TagsHeader) {
		for tag := range strings.SplitSeq(line, ",") {
			if tag = strings.TrimSpace(tag); tag == "" || slices.Contains(q.Tags, tag) {
				continue
			}
			if len(q.Tags) == maxTags || !isTag(tag) {
				return apierror.New(http.StatusBadRequest, "invalid_value",
					"the header %s has at most %d tags between commas, each of at most %d bytes of text", strings.ToLower(TagsHeader),
					maxTags, maxTagSize).
					With(strings.ToLower(TagsHeader))
			}
			q.Tags = append(q.Tags, strings.Clone(tag))
		}
	}
	metadata, safety, user := q.labels(body)
	if tags := metadata.Get("tags"); tags.IsArray() {
		for _, tag := range tags.Array() {
			q.tag(tag)
		}
	} else {
		q.tag(tags)
	}
	for _, name := range []gjson.Result{metadata.Get("user_id"), safety, user} {
		if name.Type == gjson.String && name.Str != "" {
			q.EndUser = short(name.Str, maxEndUser)
			break
		}
	}
	return nil
}

// tag splits text at its commas and adds the resulting tags to Tags. It ignores a value that is not a JSON string,
// invalid tags, repeated tags and tags beyond maxTags.
func (q *Request) tag(text gjson.Result) {
	if text.Type != gjson.String {
		return
	}
	for tag := range strings.SplitSeq(text.Str, ",") {
		if tag = strings.TrimSpace(tag); isTag(tag) && len(q.Tags) < maxTags && !slices.Contains(q.Tags, tag) {
			q.Tags = append(q.Tags, strings.Clone(tag))
		}
	}
}

// labels returns the values of the fields metadata, safety_identifier and user of a client's JSON body. A missing field
// is a zero value. For a chat client the values are those found when the body was parsed.
func (q *Request) labels(body []byte) (metadata, safety, user gjson.Result) {
	if q.Chat != nil {
		parse := func(name string) gjson.Result { return gjson.ParseBytes(q.Chat.Field(name)) }
		return parse("metadata"), parse("safety_identifier"), parse("user")
	}
	// A body without these names need not be parsed.
	if !bytes.Contains(body, []byte(`"metadata"`)) && !bytes.Contains(body, []byte(`"safety_identifier"`)) &&
		!bytes.Contains(body, []byte(`"user"`)) {
		return metadata, safety, user
	}
	gjson.ParseBytes(body).ForEach(func(name, value gjson.Result) bool {
		switch name.Str {
		case "metadata":
			metadata = value
		case "safety_identifier":
			safety = value
		case "user":
			user = value
		}
		return true
	})
	return metadata, safety, user
}

// isTag reports whether tag is a valid tag: not empty, at most maxTagSize bytes, valid UTF-8 and without ASCII control
// characters.
func isTag(tag string) bool {
	return tag != "" && len(tag) <= maxTagSize && utf8.ValidString(tag) && !strings.ContainsFunc(tag, func(r rune) bool {
		return r < ' ' || r == 0x7f
	})
}

// short removes control characters from a text and cuts it to at most limit bytes.
func short(text string, limit int) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, text)
	return strings.Clone(strings.ToValidUTF8(text[:min(len(text), limit)], ""))
}

// open opens a token of reasoning state in the client's request. It reports false if the token is not valid.
func (r *Request) open(token string) (hub.State, bool) {
	if r.Sealer == nil {
		return hub.State{}, false
	}
	return r.Sealer.Open(r.User, token)
}
