// Package passthrough knows the endpoints of model APIs that nothing is translated for: audio, images,
// moderations, rerank, files and batches. A request passes to its model's provider as it is, but
// for the name of the model. What differs between the endpoints is in one table.
package passthrough

import (
	"net/http"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
)

// Body is what a request consists of.
type Body uint8

// The kinds of bodies.
const (
	// NoBody is of requests by the id of an object.
	NoBody Body = iota
	// JSONBody is an object with the member model, if it names one.
	JSONBody
	// FormBody is multipart/form-data with the field model, if it names one.
	FormBody
)

// Endpoint is a row of the table.
type Endpoint struct {
	Method string
	// Pattern is the path below /v1. {id} stands for the id of an object.
	Pattern string
	// Name is what providers and models of the catalog serve; its address and what stands behind
	// {id} make that of the provider. Surface is the name in the usage log.
	Name, Surface string
	Body          Body
	// Limit is how large a body may be, in bytes.
	Limit int64
	// Object is the kind of the object that {id} names, that is listed, or that a good answer is.
	Object string
	// List tells that the objects are listed, Deletes that a good answer means the end of the object.
	List, Deletes bool
	// Input is the member of the body that names a file, through whose provider key the request goes.
	Input string
}

// Bounds of bodies, which are those of the APIs or more.
const (
	limitJSON  = 32_000_000
	limitAudio = 32 << 20
	limitImage = 256 << 20 // up to 16 of them
	limitFile  = 512 << 20
)

// Endpoints is the table.
var Endpoints = []Endpoint{
	{Method: "POST", Pattern: "/audio/speech", Name: "audio/speech", Surface: "audio", Body: JSONBody, Limit: limitJSON},
	{Method: "POST", Pattern: "/audio/transcriptions", Name: "audio/transcriptions", Surface: "audio", Body: FormBody, Limit: limitAudio},
	{Method: "POST", Pattern: "/audio/translations", Name: "audio/translations", Surface: "audio", Body: FormBody, Limit: limitAudio},
	{Method: "POST", Pattern: "/images/generations", Name: "images/generations", Surface: "images", Body: JSONBody, Limit: limitJSON},
	{Method: "POST", Pattern: "/images/edits", Name: "images/edits", Surface: "images", Body: FormBody, Limit: limitImage},
	{Method: "POST", Pattern: "/moderations", Name: "moderations", Surface: "moderations", Body: JSONBody, Limit: limitJSON},
	{Method: "POST", Pattern: "/rerank", Name: "rerank", Surface: "rerank", Body: JSONBody, Limit: limitJSON},

	{Method: "POST", Pattern: "/files", Name: "files", Surface: "files", Body: FormBody, Limit: limitFile, Object: keychain.ObjectFile},
	{Method: "GET", Pattern: "/files", Name: "files", Surface: "files", Object: keychain.ObjectFile, List: true},
	{Method: "GET", Pattern: "/files/{id}", Name: "files", Surface: "files", Object: keychain.ObjectFile},
	{Method: "GET", Pattern: "/files/{id}/content", Name: "files", Surface: "files", Object: keychain.ObjectFile},
	{Method: "DELETE", Pattern: "/files/{id}", Name: "files", Surface: "files", Object: keychain.ObjectFile, Deletes: true},

	{Method: "POST", Pattern: "/batches", Name: "batches", Surface: "batches", Body: JSONBody, Limit: limitJSON, Object: keychain.ObjectBatch, Input: "input_file_id"},
	{Method: "GET", Pattern: "/batches", Name: "batches", Surface: "batches", Object: keychain.ObjectBatch, List: true},
	{Method: "GET", Pattern: "/batches/{id}", Name: "batches", Surface: "batches", Object: keychain.ObjectBatch},
	{Method: "POST", Pattern: "/batches/{id}/cancel", Name: "batches", Surface: "batches", Object: keychain.ObjectBatch},
}

// Find returns the row of a path below /v1 and the id in it. Where only the method is another one, the
// row is nil and allow lists those that there are. It allocates nothing for paths of other routes.
func Find(method, path string) (e *Endpoint, id, allow string) {
	for i := range Endpoints {
		row := &Endpoints[i]
		found, ok := row.match(path)
		switch {
		case !ok:
		case row.Method == method, row.Method == http.MethodGet && method == http.MethodHead && row.List:
			return row, found, ""
		case allow == "":
			allow = row.Method
		default:
			allow += ", " + row.Method
		}
	}
	return nil, "", allow
}

func (e *Endpoint) match(path string) (id string, ok bool) {
	before, behind, wild := strings.Cut(e.Pattern, "{id}")
	if !wild {
		return "", path == e.Pattern
	}
	id, ok = strings.CutPrefix(path, before)
	if !ok {
		return "", false
	}
	id, ok = strings.CutSuffix(id, behind)
	return id, ok && validID(id)
}

// validID reports whether an id can stand in a path.
func validID(id string) bool {
	const limit = 200
	return id != "" && len(id) <= limit && strings.Trim(id, ".") != "" && !strings.ContainsFunc(id, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_' && r != '.'
	})
}

// Below is what stands in the address of a provider behind that of the endpoint.
func (e *Endpoint) Below(id string) string {
	if id == "" {
		return ""
	}
	_, behind, _ := strings.Cut(e.Pattern, "{id}")
	return "/" + id + behind
}

// IsContent reports whether the answer is a file's content, of any size, and no description.
func (e *Endpoint) IsContent() bool { return strings.HasSuffix(e.Pattern, "/content") }

// NeedsModel reports whether a request is for a model.
func (e *Endpoint) NeedsModel() bool { return e.Object == "" }
