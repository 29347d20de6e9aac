package admin

import (
	"net/http"
	"slices"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/audit"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/rest"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// systemRoutes returns the routes of the server itself.
func (a *API) systemRoutes() []route {
	return group("System", []route{
		{rest.Route{
			Method: post, Path: "/auth/verify", Summary: "Check the key", Answer: "Verified",
		}, a.verify},
		{rest.Route{
			Method: get, Path: "/upstreams", Summary: "List the providers at which people sign in",
			Description: "Each is contacted during the request.", Answer: "Upstreams",
		}, a.upstreams},
		{rest.Route{
			Method: get, Path: "/mail", Summary: "Read the state of outgoing mail", Answer: "Mail",
		}, a.mail},
		{rest.Route{
			Method: post, Path: "/mail/test", Summary: "Send a test mail", Body: "TestMail", Answer: "MailSent",
			Errors: []int{http.StatusConflict, http.StatusUnprocessableEntity, http.StatusBadGateway},
		}, a.testMail},
		{rest.Route{
			Method: get, Path: "/keys", Summary: "List signing keys", Answer: "Keys",
		}, a.keys},
		{rest.Route{
			Method: post, Path: "/keys/rotate", Summary: "Replace the signing key", Answer: "RotatedKey",
		}, a.rotateKey},
		{rest.Route{
			Method: post, Path: "/encryption/re-encrypt", Summary: "Encrypt stored secrets with the current key",
			Answer: "Resealed", Errors: conflicts,
		}, a.reseal},
		{rest.Route{
			Method: get, Path: "/settings/dcr", Summary: "Read how clients may register", Answer: "Mode",
			Versioned: true,
		}, a.mode},
		{rest.Route{
			Method: patch, Path: "/settings/dcr", Summary: "Set how clients may register",
			Description: "An empty mode restores the mode of the configuration.", Body: "ModeChange", Answer: "Mode",
			Versioned: true,
		}, a.setMode},
		{rest.Route{
			Method: get, Path: "/audit", Summary: "List audit events, newest first",
			Query: slices.Concat(pageParams, []rest.Param{
				namesParam,
				{Name: "action", Schema: `{"type":"string"}`, Description: "An action such as client.created_admin, or a prefix that ends with a dot, such as client."},
				{Name: "actor_id", Schema: `{"type":"string"}`},
				{Name: "client_id", Schema: `{"type":"string"}`},
				{Name: "since", Schema: `{"type":"string"}`, Description: "A time in RFC 3339, or a date."},
				{Name: "until", Schema: `{"type":"string"}`, Description: "A time in RFC 3339, or a date."},
			}),
			Answer: "Audit",
		}, a.audit},
		{rest.Route{
			Method: get, Path: "/stats",
			Summary: "Count clients, users, resources, consents and tokens",
			Query: []rest.Param{{
				Name: "most", Schema: `{"type":"integer","minimum":1,"maximum":1000000}`,
				Description: "Counts at most this many rows of each kind.",
			}},
			Answer: "Stats",
		}, a.stats},
		{rest.Route{
			Method: get, Path: "/system/status", Summary: "Read the state of the server", Answer: "Status",
		}, a.status},
		{rest.Route{
			Method: get, Path: "/system/config", Summary: "Read the configuration, without secrets", Answer: "Config",
		}, a.config},
		{rest.Route{
			Method: get, Path: "/notices", Summary: "List notices for the operator", Answer: "Notices",
		}, a.notices},
	})
}

// verify serves POST /admin/auth/verify.
func (a *API) verify(*call) (any, error) {
	return map[string]any{"valid": true, "version": a.Version}, nil
}

// keys serves GET /admin/keys.
func (a *API) keys(c *call) (any, error) {
	type key struct {
		ID        string `json:"kid"`
		Algorithm string `json:"alg"`
		Use       string `json:"use"`
		Status    string `json:"status"`
		Signs     bool   `json:"signs"` // new tokens
		CreatedAt string `json:"created_at"`
		RotatedAt string `json:"rotated_at,omitempty"`
		Until     string `json:"accepted_until,omitempty"`
	}
	all, err := a.Keys.List(c.R.Context())
	if err != nil {
		return nil, err
	}
	rows := make([]key, len(all))
	for i, k := range all {
		rows[i] = key{
			ID: k.ID, Algorithm: k.Algorithm, Use: "sig", Status: "active", Signs: k.Signs, CreatedAt: stamp(k.CreatedAt),
		}
		if !k.RotatedAt.IsZero() {
			rows[i].Status, rows[i].RotatedAt = "rotated", stamp(k.RotatedAt)
		}
		if !k.Until.IsZero() {
			rows[i].Until = stamp(k.Until)
		}
	}
	return map[string]any{"keys": rows}, nil
}

// rotateKey serves POST /admin/keys/rotate.
func (a *API) rotateKey(c *call) (any, error) {
	rotated, err := a.Keys.Rotate(c.R.Context(), actor)
	if err != nil {
		return nil, err
	}
	a.Count("key_rotation_total", "")
	return map[string]string{"kid": rotated.ID, "alg": rotated.Algorithm}, nil
}

// reseal serves POST /admin/encryption/re-encrypt.
func (a *API) reseal(c *call) (any, error) {
	if a.Reseal == nil {
		return nil, apierror.New(http.StatusConflict, "no_encryption",
			"nothing is stored encrypted: data_encryption.driver is not set")
	}
	return a.Reseal(c.R.Context())
}

// mode serves GET /admin/settings/dcr.
func (a *API) mode(c *call) (any, error) {
	mode, err := a.Clients.Mode(c.R.Context())
	if err != nil {
		return nil, err
	}
	return tagged(c, map[string]string{"mode": mode}, modeTag(mode)), nil
}

// setMode sets the mode of dynamic client registration, and returns the mode in effect. An empty mode restores the mode
// of the configuration. A request without a mode changes nothing.
func (a *API) setMode(c *call) (any, error) {
	var body struct {
		Mode *string `json:"mode"`
	}
	ifMatch, err := decodeChange(c, &body, modeTag)
	if err != nil {
		return nil, err
	}
	if body.Mode != nil {
		if err := a.Clients.SetMode(c.R.Context(), *body.Mode, ifMatch); err != nil {
			return nil, err
		}
		c.note("dcr.mode_updated", "", "mode", *body.Mode)
	}
	return a.mode(c)
}

// audit serves the audit feed, newest first.
func (a *API) audit(c *call) (any, error) {
	limit, offset, err := c.limitOffset()
	if err != nil {
		return nil, err
	}
	q := audit.Query{Action: c.Text("action"), Actor: c.Text("actor_id"), Client: c.Text("client_id")}
	if q.Since, err = c.Time("since"); err != nil {
		return nil, err
	}
	if q.Until, err = c.Time("until"); err != nil {
		return nil, err
	}
	now := a.Now()
	if q.Until.IsZero() {
		q.Until = now
	}
	switch {
	case q.Since.IsZero():
		q.Since = now.Add(-a.Lookback)
	case q.Since.Before(now.Add(-a.MaxLookback)):
		return nil, apierror.New(http.StatusBadRequest, "invalid_value", "since must be at most %s ago", a.MaxLookback)
	}
	if q.Until.Before(q.Since) {
		return nil, apierror.New(http.StatusBadRequest, "invalid_value", "until must not be before since")
	}
	found, hasMore, err := a.Feed.List(c.R.Context(), q, limit, offset)
	if err != nil {
		return nil, err
	}
	type event struct {
		ID        int64  `json:"id"`
		Action    string `json:"action"`
		Actor     string `json:"actor_id"`
		Client    string `json:"client_id"`
		Address   string `json:"ip"`
		Detail    string `json:"detail"`
		Trace     string `json:"trace_id"`
		CreatedAt string `json:"created_at"`
	}
	rows, m := make([]event, len(found)), newMentioned()
	for i, r := range found {
		addIDs(m.clients, r.Client)
		addIDs(m.users, r.Actor)
		rows[i] = event{r.ID, r.Action, r.Actor, r.Client, r.Address, r.Detail, r.Trace, stamp(r.CreatedAt)}
	}
	response := pageResponse("events", rows, limit, offset, hasMore)
	response["since"], response["until"] = stamp(q.Since), stamp(q.Until)
	return a.names(c, response, m)
}

// stats returns the numbers of clients, users, resources, consents and live tokens. The query parameter "most" is the
// number up to which each of them is counted, which limits the time for large tables. If it is 0 or missing, there is
// no limit.
func (a *API) stats(c *call) (any, error) {
	limit, err := c.Int("most", 0, 1, maxCount)
	if err != nil {
		return nil, err
	}
	if err := a.Tokens.Flush(c.R.Context()); err != nil {
		return nil, err
	}
	now := a.Micros()
	counts := make(map[string]int64)
	err = a.Read(c.R.Context(), func(conn store.Conn) error {
		for _, count := range [...]struct {
			name, from string // the member of the response, and the FROM clause with a condition
			args       []any  // the parameters of the condition
			order      string // an order in which matching rows come first
		}{
			{"clients", "authserver_clients", nil, ""},
			{"clients_active", "authserver_clients WHERE status = 'active'", nil, ""},
			{"users", "authserver_users", nil, ""},
			{"users_active", "authserver_users WHERE status = 'active'", nil, ""},
			{"resources", "authserver_resources", nil, ""},
			{"consents", "authserver_consents", nil, ""},
			{"tokens_live", "authserver_issuances WHERE revoked_at = 0 AND expires_at > ?", []any{now}, " ORDER BY id DESC"},
			{
				"families_live", "authserver_families WHERE revoked_at = 0 AND expires_at > ? AND present <> ''",
				[]any{now},
				" ORDER BY expires_at DESC",
			},
		} {
			rows, args := count.from, count.args
			if limit > 0 {
				rows, args = rows+count.order+" LIMIT ?", append(args, limit)
			}
			var n int64
			if err := conn.Row("SELECT count(*) FROM (SELECT 1 FROM "+rows+") AS found", args...).Scan(&n); err != nil {
				return err
			}
			counts[count.name] = n
		}
		return nil
	})
	return counts, err
}

// maxCount is the maximum of the query parameter "most" of stats.
const maxCount = 1_000_000

// status serves GET /admin/system/status.
func (a *API) status(c *call) (any, error) {
	subsystems := map[string]string{"db": "ok", "keys": "ok"}
	if a.DB.Ready() != nil {
		subsystems["db"] = "error"
	}
	if _, err := a.Keys.List(c.R.Context()); err != nil || a.Keys.Health() != nil {
		subsystems["keys"] = "error"
	}
	return map[string]any{
		"version": a.Version, "started_at": stamp(a.Begun), "uptime_seconds": int64(a.Now().Sub(a.Begun) / time.Second),
		"subsystems": subsystems,
	}, nil
}

// config serves GET /admin/system/config.
func (a *API) config(*call) (any, error) {
	values, err := a.Config()
	if err != nil {
		return nil, err
	}
	return map[string]any{"config": values}, nil
}

// Notice is a message for the operator.
type Notice struct {
	Level   string `json:"level"` // always warning
	Message string `json:"message"`
	// About is the path of the object that the message concerns, relative to the path of the API. It may be empty.
	About string `json:"about,omitempty"`
}

// notices serves GET /admin/notices.
func (a *API) notices(c *call) (any, error) {
	notices, err := a.Notices(c.R.Context())
	if err != nil {
		return nil, err
	}
	for i := range notices {
		notices[i].Level = "warning"
	}
	return map[string]any{"notices": append([]Notice{}, notices...)}, nil
}
