package web

import (
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

const (
	maxDescription = 200  // characters of the description of a page
	maxStructured  = 1000 // characters of each post in the structured data of a page
)

// shared describes a page for search engines, and for sites that show previews of links.
type shared struct {
	Title, Description string
	Kind               string // og:type (ogp.me)
	Structured         any    // JSON-LD; nil for none
}

// Shared returns the description of this page for search engines and link previews. It returns nil if search engines
// should not index the page, because guests do not see it or it has no permanent path. Only requests of guests get a
// description, so it reveals nothing that guests do not see.
func (f *frame) Shared() *shared {
	if f.User != nil || f.Place == "" {
		return nil
	}
	return f.shared
}

// share sets the description of a page that is not a thread.
func (c *call) share(title, description string) {
	c.frame.shared = &shared{Title: title, Description: description, Kind: "website"}
}

// posting is a DiscussionForumPosting or a Comment (schema.org).
type posting struct {
	Context  string         `json:"@context,omitempty"`
	Type     string         `json:"@type"`
	Headline string         `json:"headline,omitempty"`
	Text     string         `json:"text,omitempty"`
	URL      string         `json:"url"`
	Created  kernel.Moment  `json:"datePublished"`
	Edited   *kernel.Moment `json:"dateModified,omitempty"`
	Author   person         `json:"author"`
	Replies  *counter       `json:"interactionStatistic,omitempty"`
	Comments []posting      `json:"comment,omitempty"`

	// These fields are set for a Question, whose Headline is empty.
	Name      string    `json:"name,omitempty"`
	Answers   *int64    `json:"answerCount,omitempty"`
	Accepted  *posting  `json:"acceptedAnswer,omitempty"`
	Suggested []posting `json:"suggestedAnswer,omitempty"`
}

// questionPage is a QAPage (schema.org).
type questionPage struct {
	Context string  `json:"@context"`
	Type    string  `json:"@type"`
	Entity  posting `json:"mainEntity"`
}

// person is a Person (schema.org).
type person struct {
	Type string `json:"@type"`
	Name string `json:"name"`
	URL  string `json:"url,omitempty"`
}

// counter is an InteractionCounter (schema.org).
type counter struct {
	Type  string `json:"@type"`
	Kind  string `json:"interactionType"`
	Count int64  `json:"userInteractionCount"`
}

// shareThread sets the description of a page of a thread for a guest. It describes the thread as a question if the
// thread has an answer, and otherwise as a discussion.
func (c *call) shareThread(r *posts.Reading) {
	if c.actor.User != nil {
		return
	}
	c.frame.shared = &shared{Title: r.Thread.Title, Kind: "article", Structured: c.discussion(r)}
	if r.Answer != nil {
		c.frame.shared.Structured = c.question(r)
	}
	if len(r.Posts) > 0 {
		c.frame.shared.Description = excerpt(r.Posts[0].MessageHTML, maxDescription)
	}
}

// discussion describes a thread as a posting whose comments are the other posts on the page. All pages of a thread
// describe the same posting, whose text is on the first page.
func (c *call) discussion(r *posts.Reading) posting {
	t := r.Thread
	topic := posting{
		Context: "https://schema.org", Type: "DiscussionForumPosting", Headline: t.Title, URL: c.Base() + pagePath(t, 1),
		Created: t.CreatedAt, Author: c.person(t.AuthorUserID, t.AuthorUsername),
		Replies: &counter{"InteractionCounter", "https://schema.org/CommentAction", t.ReplyCount},
	}
	for _, p := range r.Posts {
		if p.ID == t.FirstPostID {
			topic.Text, topic.Edited = excerpt(p.MessageHTML, maxStructured), p.EditedAt
			continue
		}
		topic.Comments = append(topic.Comments, c.comment(p.PostInfo))
	}
	return topic
}

// question describes a thread with an answer as a question. The other replies on the page are suggested answers.
func (c *call) question(r *posts.Reading) questionPage {
	topic, accepted := c.discussion(r), c.comment(*r.Answer)
	accepted.Type = "Answer"
	question := posting{
		Type: "Question", Name: topic.Headline, Text: topic.Text, URL: topic.URL, Created: topic.Created,
		Edited: topic.Edited, Author: topic.Author, Answers: &r.Thread.ReplyCount, Accepted: &accepted,
	}
	for _, reply := range topic.Comments {
		if reply.URL != accepted.URL {
			reply.Type = "Answer"
			question.Suggested = append(question.Suggested, reply)
		}
	}
	return questionPage{Context: "https://schema.org", Type: "QAPage", Entity: question}
}

// comment describes a post as a comment.
func (c *call) comment(p content.PostInfo) posting {
	return posting{
		Type: "Comment", Text: excerpt(p.MessageHTML, maxStructured), URL: c.Base() + "/posts/" + itoa(p.ID),
		Created: p.PostedAt, Edited: p.EditedAt, Author: c.person(p.AuthorUserID, p.AuthorUsername),
	}
}

// person describes an author. The description links to the profile if the actor may see profiles. id is nil for a
// deleted member.
func (c *call) person(id *int64, name string) person {
	author := person{Type: "Person", Name: name}
	if id != nil && c.actor.May(rights.ProfileView) {
		author.URL = c.Base() + "/members/" + itoa(*id)
	}
	return author
}

// excerpt returns the beginning of the readable text of HTML, as one line of at most limit characters. It parses no
// more of the HTML than it needs, as a post may be long.
func excerpt(html string, limit int) string {
	if maxBytes := 8*limit + 1000; len(html) > maxBytes { // enough for the text and typical markup
		html = html[:maxBytes]
		// Remove a tag that was cut off.
		if open := strings.LastIndexByte(html, '<'); open > strings.LastIndexByte(html, '>') {
			html = html[:open]
		}
	}
	return text.Short(text.Plain(strings.ToValidUTF8(html, "")), limit)
}
