package process

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// adminClient keeps no connections, because a reload replaces the admin endpoint too.
var adminClient = &http.Client{Timeout: 90 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

// call sends a request to the server's admin endpoint. It sends a failed request again, up to five times in all,
// because right after a reload, the endpoint that is about to close may still accept the connection. All calls are safe
// to repeat.
func (s *Server) call(ctx context.Context, method, path, body string) (answer []byte, err error) {
	for range 5 {
		if answer, err = s.callOnce(ctx, method, path, body); err == nil || ctx.Err() != nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	return answer, err
}

// callOnce sends a request to the admin endpoint. Any status but 200 is an error.
func (s *Server) callOnce(ctx context.Context, method, path, body string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://"+s.Admin+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != "" {
		request.Header.Set("Content-Type", "text/caddyfile")
		request.Header.Set("Cache-Control", "must-revalidate") // load the configuration even if it has not changed
	}
	response, err := adminClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("asking the admin endpoint: %w", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 64<<20))
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %.300s", response.StatusCode, text)
	}
	if err != nil {
		return nil, fmt.Errorf("asking the admin endpoint for %s: %w", path, err)
	}
	return text, nil
}

// Reload loads the server's configuration again.
func (s *Server) Reload(ctx context.Context) error {
	_, err := s.call(ctx, http.MethodPost, "/load", s.Config)
	return err
}

// Memory is the memory that the server's runtime uses, in bytes.
type Memory struct {
	Heap  int64 // live objects
	Stack int64
}

// Memory runs two garbage collections, because pools survive the first collection, and returns the memory in use.
func (s *Server) Memory(ctx context.Context) (m Memory, err error) {
	var text []byte
	for range 2 {
		if text, err = s.call(ctx, http.MethodGet, "/debug/pprof/heap?gc=1&debug=1", ""); err != nil {
			return m, err
		}
	}
	if m.Heap, err = statistic(text, "# HeapAlloc = "); err != nil {
		return m, err
	}
	m.Stack, err = statistic(text, "# Stack = ")
	return m, err
}

// Goroutines returns the number of the server's goroutines.
func (s *Server) Goroutines(ctx context.Context) (int64, error) {
	text, err := s.call(ctx, http.MethodGet, "/debug/pprof/goroutine?debug=1", "")
	if err != nil {
		return 0, err
	}
	return statistic(text, "goroutine profile: total ")
}

// statistic returns the number after a label in the text form of a profile.
func statistic(text []byte, label string) (int64, error) {
	_, rest, found := bytes.Cut(text, []byte(label))
	end := 0
	for end < len(rest) && '0' <= rest[end] && rest[end] <= '9' {
		end++
	}
	n, err := strconv.ParseInt(string(rest[:end]), 10, 64)
	if !found || err != nil {
		return 0, fmt.Errorf("the profile has no %q", label)
	}
	return n, nil
}

// SaveProfile saves a profile of the server. "profile" (CPU) and "allocs" take a length in whole seconds;
// "heap" and "goroutine" take a length of 0 and show the current state.
func (s *Server) SaveProfile(ctx context.Context, kind string, length time.Duration, file string) error {
	path := "/debug/pprof/" + kind
	if length > 0 {
		path += fmt.Sprintf("?seconds=%d", max(1, int(length/time.Second)))
	}
	text, err := s.call(ctx, http.MethodGet, path, "")
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("saving a profile: %w", err)
	}
	return nil
}
