// Package seed loads fixtures into a board, for demos and to move a forum here.
package seed

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/admin"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

const (
	seedBatch = 200     // elements in one transaction
	SeedHead  = 1 << 20 // bytes by which a fixture is known
)

// Service loads fixtures.
type Service struct{ *admin.Service }

// New returns what loads fixtures into a board.
func New(board *admin.Service) *Service { return &Service{board} }

// LoadFixture loads a fixture, see Fixture, for demos and to move a forum here. It
// reads as a stream: a fixture may be larger than memory. progress is called
// now and then with what is done of a part, posts being one. What it returns
// are the tokens made, in their order: with an error, those made before it.
//
// What is there already (a user, a group, a forum of the same name) is kept,
// so that names may refer to it. How much of a fixture was loaded is noted with
// what was loaded, under the digest of its first megabyte: a fixture that was
// interrupted goes on, and one that was loaded is not loaded again.
func (s *Service) LoadFixture(ctx context.Context, from io.Reader, progress func(part string, done int)) (tokens []MadeToken, err error) {
	text := bufio.NewReaderSize(from, SeedHead)
	head, err := text.Peek(SeedHead)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, kernel.Wrap("the fixture", err)
	}
	digest := sha256.Sum256(head)
	sd := &seeder{
		service: s, ctx: ctx, progress: progress, fixture: hex.EncodeToString(digest[:16]), done: make(map[string]int),
		users: make(map[string]author), forums: make(map[string]int64), prefixes: make(map[string]int64), tokens: []MadeToken{},
	}
	if err := sd.resume(); err != nil {
		return nil, err
	}
	d := json.NewDecoder(text)
	d.DisallowUnknownFields()
	if err := expect(d, '{'); err != nil {
		return nil, err
	}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return sd.tokens, kernel.Wrap("the fixture", err)
		}
		if err := sd.part(d, token.(string)); err != nil {
			return sd.tokens, fmt.Errorf("%s: %w", token, err)
		}
	}
	return sd.tokens, expect(d, '}')
}

// Fixture documents what LoadFixture reads: one JSON object whose members come in this
// order, each optional. Names refer to members before. docs/board-fixture.md
// has it for those who write one.
type Fixture struct {
	Groups    []SeedGroup     `json:"groups"`
	Users     []SeedUser      `json:"users"`
	Forums    []SeedForum     `json:"forums"`
	Overrides []SeedOverride  `json:"overrides"`
	Mods      []SeedModerator `json:"moderators"`
	Prefixes  []SeedPrefix    `json:"prefixes"`
	Threads   []SeedThread    `json:"threads"`
	Tokens    []SeedToken     `json:"tokens"`
}

// SeedGroup is a group; rights are the words of the permission masks.
type SeedGroup struct {
	Name        string   `json:"name"`
	Allow       []string `json:"allow"`
	Restrict    []string `json:"restrict"`
	EditWindow  *int64   `json:"editWindowMinutes"` // default 1440; 0: no limit
	PostsPerDay int64    `json:"postsPerDay"`
}

// SeedUser is a member.
type SeedUser struct {
	Name      string   `json:"name"`
	Email     string   `json:"email"`
	Confirmed bool     `json:"emailConfirmed"` // mails go there
	Password  string   `json:"password"`       // empty: none
	Groups    []string `json:"groups"`         // default: registered
	State     string   `json:"state"`          // default: active
	Moderated bool     `json:"moderated"`
	Posts     int64    `json:"posts"` // counted as posted before

	JoinedAt time.Time `json:"joinedAt"` // default: now
	Title    string    `json:"title"`
	Bio      string    `json:"bio"`
}

// SeedForum is a forum, category or link.
type SeedForum struct {
	Slug            string  `json:"slug"`
	Title           string  `json:"title"`
	Parent          string  `json:"parent"` // slug; empty: a root
	Type            string  `json:"type"`   // default: forum
	Description     string  `json:"description"`
	LinkURL         *string `json:"linkUrl"`
	Closed          bool    `json:"closed"`
	ModerateThreads bool    `json:"moderateThreads"`
	ModeratePosts   bool    `json:"moderatePosts"`
	RequiresPrefix  bool    `json:"requiresPrefix"`
	FloodSeconds    *int64  `json:"floodSeconds"`
	MinWords        int64   `json:"minWords"`
	MaxWords        int64   `json:"maxWords"`
}

// SeedOverride changes the rights of a group in a forum and those below.
type SeedOverride struct {
	Forum string   `json:"forum"`
	Group string   `json:"group"`
	Allow []string `json:"allow"`
	Deny  []string `json:"deny"`
}

// SeedModerator gives a member or a group rights in a forum.
type SeedModerator struct {
	Forum    string   `json:"forum"`
	User     string   `json:"user"`
	Group    string   `json:"group"`
	Rights   []string `json:"rights"`
	Cascades bool     `json:"cascades"`
}

// SeedPrefix is a prefix of threads and the forums that offer it.
type SeedPrefix struct {
	Label  string   `json:"label"`
	Forums []string `json:"forums"`
}

// SeedThread is a thread with its posts, the first one first.
type SeedThread struct {
	Forum  string     `json:"forum"`
	Title  string     `json:"title"`
	Prefix string     `json:"prefix"` // label
	Sticky bool       `json:"sticky"`
	Locked bool       `json:"locked"`
	Views  int64      `json:"views"`
	Posts  []SeedPost `json:"posts"`
}

// SeedPost is a post, by a member or by someone who has no account any more.
type SeedPost struct {
	Author     string    `json:"author"`
	Guest      string    `json:"guest"` // a name, instead of author
	Message    string    `json:"message"`
	At         time.Time `json:"at"`         // default: now
	Visibility string    `json:"visibility"` // visible, unapproved or deleted; default: visible
	EditedAt   time.Time `json:"editedAt"`   // default: never
	EditedBy   string    `json:"editedBy"`   // a name; default: the author
	EditReason string    `json:"editReason"`
}

// SeedToken is a token to be made.
type SeedToken struct {
	User   string   `json:"user"`
	Name   string   `json:"name"`
	Scopes []string `json:"scopes"` // default: all
	Days   int      `json:"days"`   // 0: for ever
}

// MadeToken is a token that was made. Members may have tokens of the same name.
type MadeToken struct {
	User  string `json:"user"`
	Name  string `json:"name"`
	Token string `json:"token"`
}

// seeder loads one fixture.
type seeder struct {
	service  *Service
	ctx      context.Context //nolint:containedctx // a seeder is one run
	progress func(part string, done int)
	fixture  string
	done     map[string]int // elements of each part that are in
	users    map[string]author
	forums   map[string]int64
	prefixes map[string]int64
	made     []MadeToken // in the transaction that runs
	tokens   []MadeToken // for good
}

type author struct {
	id   int64 // 0: without an account
	name string
}

// resume reads what was loaded of the fixture before.
func (sd *seeder) resume() error {
	return sd.service.Read(sd.ctx, func(c store.Conn) error {
		return c.All("SELECT part, done FROM board_seeds WHERE fixture = ?", []any{sd.fixture}, func(r store.Row) error {
			var part string
			var done int
			err := r.Scan(&part, &done)
			sd.done[part] = done
			return err
		})
	})
}

// note keeps how much of a part is in, in the transaction that adds it.
func (sd *seeder) note(c store.Conn, part string, done int) error {
	_, err := c.Exec("INSERT INTO board_seeds (fixture, part, done) VALUES (?, ?, ?) ON CONFLICT (fixture, part) DO UPDATE SET done = excluded.done", sd.fixture, part, done)
	return err
}

func expect(d *json.Decoder, want json.Delim) error {
	token, err := d.Token()
	if err != nil {
		return kernel.Wrap("the fixture", err)
	}
	if token != want {
		return fmt.Errorf("the fixture: expected %q at byte %d", want, d.InputOffset())
	}
	return nil
}

func (sd *seeder) part(d *json.Decoder, name string) error {
	switch name {
	case "groups":
		return stream(sd, d, name, sd.group)
	case "users":
		return stream(sd, d, name, sd.user)
	case "forums":
		return stream(sd, d, name, sd.forum)
	case "overrides":
		return stream(sd, d, name, sd.override)
	case "moderators":
		return stream(sd, d, name, sd.moderator)
	case "prefixes":
		return stream(sd, d, name, sd.prefix)
	case "threads":
		return sd.threads(d)
	case "tokens":
		return stream(sd, d, name, sd.token)
	}
	return errors.New("there is no such part of a fixture")
}

// stream reads an array and adds its elements in batches.
func stream[T any](sd *seeder, d *json.Decoder, name string, add func(c store.Conn, element T) error) error {
	if err := expect(d, '['); err != nil {
		return err
	}
	seen := 0
	for d.More() {
		var batch []T
		for d.More() && len(batch) < seedBatch {
			var element T
			seen++
			if err := d.Decode(&element); err != nil {
				return fmt.Errorf("element %d: %w", seen, err)
			}
			if seen > sd.done[name] {
				batch = append(batch, element)
			}
		}
		if len(batch) == 0 {
			continue
		}
		before := seen - len(batch)
		err := sd.service.Write(sd.ctx, func(c store.Conn) error {
			sd.made = nil
			for i, element := range batch {
				if err := add(c, element); err != nil {
					return fmt.Errorf("element %d: %w", before+i+1, err)
				}
			}
			if err := rights.BumpPermissions(c); err != nil {
				return err
			}
			return sd.note(c, name, seen)
		})
		if err != nil {
			return err
		}
		sd.tokens = append(sd.tokens, sd.made...)
		sd.progress(name, seen)
	}
	return expect(d, ']')
}
