package runevents

import (
	_ "embed"
	"net/http"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/rest"
)

// components contains the schemas that Routes refers to.
//
//go:embed schemas.json
var components []byte

// openAPI returns the OpenAPI 3.1 document of the routes. prefix is the path before the routes.
func openAPI(prefix string) ([]byte, error) {
	var table []rest.Route
	for _, r := range Routes() {
		if r.summary != "" { // pages and aliases are not documented
			table = append(table, r.documented()...)
		}
	}
	return rest.Document{
		Title: "Run events", Version: "4", Server: prefix, Components: components, Security: "bearerToken", PlainErrors: true,
		Description: "Stores the reports of configuration agents and answers queries about their events. Depending on the " +
			"server's configuration, a client is identified by a bearer token, a certificate or its network address. The " +
			"right to read and the right to submit are separate.",
	}.OpenAPI(table)
}

// document serves the OpenAPI document.
func (e *Endpoint) document(w http.ResponseWriter, r *http.Request) {
	if _, err := e.openAPI.Text(); err != nil {
		e.service.answerError(w, err)
		return
	}
	e.openAPI.ServeHTTP(w, r)
}

// documented returns the operations of the route in the OpenAPI document, one for each method.
func (r *Route) documented() (list []rest.Route) {
	for _, method := range r.Methods {
		row := rest.Route{
			Method: method, Path: r.Path, Summary: r.summary, Description: r.description, Guest: true, Cost: &r.Cost,
			Answer: r.answer, Also: r.alsoStatuses, Tag: "Service",
		}
		if r.answer == "" {
			row.Media = "text/plain"
		}
		switch r.Right {
		case Public:
		case Submit:
			row.Tag, row.Scope, row.Body, row.Query = "Commands", "submit", "Command", commandParams
			row.Errors = []int{
				http.StatusForbidden, http.StatusNotAcceptable, http.StatusUnsupportedMediaType,
				http.StatusInternalServerError,
			}
		case Read:
			row.Tag, row.Scope = "Queries", "read"
			row.Errors = []int{
				http.StatusForbidden, http.StatusNotFound, http.StatusNotAcceptable,
				http.StatusUnsupportedMediaType, http.StatusInternalServerError,
			}
			isQuery := strings.HasPrefix(r.Entity, "mbean") || slices.Contains(r.Methods, http.MethodPost)
			if isQuery {
				row.Query = r.queryParams()
			}
			if method == http.MethodPost {
				row.Body, row.OptionalBody = "Query", true
			}
		}
		list = append(list, row)
	}
	return list
}

// queryParams returns the parameters of a query route.
func (r *Route) queryParams() []rest.Param {
	pretty := rest.Param{Name: "pretty", Schema: `{"type":"boolean"}`, Description: "Whether the answer is indented."}
	switch r.Entity {
	case "logs", "metrics", "node", "environment", "producer", "catalog", "mbeans", "mbean":
		return []rest.Param{pretty}
	case "fact-names":
		return slices.Concat(pageParams, []rest.Param{pretty})
	case "aggregate-event-counts":
		return slices.Concat([]rest.Param{queryParam}, countParams, distinctParams, []rest.Param{pretty})
	case "":
		return slices.Concat([]rest.Param{queryParam}, pageParams, []rest.Param{astParam, pretty})
	case "event-counts":
		return slices.Concat([]rest.Param{queryParam}, countParams, distinctParams, pageParams, []rest.Param{pretty})
	case "events":
		return slices.Concat([]rest.Param{queryParam}, distinctParams, pageParams, []rest.Param{pretty})
	}
	return slices.Concat([]rest.Param{queryParam}, pageParams, []rest.Param{pretty})
}

// The parameters of the routes in the OpenAPI document.
var (
	queryParam = rest.Param{
		Name: "query", Schema: `{"type":"string"}`,
		Description: "A predicate as a JSON array in prefix form. Default: everything.",
	}
	astParam = rest.Param{
		Name: "ast_only", Schema: `{"type":"boolean"}`,
		Description: "The answer is the query itself, as JSON.",
	}
	pageParams = []rest.Param{
		{
			Name: "limit", Schema: `{"type":"integer","minimum":1,"maximum":2147483647}`,
			Description: "Maximum number of rows. Default: all.",
		},
		{Name: "offset", Schema: `{"type":"integer","minimum":0}`, Description: "Number of rows to skip."},
		{
			Name: "order_by", Schema: `{"type":"string"}`,
			Description: `A JSON array such as [{"field":"timestamp","order":"desc"}].`,
		},
		{
			Name: "include_total", Schema: `{"type":"boolean"}`,
			Description: "Puts the number of rows without limit and offset into the header X-Records.",
		},
	}
	distinctParams = []rest.Param{
		{
			Name: "distinct_resources", Schema: `{"type":"boolean"}`,
			Description: "Returns only the latest event of each resource of a node. Requires both times.",
		},
		{Name: "distinct_start_time", Schema: `{"type":"string"}`, Description: "Start of the time span."},
		{Name: "distinct_end_time", Schema: `{"type":"string"}`, Description: "End of the time span."},
	}
	countParams = []rest.Param{
		{
			Name: "summarize_by", Schema: `{"type":"string"}`,
			Description: "Required: certname, resource or containing_class; for aggregate-event-counts, one or more of them, " +
				"separated by commas.",
		},
		{Name: "count_by", Schema: `{"type":"string","enum":["resource","certname"]}`, Description: "Default: resource."},
		{Name: "counts_filter", Schema: `{"type":"string"}`, Description: `A comparison such as [">","failures",0].`},
	}
	commandParams = []rest.Param{
		{
			Name: "command", Schema: `{"type":"string"}`,
			Description: "store_report or deactivate_node. Without any parameter, the body contains the whole command.",
		},
		{Name: "version", Schema: `{"type":"integer"}`, Description: "5 to 8 of store_report, 3 of deactivate_node."},
		{
			Name: "certname", Schema: `{"type":"string"}`,
			Description: "Used in messages only; the payload determines the node.",
		},
		{
			Name: "checksum", Schema: `{"type":"string"}`,
			Description: "SHA-1 of the command as one JSON object, or of the body.",
		},
		{Name: "producer-timestamp", Schema: `{"type":"string"}`},
		{
			Name: "secondsToWaitForCompletion", Schema: `{"type":"number","minimum":0,"maximum":600}`,
			Description: "How long to wait for the result. The answer then says whether the command was executed.",
		},
	}
)
