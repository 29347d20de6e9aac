package mail

import (
	"bytes"
	"context"
	"errors"
	"net"
	netmail "net/mail"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// TestSilentServer checks that a silent server does not delay the end of the process.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		cancel()
		<-t.Context().Done()
	}()
	s, err := NewSMTP(SMTPOptions{URL: "smtp://" + listener.Addr().String(), From: "board@example.com"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Open(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}

	server := testenv.SMTP(t)
	if s, err = NewSMTP(SMTPOptions{URL: "smtp://" + server.Address, From: "board@example.com"}); err != nil {
		t.Fatal(err)
	}
	session, err := s.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	server.Refuse("a@example.com", testenv.Silence)
	ctx, cancel = context.WithCancel(t.Context())
	go func() {
		<-server.Arrived()
		cancel()
	}()
	if err := session.Send(ctx, &Message{Email: "a@example.com"}); err == nil {
		t.Error("a silent server took a mail")
	}
}

func TestNewSMTP(t *testing.T) {
	t.Parallel()
	for _, o := range []SMTPOptions{
		{},
		{URL: "smtp://mail.example.com"},
		{From: "a@example.com"},
		{URL: "http://mail.example.com", From: "a@example.com"},
		{URL: "smtp://", From: "a@example.com"},
		{URL: "smtp://user:geheim@mail.example.com", From: "a@example.com"},
		{URL: "smtp://mail.example.com:99999", From: "a@example.com"},
		{URL: "smtp://mail.example.com/x", From: "a@example.com"},
		{URL: "smtp://mail.example.com", From: "no address"},
		{URL: "smtp://mail.example.com", From: "a@example.com", User: "u"},
		{URL: "smtp://mail.example.com", From: "a@example.com", Password: "geheim"},
	} {
		if _, err := NewSMTP(o); err == nil || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%+v: %v", o, err)
		}
	}
	for url, want := range map[string]string{
		"smtp://mail.example.com": "TLSMandatory mail.example.com:587", "smtp://mail.example.com:25": "TLSMandatory mail.example.com:25", "smtp://127.0.0.1:25": "TLSOpportunistic 127.0.0.1:25",
		"smtp://localhost": "TLSOpportunistic localhost:587", "smtps://mail.example.com": "TLSMandatory mail.example.com:465", "smtp://localhost.example.com": "TLSMandatory localhost.example.com:587",
	} {
		s, err := NewSMTP(SMTPOptions{URL: url, From: "Board <a@example.com>", User: "u", Password: "p"})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.client.TLSPolicy() + " " + s.client.ServerAddr(); got != want {
			t.Errorf("%s: %s, want %s", url, got, want)
		}
	}
}

// TestHeaders checks the headers by which mail programs sort a mail, for any characters in the name of its list.
func TestHeaders(t *testing.T) {
	t.Parallel()
	s, err := NewSMTP(SMTPOptions{URL: "smtp://localhost", From: "board@example.com"})
	if err != nil {
		t.Fatal(err)
	}
	headers := func(m *Message) netmail.Header {
		t.Helper()
		m.Email, m.ID = "a@example.net", "thread-7.3"
		msg, err := s.message(m)
		if err != nil {
			t.Fatal(err)
		}
		var raw bytes.Buffer
		if _, err := msg.WriteTo(&raw); err != nil {
			t.Fatal(err)
		}
		got, err := netmail.ReadMessage(&raw)
		if err != nil {
			t.Fatal(err)
		}
		return got.Header
	}
	for name, want := range map[string]string{
		"":                          "<forum-2.example.com>",
		"Pets":                      `"Pets" <forum-2.example.com>`,
		`Cats "& <dogs@b>`:          `"Cats \"& <dogs@b>" <forum-2.example.com>`,
		"Gärten":                    "=?utf-8?q?G=C3=A4rten?= <forum-2.example.com>",
		"End\r\nBcc: b@example.net": "=?utf-8?b?RW5kDQpCY2M6IGJAZXhhbXBsZS5uZXQ=?= <forum-2.example.com>",
	} {
		got := headers(&Message{Thread: "thread-7", List: List{ID: "forum-2", Name: name}, Unsubscribe: "https://example.com/end"})
		for header, want := range map[string]string{
			"Message-Id": "<thread-7.3@example.com>", "In-Reply-To": "<thread-7@example.com>", "References": "<thread-7@example.com>",
			"List-Id": want, "Precedence": "list", "Auto-Submitted": "auto-generated", "Bcc": "",
			"List-Unsubscribe": "<https://example.com/end>", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
		} {
			if got.Get(header) != want {
				t.Errorf("%q: %s: %s, want %s", name, header, got.Get(header), want)
			}
		}
	}
	got := headers(new(Message))
	for _, header := range []string{"In-Reply-To", "References", "List-Id", "Precedence", "List-Unsubscribe"} {
		if got.Get(header) != "" {
			t.Errorf("a personal mail has %s: %s", header, got.Get(header))
		}
	}
}
