package admin

import (
	_ "embed"
	"net/http"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

// route is a row of the table of routes. The router reads Method, Path, Guest and serve. The OpenAPI document is made
// from the embedded rest.Route.
type route struct {
	rest.Route
	// serve returns the value that is encoded as the response, or nil for a response with status 204.
	serve func(c *call) (any, error)
}

// prefix precedes each path in the table.
const prefix = "/admin"

// Routes returns all routes of the API and of its pages.
func (a *API) Routes() []kernel.Route {
	table := slices.Concat(a.clientRoutes(), a.userRoutes(), a.resourceRoutes(), a.tokenRoutes(), a.brokerRoutes(),
		a.systemRoutes())
	if a.XAA != nil {
		table = append(table, a.enterpriseRoutes()...)
	}
	document := rest.Publish(func() ([]byte, error) { return openAPI(table) })
	table = append(table, route{rest.Route{
		Method: http.MethodGet, Path: "/openapi.json", Tag: "System", Summary: "Read this document", Guest: true,
		Answer: "Document",
	}, func(c *call) (any, error) { return document.Serve(c.Call) }})
	list := a.ui()
	for _, row := range table {
		list = append(list, a.serve(row))
	}
	return list
}

// group sets the tag of rows and returns them.
func group(tag string, rows []route) []route {
	for i := range rows {
		rows[i].Tag = tag
	}
	return rows
}

// components contains the schemas that the routes refer to.
//
//go:embed schemas.json
var components []byte

// openAPI returns the OpenAPI document of a table of routes.
func openAPI(table []route) ([]byte, error) {
	list := make([]rest.Route, len(table))
	for i := range table {
		r := table[i].Route
		r.Errors = append([]int{http.StatusForbidden, http.StatusInternalServerError}, r.Errors...)
		if strings.Contains(r.Path, "{") {
			r.Errors = append(r.Errors, http.StatusNotFound)
		}
		list[i] = r
	}
	return rest.Document{
		Title: "Authorization server administration", Version: "1", Components: components, Security: "key", Server: prefix,
		ErrorMedia: "application/problem+json",
		Description: "Manages clients, users, resources, tokens and the server itself. Without admin.api_key no key is needed, " +
			"but only programs on the same machine are admitted.",
	}.OpenAPI(list)
}

// HTTP methods of routes.
const (
	get, post, put = http.MethodGet, http.MethodPost, http.MethodPut
	patch, del     = http.MethodPatch, http.MethodDelete
)

// Error statuses that several routes share.
var (
	conflicts = []int{http.StatusConflict}
	invalid   = []int{http.StatusUnprocessableEntity}
	refused   = []int{http.StatusConflict, http.StatusUnprocessableEntity}
)

// Parameters that several routes share.
var (
	namesParam = rest.Param{
		Name: "names", Schema: `{"type":"boolean","default":false}`,
		Description: "Adds the names of the clients, users and resources that the rows mention.",
	}
	searchParam = rest.Param{Name: "q", Schema: `{"type":"string","maxLength":200}`, Description: "Part of an id or a name."}
	idpParam    = rest.Param{Name: "idp_id", Schema: `{"type":"string"}`, Description: "The identity provider."}
	pageParams  = []rest.Param{
		{Name: "limit", Schema: `{"type":"integer","minimum":1,"maximum":1000,"default":50}`},
		{Name: "offset", Schema: `{"type":"integer","minimum":0,"maximum":100000,"default":0}`},
	}
	tokenParams = []rest.Param{
		namesParam,
		{Name: "user", Schema: `{"type":"string"}`, Description: "The id of a user."},
		{Name: "client", Schema: `{"type":"string"}`, Description: "The id of a client."},
		{Name: "jti", Schema: `{"type":"string"}`, Description: "The claim jti of the token."},
		{Name: "resource", Schema: `{"type":"string"}`, Description: "The id or the slug of a resource."},
		{Name: "since", Schema: `{"type":"string"}`, Description: "A time in RFC 3339, or a date."},
	}
)

// listParams returns the parameters of a list that supports cursors, followed by the additional parameters.
func listParams(defaultOrder string, additional ...rest.Param) []rest.Param {
	return slices.Concat(pageParams, []rest.Param{
		{
			Name: "cursor", Schema: `{"type":"string"}`,
			Description: "The value of next from the previous page. Use it in place of offset.",
		},
		{Name: "order", Schema: `{"type":"string","enum":["oldest","newest"],"default":"` + defaultOrder + `"}`},
		{
			Name: "count", Schema: `{"type":"boolean","default":false}`,
			Description: "Adds the number of all rows, which are counted up to 10,000.",
		},
	}, additional)
}

// choice returns a parameter whose value must be one of words.
func choice(name string, words ...string) rest.Param {
	return rest.Param{Name: name, Schema: `{"type":"string","enum":["` + strings.Join(words, `","`) + `"]}`}
}
