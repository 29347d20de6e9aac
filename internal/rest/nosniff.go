package rest

import "net/http"

// NoSniff sets the header that makes browsers trust the Content-Type of an answer. Each service's module sets it on all
// answers.
func NoSniff(header http.Header) { header["X-Content-Type-Options"] = []string{"nosniff"} }
