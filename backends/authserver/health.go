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

// pingLimit bounds the query that checks the database.
const pingLimit = 2 * time.Second

var errSeeding = errors.New("the resources of the configuration are not stored yet")

// Ready returns an error while the database does not answer, and until the resources of the configuration are stored.
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

// health returns the routes for load balancers and supervisors.
func (s *Server) health() []kernel.Route {
	return []kernel.Route{
		{Method: http.MethodGet, Path: "/livez", Serve: s.live},
		{Method: http.MethodGet, Path: "/health", Serve: s.healthy},
		{Method: http.MethodGet, Path: "/ready", Serve: s.ready},
	}
}

// live answers that the process is running. It touches nothing that could be down.
func (s *Server) live(w http.ResponseWriter, _ *http.Request) error {
	return writeHealth(w, http.StatusOK, struct {
		Status string `json:"status"`
	}{"ok"})
}

// state is the body of a health response.
type state struct {
	Status string `json:"status"`
	Time   string `json:"time"`
	DB     string `json:"db"`
	// Keys is set while the key management server does not sign.
	Keys string `json:"keys,omitempty"`
}

// look determines the health of the server. The status is 503 while the database does not answer, and as soon as the
// server is stopping.
func (s *Server) look(r *http.Request) (status int, found state) {
	status, found = http.StatusOK, state{"ok", s.kernel.Now().UTC().Format(time.RFC3339), "ok", ""}
	if s.rooms.keys.Health() != nil {
		found.Status, found.Keys = "degraded", "error"
	}
	if s.Ready(r.Context()) != nil {
		status, found.Status, found.DB = http.StatusServiceUnavailable, "degraded", "error"
	}
	if s.stopping(r.Context()) {
		status, found.Status = http.StatusServiceUnavailable, "stopping"
	}
	return status, found
}

// ready answers whether requests may be sent to this node. A key management server that is down does not matter: tokens
// are not issued, but are still verified, and no other node is better off.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) error {
	status, found := s.look(r)
	return writeHealth(w, status, found)
}

// healthy answers whether everything works; it is meant for alerts.
func (s *Server) healthy(w http.ResponseWriter, r *http.Request) error {
	status, found := s.look(r)
	if found.Status != "ok" {
		status = http.StatusServiceUnavailable
	}
	return writeHealth(w, status, found)
}

func writeHealth(w http.ResponseWriter, status int, body any) error {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	return json.NewEncoder(w).Encode(body)
}
