package authserver

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// pingLimit bounds the look at the database.
const pingLimit = 2 * time.Second

var errSeeding = errors.New("the resources of the configuration are not stored yet")

// Ready is an error while the database does not answer, and until the resources of the
// configuration are in it.
func (s *Server) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pingLimit)
	defer cancel()
	if s.seeding.Load() {
		return errSeeding
	}
	return s.kernel.Read(ctx, func(c store.Conn) error {
		var one int
		return c.Row("SELECT 1").Scan(&one)
	})
}

// health are the routes for balancers and supervisors.
func (s *Server) health() []kernel.Route {
	return []kernel.Route{
		{Method: http.MethodGet, Path: "/livez", Serve: s.live},
		{Method: http.MethodGet, Path: "/health", Serve: s.ready},
		{Method: http.MethodGet, Path: "/ready", Serve: s.ready},
	}
}

// live says that the process serves. It touches nothing that could be down.
func (s *Server) live(w http.ResponseWriter, _ *http.Request) error {
	return writeHealth(w, http.StatusOK, struct {
		Status string `json:"status"`
	}{"ok"})
}

// ready says whether the database answers: 503 while it does not, and as soon as the
// server is told to stop.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) error {
	status, word, db := http.StatusOK, "ok", "ok"
	if s.Ready(r.Context()) != nil {
		status, word, db = http.StatusServiceUnavailable, "degraded", "error"
	}
	if s.stopping(r.Context()) {
		status, word = http.StatusServiceUnavailable, "stopping"
	}
	return writeHealth(w, status, struct {
		Status string `json:"status"`
		Time   string `json:"time"`
		DB     string `json:"db"`
	}{word, s.kernel.Now().UTC().Format(time.RFC3339), db})
}

func writeHealth(w http.ResponseWriter, status int, body any) error {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	return json.NewEncoder(w).Encode(body)
}
