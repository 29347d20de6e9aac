package scriptedmodel

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestClientLeaves cancels a request in each phase where the server waits, and checks that the server stops at once and
// counts it.
func TestClientLeaves(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, script string
		stream       bool
		until        string // read up to this before leaving; empty: leave before the headers
	}{
		{"hang", "fault=hang", false, ""},
		{"hang stream", "fault=hang", true, ""},
		{"delay", "delay=10m", false, ""},
		{"slow headers", "fault=slow_headers&delay=10m", false, ""},
		{"first_delay", "first_delay=10m", true, `"role":"assistant"`},
		{"stall", "fault=stall", true, `"role":"assistant"`},
		{"stall later", "fault=stall&after=2&text=a+b+c", true, `"content":"b "`},
		{"stall with comments", "fault=stall&fault=comments&chunk_delay=1ms", true, "keep-alive\n\n: keep-alive\n\n: keep-alive"},
		{"stall slow headers", "fault=stall&fault=slow_headers&delay=1ms", true, `"role":"assistant"`},
		{"stall whole", "fault=stall&after=1", false, `"chat.completion"`},
		{"chunk_delay", "chunk_delay=10m&text=a+b", true, `"content":"a "`},
		{"between chunks", "text=a+&repeat=1000000&chunk_delay=1ms", true, `"content":"a a `},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := New(Options{Record: 4})
			ts := newTestServer(t, s)
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			more := ""
			if test.stream {
				more = `,"stream":true`
			}
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, ts.URL+"/chat/completions", strings.NewReader(chatBody("scripted?"+test.script, "x", more)))
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			seen := make(chan struct{})
			go func() {
				resp, err := ts.Client().Do(req)
				if err != nil {
					ended <- err
					return
				}
				defer resp.Body.Close()
				ended <- readUntil(resp.Body, test.until, seen)
			}()
			waitCtx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			if test.until == "" {
				if err := s.Wait(waitCtx, func(st Stats) bool { return st.InFlight == 1 && len(s.Requests()[0].Body) > 0 }); err != nil {
					t.Fatal(err)
				}
			} else {
				select {
				case <-seen:
				case err := <-ended:
					t.Fatalf("the answer ended early: %v", err)
				case <-waitCtx.Done():
					t.Fatal("the client has not received the text it waits for")
				}
			}
			leave()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("the client ended with %v", err)
			}
			if err := s.Wait(waitCtx, func(st Stats) bool { return st == Stats{Requests: 1, Cancelled: 1} }); err != nil {
				t.Fatalf("%v, %+v", err, s.Stats())
			}
			if got := s.Requests(); len(got) != 1 || got[0].Disconnected.IsZero() {
				t.Errorf("recorded %+v", got)
			}
		})
	}
}

// readUntil reads to the end, and closes seen as soon as the bytes read contain a text.
func readUntil(r io.Reader, text string, seen chan struct{}) error {
	var all bytes.Buffer
	b := make([]byte, 4096)
	open := true
	for {
		n, err := r.Read(b)
		if open {
			all.Write(b[:n])
			if bytes.Contains(all.Bytes(), []byte(text)) {
				open = false
				close(seen)
			}
		}
		if err != nil {
			return err
		}
	}
}

// TestSlowHeaders checks that the header lines arrive one by one.
func TestSlowHeaders(t *testing.T) {
	t.Parallel()
	ts := newTestServer(t, New(Options{}))
	var d net.Dialer
	conn, err := d.DialContext(t.Context(), "tcp", ts.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	body := chatBody("scripted?fault=slow_headers&delay=60ms&text=ok", "x", "")
	req := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(body))
	if err := req.Write(conn); err != nil {
		t.Fatal(err)
	}
	reads := 0
	counted := readerFunc(func(b []byte) (int, error) { reads++; return conn.Read(b) })
	resp, err := http.ReadResponse(bufio.NewReader(counted), req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if reads < 3 {
		t.Errorf("the headers arrived in %d reads, want at least 3", reads)
	}
	all, err := io.ReadAll(resp.Body)
	if err != nil || !strings.Contains(string(all), `"content":"ok"`) {
		t.Errorf("body %s, error %v", all, err)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

// TestSlowHeadersWithoutHijack checks that there is one pause instead if the connection cannot be hijacked.
func TestSlowHeadersWithoutHijack(t *testing.T) {
	t.Parallel()
	rec := httptest.NewRecorder()
	body := strings.NewReader(chatBody("scripted?fault=slow_headers&delay=1ms&text=ok", "x", ""))
	New(Options{}).ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/v1/chat/completions", body))
	if rec.Code != http.StatusOK || !strings.Contains(rec.Body.String(), `"content":"ok"`) {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}

// TestHugeEvent checks the size of the event of huge_event, and of the body of an answer that is not streamed.
func TestHugeEvent(t *testing.T) {
	t.Parallel()
	ts := newTestServer(t, New(Options{}))
	const size = 3 << 20
	script := "scripted?text=a+b&fault=huge_event&fault=comments&bytes=3145728"

	resp, err := post(t, ts, chatBody(script, "x", `,"stream":true`))
	if err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	longest := 0
	for event := range bytes.SplitAfterSeq(all, []byte("\n\n")) {
		longest = max(longest, len(event))
	}
	if longest != size {
		t.Errorf("the longest event has %d bytes, want %d", longest, size)
	}

	resp, err = post(t, ts, chatBody(script, "x", ""))
	if err != nil {
		t.Fatal(err)
	}
	all, err = io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || len(all) != size {
		t.Errorf("the body has %d bytes, want %d, error %v", len(all), size, err)
	}
}

// TestTooLong cuts an answer that would take longer than MaxDuration.
func TestTooLong(t *testing.T) {
	t.Parallel()
	c := call{r: httptest.NewRequest(http.MethodGet, "/", nil), deadline: time.Now()}
	defer func() {
		if err, _ := recover().(error); !errors.Is(err, http.ErrAbortHandler) {
			t.Errorf("recovered %v", err)
		}
	}()
	c.pause(time.Minute)
	t.Error("the pause was allowed")
}
