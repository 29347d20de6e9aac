package rest

import "net/http"

var nosniff = []string{"nosniff"}

// NoSniff makes browsers take an answer for what its Content-Type says. The module
// of each service has it on all that the service answers.
func NoSniff(header http.Header) { header["X-Content-Type-Options"] = nosniff }
