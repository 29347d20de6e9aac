// Package passthrough describes the endpoints of model APIs that need no translation: audio, images, moderations,
// rerank, files and batches. A request is passed to its model's provider unchanged except for the name of the model.
// The differences between the endpoints are in one table.
package passthrough

import (
	"net/http"
	"strings"

	"github.com/tidwall/gjson"
)

// Body is the kind of a request's body.
type Body uint8

// The kinds of bodies.
const (
	// NoBody is for requests without a body.
	NoBody Body = iota
	// JSONBody is a JSON object with an optional member model.
	JSONBody
	// FormBody is multipart/form-data with an optional field model.
	FormBody
)

// Endpoint is a row of the table of endpoints.
type Endpoint struct {
	Method string
	// Pattern is the path below /v1. {id} matches the id of an object.
	Pattern string
	// Name is the name of the endpoint in the catalog's providers and models. A request is sent to the provider's
	// address for this endpoint, followed by {id} and the rest of the pattern. Surface is the name in the usage log.
	Name, Surface string
	Body          Body
	// Limit is the maximum size of the body, in bytes.
	Limit int64
	// Object is the kind of object that {id} identifies, that a list contains, or that a successful response creates.
	Object string
	// List means that the endpoint lists objects. Deletes means that a successful response deletes the object.
	List, Deletes bool
	// Input is the member of the body that names an uploaded file. The request is sent with the provider key with which
	// that file was uploaded.
	Input string
}

// Limits of bodies, in bytes. The APIs of the providers have lower or equal limits.
const (
	limitJSON  = 32_000_000
	limitAudio = 32 << 20
	limitImage = 256 << 20 // for up to 16 images
	limitFile  = 512 << 20
)

// Endpoints is the table of endpoints.
var Endpoints = []Endpoint{
	{Method: "POST", Pattern: "/audio/speech", Name: "audio/speech", Surface: "audio", Body: JSONBody, Limit: limitJSON},
	{
		Method: "POST", Pattern: "/audio/transcriptions", Name: "audio/transcriptions", Surface: "audio", Body: FormBody,
		Limit: limitAudio,
	},
	{
		Method: "POST", Pattern: "/audio/translations", Name: "audio/translations", Surface: "audio", Body: FormBody,
		Limit: limitAudio,
	},
	{
		Method: "POST", Pattern: "/images/generations", Name: "images/generations", Surface: "images", Body: JSONBody,
		Limit: limitJSON,
	},
	{Method: "POST", Pattern: "/images/edits", Name: "images/edits", Surface: "images", Body: FormBody, Limit: limitImage},
	{
		Method: "POST", Pattern: "/moderations", Name: "moderations", Surface: "moderations", Body: JSONBody,
		Limit: limitJSON,
	},
	{Method: "POST", Pattern: "/rerank", Name: "rerank", Surface: "rerank", Body: JSONBody, Limit: limitJSON},

	{
		Method: "POST", Pattern: "/files", Name: "files", Surface: "files", Body: FormBody, Limit: limitFile,
		Object: KindFile,
	},
	{Method: "GET", Pattern: "/files", Name: "files", Surface: "files", Object: KindFile, List: true},
	{Method: "GET", Pattern: "/files/{id}", Name: "files", Surface: "files", Object: KindFile},
	{Method: "GET", Pattern: "/files/{id}/content", Name: "files", Surface: "files", Object: KindFile},
	{
		Method: "DELETE", Pattern: "/files/{id}", Name: "files", Surface: "files", Object: KindFile, Deletes: true,
	},

	{
		Method: "POST", Pattern: "/batches", Name: "batches", Surface: "batches", Body: JSONBody, Limit: limitJSON,
		Object: KindBatch, Input: "input_file_id",
	},
	{Method: "GET", Pattern: "/batches", Name: "batches", Surface: "batches", Object: KindBatch, List: true},
	{Method: "GET", Pattern: "/batches/{id}", Name: "batches", Surface: "batches", Object: KindBatch},
	{Method: "POST", Pattern: "/batches/{id}/cancel", Name: "batches", Surface: "batches", Object: KindBatch},

	{
		Method: "POST", Pattern: "/messages/batches", Name: messageBatches, Surface: "batches", Body: JSONBody,
		Limit: limitJSON, Object: KindMessageBatch,
	},
	{
		Method: "GET", Pattern: "/messages/batches", Name: messageBatches, Surface: "batches",
		Object: KindMessageBatch, List: true,
	},
	{
		Method: "GET", Pattern: "/messages/batches/{id}", Name: messageBatches, Surface: "batches",
		Object: KindMessageBatch,
	},
	{
		Method: "GET", Pattern: "/messages/batches/{id}/results", Name: messageBatches, Surface: "batches",
		Object: KindMessageBatch,
	},
	{
		Method: "POST", Pattern: "/messages/batches/{id}/cancel", Name: messageBatches, Surface: "batches",
		Object: KindMessageBatch,
	},
	{
		Method: "DELETE", Pattern: "/messages/batches/{id}", Name: messageBatches, Surface: "batches",
		Object: KindMessageBatch, Deletes: true,
	},
}

// messageBatches is the name of the endpoint for batches of the messages format.
const messageBatches = "messages/batches"

// Find returns the endpoint for a path below /v1, and the id in that path. If only the method does not match, the
// endpoint is nil and allow lists the methods of the path, as in an Allow header. Find does not allocate for paths of
// other routes.
func Find(method, path string) (e *Endpoint, id, allow string) {
	for i := range Endpoints {
		candidate := &Endpoints[i]
		pathID, ok := candidate.match(path)
		if !ok {
			continue
		}
		headOfList := method == http.MethodHead && candidate.Method == http.MethodGet && candidate.List
		if candidate.Method == method || headOfList {
			return candidate, pathID, ""
		}
		if allow != "" {
			allow += ", "
		}
		allow += candidate.Method
	}
	return nil, "", allow
}

// match reports whether a path matches the pattern, and returns the id in the path, which is empty if the pattern has
// none.
func (e *Endpoint) match(path string) (id string, ok bool) {
	prefix, suffix, wild := strings.Cut(e.Pattern, "{id}")
	if !wild {
		return "", path == e.Pattern
	}
	id, ok = strings.CutPrefix(path, prefix)
	if !ok {
		return "", false
	}
	id, ok = strings.CutSuffix(id, suffix)
	return id, ok && validID(id)
}

// validID reports whether an id is safe in a path: it has at most 200 letters, digits, "-", "_" and ".", and does not
// consist of dots only.
func validID(id string) bool {
	const limit = 200
	return id != "" && len(id) <= limit && strings.Trim(id, ".") != "" && !strings.ContainsFunc(id, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_' && r != '.'
	})
}

// PathFor returns the path that is appended to the provider's address for the endpoint: the id, if it is not empty, and
// the rest of the pattern.
func (e *Endpoint) PathFor(id string) string {
	if id == "" {
		return ""
	}
	_, suffix, _ := strings.Cut(e.Pattern, "{id}")
	return "/" + id + suffix
}

// IsContent reports whether the response is a file, of any size, rather than a JSON object.
func (e *Endpoint) IsContent() bool {
	return strings.HasSuffix(e.Pattern, "/content") || strings.HasSuffix(e.Pattern, "/results")
}

// MakesBatch reports whether the request creates a batch.
func (e *Endpoint) MakesBatch() bool {
	return e.Body == JSONBody && (e.Object == KindBatch || e.Object == KindMessageBatch)
}

// Description returns the endpoint from which the provider's JSON description of a batch can be read.
func Description(o *Resource) *Endpoint {
	path := "/batches/" + o.ID
	if o.Kind == KindMessageBatch {
		path = "/messages" + path
	}
	e, _, _ := Find(http.MethodGet, path)
	return e
}

// Content returns the endpoint for the results of a batch that has ended, and the id in its path. batch is the
// provider's JSON description. The endpoint is nil if the batch has no results.
func Content(o *Resource, batch []byte) (e *Endpoint, id string) {
	if o.Kind == KindMessageBatch {
		e, id, _ = Find(http.MethodGet, "/messages/batches/"+o.ID+"/results")
		return e, id
	}
	e, id, _ = Find(http.MethodGet, "/files/"+gjson.GetBytes(batch, "output_file_id").Str+"/content")
	return e, id
}

// InputFile returns the endpoint for the content of a batch's input file.
func InputFile(id string) *Endpoint {
	e, _, _ := Find(http.MethodGet, "/files/"+id+"/content")
	return e
}

// NeedsModel reports whether a request must name a model.
func (e *Endpoint) NeedsModel() bool { return e.Object == "" }
