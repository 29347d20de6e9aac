// Package responses implements the Responses format (specification 7 to 9): it reads requests of clients into the form
// of package hub and writes answers for them, and does the reverse with upstreams of that format.
package responses
