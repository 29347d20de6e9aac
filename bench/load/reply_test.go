package load

import (
	"bufio"
	"strings"
	"testing"
	"testing/iotest"
)

func TestReplyReader(t *testing.T) {
	t.Parallel()
	const ok = "HTTP/1.1 200 OK\r\n"
	tests := map[string]struct {
		text     string
		expected Reply
		bad      bool
	}{
		"length":       {text: ok + "Content-Length: 4\r\n\r\na\nb\n", expected: Reply{Status: 200, Bytes: 4, Lines: 2}},
		"case, spaces": {text: ok + "content-length:  2 \r\n\r\nab", expected: Reply{Status: 200, Bytes: 2}},
		"no body":      {text: "HTTP/1.1 204 No Content\r\n\r\n", expected: Reply{Status: 204}},
		"closes": {
			text:     ok + "Connection: close\r\nContent-Length: 0\r\n\r\n",
			expected: Reply{Status: 200, closes: true},
		},
		"chunks": {
			text:     ok + "Transfer-Encoding: chunked\r\n\r\n3\r\na\n\n\r\nA\r\n012345678\n\r\n0\r\n\r\n",
			expected: Reply{Status: 200, Bytes: 13, Lines: 3},
		},
		"cut length":   {text: ok + "Content-Length: 4\r\n\r\na", bad: true},
		"cut chunk":    {text: ok + "Transfer-Encoding: chunked\r\n\r\n3\r\na", bad: true},
		"no last":      {text: ok + "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n", bad: true},
		"bad chunk":    {text: ok + "Transfer-Encoding: chunked\r\n\r\nx\r\na\r\n", bad: true},
		"long chunk":   {text: ok + "Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n", bad: true},
		"huge length":  {text: ok + "Content-Length: 99999999999999999999\r\n\r\na", bad: true},
		"less than 0":  {text: ok + "Content-Length: -1\r\n\r\na", bad: true},
		"not a header": {text: ok + "nothing\r\n\r\n", bad: true},
		"not HTTP":     {text: "SSH-2.0-OpenSSH_10.0\r\n", bad: true},
		"nothing":      {text: "", bad: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got Reply
			// Each read returns one byte, because a response that arrives in pieces must be counted in the same way.
			err := readReply(bufio.NewReader(iotest.OneByteReader(strings.NewReader(test.text))), &got, 0)
			if (err != nil) != test.bad {
				t.Fatalf("error %v, want one: %v", err, test.bad)
			}
			if !test.bad && got != test.expected {
				t.Errorf("got %+v, want %+v", got, test.expected)
			}
		})
	}
}

// TestReplyReaderEnough checks that a reader can stop in the middle of a stream and continue.
func TestReplyReaderEnough(t *testing.T) {
	t.Parallel()
	r := replyReader{in: bufio.NewReader(iotest.OneByteReader(strings.NewReader(
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\na\n\nb\n\n\r\n3\r\nc\n\n\r\n0\r\n\r\n")))}
	var got Reply
	if err := r.head(&got); err != nil {
		t.Fatal(err)
	}
	for _, expected := range []int{2, 6} {
		if err := r.body(&got, expected); err != nil || got.Lines != expected {
			t.Fatalf("%d lines and error %v, want %d lines", got.Lines, err, expected)
		}
	}
	if err := r.body(&got, 0); err != nil || got.Bytes != 9 {
		t.Fatalf("%d bytes and error %v, want 9 to the end", got.Bytes, err)
	}
}

func FuzzReply(f *testing.F) {
	f.Add("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\na\nb\n")
	f.Add("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\na\n\n\r\n0\r\n\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		var got Reply
		if err := readReply(bufio.NewReader(strings.NewReader(text)), &got, 0); err == nil && got.Bytes > len(text) {
			t.Errorf("%d bytes were counted of %d", got.Bytes, len(text))
		}
	})
}

func readReply(in *bufio.Reader, got *Reply, enough int) error {
	r := replyReader{in: in}
	if err := r.head(got); err != nil {
		return err
	}
	return r.body(got, enough)
}
