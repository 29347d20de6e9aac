package load

import "strconv"

// Site is where requests are sent.
type Site struct {
	Address string // host:port
	Key     string // sent as a bearer token; empty: none
}

// Chat is the text of a request for a chat completion.
func (s Site) Chat(body string) []byte { return s.Post("/v1/chat/completions", body) }

// Post is the same for another path.
func (s Site) Post(path, body string) []byte {
	authorization := ""
	if s.Key != "" {
		authorization = "Authorization: Bearer " + s.Key + "\r\n"
	}
	return []byte("POST " + path + " HTTP/1.1\r\nHost: " + s.Address + "\r\nUser-Agent: bench\r\nAccept: */*\r\n" + authorization +
		"Content-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body)
}

// Get is a GET of a site.
func (s Site) Get(path string) []byte {
	return []byte("GET " + path + " HTTP/1.1\r\nHost: " + s.Address + "\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n")
}
