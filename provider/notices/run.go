package notices

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"mandate/provider/mail"
	"mandate/provider/oauth"
	"mandate/storage"
)

const (
	lookEvery = time.Second // another node, or a command, may have stored a message
	atOnce    = 4           // messages of one queue that a node sends at the same time
	// lease is how long a message is reserved for one node, in seconds. It is longer than one
	// attempt, so that no other node sends the message too.
	lease = 2 * 60
	// The pauses between attempts grow from firstPause to longestPause, in seconds.
	firstPause   = 10
	longestPause = 60 * 60
	// storing is how long the end of an attempt may take, also while the node stops.
	storing = 10 * time.Second
)

// Every attempt ends before its lease does.
const _ = uint(lease*time.Second - mail.Longest - 2*storing)

// Answer turns the note that somebody asks for something into messages. asked is what they typed, and
// language that of their browser, or "".
type Answer func(ctx context.Context, note storage.Mail, asked, language string) error

// Answers answer the notes.
type Answers struct{ Reset, SignUp Answer }

// of returns what answers a note. It is nil for a message.
func (a Answers) of(kind string) Answer {
	switch kind {
	case asked:
		return a.Reset
	case askedSignUp:
		return a.SignUp
	}
	return nil
}

// Wake makes this node look for messages now.
func (n *Notices) Wake() {
	for _, queue := range n.wake {
		queue.Ring()
	}
}

// Run sends messages until ctx ends. If there is no mail server it returns at once. While the clock of this node is not
// right it sends nothing: it would give up what has not expired. What strangers cause has places of its own, so that a
// new password waits for none of it.
func (n *Notices) Run(ctx context.Context, right func() bool, answers Answers) {
	if !n.On() {
		return
	}
	var running sync.WaitGroup
	for queue := range n.wake {
		running.Go(func() { n.runQueue(ctx, queue, right, answers) })
	}
	running.Wait()
}

func (n *Notices) runQueue(ctx context.Context, queue string, right func() bool, answers Answers) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	var sending sync.WaitGroup
	defer sending.Wait()
	places := make(chan struct{}, atOnce)
	for {
		var more bool
		var err error
		if right() {
			more, err = n.sendDue(ctx, queue, answers, places, &sending)
		}
		if err != nil && ctx.Err() == nil {
			n.log.Warn("mail was not sent, because the queue could not be read", "error", err)
		}
		if more && ctx.Err() == nil {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-n.wake[queue]:
		}
	}
}

// sendDue reserves messages that are due, and starts to send them. It reserves few at a time: whoever asks
// meanwhile has their turn before the further messages of others. It reports whether there may be more.
func (n *Notices) sendDue(
	ctx context.Context,
	queue string,
	answers Answers,
	places chan struct{},
	sending *sync.WaitGroup,
) (bool, error) {
	due, err := n.store.DueMails(ctx, queue, oauth.Now(), atOnce)
	if err != nil {
		return false, err
	}
	started := false
	for _, m := range due {
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case places <- struct{}{}:
		}
		leased, err := n.store.LeaseMail(ctx, m, oauth.Now()+lease)
		if err != nil {
			<-places
		}
		if errors.Is(err, storage.ErrSpent) {
			continue // another node has it, or it has ended
		}
		if err != nil {
			return false, err
		}
		started = true
		sending.Go(func() {
			defer func() { <-places }()
			n.try(ctx, leased, answers)
		})
	}
	return started, nil
}

// try sends one message, and stores what came of it. Storing does not end with ctx: a message that
// was sent must not be found by another node.
func (n *Notices) try(ctx context.Context, m storage.Mail, answers Answers) {
	defer func() {
		if cause := recover(); cause != nil { // an unexpected record must not stop the server, now and at each restart
			n.log.Error("panic while mail was sent", "kind", m.Kind, "cause", cause, "stack", string(debug.Stack()))
		}
	}()
	err := n.send(ctx, m, answers)
	final, stop := context.WithTimeout(context.WithoutCancel(ctx), storing)
	defer stop()
	next := oauth.Now() + pause(m.Attempts)
	switch {
	case err == nil && answers.of(m.Kind) != nil:
		return // the answer has replaced it
	case err == nil:
		n.counters.sent.Add(1)
		err = n.forget(final, m, false)
	case errors.Is(err, mail.ErrRefused), next >= m.ExpiresAt:
		n.counters.givenUp.Add(1)
		n.log.Warn("mail was not sent; no more attempts", append(
			names(m), "attempts", m.Attempts, "error", oauth.Clip(err.Error(), 300),
		)...)
		err = n.forget(final, m, true)
	default:
		n.counters.failed.Add(1)
		n.log.Warn("a message was not sent; the server will try again", append(
			names(m), "attempt", m.Attempts, "error", oauth.Clip(err.Error(), 300),
		)...)
		err = n.store.PostponeMail(final, m, next)
	}
	if err != nil {
		n.log.Warn("the outcome of an attempt to send mail was not stored: the message may be sent twice", append(
			names(m), "error", err,
		)...)
	}
}

// names returns what a line of the log says about a message: its kind, and the person or the invitation for which it
// is. An address does not belong into the log.
func names(m storage.Mail) []any {
	named := []any{"kind", m.Kind}
	if m.UserID != nil {
		named = append(named, "subject", *m.UserID)
	}
	if m.Invitation != nil {
		named = append(named, "invitation", *m.Invitation)
	}
	return named
}

// pause returns the time until the next attempt, in seconds.
func pause(attempts int64) int64 {
	return min(int64(firstPause)<<min(attempts-1, 16), longestPause)
}

// forget deletes a message that was sent or given up. It tries again, because otherwise the message would be sent
// twice.
func (n *Notices) forget(ctx context.Context, m storage.Mail, givenUp bool) error {
	for {
		var err error
		if givenUp {
			err = n.store.GiveUpMail(ctx, m)
		} else {
			err = n.store.ForgetMail(ctx, m)
		}
		if err == nil || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

func (n *Notices) send(ctx context.Context, m storage.Mail, answers Answers) error {
	text, err := n.bodies.Open(m.Body, m.Kind+" "+m.ID)
	var c content
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil {
		return fmt.Errorf("%w: it cannot be read: %w", mail.ErrRefused, err)
	}
	if answer := answers.of(m.Kind); answer != nil {
		err = answer(ctx, m, c.Asked, c.Languages)
		n.Wake() // for the messages that it made
		return err
	}
	letter, err := n.write(c)
	if err != nil {
		return fmt.Errorf("%w: it cannot be written: %w", mail.ErrRefused, err)
	}
	return n.sender.Send(ctx, mail.Message{ID: m.ID, To: c.To, At: m.CreatedAt, Mail: letter})
}

func (n *Notices) write(c content) (mail.Letter, error) {
	message, err := c.message()
	if err != nil {
		return mail.Letter{}, err
	}
	return n.letters(c.Languages, message)
}
