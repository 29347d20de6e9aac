package mail

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// box is an outbox of letters that records the outcome of each letter.
type box struct {
	letters []letter
	notes   []string
}

type letter struct {
	name    string
	err     error // the error of writing the letter
	nothing bool
	taken   bool  // another node has claimed the letter
	record  error // the error of recording a failure
	box     *box
}

func (b *box) Due(context.Context, int) (due []Due, err error) {
	for _, l := range b.letters {
		l.box = b
		due = append(due, l)
	}
	return due, nil
}

func (l letter) Claim(context.Context) (Claimed, error) {
	if l.taken {
		return nil, nil // the contract of Claim for a letter that another node has
	}
	return l, nil
}

func (l letter) Message() (*Message, error) {
	if l.err != nil || l.nothing {
		return nil, l.err
	}
	return &Message{Email: l.name + "@example.com", About: []zap.Field{zap.String("letter", l.name)}}, nil
}

func (l letter) note(ctx context.Context, event string) error {
	l.box.notes = append(l.box.notes, l.name+" "+event)
	return ctx.Err()
}

func (l letter) Over(ctx context.Context, refused error) error {
	if refused != nil {
		return l.note(ctx, "refused")
	}
	return l.note(ctx, "over")
}

func (l letter) Failed(ctx context.Context, reason error) (bool, error) {
	return true, errors.Join(l.record, l.note(ctx, "failed: "+reason.Error()))
}

func (l letter) Hold(ctx context.Context, wait time.Duration) error {
	return l.note(ctx, "held "+wait.String())
}

// line is a transport whose sessions answer by the first letter of the address.
type line struct {
	opened, closed int
	answers        map[byte]error
	cut            func()
}

func (l *line) Open(context.Context) (Session, error) {
	if l.opened++; l.opened > 4 {
		return nil, errors.New("down")
	}
	return l, nil
}

func (l *line) Close() { l.closed++ }

func (l *line) Send(_ context.Context, m *Message) error {
	if m.Email[0] == 'z' {
		l.cut()
	}
	return l.answers[m.Email[0]]
}

func TestSend(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.DebugLevel)
	broken, busy := errors.New("broken"), errors.New("451")
	l := &line{answers: map[byte]error{'r': fmt.Errorf("%w: 550", ErrPermanent), 'b': busy}}
	b := &box{letters: []letter{{name: "good"}, {name: "later", err: ErrLater}, {name: "nothing", nothing: true}, {name: "taken", taken: true}, {name: "refused"}, {name: "busy"}, {name: "well"}}}
	done, err := Send(t.Context(), b, l, zap.New(core))
	if done != 2 || err != nil {
		t.Errorf("%d sent, %v", done, err)
	}
	if want := []string{"good over", "later held 5m0s", "nothing over", "refused refused", "busy failed: 451", "well over"}; !slices.Equal(b.notes, want) {
		t.Errorf("%q, want %q", b.notes, want)
	}
	if l.opened != 3 || l.closed != 3 {
		t.Errorf("%d connections, %d closed", l.opened, l.closed)
	}
	if logs.FilterMessage("mail refused").Len() != 1 || logs.FilterMessage("mail not sent").FilterField(zap.Bool("again", true)).Len() != 1 {
		t.Errorf("got the log lines %v, want a refusal and a failure", logs.All())
	}
	for _, entry := range logs.All() {
		if strings.Contains(fmt.Sprint(entry.ContextMap()), "@") {
			t.Errorf("%v contains the address", entry)
		}
	}

	for name, want := range map[string]struct {
		letter letter
		note   string
	}{
		"of writing it": {letter{name: "x", err: broken}, "x held 5m0s"}, "for good": {letter{name: "x", err: fmt.Errorf("%w: %w", ErrPermanent, broken)}, "x refused"},
	} {
		b := &box{letters: []letter{want.letter, {name: "next"}}}
		if done, err := Send(t.Context(), b, new(line), zap.NewNop()); done != 0 || !errors.Is(err, broken) || !slices.Equal(b.notes, []string{want.note}) {
			t.Errorf("an error %s: %d sent, %v, %q", name, done, err, b.notes)
		}
	}

	// A new connection does not hide that the failure was not recorded.
	b = &box{letters: []letter{{name: "busy", record: broken}, {name: "next"}}}
	_, err = Send(t.Context(), b, &line{answers: map[byte]error{'b': busy}}, zap.NewNop())
	if !errors.Is(err, broken) || errors.Is(err, busy) || len(b.notes) != 1 {
		t.Errorf("a failure that was not recorded: %v, %q", err, b.notes)
	}

	// The transport can be opened once more. After that it is down.
	b = &box{letters: []letter{{name: "busy"}, {name: "next"}}}
	if _, err := Send(t.Context(), b, l, zap.NewNop()); err == nil || !slices.Equal(b.notes, []string{"busy failed: 451"}) {
		t.Errorf("got the error %v and the notes %q, want an error after the first letter", err, b.notes)
	}
}

// TestSendCut checks that an attempt that the end of the process interrupts does not count.
func TestSendCut(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	b := &box{letters: []letter{{name: "z"}, {name: "next"}}}
	l := &line{cut: cancel, answers: map[byte]error{'z': context.Canceled}}
	if done, err := Send(ctx, b, l, zap.NewNop()); done != 0 || err != nil || !slices.Equal(b.notes, []string{"z held 0s"}) {
		t.Errorf("%d sent, %v, %q", done, err, b.notes)
	}
}
