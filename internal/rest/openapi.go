package rest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Document has the parts of an OpenAPI document that are not in the table of routes.
type Document struct {
	Title, Version, Description string
	// Components is the member "components" of the document, as JSON. It has the schemas that the routes name, the schema
	// "Error", and the security scheme of routes that are not for guests. Security is the name of that scheme.
	Components json.RawMessage
	Security   string
	// License and LicenseID are the license's name and SPDX identifier. Default: Apache 2.0.
	License, LicenseID string
	// Server is the URL that precedes the paths. Default: /.
	Server string
	// PathSchema is the JSON Schema of path parameters. Default: a string.
	PathSchema string
	// ErrorMedia is the media type of errors. Default: application/json.
	ErrorMedia string
	// PlainErrors documents that errors may be plain text as well.
	PlainErrors bool
	// Extra has path items, as JSON, for paths that are not in the table.
	Extra map[string]json.RawMessage
}

type object = map[string]any

// OpenAPI returns the OpenAPI 3.1 document of the tables as JSON.
func (d Document) OpenAPI(tables ...[]Route) ([]byte, error) {
	paths := make(object)
	var tags []object
	tagged := make(map[string]bool) // names of tags
	for _, table := range tables {
		for i := range table {
			r := &table[i]
			if r.Hidden {
				continue
			}
			if !tagged[r.Tag] {
				tagged[r.Tag] = true
				tags = append(tags, object{"name": r.Tag})
			}
			// OpenAPI has neither the {$} nor the ... of a ServeMux pattern.
			path := strings.ReplaceAll(strings.TrimSuffix(r.Path, "{$}"), "...}", "}")
			item, _ := paths[path].(object)
			if item == nil {
				item = make(object)
				paths[path] = item
			}
			operation, err := d.operation(r)
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", r.Method, r.Path, err)
			}
			item[strings.ToLower(r.Method)] = operation
		}
	}
	for path, item := range d.Extra {
		if paths[path] != nil {
			return nil, fmt.Errorf("%s is described twice", path)
		}
		paths[path] = item
	}
	return json.Marshal(object{
		"openapi": "3.1.0",
		"info": object{
			"title": d.Title, "version": d.Version, "description": d.Description,
			"license": object{
				"name": cmp.Or(d.License, "Apache 2.0"), "identifier": cmp.Or(d.LicenseID, "Apache-2.0"),
			},
		},
		"servers": []object{{"url": cmp.Or(d.Server, "/")}},
		"tags":    tags, "paths": paths, "components": d.Components,
	})
}

// operation returns the operation object of a route.
func (d Document) operation(r *Route) (object, error) {
	op := object{"summary": r.Summary, "tags": []string{r.Tag}, "operationId": operationID(r)}
	if r.Description != "" {
		op["description"] = r.Description
	}
	op["security"] = security(d.Security, r)
	if r.Scope != "" {
		op["x-scope"] = r.Scope
	}
	if r.Cost != nil {
		op["x-cost"] = *r.Cost
	}
	params, err := d.parameters(r)
	if err != nil {
		return nil, err
	}
	if params != nil {
		op["parameters"] = params
	}
	if r.Body != "" {
		op["requestBody"] = object{"required": !r.OptionalBody, "content": content("application/json", r.Body)}
	}
	if r.BodyMedia != "" {
		op["requestBody"] = object{"required": true, "content": object{r.BodyMedia: object{}}}
	}
	answers := r.answers()
	for _, status := range r.refusals() {
		body := content(cmp.Or(d.ErrorMedia, "application/json"), "Error")
		if slices.Contains(r.Also, status) { // a handler in front of the route refuses with its own schema
			body["application/json"] = object{
				"schema": object{"anyOf": []object{{"$ref": schemas + r.Answer}, {"$ref": schemas + "Error"}}},
			}
		}
		if d.PlainErrors {
			body["text/plain"] = object{"schema": object{"type": "string"}}
		}
		answers[strconv.Itoa(status)] = object{"description": http.StatusText(status), "content": body}
	}
	op["responses"] = answers
	return op, nil
}

// parameters returns the path, query and header parameters of a route.
func (d Document) parameters(r *Route) (params []object, err error) {
	for _, name := range wildcards(r.Path) {
		params = append(params, object{
			"name": name, "in": "path", "required": true,
			"schema": json.RawMessage(cmp.Or(d.PathSchema, `{"type":"string"}`)),
		})
	}
	for _, p := range r.Query {
		if !json.Valid([]byte(p.Schema)) {
			return nil, fmt.Errorf("the schema of %s is not JSON", p.Name)
		}
		param := object{
			"name": p.Name, "in": "query", "description": p.Description, "schema": json.RawMessage(p.Schema),
		}
		if p.Required {
			param["required"] = true
		}
		params = append(params, param)
	}
	if r.Versioned {
		params = append(params, condition(r.reads()))
	}
	return params, nil
}

// reads reports whether the route only reads.
func (r *Route) reads() bool { return r.Method == http.MethodGet }

// answers returns the responses of success, keyed by status.
func (r *Route) answers() object {
	answers := make(object)
	for _, status := range append([]int{r.status()}, r.Also...) {
		answer := object{"description": http.StatusText(status)}
		body := make(object)
		if r.Answer != "" {
			body = content("application/json", r.Answer)
		}
		if r.Media != "" {
			for media := range strings.SplitSeq(r.Media, ",") {
				body[media] = object{"schema": object{"type": "string"}}
			}
		}
		if len(body) > 0 {
			answer["content"] = body
		}
		if r.Versioned && r.Method != http.MethodDelete {
			answer["headers"] = object{"ETag": object{
				"description": "The current version of the resource.", "schema": object{"type": "string"},
			}}
		}
		answers[strconv.Itoa(status)] = answer
	}
	if r.Versioned && r.reads() {
		answers["304"] = object{"description": http.StatusText(http.StatusNotModified)}
	}
	return answers
}

// refusals returns the statuses of errors.
func (r *Route) refusals() []int {
	list := append([]int{http.StatusBadRequest, http.StatusTooManyRequests, http.StatusServiceUnavailable}, r.Errors...)
	if !r.Guest || r.Scope != "" {
		list = append(list, http.StatusUnauthorized)
	}
	if r.Versioned && !r.reads() {
		list = append(list, http.StatusPreconditionFailed)
	}
	if r.Body != "" || r.BodyMedia != "" {
		list = append(list, http.StatusRequestEntityTooLarge)
	}
	return list
}

// condition returns the header parameter with which a request states a version. It is If-None-Match for a request
// that reads, and If-Match for any other request.
func condition(reads bool) object {
	name, description := "If-Match",
		"The ETag of the version on which the change is based, several ETags separated by commas, or * for any version. "+
			"If the resource has another version by now, the answer is 412."
	if reads {
		name, description = "If-None-Match",
			"The ETags of the versions that the client has. If one of them is still current, the answer is 304."
	}
	return object{"name": name, "in": "header", "description": description, "schema": object{"type": "string"}}
}

// security returns the security requirements of a route. A route for guests without a scope has no requirements. scheme
// is the name of the security scheme.
func security(scheme string, r *Route) []object {
	scopes := []string{}
	if r.Scope != "" {
		scopes = append(scopes, r.Scope)
	}
	switch {
	case !r.Guest:
		return []object{{scheme: scopes}}
	case r.Scope != "":
		return []object{{scheme: scopes}, {}}
	}
	return []object{}
}

const schemas = "#/components/schemas/"

// content returns a content object with a media type and the name of a schema.
func content(media, schema string) object {
	return object{media: object{"schema": object{"$ref": schemas + schema}}}
}

// operationID joins the method and the words of the path in camel case.
func operationID(r *Route) string {
	var id strings.Builder
	id.WriteString(strings.ToLower(r.Method))
	for _, part := range strings.FieldsFunc(r.Path, func(c rune) bool {
		return c == '/' || c == '-' || c == '_' || c == '.' || c == '{' || c == '}' || c == '$'
	}) {
		id.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return id.String()
}

// wildcards returns the names of the wildcards in a path.
func wildcards(path string) (names []string) {
	for part := range strings.SplitSeq(path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok && name != "$}" {
			names = append(names, strings.TrimSuffix(strings.TrimSuffix(name, "}"), "..."))
		}
	}
	return names
}
