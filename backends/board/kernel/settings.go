package kernel

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/ratelimit"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// The values of Settings.Registration: whether and how members can join.
const (
	RegistrationOpen     = "open"     // members join at once
	RegistrationApproval = "approval" // an administrator approves each new member
	RegistrationClosed   = "closed"   // nobody can join
)

// The values of Settings.Tags: where the tags of threads come from.
const (
	TagsList = "list" // authors choose among the tags of administrators
	TagsFree = "free" // authors may write any tag
)

// Settings holds the values that administrators can set for the whole board. A change takes effect with the next
// request, on every node.
type Settings struct {
	Name           string
	Description    string
	Registration   string
	Offline        bool
	OfflineMessage string
	Images         bool
	Tags           string
	Polls          bool

	MinTitle, MaxTitle     int64 // characters
	MinMessage, MaxMessage int64 // characters
	MaxWords               int64
	DuplicateSeconds       int64
	EditGraceSeconds       int64

	ConfirmMail    bool   // new members must first open a link that is mailed to them
	ReservedNames  string // names that new members cannot choose, one on each line
	FormSeconds    int64  // a registration form sent fewer seconds after the request of its page is refused; 0: no limit
	NetworkMembers int64  // members who may join from one network per day; 0: no limit
	Question       string // a question that new members must answer; empty: no question
	Answers        string // the accepted answers, one on each line

	HoldFirst      int64 // the number of first posts of each member that are held
	NewMemberPosts int64 // a member with fewer visible posts counts as new
	NewMemberLinks int64 // a post of a new member with more links is held
	NewMemberTwice int64 // a new member's post is held if one of this many newest posts has the same text; 0: not held

	WarningDays        int64 // the default number of days for which a warning counts
	WarningHold        int64 // points from which all posts of a member are held; 0: never
	WarningSuspend     int64 // points from which a member is suspended; 0: never
	WarningSuspendDays int64

	Flood           bool  // whether the flood control is on
	FloodPosts      int64 // posts that a member may send at once
	FloodSeconds    int64 // until one more post is allowed; 0: no limit
	NewFloodPosts   int64 // like FloodPosts, for new members
	NewFloodSeconds int64 // like FloodSeconds, for new members
	EditsPerMinute  int64 // 0: no limit
	// ReactionsPerMinute limits reactions and votes in polls together; 0: no limit.
	ReactionsPerMinute int64
	ThreadsPerHour     int64 // 0: no limit
	PostsPerHour       int64 // 0: no limit

	Reactions string // the reactions that members can give to posts, one on each line; empty: none

	MaxTokens int64 // the number of valid API tokens that one member may have
	TokenDays int64 // the default number of days for which a new token is valid

	MaxAttachments int64 // per post
	AttachmentKiB  int64 // size of one attachment
	MemberMiB      int64 // size of all attachments of one member
}

// SeedRules are the settings that check the titles and messages of fixtures.
var SeedRules = DefaultSettings(Options{})

// DefaultSettings returns the settings of a board on which administrators have changed nothing. Options of the
// configuration set some of the values.
func DefaultSettings(o Options) Settings {
	return Settings{
		Name: "Board", Registration: RegistrationOpen, OfflineMessage: "The board is offline for maintenance.",
		Images: true, Tags: TagsList, Polls: true,
		MinTitle: 3, MaxTitle: 120, MinMessage: 2, MaxMessage: 30_000, MaxWords: 5_000, DuplicateSeconds: 60,
		EditGraceSeconds: 300,
		ConfirmMail:      true, FormSeconds: 3, NetworkMembers: 20,
		HoldFirst: o.HoldFirst, NewMemberPosts: 3, NewMemberLinks: 2, NewMemberTwice: 200,
		WarningDays: 90, WarningHold: 3, WarningSuspend: 6, WarningSuspendDays: 7,
		Flood: !o.NoFlood, FloodPosts: 5, FloodSeconds: 15, NewFloodPosts: 2, NewFloodSeconds: 60, EditsPerMinute: 10,
		ReactionsPerMinute: 30, ThreadsPerHour: 10, PostsPerHour: 60,
		Reactions: "👍 Like\n🙏 Thanks\n😄 Funny\n🤝 Agree",
		MaxTokens: 10, TokenDays: 90,
		MaxAttachments: 10, AttachmentKiB: 10 << 10, MemberMiB: 500,
	}
}

// The values of Setting.Kind.
const (
	KindLine   = "line"
	KindText   = "text" // of several lines
	KindNumber = "number"
	KindFlag   = "flag"
	KindChoice = "choice"
)

// Setting describes one setting: how it is stored, checked and shown in the form.
type Setting struct {
	Name    string // in the table board_settings and in forms
	Section string // the heading above the setting in the form
	Label   string
	Hint    string   // explains the setting in the form; may be empty
	Kind    string   // KindLine, …
	Min     int64    // the lowest number, or the lowest number of characters of a text
	Max     int64    // the highest number, or the highest number of characters of a text
	Choices []string // the possible values, for KindChoice

	// field returns a pointer to the setting's field of Settings: a *string, *int64 or *bool.
	field func(*Settings) any
}

// Value returns the value of this setting in settings as text. A flag is "1" or empty.
func (s *Setting) Value(settings *Settings) string {
	switch v := s.field(settings).(type) {
	case *string:
		return *v
	case *int64:
		return Itoa(*v)
	case *bool:
		if *v {
			return "1"
		}
	}
	return ""
}

// Put parses value and stores it in settings. If value is out of bounds, Put returns an error of Invalid and does not
// change settings.
func (s *Setting) Put(settings *Settings, value string) error {
	switch v := s.field(settings).(type) {
	case *string:
		value = text.Lines(value)
		n := int64(utf8.RuneCountInString(value))
		switch {
		case s.Kind == KindChoice && !slices.Contains(s.Choices, value):
			return Invalid(s.Name, "unknown", s.Label+": choose one of "+strings.Join(s.Choices, ", "))
		case s.Kind != KindChoice && (n < s.Min || n > s.Max):
			return Invalid(s.Name, "length", s.Label+": must have "+Itoa(s.Min)+" to "+Itoa(s.Max)+" characters")
		case s.Kind == KindLine && !text.IsLine(value), !text.IsPlain(value):
			return Invalid(s.Name, "control_character", s.Label+": must not have control characters")
		}
		*v = value
	case *int64:
		n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		if err != nil || n < s.Min || n > s.Max {
			return Invalid(s.Name, "range", s.Label+": must be a whole number from "+Itoa(s.Min)+" to "+Itoa(s.Max))
		}
		*v = n
	case *bool:
		*v = value == "1"
	}
	return nil
}

// AllSettings describes all settings, in the order in which the form shows them.
func AllSettings() []Setting {
	const general, joining, texts, newcomers, warnings, flood, tokens, files = "Board", "Joining", "Texts", "New members",
		"Warnings", "Flood control", "Tokens", "Attachments"
	number := func(section, name, label, hint string, minimum, maximum int64, field func(*Settings) *int64) Setting {
		return Setting{
			Name: name, Section: section, Label: label, Hint: hint, Kind: KindNumber, Min: minimum, Max: maximum,
			field: func(s *Settings) any { return field(s) },
		}
	}
	flag := func(section, name, label, hint string, field func(*Settings) *bool) Setting {
		return Setting{
			Name: name, Section: section, Label: label, Hint: hint, Kind: KindFlag,
			field: func(s *Settings) any { return field(s) },
		}
	}
	return []Setting{
		{
			Name: "name", Section: general, Label: "Name", Kind: KindLine, Min: 1, Max: 80,
			field: func(s *Settings) any { return &s.Name },
		},
		{
			Name: "description", Section: general, Label: "Description", Hint: "One line below the name.", Kind: KindLine,
			Max: 200, field: func(s *Settings) any { return &s.Description },
		},
		{
			Name: "registration", Section: general, Label: "Registration",
			Hint: "Open: members join at once. Approval: an administrator approves each new member. Closed: nobody can join.",
			Kind: KindChoice, Choices: []string{RegistrationOpen, RegistrationApproval, RegistrationClosed},
			field: func(s *Settings) any { return &s.Registration },
		},
		flag(general, SettingOffline, "Offline",
			"Only members with the right to see an offline board can use it; others get status 503.",
			func(s *Settings) *bool { return &s.Offline }),
		{
			Name: "offline_message", Section: general, Label: "Message while offline", Kind: KindText, Max: 1000,
			field: func(s *Settings) any { return &s.OfflineMessage },
		},
		{
			Name: "tags", Section: general, Label: "Tags of threads",
			Hint: "List: authors choose among the tags of administrators. Free: authors may write any tag.",
			Kind: KindChoice, Choices: []string{TagsList, TagsFree}, field: func(s *Settings) any { return &s.Tags },
		},
		flag(general, "polls", "Polls", "The author of a new thread may add a poll. If this is off, existing polls stay.",
			func(s *Settings) *bool { return &s.Polls }),
		flag(general, "images", "Images in posts",
			"Posts may show images from https addresses. A change applies to new posts.",
			func(s *Settings) *bool { return &s.Images }),

		flag(joining, "confirm_mail", "New members confirm their mail address",
			"New members must first open a link that is mailed to them. If this is off, they join at once, but get no other"+
				" mails before they open the link. Has no effect on a board that sends no mails.",
			func(s *Settings) *bool { return &s.ConfirmMail }),
		number(joining, "form_seconds", "Shortest time to fill in the form",
			"Seconds. A form that is sent sooner is refused, because programs send forms at once. 0: no limit.",
			0, 60, func(s *Settings) *int64 { return &s.FormSeconds }),
		number(joining, "network_members", "New members of one network a day",
			"A network is a /24 of IPv4 or a /56 of IPv6 addresses. 0: no limit.",
			0, 10_000, func(s *Settings) *int64 { return &s.NetworkMembers }),
		{
			Name: "question", Section: joining, Label: "Question to new members",
			Hint: "Choose a question that your members can answer and programs cannot. Empty: no question.",
			Kind: KindLine, Max: 200, field: func(s *Settings) any { return &s.Question },
		},
		{
			Name: "answers", Section: joining, Label: "Right answers",
			Hint: "One on each line. Case, spaces and punctuation are ignored.",
			Kind: KindText, Max: 1000, field: func(s *Settings) any { return &s.Answers },
		},
		{
			Name: "reserved_names", Section: joining, Label: "Reserved names",
			Hint: "One on each line. New members cannot choose these names or names that look like them. Names such as admin," +
				" moderator and support are always reserved.",
			Kind: KindText, Max: 4000, field: func(s *Settings) any { return &s.ReservedNames },
		},

		number(texts, "title_min", "Shortest title", "Characters.",
			1, 120, func(s *Settings) *int64 { return &s.MinTitle }),
		number(texts, "title_max", "Longest title", "Characters.", 10, 250, func(s *Settings) *int64 { return &s.MaxTitle }),
		number(texts, "message_min", "Shortest message", "Characters.",
			1, 1000, func(s *Settings) *int64 { return &s.MinMessage }),
		number(texts, "message_max", "Longest message", "Characters.",
			100, 60_000, func(s *Settings) *int64 { return &s.MaxMessage }),
		number(texts, "words_max", "Most words of a message", "A forum may set a lower limit.",
			10, MaxWords, func(s *Settings) *int64 { return &s.MaxWords }),
		number(texts, "duplicate_seconds", "Same text twice",
			"A text that its author repeats in the same thread within this many seconds is refused; 0: allowed.",
			0, 86_400, func(s *Settings) *int64 { return &s.DuplicateSeconds }),
		number(texts, "edit_grace_seconds", "Edits without a note",
			"An edit by the author within this many seconds of posting is not shown.",
			0, 86_400, func(s *Settings) *int64 { return &s.EditGraceSeconds }),
		{
			Name: "reactions", Section: texts, Label: "Reactions to posts",
			Hint: "One on each line, at most 8, each of up to 20 characters. Empty: no reactions. Posts keep reactions that" +
				" you remove here.",
			Kind: KindText, Max: 200, field: func(s *Settings) any { return &s.Reactions },
		},

		number(newcomers, "hold_first", "Hold the first posts", "This many first posts of each member wait for approval.",
			0, 1000, func(s *Settings) *int64 { return &s.HoldFirst }),
		number(newcomers, "new_member_posts", "A member is new below",
			"A member with fewer visible posts is new. The limits below and the flood control for new members then apply.",
			0, 1000, func(s *Settings) *int64 { return &s.NewMemberPosts }),
		number(newcomers, "new_member_links", "Links of a new member",
			"A post of a new member with more links waits for approval.",
			0, 100, func(s *Settings) *int64 { return &s.NewMemberLinks }),

		number(newcomers, "new_member_twice", "Same text by a new member",
			"A post waits for approval if one of this many newest posts of the board has the same text; 0: not compared. Texts"+
				" with fewer than 20 characters are not compared.",
			0, 1000, func(s *Settings) *int64 { return &s.NewMemberTwice }),

		number(warnings, "warning_days", "Days a warning counts", "The default in the form for a warning; 0: for ever.",
			0, 3650, func(s *Settings) *int64 { return &s.WarningDays }),
		number(warnings, "warning_hold", "Points that hold posts", "From this many points, all posts of the member wait for"+
			" approval; 0: never. A change applies with the member's next warning.",
			0, 1000, func(s *Settings) *int64 { return &s.WarningHold }),
		number(warnings, "warning_suspend", "Points that suspend",
			"From this many points, the member may read but not write; 0: never.",
			0, 1000, func(s *Settings) *int64 { return &s.WarningSuspend }),
		number(warnings, "warning_suspend_days", "Days of a suspension", "",
			1, 3650, func(s *Settings) *int64 { return &s.WarningSuspendDays }),

		flag(flood, "flood", "Flood control", "", func(s *Settings) *bool { return &s.Flood }),
		number(flood, "flood_posts", "Posts at once", "", 1, 1000, func(s *Settings) *int64 { return &s.FloodPosts }),
		number(flood, "flood_seconds", "One more after", "Seconds; a forum may set another time; 0: no limit.",
			0, 86_400, func(s *Settings) *int64 { return &s.FloodSeconds }),
		number(flood, "new_flood_posts", "New members: posts at once", "",
			1, 1000, func(s *Settings) *int64 { return &s.NewFloodPosts }),
		number(flood, "new_flood_seconds", "New members: one more after", "Seconds; 0: no limit.",
			0, 86_400, func(s *Settings) *int64 { return &s.NewFloodSeconds }),
		number(flood, "edits_per_minute", "Edits a minute", "0: no limit.",
			0, 1000, func(s *Settings) *int64 { return &s.EditsPerMinute }),
		number(flood, "reactions_per_minute", "Reactions and votes a minute", "0: no limit.",
			0, 1000, func(s *Settings) *int64 { return &s.ReactionsPerMinute }),
		number(flood, "threads_per_hour", "Threads an hour", "0: no limit.",
			0, 10_000, func(s *Settings) *int64 { return &s.ThreadsPerHour }),
		number(flood, "posts_per_hour", "Posts an hour", "0: no limit.",
			0, 10_000, func(s *Settings) *int64 { return &s.PostsPerHour }),

		number(tokens, "tokens_max", "Tokens of a member", "The maximum number of valid tokens.",
			0, 100, func(s *Settings) *int64 { return &s.MaxTokens }),
		number(tokens, "token_days", "Days a token lasts", "The default in the form for a new token.",
			1, 3650, func(s *Settings) *int64 { return &s.TokenDays }),

		number(files, "attachments_max", "Attachments of a post", "The maximum number; 0: no attachments.",
			0, 100, func(s *Settings) *int64 { return &s.MaxAttachments }),
		number(files, "attachment_kib", "Largest attachment", "KiB.",
			1, MaxAttachmentKiB, func(s *Settings) *int64 { return &s.AttachmentKiB }),
		number(files, "member_mib", "Attachments of a member", "MiB in total; 0: no limit.",
			0, 1_000_000, func(s *Settings) *int64 { return &s.MemberMiB }),
	}
}

// LoadSettings returns the stored settings. defaults holds the values of settings that are not stored or whose stored
// value is no longer valid; callers usually pass DefaultSettings.
func LoadSettings(c store.Conn, defaults Settings) (Settings, error) {
	settings := defaults
	stored := make(map[string]string) // the values, by name
	err := c.All("SELECT name, value FROM board_settings", nil, func(r store.Row) error {
		var name, value string
		err := r.Scan(&name, &value)
		stored[name] = value
		return err
	})
	for _, setting := range AllSettings() {
		if value, ok := stored[setting.Name]; ok {
			_ = setting.Put(&settings, value) // a value that is no longer within the bounds is ignored
		}
	}
	return settings, err
}

// Tag returns the entity tag of the settings, which changes whenever a setting changes.
func (s *Settings) Tag() string { return Tag(s) }

// Contradictions returns an error for each setting whose value is valid alone but contradicts another setting.
func (s *Settings) Contradictions() (wrong []error) {
	if s.MinTitle > s.MaxTitle {
		wrong = append(wrong, Invalid("title_min", "range", "Shortest title: must not be longer than the longest title"))
	}
	if s.MinMessage > s.MaxMessage {
		wrong = append(wrong, Invalid("message_min", "range",
			"Shortest message: must not be longer than the longest message"))
	}
	if s.Question != "" && strings.TrimSpace(s.Answers) == "" {
		wrong = append(wrong, Invalid("answers", "required", "Right answers: enter at least one answer to the question"))
	}
	isLong := func(kind string) bool { return utf8.RuneCountInString(kind) > 20 }
	if kinds := s.ReactionKinds(); len(kinds) > 8 || slices.ContainsFunc(kinds, isLong) {
		wrong = append(wrong, Invalid("reactions", "length", "Reactions to posts: at most 8, each of up to 20 characters"))
	}
	return wrong
}

// ReactionKinds returns the reactions that members can give, in the order in which they are shown.
func (s *Settings) ReactionKinds() (kinds []string) {
	for line := range strings.Lines(s.Reactions) {
		if kind := strings.TrimSpace(line); kind != "" && !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// OfflineAnswer returns the error (status 503) that answers requests while the board is offline.
func (s *Settings) OfflineAnswer() error {
	return &apierror.Error{
		Status: http.StatusServiceUnavailable, Code: "board_offline", RetryAfter: offlineRetry,
		Message: cmp.Or(s.OfflineMessage, "the board is offline"),
	}
}

// FloodFor returns the rate limit of posts for a member. posts is the number of the member's visible posts, which
// decides whether the member is new.
func (s *Settings) FloodFor(posts int64) ratelimit.Limit {
	if posts < s.NewMemberPosts {
		return ratelimit.Limit{Burst: s.NewFloodPosts, Interval: time.Duration(s.NewFloodSeconds) * time.Second}
	}
	return ratelimit.Limit{Burst: s.FloodPosts, Interval: time.Duration(s.FloodSeconds) * time.Second}
}

// StoredSetting returns the value with this name in the table board_settings, or an empty string if there is no such
// row.
func StoredSetting(c store.Conn, name string) (value string, err error) {
	err = c.Row("SELECT value FROM board_settings WHERE name = ?", name).Scan(&value)
	return value, IgnoreNoRows(err)
}

// LockSetting works like StoredSetting, and locks the row until the transaction ends. A missing row is added with the
// value 0.
func LockSetting(c store.Conn, name string) (value string, err error) {
	if _, err := c.Exec("INSERT INTO board_settings (name, value) VALUES (?, '0') ON CONFLICT (name) DO NOTHING",
		name); err != nil {
		return "", err
	}
	return value, c.Row("SELECT value FROM board_settings WHERE name = ?"+c.Lock(), name).Scan(&value)
}

// The names of some rows in the table board_settings.
const (
	SettingSecret  = "cursor_secret"
	SettingOffline = "offline"
)

// MaxAttachmentKiB is the largest size, in KiB, that administrators can allow for an attachment.
const MaxAttachmentKiB = 100 << 10

// offlineRetry is the Retry-After of answers while the board is offline.
const offlineRetry = 5 * time.Minute
