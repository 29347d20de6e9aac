// Package messages implements the messages format: it reads requests of clients into the form of package hub and writes
// answers for them, and does the reverse with upstreams of that format.
package messages
