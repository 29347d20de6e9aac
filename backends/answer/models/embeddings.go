package models

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
)

// Embeddings is a client of an embeddings endpoint.
type Embeddings struct {
	// URL is the endpoint itself, such as "https://gateway.example/v1/embeddings".
	URL string
	// Key is sent as a bearer token. An empty Key is not sent.
	Key string
	// Name is the name of the model.
	Name string
	// Client sends the requests. Default: the client that Guarded(nil) returns, which connects to public
	// addresses only.
	Client *http.Client
}

// maxVectors bounds the response of an endpoint, in bytes.
const maxVectors = 16 << 20

// vectorsRequest is the body of a request in the form of the embeddings API.
type vectorsRequest struct {
	Model    string   `json:"model"`
	Input    []string `json:"input"`
	Encoding string   `json:"encoding_format"`
}

// vectorsResponse has those members of a response that are read.
type vectorsResponse struct {
	Data []struct {
		Index     int       `json:"index"`
		Embedding []float32 `json:"embedding"`
	} `json:"data"`
}

// Model returns the name of the model.
func (e *Embeddings) Model() string { return e.Name }

// Embed returns a vector for each text, in their order. If the endpoint fails, the error wraps ErrUnavailable. If the
// endpoint refuses the texts themselves, the error also wraps kernel.ErrTexts.
func (e *Embeddings) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	raw, err := json.Marshal(vectorsRequest{e.Name, texts, "float"})
	if err != nil {
		return nil, err
	}
	answer, _, err := post(ctx, e.Client, e.URL, e.Key, raw, maxVectors)
	if errors.Is(err, errRefused) {
		err = fmt.Errorf("%w: %w", kernel.ErrTexts, err)
	}
	if err != nil {
		return nil, err
	}
	var parsed vectorsResponse
	if err := json.Unmarshal(answer, &parsed); err != nil || len(parsed.Data) != len(texts) {
		return nil, errNoVectors
	}
	vectors := make([][]float32, len(texts))
	for _, item := range parsed.Data {
		if item.Index < 0 || item.Index >= len(texts) || vectors[item.Index] != nil || len(item.Embedding) == 0 {
			return nil, errNoVectors
		}
		vectors[item.Index] = item.Embedding
	}
	return vectors, nil
}

// errNoVectors means that the response of an endpoint cannot be used.
var errNoVectors = fmt.Errorf("%w: the response does not have one vector for each text", ErrUnavailable)

// refusalStatuses lists the statuses with which an endpoint refuses the content of a request.
var refusalStatuses = []int{http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity}

// post sends body, which is JSON, to url and returns the body and the header of the response. A nil client means
// publicClient, and an empty key is not sent. The error wraps ErrUnavailable if the endpoint refuses the request,
// cannot be reached, or answers with more than limit bytes. If the endpoint refuses the content of the request, the
// error also wraps errRefused. If ctx has ended, post returns its error.
func post(
	ctx context.Context, client *http.Client, url, key string, body []byte, limit int64,
) ([]byte, http.Header, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	if client == nil {
		client = publicClient
	}
	response, err := client.Do(request)
	if err != nil {
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		return nil, nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	defer func() { _ = response.Body.Close() }() // the error means nothing after reading
	answer, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	switch {
	case ctx.Err() != nil:
		return nil, nil, ctx.Err()
	case err != nil:
		return nil, nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	case slices.Contains(refusalStatuses, response.StatusCode):
		return nil, nil, fmt.Errorf("%w: %w: status %d", ErrUnavailable, errRefused, response.StatusCode)
	case response.StatusCode != http.StatusOK:
		return nil, nil, fmt.Errorf("%w: status %d", ErrUnavailable, response.StatusCode)
	case int64(len(answer)) > limit:
		return nil, nil, fmt.Errorf("%w: the response has more than %d bytes", ErrUnavailable, limit)
	}
	return answer, response.Header, nil
}
