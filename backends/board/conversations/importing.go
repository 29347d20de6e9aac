package conversations

import (
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Imported is a conversation of another program, to be imported.
type Imported struct {
	Title    string
	Members  []ImportedMember
	Messages []ImportedMessage // oldest first, at least one
}

// ImportedMember is a participant of an imported conversation.
type ImportedMember struct {
	ID     int64
	Unread bool // whether the member has not read the conversation
}

// ImportedMessage is a message of an imported conversation. Its author need not be a participant; 0 is a deleted
// member.
type ImportedMessage struct {
	Author int64
	At     kernel.Moment
	Text   string
}

// Import adds the conversation v as it is, without changes, and returns the id of the conversation. Nobody is
// notified.
func Import(c store.Conn, v Imported) (id int64, err error) {
	first := v.Messages[0]
	err = c.Row("INSERT INTO board_conversations (title, starter_id, created_at) VALUES (?, ?, ?) RETURNING id",
		v.Title, kernel.Null(first.Author), first.At).Scan(&id)
	if err != nil {
		return 0, err
	}
	var last int64
	for _, m := range v.Messages {
		err := c.Row("INSERT INTO board_conversation_messages (conversation_id, author_id, message, created_at)"+
			" VALUES (?, ?, ?, ?) RETURNING id", id, kernel.Null(m.Author), m.Text, m.At).Scan(&last)
		if err != nil {
			return 0, err
		}
	}
	for _, m := range v.Members {
		read := last
		if m.Unread {
			read = 0
		}
		if _, err := c.Exec("INSERT INTO board_conversation_members (conversation_id, user_id, last_id, read_id)"+
			" VALUES (?, ?, ?, ?)", id, m.ID, last, read); err != nil {
			return 0, err
		}
	}
	return id, nil
}
