// Package responses is the Responses format (specification 7 to 9): requests of its
// clients into the hub's form and answers back, and the same for upstreams that
// speak it.
package responses
