package testenv

import (
	"bufio"
	"net"
	"strings"
	"sync"
	"testing"
)

// SMTPServer receives mails on the loopback interface and keeps them for the test.
type SMTPServer struct {
	// Address is the address as host:port.
	Address string

	listener net.Listener
	serving  sync.WaitGroup // counts accept and the open connections
	arrived  chan struct{}  // see Arrived; buffers one

	mu     sync.Mutex        // guards the fields below
	mails  []Mail            // since the last call of Take
	refuse map[string]string // answers by recipient; see Refuse
}

// Mail is a mail that the server received.
type Mail struct {
	From, To string
	Data     string // header and body with lines that end with \n
}

// SMTP starts a server, which is closed at the end of the test.
func SMTP(tb testing.TB) *SMTPServer {
	tb.Helper()
	listener, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	s := &SMTPServer{
		Address: listener.Addr().String(), listener: listener, refuse: make(map[string]string),
		arrived: make(chan struct{}, 1),
	}
	s.serving.Go(s.accept)
	tb.Cleanup(func() {
		s.Close()
		s.serving.Wait()
	})
	return s
}

// Close stops the server, so that connecting fails.
func (s *SMTPServer) Close() { _ = s.listener.Close() }

// Silence is a line for Refuse that makes the server send no answer at all.
const Silence = "silence"

// Refuse makes the server answer a recipient with a line such as "550 no such user". With an empty line the server
// accepts the recipient again.
func (s *SMTPServer) Refuse(recipient, line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse[recipient] = line
}

// Take returns the mails received since its last call.
func (s *SMTPServer) Take() []Mail {
	s.mu.Lock()
	defer s.mu.Unlock()
	mails := s.mails
	s.mails = nil
	return mails
}

// Arrived returns a channel that receives a value when a mail has arrived, or when its recipient gets no answer.
func (s *SMTPServer) Arrived() <-chan struct{} { return s.arrived }

// accept serves connections until the server is closed.
func (s *SMTPServer) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.serving.Go(func() {
			defer conn.Close()
			s.serve(conn)
		})
	}
}

// serve answers the commands of a client (RFC 5321).
func (s *SMTPServer) serve(conn net.Conn) {
	lines := bufio.NewScanner(conn)
	say := func(line string) { _, _ = conn.Write([]byte(line + "\r\n")) }
	say("220 test")
	var m Mail
	for lines.Scan() {
		line := lines.Text()
		verb, rest, _ := strings.Cut(line, " ")
		switch strings.ToUpper(verb) {
		case "EHLO", "HELO":
			say("250 test")
		case "MAIL":
			m = Mail{From: inBrackets(rest)}
			say("250 ok")
		case "RCPT":
			recipient := inBrackets(rest)
			s.mu.Lock()
			answer := s.refuse[recipient]
			s.mu.Unlock()
			if answer == Silence {
				s.signal()
				continue
			}
			if answer != "" {
				say(answer)
				continue
			}
			m.To = recipient
			say("250 ok")
		case "DATA":
			say("354 go on")
			var text strings.Builder
			for lines.Scan() && lines.Text() != "." {
				text.WriteString(strings.TrimPrefix(lines.Text(), ".") + "\n") // clients double a period at the beginning
			}
			m.Data = text.String()
			s.keep(m)
			say("250 taken")
		case "QUIT":
			say("221 bye")
			return
		default:
			say("250 ok")
		}
	}
}

// keep stores a mail for Take.
func (s *SMTPServer) keep(m Mail) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mails = append(s.mails, m)
	s.signal()
}

// signal sends a value to the channel of Arrived.
func (s *SMTPServer) signal() {
	select {
	case s.arrived <- struct{}{}:
	default: // the last value was not received yet
	}
}

// inBrackets returns the text in angle brackets.
func inBrackets(text string) string {
	_, text, _ = strings.Cut(text, "<")
	text, _, _ = strings.Cut(text, ">")
	return text
}
