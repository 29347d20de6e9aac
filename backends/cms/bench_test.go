package cms_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/cms"
)

// BenchmarkRequest measures a request to a method that does nothing, in JavaScript and in Go.
func BenchmarkRequest(b *testing.B) {
	site := b.TempDir()
	if _, err := cms.InstallFiles(site); err != nil {
		b.Fatal(err)
	}
	s, err := cms.New(cms.Options{Site: site, DB: databases.SQLite(b), Key: func() []byte { return make([]byte, 32) }, Logger: zap.NewNop})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(s.Close)
	if err := s.Start(); err != nil {
		b.Fatal(err)
	}
	for name, path := range map[string]string{"javascript": "/api/test", "go": "/api"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					w := httptest.NewRecorder()
					s.ServeHTTP(w, httptest.NewRequestWithContext(b.Context(), http.MethodGet, path, nil))
					if w.Code != http.StatusOK {
						b.Errorf("%d %s", w.Code, w.Body)
					}
				}
			})
		})
	}
}
