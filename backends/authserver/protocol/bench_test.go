package protocol_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
)

// measure runs requests concurrently and reports the processor time of each, including that of writes in the
// background.
func measure(b *testing.B, s *server, request func() (path, body string), check func(w *httptest.ResponseRecorder)) {
	b.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.tokens.Run(ctx)
	}()
	auth := s.auth()[1]
	cpu := func() time.Duration {
		var used syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
			b.Fatal(err)
		}
		return time.Duration(used.Utime.Nano() + used.Stime.Nano())
	}
	b.ReportAllocs()
	b.SetParallelism(32)
	began := cpu()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			path, body := request()
			r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
			r.Header.Set("Content-Type", formType)
			r.Header.Set("Authorization", auth)
			w := httptest.NewRecorder()
			if s.mux.ServeHTTP(w, r); w.Code != http.StatusOK {
				b.Errorf("%d %s", w.Code, w.Body)
				return
			}
			if check != nil {
				check(w)
			}
		}
	})
	b.StopTimer()
	cancel()
	<-ended
	used := cpu() - began
	b.ReportMetric(float64(used.Microseconds())/float64(b.N), "cpu-µs/op")
	b.ReportMetric(float64(b.N)/used.Seconds(), "op/cpu-s")
}

func BenchmarkClientCredentials(b *testing.B) {
	s := newServer(b, authtest.Durable(b), settings{clients: clients.Options{Pepper: []byte("pepper")}})
	measure(b, s, func() (string, string) { return "/oauth/token", "grant_type=client_credentials&scope=read" }, nil)
}

func BenchmarkIntrospect(b *testing.B) {
	s := newServer(b, authtest.Durable(b), settings{clients: clients.Options{Pepper: []byte("pepper")}})
	bodies := make([]string, 100)
	for i := range bodies {
		a := s.post(b, "/oauth/token", values("grant_type", "client_credentials"), s.auth()...)
		bodies[i] = url.Values{"token": {a.body["access_token"].(string)}}.Encode()
	}
	var n atomic.Int64
	measure(b, s, func() (string, string) { return "/oauth/introspect", bodies[int(n.Add(1))%len(bodies)] }, func(w *httptest.ResponseRecorder) {
		if !strings.HasPrefix(w.Body.String(), `{"active":true`) {
			b.Error(w.Body)
		}
	})
}

func BenchmarkRefresh(b *testing.B) {
	s := newServer(b, authtest.Durable(b), settings{clients: clients.Options{Pepper: []byte("pepper")}})
	ready := make(chan string, 256)
	for range cap(ready) {
		a := s.post(b, "/oauth/token", values("grant_type", "authorization_code", "code", s.code(b, s.client), "redirect_uri", "https://c.example/cb", "code_verifier", verifier), s.auth()...)
		ready <- a.body["refresh_token"].(string)
	}
	measure(b, s, func() (string, string) { return "/oauth/token", "grant_type=refresh_token&refresh_token=" + <-ready }, func(w *httptest.ResponseRecorder) {
		var answer struct {
			Refresh string `json:"refresh_token"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || answer.Refresh == "" {
			b.Error(w.Body)
		}
		ready <- answer.Refresh
	})
}
