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

// pingLimit is the timeout of the query that checks the database.
const pingLimit = 2 * time.Second

// errSeeding is the error of Ready while the resources of the configuration are not stored.
var errSeeding = errors.New("the resources of the configuration are not stored yet")

// Ready returns an error while the database does not answer, and until the resources of the configuration are stored.
func (s *Server) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pingLimit)
	defer cancel()
	if s.seeding.Load() {
		return errSeeding
	}
	return s.kernel.Read(ctx, func(c store.Conn) error {
		var dummy int
		return c.Row("SELECT 1").Scan(&dummy)
	})
}

// health returns the health-check routes for load balancers and supervisors.
func (s *Server) health() []kernel.Route {
	return []kernel.Route{
		{Method: http.MethodGet, Path: "/livez", Serve: s.live},
		{Method: http.MethodGet, Path: "/health", Serve: s.healthy},
		{Method: http.MethodGet, Path: "/ready", Serve: s.ready},
	}
}

// live answers that the process is running. It checks nothing else.
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
	// Keys is set while the key management server cannot sign.
	Keys string `json:"keys,omitempty"`
}

// checkHealth returns the health of the server and the status of its response. The status is 503 while the database
// does not answer, and once the server is stopping.
func (s *Server) checkHealth(r *http.Request) (status int, found state) {
	status, found = http.StatusOK, state{"ok", s.kernel.Now().UTC().Format(time.RFC3339), "ok", ""}
	if s.components.keys.Health() != nil {
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

// ready answers whether requests may be sent to this node. It ignores a failure of the key management server. During
// such a failure no tokens can be issued, but this node still verifies tokens, and other nodes would not do better.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) error {
	status, found := s.checkHealth(r)
	return writeHealth(w, status, found)
}

// healthy answers 200 only if everything works, and otherwise 503. It is meant for alerts.
func (s *Server) healthy(w http.ResponseWriter, r *http.Request) error {
	status, found := s.checkHealth(r)
	if found.Status != "ok" {
		status = http.StatusServiceUnavailable
	}
	return writeHealth(w, status, found)
}

// writeHealth writes a health response with a JSON body.
func writeHealth(w http.ResponseWriter, status int, body any) error {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	return json.NewEncoder(w).Encode(body)
}
