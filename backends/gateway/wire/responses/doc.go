// Package responses implements the Responses format. It reads clients' requests into the common form of package hub and
// writes the answers for clients. In the other direction it writes requests for upstreams and reads their answers.
package responses
