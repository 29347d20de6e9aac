// Package models is the chat models that write and judge: an interface, a client of any
// chat-completions endpoint, and a scripted one for tests. It knows no prompt.
//
// The service runs without any: whoever uses a Model takes nil for "there is none".
package models

import (
	"context"
	"encoding/json"
	"errors"
)

// Tier is how much a model may cost.
type Tier string

// The tiers, as the gateway's pseudo-models name them.
const (
	Low    Tier = "low"
	Medium Tier = "medium"
	High   Tier = "high"
)

// Message is one of a conversation.
type Message struct {
	Role    string `json:"role"` // system, user, assistant
	Content string `json:"content"`
}

// Request is what a model is asked.
type Request struct {
	Tier     Tier
	Messages []Message
	// Schema is the JSON schema of the answer; nil: it is text.
	Schema json.RawMessage
	// Name names the schema, and the step for traces: "verdict", "draft", "judge".
	Name string
	// MaxTokens bounds the answer. Default: 1,024.
	MaxTokens int
}

// Response is what it answers.
type Response struct {
	Text  string
	Model string // that answered
	Usage Usage
}

// Usage is what it cost, in tokens.
type Usage struct{ Prompt, Completion int }

// Add adds.
func (u *Usage) Add(v Usage) { u.Prompt, u.Completion = u.Prompt+v.Prompt, u.Completion+v.Completion }

// Model answers. The context bounds it.
type Model interface {
	Complete(ctx context.Context, r Request) (Response, error)
}

// ErrUnavailable is the error of a model that cannot be used now: no key, no route,
// every provider failed.
var ErrUnavailable = errors.New("no usable model")

// errRefused is the error of an endpoint that refuses a request for what is in it.
var errRefused = errors.New("the request is refused")

// Scripted answers by a function. It is for tests, and for trying the service out.
type Scripted func(r Request) (string, error)

// Complete implements Model.
func (s Scripted) Complete(ctx context.Context, r Request) (Response, error) {
	if err := ctx.Err(); err != nil {
		return Response{}, err
	}
	text, err := s(r)
	prompt := 0
	for _, m := range r.Messages {
		prompt += len(m.Content) / 4
	}
	return Response{Text: text, Model: "scripted", Usage: Usage{prompt, len(text) / 4}}, err
}

// JSON asks for an answer of a schema and reads it. Text around the object, such as the
// fence of a code block, is left out.
func JSON[T any](ctx context.Context, m Model, r Request) (answer T, response Response, err error) {
	response, err = m.Complete(ctx, r)
	if err != nil {
		return answer, response, err
	}
	err = json.Unmarshal(object(response.Text), &answer)
	return answer, response, err
}

// object is the text from the first brace to the last.
func object(s string) []byte {
	begin, end := -1, -1
	for i := range len(s) {
		if s[i] == '{' && begin < 0 {
			begin = i
		}
		if s[i] == '}' {
			end = i
		}
	}
	if begin < 0 || end < begin {
		return nil
	}
	return []byte(s[begin : end+1])
}
