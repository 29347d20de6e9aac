package cascade

import (
	"slices"
	"sync"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
)

// learnedFor is how long a refused parameter is remembered. maxLearned limits the number of pairs of a model and a
// user.
const (
	learnedFor = 24 * time.Hour
	maxLearned = 50_000
)

// Learned remembers which parameters a model refused, so that later requests leave them out at once. It applies a
// refusal only to requests of the same user: an error's message may quote the request, so one user could otherwise
// cause parameters to be left out of the requests of others.
type Learned struct {
	mu  sync.RWMutex
	fix map[scope]*fixes
	now func() time.Time
}

// fixFormat takes the place of a parameter's name. It is for a provider, such as a proxy, that answers 404 at the
// address of its native format and must be asked by chat instead.
const fixFormat = "format"

// fixCallIDs takes the place of a parameter's name. It is for tool call ids that are too long, see usualCallID.
const fixCallIDs = "tool_call_id"

// fixToolsClash takes the place of a parameter's name. It is for tools together with a reasoning effort. The request is
// then sent in another format, or without the effort if the provider has no other format.
const fixToolsClash = "tools with reasoning_effort"

// usualCallID is the limit for tool call ids, in characters, at a provider that refuses long ids. It is OpenAI's limit,
// which servers in front of OpenAI have too.
const usualCallID = 40

// fixes are the changes that a model needs because it refused parameters.
type fixes struct {
	until          time.Time
	drop           []string
	maxTokensField string // the name under which the token limit is accepted
	onlyChat       bool   // only the chat format is accepted
	shortCallIDs   bool   // only short tool call ids are accepted
	toolsClash     bool   // chat completions refuse tools together with an effort
}

// add adds the fix for a parameter that the model refused. max_tokens is renamed to max_completion_tokens and the other
// way round; the names in the fix constants stand for other changes; any other parameter is left out.
func (f *fixes) add(param string) {
	switch param {
	case catalog.FieldMaxCompletionTokens:
		f.maxTokensField = catalog.FieldMaxTokens
	case catalog.FieldMaxTokens:
		f.maxTokensField = catalog.FieldMaxCompletionTokens
	case fixFormat:
		f.onlyChat = true
	case fixToolsClash:
		f.toolsClash = true
	case fixCallIDs:
		f.shortCallIDs = true
	default:
		if !slices.Contains(f.drop, param) {
			f.drop = append(f.drop, param)
		}
	}
}

// apply adds the fixes to the changes of a request.
func (f *fixes) apply(shape *shape) {
	shape.onlyChat = shape.onlyChat || f.onlyChat
	shape.toolsClash = shape.toolsClash || f.toolsClash
	if f.shortCallIDs && (shape.callIDMax == 0 || shape.callIDMax > usualCallID) {
		shape.callIDMax = usualCallID
	}
	if len(f.drop) > 0 {
		shape.Drop = slices.Concat(shape.Drop, f.drop)
		if slices.Contains(f.drop, "stream_options") {
			shape.StreamUsage = false
		}
	}
	if f.maxTokensField != "" {
		shape.MaxTokensField = f.maxTokensField
	}
}

// NewLearned returns an empty memory. now is its clock.
func NewLearned(now func() time.Time) *Learned {
	return &Learned{fix: make(map[scope]*fixes), now: now}
}

// add records that a model refused a user's parameter and worked without it.
func (l *Learned) add(provider, user, model, param string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := scope{provider: provider, user: user, model: model}
	now := l.now()
	f := l.fix[s]
	if f == nil || !f.until.After(now) {
		if len(l.fix) >= maxLearned {
			clear(l.fix) // each is learned again by one refused request
		}
		f = new(fixes)
		l.fix[s] = f
	}
	f.until = now.Add(learnedFor)
	f.add(param)
}

// apply adds to shape the fixes that are remembered for the user and the model.
func (l *Learned) apply(provider, user, model string, shape *shape) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if len(l.fix) == 0 {
		return
	}
	f := l.fix[scope{provider: provider, user: user, model: model}]
	if f != nil && f.until.After(l.now()) {
		f.apply(shape)
	}
}
