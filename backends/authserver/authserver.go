// Package authserver is an OAuth 2.1 authorization server with an OpenID layer
// and an administration API. Its rooms: config (the file and the environment),
// kernel (what all stand on), clients, resources, users, keys, tokens, login,
// consent, protocol (the endpoints), admin. A room stands on those before it.
package authserver
