// Package seed fills a board with content: fixtures for demos, and forums that were exported from other software.
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

	"github.com/tollgate-gateway/tollgate/backends/board/accounts"
	"github.com/tollgate-gateway/tollgate/backends/board/attachments"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

const (
	seedBatch = 200     // elements in one transaction
	SeedHead  = 1 << 20 // the first bytes of a fixture, whose digest identifies it

	partThreads = "threads"
)

// Service loads fixtures into a board.
type Service struct {
	*kernel.Server
	accounts    *accounts.Service
	attachments *attachments.Service
}

// Options are the callbacks of LoadFixture, which calls them from its caller's goroutine.
type Options struct {
	// Progress is called from time to time with the name of a part of the fixture and the number of its elements that
	// are loaded. Posts are reported as a part, too. A nil Progress is not called.
	Progress func(part string, done int)
	// Refused is called with the error of an element that breaks a rule or refers to something that does not exist. The
	// element is left out, and the rest is loaded. If Refused is nil, the first such element ends LoadFixture with an
	// error.
	Refused func(reason error)
}

// New returns a Service that loads content into a board.
func New(board *kernel.Server, members *accounts.Service, files *attachments.Service) *Service {
	return &Service{Server: board, accounts: members, attachments: files}
}

// LoadFixture loads a fixture, whose format Fixture documents. It reads the fixture as a stream, so a fixture may be
// larger than memory. It returns the created tokens in the order of the fixture, even if it also returns an error. The
// error names the line and number of the refused element, and a refused thread's title.
//
// A user, group or forum whose name exists on the board already is not changed, and the fixture may refer to it. Each
// transaction also records how much of the fixture is loaded, under the digest of the fixture's first megabyte. When an
// interrupted fixture is loaded again, loading continues where it ended. A fixture that is loaded completely is not
// loaded again.
func (s *Service) LoadFixture(ctx context.Context, r io.Reader, o Options) (tokens []MadeToken, err error) {
	buffered := bufio.NewReaderSize(r, SeedHead)
	head, err := buffered.Peek(SeedHead)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, kernel.Wrap("the fixture", err)
	}
	digest := sha256.Sum256(head)
	sd := &seeder{
		service: s, ctx: ctx, Options: o, lines: &lineReader{from: buffered}, fixture: hex.EncodeToString(digest[:16]),
		done:  make(map[string]int),
		users: make(map[string]author), forums: make(map[string]int64), prefixes: make(map[string]int64),
		tokens: []MadeToken{},
	}
	if err := sd.resume(); err != nil {
		return nil, err
	}
	d := json.NewDecoder(sd.lines)
	if err := expect(d, '{'); err != nil {
		return nil, err
	}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return sd.tokens, kernel.Wrap("the fixture", err)
		}
		sd.name = token.(string) // the decoder returns only texts as names of members
		if err := sd.part(d); err != nil {
			return sd.tokens, fmt.Errorf("%s: %w", token, err)
		}
	}
	return sd.tokens, expect(d, '}')
}

// Fixture documents the format that LoadFixture reads: one JSON object whose optional members come in this order. Names
// may refer to elements that come earlier. docs/board-fixture.md describes the format for authors of fixtures.
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

// SeedGroup is a group. Its rights are names of rights.MaskNames, such as forum.view.
type SeedGroup struct {
	Name        string   `json:"name"`
	Allow       []string `json:"allow"`
	Restrict    []string `json:"restrict"`
	EditWindow  *int64   `json:"editWindowMinutes"` // default 1440; 0 means no limit
	PostsPerDay int64    `json:"postsPerDay"`
}

// SeedUser is a member.
type SeedUser struct {
	Name      string   `json:"name"`
	Email     string   `json:"email"`
	Confirmed bool     `json:"emailConfirmed"` // mails are sent to Email
	Password  string   `json:"password"`       // empty means none
	Groups    []string `json:"groups"`         // default: registered
	State     string   `json:"state"`          // default: active
	Moderated bool     `json:"moderated"`
	Posts     int64    `json:"posts"` // added to the post count

	JoinedAt time.Time `json:"joinedAt"` // default: now
	Title    string    `json:"title"`
	Bio      string    `json:"bio"`
}

// SeedForum is a forum, category or link.
type SeedForum struct {
	Slug            string  `json:"slug"`
	Title           string  `json:"title"`
	Parent          string  `json:"parent"` // slug; empty means a root
	Type            string  `json:"type"`   // default: forum
	Description     string  `json:"description"`
	LinkURL         *string `json:"linkUrl"`
	Closed          bool    `json:"closed"`
	ModerateThreads bool    `json:"moderateThreads"`
	ModeratePosts   bool    `json:"moderatePosts"`
	RequiresPrefix  bool    `json:"requiresPrefix"`
	Answers         bool    `json:"answers"`
	FloodSeconds    *int64  `json:"floodSeconds"`
	MinWords        int64   `json:"minWords"`
	MaxWords        int64   `json:"maxWords"`
}

// SeedOverride changes the rights of a group in a forum and the forums below it.
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

// SeedPrefix is a prefix of threads, with the forums that offer it.
type SeedPrefix struct {
	Label  string   `json:"label"`
	Forums []string `json:"forums"`
}

// SeedThread is a thread with its posts in their order.
type SeedThread struct {
	Forum  string     `json:"forum"`
	Title  string     `json:"title"`
	Prefix string     `json:"prefix"` // its label
	Sticky bool       `json:"sticky"`
	Locked bool       `json:"locked"`
	Views  int64      `json:"views"`
	Posts  []SeedPost `json:"posts"`

	Moved *MovedThread `json:"-"` // nil in a fixture
}

// SeedPost is a post by a member, or by a name that no longer has an account.
type SeedPost struct {
	Author     string    `json:"author"`
	Guest      string    `json:"guest"` // the name of an author without an account, instead of Author
	Message    string    `json:"message"`
	At         time.Time `json:"at"`         // default: now
	Visibility string    `json:"visibility"` // visible, unapproved or deleted; default: visible
	EditedAt   time.Time `json:"editedAt"`   // default: never
	EditedBy   string    `json:"editedBy"`   // a name; default: the author
	EditReason string    `json:"editReason"`

	Moved       int64 `json:"-"` // its id in another program; 0 in a fixture
	MovedAuthor int64 `json:"-"` // the author's id in the other program; 0 means a guest
	MovedNumber int64 `json:"-"` // the post's number in the thread there; 0: unknown

	Likes []int64 `json:"-"` // the ids there of members who like the post
}

// SeedToken is a token to be created.
type SeedToken struct {
	User   string   `json:"user"`
	Name   string   `json:"name"`
	Scopes []string `json:"scopes"` // default: all
	Days   int      `json:"days"`   // 0 means that it does not expire
}

// MadeToken is a token that was created. A member may have several tokens of the same name.
type MadeToken struct {
	User  string `json:"user"`
	Name  string `json:"name"`
	Token string `json:"token"`
}

// seeder is one run of LoadFixture.
type seeder struct {
	Options

	service     *Service
	ctx         context.Context // a seeder is one run
	lines       *lineReader
	fixture     string            // identifies the fixture or import in board_seeds
	name        string            // name of the part that is being loaded, such as "users"
	done        map[string]int    // how many elements of each part earlier runs have loaded
	program     string            // the imported program; empty for a fixture
	users       map[string]author // a cache of members by their names in the fixture
	forums      map[string]int64  // a cache of ids by slug
	prefixes    map[string]int64  // a cache of ids by label
	uncommitted []MadeToken       // created in the running transaction
	tokens      []MadeToken       // created in committed transactions

	movedForums  map[int64]int64  // new ids by ids in the other program
	movedAuthors map[int64]author // by ids in the other program
}

// author is the author of a post.
type author struct {
	id   int64 // 0 means that there is no account
	name string
}

// resume reads how many elements of each part earlier runs have loaded.
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

// note records that done elements of a part are loaded. It runs in the transaction that adds them.
func (sd *seeder) note(c store.Conn, part string, done int) error {
	_, err := c.Exec("INSERT INTO board_seeds (fixture, part, done) VALUES (?, ?, ?) ON CONFLICT (fixture, part)"+
		" DO UPDATE SET done = excluded.done", sd.fixture, part, done)
	return err
}

// expect reads the next token, and returns an error if it is not delim.
func expect(d *json.Decoder, delim json.Delim) error {
	token, err := d.Token()
	if err != nil {
		return kernel.Wrap("the fixture", err)
	}
	if token != delim {
		return fmt.Errorf("the fixture: expected %q at byte %d", delim, d.InputOffset())
	}
	return nil
}

// part loads the part sd.name, whose value is the next one in d.
func (sd *seeder) part(d *json.Decoder) error {
	switch sd.name {
	case "groups":
		return stream(sd, d, sd.group)
	case "users":
		return stream(sd, d, sd.user)
	case "forums":
		return stream(sd, d, sd.forum)
	case "overrides":
		return stream(sd, d, sd.override)
	case "moderators":
		return stream(sd, d, sd.moderator)
	case "prefixes":
		return stream(sd, d, sd.prefix)
	case partThreads:
		return sd.threads(d)
	case "tokens":
		return stream(sd, d, sd.token)
	}
	return errors.New("there is no such part of a fixture")
}

// decoded is an element of a fixture.
type decoded[T any] struct {
	place
	value T
}

// stream reads a JSON array from d, which is the part sd.name, and adds its elements in batches. It skips elements that
// earlier runs have loaded.
func stream[T any](sd *seeder, d *json.Decoder, add func(c store.Conn, element T) error) error {
	if err := expect(d, '['); err != nil {
		return err
	}
	var position place // of the last element that was read
	for d.More() {
		batch, err := readBatch[T](sd, d, &position)
		if err != nil {
			return err
		}
		if len(batch) == 0 {
			continue
		}
		err = sd.load(0, len(batch), func(start, end int) error { return addBatch(sd, batch[start:end], add) })
		if err != nil {
			return err
		}
		sd.progress(sd.name, position.number)
	}
	return expect(d, ']')
}

// readBatch reads up to seedBatch elements from d, and updates position to that of the last element that it has read.
// Elements that earlier runs have loaded or that are refused are left out.
func readBatch[T any](sd *seeder, d *json.Decoder, position *place) (batch []decoded[T], err error) {
	for d.More() && len(batch) < seedBatch {
		raw, err := sd.next(d, position)
		if err != nil {
			return nil, err
		}
		if position.number <= sd.done[sd.name] {
			continue
		}
		element := decoded[T]{place: *position}
		if err := decode(raw, &element.value); err == nil {
			batch = append(batch, element)
		} else if err := sd.refuse(position.wrap(err)); err != nil {
			return nil, err
		}
	}
	return batch, nil
}

// addBatch adds elements of the part sd.name in a transaction, and records that they are loaded.
func addBatch[T any](sd *seeder, batch []decoded[T], add func(c store.Conn, element T) error) error {
	err := sd.service.Write(sd.ctx, func(c store.Conn) error {
		sd.uncommitted = nil // the transaction may run again
		for _, element := range batch {
			if err := add(c, element.value); err != nil {
				return element.wrap(err)
			}
		}
		if err := rights.BumpPermissions(c); err != nil {
			return err
		}
		return sd.note(c, sd.name, batch[len(batch)-1].number)
	})
	if err == nil {
		sd.tokens = append(sd.tokens, sd.uncommitted...)
	}
	return err
}
