package models

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/outbound"
)

// maxAnswer bounds the response of a model, in bytes.
const maxAnswer = 1 << 20

// Chat is a client of a chat completions endpoint.
type Chat struct {
	// URL is the endpoint itself, such as "https://gateway.example/v1/chat/completions".
	URL string
	// Key is sent as a bearer token. An empty Key is not sent.
	Key string
	// Names maps tiers to models. Default: "keychain-low" and so on.
	Names map[Tier]string
	// Client sends the requests. Default: the client that Guarded(nil) returns, which connects to public
	// addresses only.
	Client *http.Client
}

// Guarded returns a client that connects only to public addresses and to addresses in allow. It does not follow
// redirects.
func Guarded(allow []netip.Prefix) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			DialContext: outbound.Dialer(allow).DialContext, ForceAttemptHTTP2: true, MaxIdleConns: 32, MaxIdleConnsPerHost: 16,
			IdleConnTimeout: 90 * time.Second,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// chatRequest, responseFormat and jsonSchema are the body of a request in the form of the chat completions API.
type chatRequest struct {
	Model          string          `json:"model"`
	Messages       []Message       `json:"messages"`
	MaxTokens      int             `json:"max_tokens"`
	Temperature    float64         `json:"temperature"`
	ResponseFormat *responseFormat `json:"response_format,omitempty"`
}

type responseFormat struct {
	Type   string     `json:"type"`
	Schema jsonSchema `json:"json_schema"`
}

type jsonSchema struct {
	Name   string          `json:"name"`
	Strict bool            `json:"strict"`
	Schema json.RawMessage `json:"schema"`
}

// chatResponse has the members that are read of a response.
type chatResponse struct {
	Model   string `json:"model"`
	Choices []struct {
		Message Message `json:"message"`
	} `json:"choices"`
	Usage struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
	} `json:"usage"`
}

// Complete implements Model. Its error wraps ErrUnavailable if the endpoint refuses the request, cannot be reached, or
// sends no completion.
func (c *Chat) Complete(ctx context.Context, r Request) (Response, error) {
	name := c.Names[r.Tier]
	body := chatRequest{
		Model: cmp.Or(name, "keychain-"+string(r.Tier)), Messages: r.Messages,
		MaxTokens: cmp.Or(r.MaxTokens, 1024),
	}
	if r.Schema != nil {
		body.ResponseFormat = &responseFormat{"json_schema", jsonSchema{r.Name, true, r.Schema}}
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return Response{}, err
	}
	answer, header, err := post(ctx, c.Client, c.URL, c.Key, raw, maxAnswer)
	if err != nil {
		return Response{}, err
	}
	var completion chatResponse
	if err := json.Unmarshal(answer, &completion); err != nil || len(completion.Choices) == 0 {
		return Response{}, fmt.Errorf("%w: the response is not a chat completion", ErrUnavailable)
	}
	return Response{
		Text: completion.Choices[0].Message.Content, Model: cmp.Or(header.Get(modelHeader), completion.Model, body.Model),
		Usage: Usage{completion.Usage.Prompt, completion.Usage.Completion},
	}, nil
}

// modelHeader is the response header in which a Tollgate gateway names the model that has answered for a tier.
const modelHeader = "X-Gateway-Model"

// publicClient is the default client.
var publicClient = Guarded(nil)
