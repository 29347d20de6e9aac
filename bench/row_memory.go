package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tollgate-gateway/tollgate/bench/load"
	"github.com/tollgate-gateway/tollgate/bench/mock"
)

const (
	memoryLimit   = "GOMEMLIMIT=1GiB" // in the environment of the server in this row
	claimRequests = 60
	packedBodies  = 40
	idleConns     = 31
)

// memoryRow measures the cost of hostile lengths and of dead connections.
func memoryRow(ctx context.Context, b *bench) ([]line, error) {
	limited := *b
	limited.environment = []string{memoryLimit}
	claims := mock.Chat(mock.Claim, false, 1<<10)
	claim, err := limited.held(ctx, claimRequests, claims, "")
	if err != nil {
		return nil, err
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	large := strings.Replace(mock.Chat(mock.Silent, false, 1<<10), "{", "{"+strings.Repeat(" ", 31_000_000), 1)
	if _, err := io.WriteString(w, large); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	unpacked, err := limited.held(ctx, packedBodies, packed.String(), "gzip")
	if err != nil {
		return nil, err
	}
	posts, err := limited.dropped(ctx)
	if err != nil {
		return nil, err
	}
	limitLine := func(label string, got, aim float64) line {
		return line{label: label, tollgate: number(got), aim: fmt.Sprintf("<= %.0f", aim), met: got <= aim}
	}
	return []line{
		limitLine(fmt.Sprintf("%d requests to an upstream that claims 32 MiB, MiB resident", claimRequests), claim, 128),
		limitLine(fmt.Sprintf("%d bodies of %d KB in gzip, 31 MB without, MiB resident", packedBodies, packed.Len()>>10),
			unpacked, 640),
		limitLine(fmt.Sprintf("POSTs of one request to an upstream that drops connections, %d idle", idleConns), posts, 2),
	}, nil
}

// held returns the growth of a server's memory in MiB while a number of requests are waiting. It compares the peak with
// the memory before the requests.
func (b *bench) held(ctx context.Context, requests int, body, encoding string) (float64, error) {
	s, err := b.serve(ctx)
	if err != nil {
		return 0, err
	}
	defer s.Stop()
	initialMemory, err := s.Resident()
	if err != nil {
		return 0, err
	}
	waiting, cancel := context.WithTimeout(ctx, 8*time.Second)
	defer cancel()
	var all sync.WaitGroup
	for range requests {
		all.Go(func() { _ = post(waiting, s.Gateway, body, encoding) }) // the requests end with the context
	}
	peak := initialMemory
	for waiting.Err() == nil {
		now, err := s.Resident()
		if err != nil {
			cancel()
			all.Wait()
			return 0, err
		}
		peak = max(peak, now)
		time.Sleep(50 * time.Millisecond)
	}
	all.Wait()
	return float64(peak-initialMemory) / (1 << 20), ctx.Err()
}

// oneModel is a model with a single candidate. In contrast, mock.Model is a tier with several candidates.
const oneModel = "openai/gpt-5.4-nano"

// dropped returns the number of POSTs that an upstream gets for one request if it drops every connection.
func (b *bench) dropped(ctx context.Context) (float64, error) {
	s, err := b.serve(ctx)
	if err != nil {
		return 0, err
	}
	defer s.Stop()
	var all sync.WaitGroup
	for range idleConns {
		all.Go(func() { _ = post(ctx, s.Gateway, mock.Chat(mock.Late, false, 1<<10), "") })
	}
	all.Wait()
	initialDrops, err := b.drops(ctx)
	if err != nil {
		return 0, err
	}
	body := strings.Replace(mock.Chat(mock.Drop, false, 1<<10), mock.Model, oneModel, 1)
	if err := post(ctx, s.Gateway, body, ""); err != nil {
		return 0, err
	}
	finalDrops, err := b.drops(ctx)
	return float64(finalDrops - initialDrops), err
}

// drops returns the number of requests that the mock provider has dropped.
func (b *bench) drops(ctx context.Context) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+b.upstream+mock.DropsPath, nil)
	if err != nil {
		return 0, err
	}
	text, err := fetch(request)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(text)
}

// post sends a chat completion request, and reads and ignores the response.
func post(ctx context.Context, site load.Site, body, encoding string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+site.Address+"/v1/chat/completions",
		strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+site.Key)
	request.Header.Set("Content-Type", "application/json")
	if encoding != "" {
		request.Header.Set("Content-Encoding", encoding)
	}
	_, err = fetch(request)
	return err
}

// fetch sends a request and returns the text of the response, whatever its status.
func fetch(request *http.Request) (string, error) {
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", fmt.Errorf("asking: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	return strings.TrimSpace(string(text)), err
}
