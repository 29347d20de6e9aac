package load

import "strconv"

// Site is a server that requests are sent to.
type Site struct {
	Address string // host:port
	Key     string // sent as a bearer token unless it is empty
}

// Chat returns the text of a request for a chat completion.
func (s Site) Chat(body string) []byte { return s.Post("/v1/chat/completions", body) }

// Post returns the text of a POST request to a path.
func (s Site) Post(path, body string) []byte {
	authorization := ""
	if s.Key != "" {
		authorization = "Authorization: Bearer " + s.Key + "\r\n"
	}
	return []byte("POST " + path + " HTTP/1.1\r\nHost: " + s.Address + "\r\nUser-Agent: bench\r\nAccept: */*\r\n" +
		authorization +
		"Content-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body)
}

// Get returns the text of a GET request to a path.
func (s Site) Get(path string) []byte {
	return []byte("GET " + path + " HTTP/1.1\r\nHost: " + s.Address + "\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n")
}
