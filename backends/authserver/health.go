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
		{Method: http.MethodGet, Path: "/health", Serve: s.healthy},
		{Method: http.MethodGet, Path: "/ready", Serve: s.ready},
	}
}

// live says that the process serves. It touches nothing that could be down.
func (s *Server) live(w http.ResponseWriter, _ *http.Request) error {
	return writeHealth(w, http.StatusOK, struct {
		Status string `json:"status"`
	}{"ok"})
}

// state is the body of an answer about health.
type state struct {
	Status string `json:"status"`
	Time   string `json:"time"`
	DB     string `json:"db"`
	// Keys is there while a key management server does not sign.
	Keys string `json:"keys,omitempty"`
}

// look finds out how the server is: 503 while the database does not answer, and as soon
// as the server is told to stop.
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

// ready says whether requests may be sent here. Without the key management server no token
// is issued, but tokens are verified, and no other node is better off.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) error {
	status, found := s.look(r)
	return writeHealth(w, status, found)
}

// healthy says whether all works: for who is to be called when it does not.
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
