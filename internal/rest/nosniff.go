package rest

import "net/http"

var nosniff = []string{"nosniff"}

// NoSniff sets the header that makes browsers trust the Content-Type of an answer. The module of each service sets it
// on all answers of the service.
func NoSniff(header http.Header) { header["X-Content-Type-Options"] = nosniff }
