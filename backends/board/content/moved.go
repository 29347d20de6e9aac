package content

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// The kinds of imported objects. The table board_moved maps their ids in the old program to their ids here.
const (
	MovedMember = "member"
	MovedForum  = "forum"
	MovedThread = "thread"
	MovedPost   = "post"
	MovedFile   = "file"

	MovedConversation = "conversation"

	// MovedPlace identifies a post by its thread and number in the old program; see MovedPlaceID. It is stored only for
	// posts whose number has changed.
	MovedPlace = "place"
	// MovedSum identifies a file by the SHA-1 sum of its content; see MovedSumID.
	MovedSum = "sum"
)

// InsertMoved begins the statement that records ids of the old program. InsertMovedRow holds the placeholders of one
// row: the program, the kind, the old id and the new id.
const (
	InsertMoved    = "INSERT INTO board_moved (program, kind, old_id, new_id) VALUES "
	InsertMovedRow = "(?, ?, ?, ?)"
)

// RecordMoved records that the object of a kind with the id oldID in another program has the id newID here.
func RecordMoved(c store.Conn, program, kind string, oldID, newID int64) error {
	_, err := c.Exec(InsertMoved+InsertMovedRow, program, kind, oldID, newID)
	return err
}

// MovedID returns the new id of the imported object of a kind that had the id oldID in another program. It returns 0 if
// no such object was imported.
func MovedID(c store.Conn, program, kind string, oldID int64) (newID int64, err error) {
	err = c.Row("SELECT new_id FROM board_moved WHERE program = ? AND kind = ? AND old_id = ?", program, kind,
		oldID).Scan(&newID)
	return newID, kernel.IgnoreNoRows(err)
}

// MovedPlaceID combines a post's thread and number in the old program into an id of kind MovedPlace. It returns 0 if
// they are out of range.
func MovedPlaceID(thread, number int64) int64 {
	const numberBits = 20 // the lowest bits of the id
	if thread < 1 || thread >= 1<<(63-numberBits) || number < 1 || number >= 1<<numberBits {
		return 0
	}
	return thread<<numberBits | number
}

// MovedSumID returns the id of kind MovedSum for a file name that begins with the SHA-1 sum of the file's content. It
// returns 0 for any other name. The id consists of the first 60 bits of the sum. The sum in the name is hexadecimal.
// If base62 is set, the sum is written in digits of base 62 instead, and ends at the first dot.
func MovedSumID(name string, base62 bool) int64 {
	const digits = 40 // of a hexadecimal SHA-1 sum
	if base62 {
		sum, _, _ := strings.Cut(name[:min(len(name), digits)], ".")
		n, _ := new(big.Int).SetString(sum, 62)
		if n == nil {
			return 0
		}
		name = fmt.Sprintf("%0*x", digits, n)
	}
	if len(name) < digits {
		return 0
	}
	id, err := strconv.ParseUint(name[:15], 16, 63)
	if err != nil {
		return 0
	}
	return int64(id)
}

// MovedPostByNumber returns the post that had this thread and number in another program, or 0 if there is no such post.
func MovedPostByNumber(c store.Conn, program string, thread, number int64) (post int64, err error) {
	if post, err = MovedID(c, program, MovedPlace, MovedPlaceID(thread, number)); err != nil || post != 0 {
		return post, err
	}
	err = c.Row("SELECT p.id FROM board_moved m JOIN board_posts p ON p.thread_id = m.new_id WHERE m.program = ?"+
		" AND m.kind = ? AND m.old_id = ? AND p.number = ?", program, MovedThread, thread, number).Scan(&post)
	return post, kernel.IgnoreNoRows(err)
}
