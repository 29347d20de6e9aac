// Package messages speaks the messages format: it reads requests of clients into
// the hub's form and writes answers for them, and it does the same towards
// upstreams of that format.
package messages
