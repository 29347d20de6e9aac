package api

import (
	_ "embed"
	"net/http"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/accounts"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

// route is a row of the table of routes. The router uses Method and Path of the rest.Route; the OpenAPI document uses
// all of it. In a Path, {id} stands for any id.
type route struct {
	rest.Route
	service string // the service that the key must have
	serve   func(a *API, w http.ResponseWriter, r *http.Request, caller *accounts.Caller, id string)
}

// allow returns the methods of the route as a list for the header Allow.
func (r *route) allow() string {
	if r.Method == http.MethodGet {
		return "GET, HEAD"
	}
	return r.Method
}

// documentPath is the path of the OpenAPI document.
const documentPath = "/v1/openapi.json"

// errorsOfID lists the error statuses of the routes whose path has an id.
var errorsOfID = []int{http.StatusForbidden, http.StatusNotFound, http.StatusInternalServerError}

// routes is the table of routes. If a path matches several rows, the first of them serves it.
var routes = []route{
	{
		rest.Route{
			Method: http.MethodPost, Path: "/v1/answer", Tag: "Answers", Summary: "Ask a question",
			Description: "A client that accepts text/event-stream gets the stages of the question as events before the answer. " +
				"With Prefer: respond-async the answer is 202 and a Location. An Idempotency-Key of at most 64 characters makes " +
				"repeating safe for 24 hours. Unknown members of the body are listed in X-Ignored-Fields.",
			Body: "Question", Answer: "Answered", Media: "text/event-stream", Also: []int{http.StatusAccepted},
			Errors: []int{
				http.StatusForbidden, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType,
				http.StatusInternalServerError, http.StatusGatewayTimeout,
			},
		},
		accounts.ServiceAnswer, (*API).ask,
	},
	{
		rest.Route{
			Method: http.MethodGet, Path: "/v1/quota", Tag: "Answers", Summary: "Read the quota of the account",
			Description: "At most 60 times a minute.", Answer: "QuotaRead",
			Errors: []int{http.StatusForbidden, http.StatusInternalServerError},
		},
		accounts.ServiceQuota, (*API).quota,
	},
	{
		rest.Route{
			Method: http.MethodGet, Path: "/v1/answers/{id}/evidence", Tag: "Answers",
			Summary: "Read the passages that an answer is based on", Answer: "EvidenceRead", Errors: errorsOfID,
		},
		accounts.ServiceAnswer, (*API).evidence,
	},
	{
		rest.Route{
			Method: http.MethodGet, Path: "/v1/answers/{id}", Tag: "Answers", Summary: "Read an answer of the last 30 days",
			Description: "The status is pending, done or failed. A failed answer has the reason of its failure in error.",
			Answer:      "Answered", Errors: errorsOfID,
		},
		accounts.ServiceAnswer, (*API).answer,
	},
	{
		rest.Route{
			Method: http.MethodGet, Path: "/v1/sources/{id}", Tag: "Corpus",
			Summary: "Read a document without a public address", Media: "text/markdown", Errors: errorsOfID,
		},
		accounts.ServiceAnswer, (*API).source,
	},
	{
		rest.Route{
			Method: http.MethodGet, Path: "/v1/companies", Tag: "Corpus", Summary: "List companies",
			Description: "Ordered by name. At most 60 times a minute.",
			Query: []rest.Param{
				{Name: "name", Schema: `{"type":"string"}`, Description: "A part of the name."},
				{
					Name: "after", Schema: `{"type":"string"}`,
					Description: "The member next of the previous page.",
				},
				{
					Name: "limit", Schema: `{"type":"integer","minimum":1,"maximum":200,"default":100}`,
					Description: "The largest number of companies on a page.",
				},
			},
			Answer: "CompaniesRead", Errors: []int{http.StatusForbidden, http.StatusInternalServerError},
		},
		accounts.ServiceAnswer, (*API).companies,
	},
	{
		rest.Route{
			Method: http.MethodGet, Path: "/v1/companies/{id}", Tag: "Corpus",
			Summary:     "Read the documents and figures of a company",
			Description: "The newest 500 documents. At most 60 times a minute.",
			Answer:      "CompanyRead", Errors: errorsOfID,
		},
		accounts.ServiceAnswer, (*API).company,
	},
}

// routeOf returns the route of a path and the id that the path contains, if any. ok is false for an unknown
// path.
func routeOf(path string) (_ *route, id string, ok bool) {
	for i := range routes {
		prefix, suffix, variable := strings.Cut(routes[i].Path, "{id}")
		if !variable {
			if path == prefix {
				return &routes[i], "", true
			}
			continue
		}
		id, below := strings.CutPrefix(path, prefix)
		id, ends := strings.CutSuffix(id, suffix)
		if below && ends && id != "" {
			return &routes[i], id, true
		}
	}
	return nil, "", false
}

// components contains the schemas that the routes refer to.
//
//go:embed schemas.json
var components []byte

// document is the OpenAPI document of the routes.
var document = rest.Publish(func() ([]byte, error) {
	table := make([]rest.Route, len(routes))
	for i := range routes {
		table[i] = routes[i].Route
	}
	return rest.Document{
		Title: "Answers", Version: "1", Components: components, Security: "apiKey",
		Description: "Answers questions about investments from a corpus of documents. Every JSON response has the members success, " +
			"error and result; error is the reason of a failure. Responses to a valid key have the headers X-RateLimit-Limit, " +
			"X-RateLimit-Remaining and X-RateLimit-Reset.",
	}.OpenAPI(table)
})
