package moving

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/board/conversations"
)

// messages collects the private messages of a dump and groups them into conversations. Two messages are in the same
// conversation if the other program shows them together and the same members have both. So no member sees a message
// that the member did not have before.
type messages struct {
	all           []message                                // emptied by order
	owners        map[int64][]conversations.ImportedMember // the members who have a copy, by message
	conversations [][]message                              // the result of order
}

// message is a private message in the dump. Messages with the same thread are shown together in the other program.
type message struct {
	ref

	author int64
	title  string
}

// newMessages returns an empty collection.
func newMessages() messages { return messages{owners: make(map[int64][]conversations.ImportedMember)} }

// add adds a message.
func (m *messages) add(message message) { m.all = append(m.all, message) }

// addMember records that a member has a message.
func (m *messages) addMember(message, member int64, unread bool) {
	m.owners[message] = append(m.owners[message], conversations.ImportedMember{ID: member, Unread: unread})
}

// order groups the messages into conversations. Messages that no member has any more are left out.
func (m *messages) order() {
	slices.SortFunc(m.all, func(x, y message) int { return byThread(x.ref, y.ref) })
	indexes := make(map[string]int) // of conversations, by thread and members
	for _, message := range m.all {
		owners := m.owners[message.post]
		slices.SortFunc(owners, func(x, y conversations.ImportedMember) int { return cmp.Compare(x.ID, y.ID) })
		owners = slices.CompactFunc(owners, func(x, y conversations.ImportedMember) bool { return x.ID == y.ID })
		m.owners[message.post] = owners
		if len(owners) == 0 {
			continue
		}
		members := make([]int64, len(owners))
		for i, owner := range owners {
			members[i] = owner.ID
		}
		key := fmt.Sprint(message.thread, members)
		i, known := indexes[key]
		if !known {
			i = len(m.conversations)
			indexes[key] = i
			m.conversations = append(m.conversations, nil)
		}
		m.conversations[i] = append(m.conversations[i], message)
	}
	m.all = nil
	// The conversations are sorted by their last messages, as in the list that members see.
	slices.SortStableFunc(m.conversations, func(x, y []message) int {
		return cmp.Compare(x[len(x)-1].time, y[len(y)-1].time)
	})
}

// conversation returns the conversation with index i, including the texts of its messages, and the id of its first
// message.
func (b *reader) conversation(i int) (id int64, v conversations.Imported, err error) {
	list := b.messages.conversations[i]
	v.Title = replyMark.ReplaceAllString(list[0].title, "")
	// All messages have the same owners, in the order of their ids.
	v.Members = slices.Clone(b.messages.owners[list[0].post])
	for _, message := range list {
		r, err := b.At(message.place)
		if err != nil {
			return 0, v, err
		}
		v.Messages = append(v.Messages, conversations.ImportedMessage{
			Author: message.author, At: momentOf(message.time), Text: b.message(r),
		})
		for i, owner := range b.messages.owners[message.post] {
			v.Members[i].Unread = v.Members[i].Unread || owner.Unread
		}
	}
	return list[0].post, v, nil
}
