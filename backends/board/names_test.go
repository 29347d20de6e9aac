package board

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/tollgate-gateway/tollgate/backends/board/accounts"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// join registers a member with a form that passes all checks.
func (s *site) join(name string) error {
	s.t.Helper()
	s.exec("DELETE FROM board_attempts")
	_, err := s.service.Accounts.Register(s.t.Context(), accounts.NewMember{Name: name, Email: fmt.Sprintf("m%d@example.com", s.number("SELECT count(*) FROM board_users")), Password: "correct horse", Address: clientAddress, Form: s.joinForm()})
	return err
}

// TestNewNames checks that the name of a new member must be readable, free, and unlike the names of others.
func TestNewNames(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{})
		must(t, s.join("Paypal"))
		s.exec("INSERT INTO board_settings (name, value) VALUES ('reserved_names', ?)", "Tollgate\nThe Team")
		for name, reason := range map[string]string{
			"PAYPAL": "taken", "ｐaypal": "taken", "PaypaI": "alike", "paypa1": "alike", "рaypal": "scripts", "pay\u200bpal": "invisible", "pay\u00adpal": "invisible",
			"Pay  pal": "spaces", "q\u0301\u0302\u0303\u0304\u0305\u0306": "marks", "1٢٣": "digits", "Root": "reserved", "Adm1n": "reserved", "mod.erator": "reserved", "T0llgate": "reserved", "the-team": "reserved",
			"x": "length", "b<b": "characters",
		} {
			refused(t, name, s.join(name), 422, reason)
		}
		for _, name := range []string{"Paypa", "Ραγ", "Анна", "山田 Taro", "Tollgater"} {
			must(t, s.join(name))
		}
		must(t, s.join("ѕсоре")) // all letters are of one script
		refused(t, "as it looks", s.join("Scope"), 422, "alike")
	})
}

// TestNewNamesInParallel checks that of many parallel registrations with names that look alike one succeeds.
func TestNewNamesInParallel(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{})
		var wg sync.WaitGroup
		errs := make([]error, 4)
		for i, name := range []string{"Lili", "LiIi", "LiIl", "L1l1"} { // each pair looks alike
			wg.Go(func() {
				_, errs[i] = s.service.Accounts.Register(t.Context(), accounts.NewMember{Name: name, Email: fmt.Sprintf("m%d@example.com", i), Password: "correct horse", Address: clientAddress, Form: s.joinForm()})
			})
		}
		wg.Wait()
		in := 0
		for i, err := range errs {
			if err == nil {
				in++
				continue
			}
			if e, ok := apierror.From(err); !ok || e.Status != 422 {
				t.Errorf("%d: %v", i, err)
			}
		}
		if in < 1 || s.number("SELECT count(*) FROM board_names WHERE clashes = 1") != 0 {
			t.Errorf("%d are in", in)
		}
	})
}

// TestNameFreed checks that the name of a deleted member who was never let in is free, and passes to the next member
// who clashed with it.
func TestNameFreed(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{})
		admin := s.actor("admin")
		s.exec("INSERT INTO board_settings (name, value) VALUES ('registration', 'approval')")
		must(t, s.join("Lola"))
		must(t, s.service.kernel.Write(t.Context(), func(c store.Conn) error {
			_, err := accounts.AddUser(c, accounts.NewUser{Name: "L0la", Groups: []string{"registered"}, MayClash: true, Now: 1})
			return err
		}))
		list, err := s.service.Admin.NameClashes(t.Context(), admin)
		if err != nil || len(list) != 1 || list[0].Member.Name != "L0la" || list[0].Like.Name != "Lola" {
			t.Fatalf("%+v %v", list, err)
		}
		refused(t, "taken", s.join("LoIa"), 422, "alike")
		must(t, s.service.Admin.DeleteMember(t.Context(), admin, s.user("lola")))
		refused(t, "of the next", s.join("Lola"), 422, "alike")
		if list, err := s.service.Admin.NameClashes(t.Context(), admin); err != nil || len(list) != 0 {
			t.Errorf("%+v %v", list, err)
		}
		must(t, s.service.Admin.DeleteMember(t.Context(), admin, s.user("l0la"))) // this member was let in before, so the name stays taken
		refused(t, "of a deleted member", s.join("Lola"), 422, "alike")
	})
}

// TestFillNames checks that members who joined before names were compared keep their names, and that new members
// cannot take names that look like them.
func TestFillNames(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{})
		ctx := t.Context()
		s.exec("DELETE FROM board_names")
		s.exec("DELETE FROM board_settings WHERE name = ?", accounts.SettingNames)
		must(t, s.service.kernel.Write(ctx, func(c store.Conn) error {
			for i := range 2*accounts.NamesBatch + 7 {
				name := fmt.Sprintf("early %c%c%c", 'a'+i%26, 'a'+i/26%26, 'a'+i/676)
				switch i {
				case 900:
					name = "Zoe1a"
				case 901:
					name = "Zoela"
				case 902:
					name = "ZoeIa"
				}
				if _, err := c.Exec("INSERT INTO board_users (username, username_key, email, password_hash, state, joined_at) VALUES (?, ?, '', '', 'active', 1)", name, text.Fold(name)); err != nil {
					return err
				}
			}
			_, err := c.Exec("INSERT INTO board_users (username, username_key, email, password_hash, state, joined_at) VALUES ('gone', '@77', '', '', 'deleted', 1)")
			return err
		}))
		err := s.join("Nele")
		if e, ok := apierror.From(err); !ok || e.Status != 503 || e.RetryAfter == 0 {
			t.Fatalf("registered before: %v", err)
		}
		core, logs := observer.New(zapcore.WarnLevel)
		other := New(db, kernel.Options{}, zap.New(core), s.clock.now)
		s.service.kernel.Logger = zap.New(core)
		t.Cleanup(other.Close)
		var wg sync.WaitGroup
		done := make([]int, 2)
		for i, node := range []*Server{s.service, other} {
			wg.Go(func() {
				var err error
				if done[i], err = node.Accounts.FillNames(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if all := s.number("SELECT count(*) FROM board_users WHERE username_key NOT LIKE '@%'"); done[0]+done[1] != int(all) || s.number("SELECT count(DISTINCT user_id) FROM board_names") != all {
			t.Errorf("%v of %d members", done, all)
		}
		if n, err := s.service.Accounts.FillNames(ctx); n != 0 || err != nil {
			t.Errorf("again: %d %v", n, err)
		}
		list, err := s.service.Admin.NameClashes(ctx, s.actor("admin"))
		if err != nil || len(list) != 2 || list[0].Member.Name != "Zoela" || list[1].Member.Name != "ZoeIa" || list[0].Like.Name != "Zoe1a" {
			t.Errorf("%+v %v", list, err)
		}
		if count := logs.FilterField(zap.String("name", "Zoela")).Len(); count != 1 || logs.Len() != 2 {
			t.Errorf("logged: %v", logs.All())
		}
		must(t, s.join("Nele"))
		must(t, s.join("zoel4"))
		refused(t, "alike", s.join("ZoEla"), 422, "taken")
		refused(t, "alike", s.join("Ear1y aaa"), 422, "alike")
		_, err = s.service.Admin.NameClashes(ctx, s.actor("bob"))
		refused(t, "who may see them", err, 403, "no_permission")
		if strings.Contains(fmt.Sprint(logs.All()), "gone") {
			t.Error("a name that is free counts")
		}
	})
}
