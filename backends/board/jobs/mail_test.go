package jobs_test

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	netmail "net/mail"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/tollgate-gateway/tollgate/backends/board/accounts"
	"github.com/tollgate-gateway/tollgate/backends/board/jobs"
	"github.com/tollgate-gateway/tollgate/backends/board/mails"
	"github.com/tollgate-gateway/tollgate/backends/board/web"
	background "github.com/tollgate-gateway/tollgate/internal/jobs"
	"github.com/tollgate-gateway/tollgate/internal/mail"
	"github.com/tollgate-gateway/tollgate/internal/pages"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
	"github.com/tollgate-gateway/tollgate/internal/webhook"
)

func newMailer(t *testing.T, server *testenv.SMTPServer) *jobs.Mailer {
	t.Helper()
	transport, err := mail.NewSMTP(mail.SMTPOptions{URL: "smtp://" + server.Address, From: "Böard <board@example.com>"})
	if err != nil {
		t.Fatal(err)
	}
	return &jobs.Mailer{Transport: transport, BaseURL: "https://forum.example.com", Logger: zap.NewNop()}
}

func (s *site) send(m *jobs.Mailer) int {
	s.t.Helper()
	n, err := m.Send(s.t.Context(), s.service.Mails)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

// TestMail checks that a follower of a thread gets a mail with the new posts, and can unsubscribe by its link.
func TestMail(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site) {
		server := testenv.SMTP(t)
		m := newMailer(t, server)
		s.follow("alice", "newbie")
		post := s.reply("Good *news* <script>alert(1)</script>\n.\nover")
		if n := s.send(m); n != 0 {
			t.Errorf("%d mails are due at once", n)
		}
		s.ahead.Add(int64(time.Minute))
		if n := s.send(m); n != 2 {
			t.Errorf("%d mails", n)
		}
		mails := server.Take()
		if len(mails) != 2 || mails[0].To != "alice@example.com" || mails[1].To != "newbie@example.com" || mails[0].From != "board@example.com" {
			t.Fatalf("%+v", mails)
		}
		got, err := netmail.ReadMessage(strings.NewReader(mails[0].Data))
		if err != nil {
			t.Fatal(err)
		}
		subject, err := new(mime.WordDecoder).DecodeHeader(got.Header.Get("Subject"))
		if err != nil || subject != "[Board] Public thread" {
			t.Errorf("%s %v", subject, err)
		}
		link := strings.Trim(got.Header.Get("List-Unsubscribe"), "<>")
		if got.Header.Get("List-Unsubscribe-Post") != "List-Unsubscribe=One-Click" || !strings.HasPrefix(link, "https://forum.example.com/unsubscribe?token=") ||
			got.Header.Get("Auto-Submitted") != "auto-generated" || got.Header.Get("Date") == "" || got.Header.Get("In-Reply-To") != "<thread-1@example.com>" ||
			got.Header.Get("References") != "<thread-1@example.com>" || !strings.HasPrefix(got.Header.Get("Message-Id"), "<thread-1.") ||
			got.Header.Get("List-Id") != `"Public" <forum-4.example.com>` || got.Header.Get("Precedence") != "list" {
			t.Errorf("%v", got.Header)
		}
		for _, want := range []string{"/posts/", "text/plain", "text/html", "&lt;script&gt;"} {
			if !strings.Contains(strings.ReplaceAll(mails[0].Data, "=\n", ""), want) {
				t.Errorf("there is no %s in\n%s", want, mails[0].Data)
			}
		}
		_, token, _ := strings.Cut(link, "token=")
		u, err := s.service.Mails.ReadUnsubscription(token)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.service.Mails.EndUnsubscription(t.Context(), u); err != nil {
			t.Fatal(err)
		}
		s.reply("More news for one")
		s.ahead.Add(int64(time.Minute))
		s.send(m)
		if mails = server.Take(); len(mails) != 1 || mails[0].To != "newbie@example.com" {
			t.Errorf("%+v", mails)
		}
		if post.Post == 0 {
			t.Error("no post")
		}
	})
}

// TestMailFailures checks that a refused recipient does not delay others, that temporary failures are tried again,
// and that nothing is lost while the server is down.
func TestMailFailures(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site) {
		server := testenv.SMTP(t)
		m := newMailer(t, server)
		core, logs := observer.New(zap.DebugLevel)
		m.Logger = zap.New(core)
		s.follow("alice", "newbie", "mod")
		s.exec("UPDATE board_users SET email = 'not an address' WHERE username = 'mod'")
		server.Refuse("alice@example.com", "550 no such user")
		s.reply("Some news for you")
		s.ahead.Add(int64(time.Minute))
		if n := s.send(m); n != 1 {
			t.Errorf("%d mails", n)
		}
		if mails := server.Take(); len(mails) != 1 || mails[0].To != "newbie@example.com" {
			t.Errorf("%+v", mails)
		}
		if due, err := s.service.Mails.DueMail(t.Context(), 10); err != nil || len(due) != 0 {
			t.Errorf("a mailing that was refused for good is due again: %+v %v", due, err)
		}

		server.Refuse("alice@example.com", "451 try again")
		s.reply("More news for you")
		s.ahead.Add(int64(time.Minute))
		if n := s.send(m); n != 1 {
			t.Errorf("%d mails", n)
		}
		server.Take()
		server.Refuse("alice@example.com", "")
		s.ahead.Add(int64(time.Minute))
		if n := s.send(m); n != 1 {
			t.Errorf("%d mails at the second try", n)
		}
		if mails := server.Take(); len(mails) != 1 || mails[0].To != "alice@example.com" {
			t.Errorf("%+v", mails)
		}

		if logs.FilterMessage("mail refused").Len() != 3 || logs.FilterMessage("mail not sent").Len() != 1 {
			t.Errorf("%v", logs.All())
		}
		for _, entry := range logs.All() {
			if reason, _ := entry.ContextMap()["error"].(string); reason == "" || strings.Contains(reason, "@") {
				t.Errorf("%s: %q", entry.Message, reason)
			}
		}

		server.Close()
		s.reply("Nobody hears this now")
		s.ahead.Add(int64(time.Minute))
		for range 20 {
			if _, err := m.Send(t.Context(), s.service.Mails); err == nil {
				t.Fatal("a server that is down took a mail")
			}
		}
		up := testenv.SMTP(t)
		s.exec("UPDATE board_users SET email = 'mod@example.com' WHERE username = 'mod'")
		if n := s.send(newMailer(t, up)); n != 3 || len(up.Take()) != 3 {
			t.Errorf("%d mails once it is up", n)
		}
	})
}

// TestMailLog checks that the transport that logs mails does not log their content.
func TestMailLog(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site) {
		core, logs := observer.New(zap.InfoLevel)
		m := &jobs.Mailer{Transport: mail.Log{Logger: zap.New(core)}, Logger: zap.New(core)}
		s.follow("alice")
		s.reply("A secret of ours")
		s.ahead.Add(int64(time.Minute))
		if n := s.send(m); n != 1 || logs.Len() != 1 {
			t.Errorf("%d mails, %d lines", n, logs.Len())
		}
		for _, entry := range logs.All() {
			for _, value := range entry.ContextMap() {
				if text, ok := value.(string); ok && (strings.Contains(text, "secret") || strings.Contains(text, "@")) {
					t.Errorf("%v", entry)
				}
			}
		}
	})
}

// TestLinkMails checks that a link is mailed at once, also while the board is offline, and is not logged.
func TestLinkMails(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site) {
		server := testenv.SMTP(t)
		m := newMailer(t, server)
		core, logs := observer.New(zap.DebugLevel)
		m.Logger = zap.New(core)
		ctx := t.Context()
		s.exec("UPDATE board_users SET email = 'Bob@example.com', email_key = 'bob@example.com' WHERE username = 'bob'")
		ask := func() {
			t.Helper()
			if err := s.service.Accounts.AskReset(ctx, "bob@example.com", "192.0.2.1"); err != nil {
				t.Fatal(err)
			}
		}
		linked := regexp.MustCompile(`https://forum\.example\.com/reset\?token=([\w-]{43})\n`)
		secret := func() string {
			t.Helper()
			mails := server.Take()
			if len(mails) != 1 || mails[0].To != "Bob@example.com" {
				t.Fatalf("%+v", mails)
			}
			got, err := netmail.ReadMessage(strings.NewReader(mails[0].Data))
			if err != nil {
				t.Fatal(err)
			}
			if got.Header.Get("List-Unsubscribe") != "" || got.Header.Get("Auto-Submitted") != "auto-generated" {
				t.Errorf("%v", got.Header)
			}
			text, err := io.ReadAll(quotedprintable.NewReader(got.Body))
			if err != nil {
				t.Fatal(err)
			}
			found := linked.FindStringSubmatch(strings.ReplaceAll(string(text), "\r\n", "\n"))
			if found == nil {
				t.Fatalf("there is no link in\n%s", text)
			}
			return found[1]
		}
		s.exec("INSERT INTO board_settings (name, value) VALUES ('offline', '1')")
		s.exec("UPDATE board_permission_version SET version = version + 1")
		ask()
		if n := s.send(m); n != 1 {
			t.Errorf("%d mails", n)
		}
		first := secret()
		if err := s.service.Accounts.Reset(ctx, first, "battery staple", "192.0.2.1"); err != nil {
			t.Fatal(err)
		}

		server.Refuse("Bob@example.com", "451 try again")
		ask()
		if n := s.send(m); n != 0 || logs.FilterMessage("mail not sent").Len() != 1 {
			t.Errorf("%d mails, %v", n, logs.All())
		}
		server.Refuse("Bob@example.com", "")
		s.ahead.Add(int64(time.Minute))
		if n := s.send(m); n != 1 {
			t.Errorf("%d mails at the second try", n)
		}
		second := secret()
		if _, err := s.service.Accounts.ReadLink(ctx, second, accounts.LinkReset); err != nil {
			t.Error(err)
		}

		ask()
		if _, err := (&jobs.Mailer{Transport: mail.Log{Logger: m.Logger}, Logger: m.Logger}).Send(ctx, s.service.Mails); err != nil { // mails are now logged instead of sent
			t.Fatal(err)
		}
		if logs.FilterMessage("mail").Len() != 1 {
			t.Errorf("%v", logs.All())
		}
		for _, entry := range logs.All() {
			if line := fmt.Sprint(entry.Message, entry.ContextMap()); strings.Contains(line, "token=") || strings.Contains(strings.ToLower(line), "bob@") {
				t.Errorf("logged: %s", line)
			}
		}
	})
}

// linkMailing returns a mailing with a link of a kind.
func linkMailing(kind, secret string) *mails.Mailing {
	ends := time.Date(2026, 1, 31, 23, 30, 0, 0, time.UTC).In(time.FixedZone("CET", 3600))
	return &mails.Mailing{
		Recipient: mails.Recipient{User: 3, Mode: kind}, Name: "alice", Email: "a@example.com", Board: "Cats & <dogs>", Key: "3.k",
		Link: &accounts.MailLink{Secret: secret, Ends: ends},
	}
}

// TestLetters compares the mails with those in testdata. With -update it writes them.
func TestLetters(t *testing.T) {
	t.Parallel()
	date := time.Date(2026, 1, 31, 23, 30, 0, 0, time.UTC).In(time.FixedZone("CET", 3600))
	thread := mails.MailThread{ID: 7, Forum: 2, Title: "Cats & <dogs>", Posts: []mails.MailPost{{ID: 70, Number: 3, Author: "bob", At: date, Excerpt: "They <b>are</b> fine."}}, Count: 1}
	busy := mails.MailThread{ID: 8, Title: "Busy", Posts: []mails.MailPost{{ID: 80, Number: 4, Author: "bob", At: date, Excerpt: "One"}, {ID: 81, Number: 5, Author: "mod", At: date, Excerpt: "Two"}}, Count: 9}
	languages, err := pages.LoadLanguages("", nil, web.Catalogues(), "")
	if err != nil {
		t.Fatal(err)
	}
	german := linkMailing(accounts.LinkReset, "SECRET")
	german.Language = "de"
	for name, test := range map[string]struct {
		baseURL string
		mailing *mails.Mailing
		footer  string
	}{
		"footer":       {baseURL: "", mailing: linkMailing(accounts.LinkNotice, ""), footer: "Example & Co, <Berlin>"},
		"footer-posts": {"https://forum.example.com", &mails.Mailing{Recipient: mails.Recipient{User: 3, Mode: "instant"}, Name: "alice", Email: "a@example.com", Board: "Board", Threads: []mails.MailThread{thread}, Forum: mails.MailForum{ID: 2, Title: "Pets"}, Unsubscribe: "TOKEN", Key: "3.k"}, "Example & Co, <Berlin>"},

		"instant":       {"https://forum.example.com", &mails.Mailing{Recipient: mails.Recipient{User: 3, Mode: "instant"}, Name: "alice", Email: "a@example.com", Board: "Board", Threads: []mails.MailThread{thread}, Forum: mails.MailForum{ID: 2, Title: "Pets"}, Unsubscribe: "TOKEN", Key: "3.k"}, ""},
		"weekly":        {"https://forum.example.com", &mails.Mailing{Recipient: mails.Recipient{User: 3, Mode: "weekly"}, Name: "alice", Email: "a@example.com", Board: "Board", Threads: []mails.MailThread{thread, busy}, More: 2, Unsubscribe: "TOKEN", Key: "3.k"}, ""},
		"no-url":        {"", &mails.Mailing{Recipient: mails.Recipient{User: 3, Mode: "daily"}, Name: "alice", Email: "a@example.com", Board: "Board", Threads: []mails.MailThread{thread}, Forum: mails.MailForum{ID: 2, Title: "Pets"}, Unsubscribe: "TOKEN", Key: "3.k"}, ""},
		"message":       {"https://forum.example.com", &mails.Mailing{Recipient: mails.Recipient{User: 3, Mode: "message"}, Name: "alice", Email: "a@example.com", Board: "Board", Messages: []mails.MailMessage{{ID: 9, Author: "bob"}}, Unsubscribe: "TOKEN", Key: "3.k"}, ""},
		"reset":         {"https://forum.example.com", linkMailing(accounts.LinkReset, "SECRET"), ""},
		"email":         {"https://forum.example.com", linkMailing(accounts.LinkEmail, "SECRET"), ""},
		"join":          {"https://forum.example.com", linkMailing(accounts.LinkJoin, "SECRET"), ""},
		"known":         {"https://forum.example.com", linkMailing(accounts.LinkKnown, ""), ""},
		"notice":        {"https://forum.example.com", linkMailing(accounts.LinkNotice, ""), ""},
		"german-weekly": {"https://forum.example.com", &mails.Mailing{Recipient: mails.Recipient{User: 3, Mode: "weekly"}, Name: "alice", Email: "a@example.com", Board: "Board", Language: "de", Threads: []mails.MailThread{thread, busy}, More: 2, Unsubscribe: "TOKEN", Key: "3.k"}, ""},
		"german-reset":  {"https://forum.example.com", german, ""},
	} {
		m := &jobs.Mailer{BaseURL: test.baseURL, Footer: test.footer, Languages: languages}
		l, err := m.Letter(test.mailing)
		if err != nil {
			t.Fatal(err)
		}
		got := "Subject: " + l.Subject + "\nID: " + l.ID + "\nThread: " + l.Thread + "\nList: " + l.List.ID + " " + l.List.Name + "\nUnsubscribe: " + l.Unsubscribe + "\n\n" + l.Text + "\n" + l.HTML
		file := "testdata/letter-" + name + ".txt"
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s:\n%s", name, got)
		}
	}
}

// TestJobs checks what each job returns if there is nothing to work with, and if there is no database.
func TestJobs(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site) {
		var work *jobs.Work
		run := func(want error) {
			t.Helper()
			for _, j := range jobs.List(func() *jobs.Work { return work }) {
				if _, err := j.Run(t.Context()); !errors.Is(err, want) {
					t.Errorf("%s: error %v, want %v", j.Name, err, want)
				}
			}
		}
		run(background.ErrNotNow)
		work = s.service.Work(webhook.NewSender(nil, zap.NewNop()), &jobs.Mailer{Transport: mail.Log{Logger: zap.NewNop()}}, zap.NewNop())
		run(nil)
		if err := s.db.Close(); err != nil {
			t.Fatal(err)
		}
		run(store.ErrUnavailable)
	})
}
