package moving

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"html"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/backends/board/seed"
	"github.com/tollgate-gateway/tollgate/internal/bbcode"
	"github.com/tollgate-gateway/tollgate/internal/password"
	"github.com/tollgate-gateway/tollgate/internal/sqldump"
)

// Values in the columns of MyBB's tables.
const (
	mybbAwaiting = 5  // usergroup
	mybbDraft    = -2 // visible
	mybbSent     = 2  // folder
	mybbDrafts   = 3
	mybbTrash    = 4
)

// mybb reads a dump of MyBB 1.8. Each method with a row as its parameter handles the rows of one table; readMyBB lists
// the tables.
type mybb struct {
	*reader

	groups      map[int64]access     // the rights of groups in forums without their own permissions
	forumAccess map[mybbPlace]access // the rights that are set for a group in a forum
	parents     map[int64]int64      // of forums
	copies      map[[16]byte]int64   // the id of the first copy of a private message, by the digest of the message
	subjects    map[string]int64     // a number that stands for the thread of private messages, by their subject
}

// mybbPlace is a group in a forum.
type mybbPlace struct{ forum, group int64 }

// readMyBB opens and reads a dump of MyBB.
func readMyBB(ctx context.Context, o Options, report *Report) (*Source, error) {
	b := &mybb{
		reader: newReader(o, report, "mybb_"), groups: make(map[int64]access), forumAccess: make(map[mybbPlace]access),
		parents: make(map[int64]int64), copies: make(map[[16]byte]int64), subjects: make(map[string]int64),
	}
	return b.read(ctx, program{
		tables: map[string]func(*sqldump.Row) error{
			"users": b.user, "banned": b.banned, "usergroups": b.group, "forumpermissions": b.permission, "forums": b.forum,
			"threads": b.threadRow, "posts": b.postRow, "attachments": b.attachment, "privatemessages": b.private,
		},
		forumTable: "forums", threadTable: "threads", post: b.textOf,
		message: func(r *sqldump.Row) string { return bbcode.Markdown(r.Text("message"), bbcode.Options{}) },
	}, func() {
		// The rights are known only if the dump has the tables of groups and of forum permissions. The latter may be empty.
		if len(b.groups) > 0 && (len(b.forumAccess) > 0 || b.Created(b.prefix+"forumpermissions")) {
			b.rights = b.access
		}
	})
}

// user reads a member.
func (b *mybb) user(r *sqldump.Row) error {
	m := seed.MovedMember{ID: r.Int("uid"), Hash: r.Text("password"), LastActive: unixMoment(r, "lastactive")}
	if salt := r.Text("salt"); salt != "" && len(m.Hash) == 32 {
		m.Hash = salted(password.SaltedMyBB, salt, m.Hash)
	}
	m.Name, m.Email, m.JoinedAt = html.UnescapeString(r.Text("username")), r.Text("email"), unixTime(r, "regdate")
	if r.Int("usergroup") == mybbAwaiting {
		m.State = "awaiting"
	}
	avatar, _, _ := strings.Cut(r.Text("avatar"), "?") // the time of the upload follows the question mark
	if r.Has("avatartype") && r.Text("avatartype") != "upload" {
		avatar = "" // the picture is on another host
	}
	if avatar != "" {
		avatar = path.Base(avatar)
	}
	b.member(m, r.Text("signature") != "", avatar)
	return nil
}

// salted returns a password hash in the form of package password. kind is the method of hashing, and digits is the hash
// in hexadecimal digits. If digits has other characters, salted returns an empty string.
func salted(kind, salt, digits string) string {
	sum, err := hex.DecodeString(digits)
	if err != nil {
		return ""
	}
	return password.Salted(kind, []byte(salt), sum)
}

// banned reads a ban of a member.
func (b *mybb) banned(r *sqldump.Row) error {
	b.ban(r.Int("uid"), r.Int("lifted"))
	return nil
}

// mybbAccess returns the rights in a row of either table of permissions.
func mybbAccess(r *sqldump.Row) access {
	return access{
		view:  r.Int("canview") != 0 && r.Int("canviewthreads") != 0 && r.Int("canonlyviewownthreads") == 0,
		begin: r.Int("canpostthreads") != 0,
		reply: r.Int("canpostreplys") != 0,
	}
}

// group reads the rights of a group.
func (b *mybb) group(r *sqldump.Row) error {
	b.groups[r.Int("gid")] = mybbAccess(r)
	return nil
}

// permission reads the rights of a group in a forum.
func (b *mybb) permission(r *sqldump.Row) error {
	b.forumAccess[mybbPlace{r.Int("fid"), r.Int("gid")}] = mybbAccess(r)
	return nil
}

// access returns the rights of guests or members in a forum. These are the rights that are set for the forum itself
// or, if there are none, for the nearest forum above it that has such rights. If no such forum exists, access returns
// the rights of the group.
func (b *mybb) access(f *seed.MovedForum, group string) access {
	groupID := map[string]int64{"guest": 1, "registered": 2}[group]
	for id, steps := f.ID, 0; id != 0 && steps < maxForumDepth; id, steps = b.parents[id], steps+1 {
		if granted, ok := b.forumAccess[mybbPlace{id, groupID}]; ok {
			return granted
		}
	}
	return b.groups[groupID]
}

// maxForumDepth limits the number of forums above a forum, since the forums of a broken dump may form a cycle.
const maxForumDepth = 100

// forum reads a forum, category or link.
func (b *mybb) forum(r *sqldump.Row) error {
	f := forum{order: r.Int("disporder")}
	f.ID, f.Parent = r.Int("fid"), r.Int("pid")
	f.Title = cmp.Or(seed.MovedLine(withoutHTML(r.Text("name")), 100), fmt.Sprintf("Forum %d", f.ID))
	f.Description = seed.MovedLine(withoutHTML(r.Text("description")), 500)
	f.Type, f.Closed = "forum", r.Int("open") == 0
	if r.Text("type") == "c" {
		f.Type = "category"
	}
	if link := r.Text("linkto"); link != "" {
		f.Type, f.LinkURL = "link", &link
	}
	if r.Text("password") != "" || r.Int("active") == 0 {
		b.hide(&f.MovedForum, "the forum has a password or is not active; it is hidden from guests and members")
	}
	b.parents[f.ID] = f.Parent
	b.forums = append(b.forums, f)
	return nil
}

// withoutHTML removes the HTML tags from a short text and decodes its character references.
func withoutHTML(text string) string { return html.UnescapeString(xmlTag.ReplaceAllString(text, "")) }

// mybbVisibility returns the visibility of a thread or post.
func mybbVisibility(r *sqldump.Row) int64 {
	switch r.Int("visible") {
	case 1:
		return rights.Visible
	case -1:
		return rights.Deleted
	default:
		return rights.Unapproved
	}
}

// threadRow reads a thread.
func (b *mybb) threadRow(r *sqldump.Row) error {
	closed := r.Text("closed")
	if strings.HasPrefix(closed, "moved|") || r.Int("visible") == mybbDraft {
		return nil // the thread was moved, or is a draft of its author
	}
	if r.Int("poll") != 0 {
		b.polls++
	}
	b.threads = append(b.threads, thread{
		id: r.Int("tid"), forum: r.Int("fid"), views: r.Int("views"), visibility: mybbVisibility(r),
		title: r.Text("subject"), sticky: r.Int("sticky") != 0, locked: closed == "1",
	})
	return nil
}

// postRow records the place of a post in the dump.
func (b *mybb) postRow(r *sqldump.Row) error {
	if r.Int("visible") != mybbDraft {
		b.posts = append(b.posts, ref{r.Int("tid"), r.Int("pid"), r.Int("dateline"), r.Place})
	}
	return nil
}

// attachment reads a file that is attached to a post.
func (b *mybb) attachment(r *sqldump.Row) error {
	if r.Int("pid") == 0 || r.Int("visible") == 0 {
		return nil
	}
	b.files = append(b.files, seed.MovedFile{
		ID: r.Int("aid"), Post: r.Int("pid"), Author: r.Int("uid"), Name: r.Text("filename"),
		Path: b.within(r.Text("attachname")), At: unixMoment(r, "dateuploaded"),
	})
	return nil
}

// within returns the path of a file in the folder of attachments; see the function within.
func (b *reader) within(name string) string { return within(b.options.Attachments, name) }

// within returns the path of a file in a folder. The path is inside the folder for any name.
func within(folder, name string) string {
	name = filepath.FromSlash(name)
	if !filepath.IsLocal(name) {
		name = filepath.Base(name)
	}
	return filepath.Join(folder, name)
}

// mybbFile matches the tag that shows a file in a text. It has no closing tag.
var mybbFile = regexp.MustCompile(`(?i)\[attachment=(\d{1,18})\]`)

// textOf returns a post without its text, and a function that converts its text to Markdown.
func (b *mybb) textOf(r *sqldump.Row) (seed.SeedPost, func() string) {
	p := seed.SeedPost{
		Moved: r.Int("pid"), MovedAuthor: r.Int("uid"), At: unixTime(r, "dateline"),
		Visibility: rights.VisibilityNames[mybbVisibility(r)], EditReason: seed.MovedLine(r.Text("editreason"), 200),
	}
	p.Guest = guestName(html.UnescapeString(r.Text("username")), b.names[p.MovedAuthor])
	b.edited(&p, unixTime(r, "edittime"), r.Int("edituid"))
	text := mybbFile.ReplaceAllString(r.Text("message"), "[attachment]$1[/attachment]")
	return p, b.bbcodeWithFiles(text, p.Moved)
}

// bbcodeWithFiles returns a function that converts a text with BBCode to Markdown. The text refers to files of the post
// by their ids.
func (b *reader) bbcodeWithFiles(text string, post int64) func() string {
	return func() string {
		return bbcode.Markdown(text, bbcode.Options{File: func(_, id string) string {
			n, _ := strconv.ParseInt(id, 10, 64) // 0 is no file
			for _, i := range b.byPost[post] {
				if b.files[i].ID == n && b.options.Attachments != "" {
					return fileLink(b.files[i].Name)
				}
			}
			return ""
		}})
	}
}

// replyMark matches the prefixes that programs add to the subject of a reply.
var replyMark = regexp.MustCompile(`(?i)^(?:\s*(?:re|fw|fwd|aw|wg):)+\s*`)

// private reads a private message. The table has a copy for each member who has the message; copies are recognized by
// their content. Messages with the same subject, apart from reply prefixes, form a thread.
func (b *mybb) private(r *sqldump.Row) error {
	folder, id, subject := r.Int("folder"), r.Int("pmid"), r.Text("subject")
	if folder == mybbDrafts || folder == mybbTrash {
		return nil
	}
	sum := sha256.Sum256(fmt.Append(nil, r.Int("fromid"), " ", r.Int("dateline"), " ", subject, "\x00", r.Text("message")))
	key := [16]byte(sum[:16])
	first, known := b.copies[key]
	if !known {
		first = id
		b.copies[key] = id
		title := replyMark.ReplaceAllString(subject, "")
		thread, known := b.subjects[strings.ToLower(title)]
		if !known {
			thread = int64(len(b.subjects) + 1)
			b.subjects[strings.ToLower(title)] = thread
		}
		b.messages.add(message{
			ref: ref{thread, id, r.Int("dateline"), r.Place}, author: r.Int("fromid"), title: title,
		})
	}
	b.messages.addMember(first, r.Int("uid"), folder != mybbSent && r.Int("status") == 0)
	return nil
}
