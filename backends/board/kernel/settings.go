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
	FormSeconds    int64  // a registration form sent sooner is refused; 0: no limit
	NetworkMembers int64  // members who may join from one network per day; 0: no limit
	Question       string // that new members must answer; empty: no question
	Answers        string // the accepted answers, one on each line

	HoldFirst      int64 // the number of first posts of each member that are held
	NewMemberPosts int64 // a member with fewer visible posts counts as new
	NewMemberLinks int64 // a post of a new member with more links is held
	NewMemberTwice int64 // a new member's post is held if it repeats one of this many newest posts; 0: not held

	WarningDays        int64 // the default number of days for which a warning counts
	WarningHold        int64 // points from which all posts of a member are held; 0: never
	WarningSuspend     int64 // points from which a member is suspended; 0: never
	WarningSuspendDays int64

	Flood           bool
	FloodPosts      int64 // allowed at once
	FloodSeconds    int64 // until one more is allowed
	NewFloodPosts   int64
	NewFloodSeconds int64
	EditsPerMinute  int64
	// ReactionsPerMinute limits reactions and votes in polls together; 0: no limit.
	ReactionsPerMinute int64
	ThreadsPerHour     int64
	PostsPerHour       int64

	Reactions string // that members can give to posts, one on each line; empty: none

	MaxTokens int64
	TokenDays int64

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
	Section string
	Label   string
	Hint    string
	Kind    string
	Min     int64 // the smallest number, or the smallest number of characters
	Max     int64
	Choices []string

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
			Hint: "Open: at once. Approval: an administrator lets each member in. Closed: nobody joins.",
			Kind: KindChoice, Choices: []string{RegistrationOpen, RegistrationApproval, RegistrationClosed},
			field: func(s *Settings) any { return &s.Registration },
		},
		flag(general, SettingOffline, "Offline", "Pages and API answer 503 to all but those who may see it.",
			func(s *Settings) *bool { return &s.Offline }),
		{
			Name: "offline_message", Section: general, Label: "Message while offline", Kind: KindText, Max: 1000,
			field: func(s *Settings) any { return &s.OfflineMessage },
		},
		{
			Name: "tags", Section: general, Label: "Tags of threads",
			Hint: "List: those that administrators have made. Free: authors write what they like.",
			Kind: KindChoice, Choices: []string{TagsList, TagsFree}, field: func(s *Settings) any { return &s.Tags },
		},
		flag(general, "polls", "Polls", "Whoever starts a thread may add one. Those that are there stay.",
			func(s *Settings) *bool { return &s.Polls }),
		flag(general, "images", "Images in posts", "Images from https addresses. Applies to new posts from then on.",
			func(s *Settings) *bool { return &s.Images }),

		flag(joining, "confirm_mail", "New members confirm their mail address",
			"They open a link that is mailed to them first. Otherwise they are in at once, and mails wait for that. Where no"+
				" mails are sent nothing is confirmed.", func(s *Settings) *bool { return &s.ConfirmMail }),
		number(joining, "form_seconds", "Shortest time to fill in the form",
			"Seconds. Programs send it at once; 0: no matter when.", 0, 60, func(s *Settings) *int64 { return &s.FormSeconds }),
		number(joining, "network_members", "New members of one network a day",
			"A network is 256 addresses of IPv4, or a /56 of IPv6. 0: no limit.",
			0, 10_000, func(s *Settings) *int64 { return &s.NetworkMembers }),
		{
			Name: "question", Section: joining, Label: "Question to new members",
			Hint: "One that your members can answer and programs cannot. Empty: none.",
			Kind: KindLine, Max: 200, field: func(s *Settings) any { return &s.Question },
		},
		{
			Name: "answers", Section: joining, Label: "Right answers",
			Hint: "One on each line. Capitals, spaces and signs do not count.",
			Kind: KindText, Max: 1000, field: func(s *Settings) any { return &s.Answers },
		},
		{
			Name: "reserved_names", Section: joining, Label: "Reserved names",
			Hint: "One on each line. Nobody registers with them or what looks like them, nor with admin, moderator, support" +
				" and the like.",
			Kind: KindText, Max: 4000, field: func(s *Settings) any { return &s.ReservedNames },
		},

		number(texts, "title_min", "Shortest title", "Characters.",
			1, 120, func(s *Settings) *int64 { return &s.MinTitle }),
		number(texts, "title_max", "Longest title", "Characters.", 10, 250, func(s *Settings) *int64 { return &s.MaxTitle }),
		number(texts, "message_min", "Shortest message", "Characters.",
			1, 1000, func(s *Settings) *int64 { return &s.MinMessage }),
		number(texts, "message_max", "Longest message", "Characters.",
			100, 60_000, func(s *Settings) *int64 { return &s.MaxMessage }),
		number(texts, "words_max", "Most words of a message", "A forum may set fewer.",
			10, MaxWords, func(s *Settings) *int64 { return &s.MaxWords }),
		number(texts, "duplicate_seconds", "Same text twice",
			"Refused in the same thread within so many seconds; 0: allowed.",
			0, 86_400, func(s *Settings) *int64 { return &s.DuplicateSeconds }),
		number(texts, "edit_grace_seconds", "Edits without a note", "Within so many seconds of posting.",
			0, 86_400, func(s *Settings) *int64 { return &s.EditGraceSeconds }),
		{
			Name: "reactions", Section: texts, Label: "Reactions to posts",
			Hint: "One on each line, at most 8 of up to 20 characters. Empty: none. One that is left out stays on posts that have it.",
			Kind: KindText, Max: 200, field: func(s *Settings) any { return &s.Reactions },
		},

		number(newcomers, "hold_first", "Hold the first posts", "So many posts of each member wait for approval.",
			0, 1000, func(s *Settings) *int64 { return &s.HoldFirst }),
		number(newcomers, "new_member_posts", "A member is new below",
			"Visible posts; limits below and the flood control for new members count until then.",
			0, 1000, func(s *Settings) *int64 { return &s.NewMemberPosts }),
		number(newcomers, "new_member_links", "Links of a new member", "More of them hold the post.",
			0, 100, func(s *Settings) *int64 { return &s.NewMemberLinks }),

		number(newcomers, "new_member_twice", "Same text by a new member",
			"Held where one of so many last posts of the board has it; 0: not held. Texts below 20 characters do not count.",
			0, 1000, func(s *Settings) *int64 { return &s.NewMemberTwice }),

		number(warnings, "warning_days", "Days a warning counts", "What the form of a warning begins with; 0: for ever.",
			0, 3650, func(s *Settings) *int64 { return &s.WarningDays }),
		number(warnings, "warning_hold", "Points that hold posts", "Every post of the member waits for approval; 0: never."+
			" Applies with the member's next warning.",
			0, 1000, func(s *Settings) *int64 { return &s.WarningHold }),
		number(warnings, "warning_suspend", "Points that suspend", "The member may read but not write; 0: never.",
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

		number(tokens, "tokens_max", "Tokens of a member", "Valid ones at a time.",
			0, 100, func(s *Settings) *int64 { return &s.MaxTokens }),
		number(tokens, "token_days", "Days a token lasts", "What the form of a new token begins with.",
			1, 3650, func(s *Settings) *int64 { return &s.TokenDays }),

		number(files, "attachments_max", "Attachments of a post", "0: none.",
			0, 100, func(s *Settings) *int64 { return &s.MaxAttachments }),
		number(files, "attachment_kib", "Largest attachment", "KiB.",
			1, MaxAttachmentKiB, func(s *Settings) *int64 { return &s.AttachmentKiB }),
		number(files, "member_mib", "Attachments of a member", "MiB of all together; 0: no limit.",
			0, 1_000_000, func(s *Settings) *int64 { return &s.MemberMiB }),
	}
}

// LoadSettings returns the stored settings. defaults holds the values of settings that are not stored or whose stored
// value is no longer valid; callers usually pass DefaultSettings.
func LoadSettings(c store.Conn, defaults Settings) (Settings, error) {
	stored := make(map[string]string)
	err := c.All("SELECT name, value FROM board_settings", nil, func(r store.Row) error {
		var name, value string
		err := r.Scan(&name, &value)
		stored[name] = value
		return err
	})
	for _, setting := range AllSettings() {
		if value, ok := stored[setting.Name]; ok {
			_ = setting.Put(&defaults, value) // a value that is no longer within the bounds is ignored
		}
	}
	return defaults, err
}

// Tag returns the entity tag of the settings, which changes whenever a setting changes.
func (s *Settings) Tag() string { return Tag(s) }

// Contradictions returns an error for each setting whose value is valid alone but contradicts another setting.
func (s *Settings) Contradictions() (wrong []error) {
	if s.MinTitle > s.MaxTitle {
		wrong = append(wrong, Invalid("title_min", "range", "Shortest title: is longer than the longest"))
	}
	if s.MinMessage > s.MaxMessage {
		wrong = append(wrong, Invalid("message_min", "range", "Shortest message: is longer than the longest"))
	}
	if s.Question != "" && strings.TrimSpace(s.Answers) == "" {
		wrong = append(wrong, Invalid("answers", "required", "Right answers: give one at least, for the question"))
	}
	for _, kind := range s.ReactionKinds() {
		if len(s.ReactionKinds()) > 8 || utf8.RuneCountInString(kind) > 20 {
			return append(wrong, Invalid("reactions", "length", "Reactions to posts: at most 8, each of up to 20 characters"))
		}
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

// The names of some rows in the table board_settings.
const (
	SettingSecret  = "cursor_secret"
	SettingOffline = "offline"
)

// MaxAttachmentKiB is the largest size, in KiB, that administrators can allow for an attachment.
const MaxAttachmentKiB = 100 << 10

// offlineRetry is the Retry-After of a board that is offline.
const offlineRetry = 5 * time.Minute
