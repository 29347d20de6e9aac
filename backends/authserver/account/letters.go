package account

import (
	"net/url"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/locale"
	"github.com/tollgate-gateway/tollgate/internal/mail"
)

// The paths of the pages to which mailed links lead.
const (
	// ChoosePath is the page on which the user chooses a password.
	ChoosePath = "/choose-password"
	// AddressPath is the page on which the user confirms a new mail address.
	AddressPath = "/confirm-address"
)

// Secret reports whether the URLs of a path contain the secret of a link and must not be logged.
func Secret(path string) bool {
	return strings.HasSuffix(path, ChoosePath) || strings.HasSuffix(path, AddressPath)
}

// linkURL returns the URL of a link. The kind of the link determines the page, and the secret is part of the URL.
func (a *Accounts) linkURL(kind, secret string) string {
	path := ChoosePath
	if kind == LinkAddress {
		path = AddressPath
	}
	return a.Issuer + path + "?" + url.Values{"link": {secret}}.Encode()
}

// letterText is the English text of one kind of mail: the subject, and the paragraphs before and after the link.
type letterText struct{ subject, before, after string }

// letterTexts contains the text of each kind of link and notice.
var letterTexts = map[string]letterText{
	LinkReset: {
		"Choose a new password", "Somebody, probably you, asked for a new password for your account. Choose it here:",
		"If that was not you, do nothing: your password stays as it is.",
	},
	LinkJoin: {
		"Finish your registration", "You have registered with this address. To create your account, choose a password here:",
		"If that was not you, do nothing: no account is created.",
	},
	LinkInvite: {
		"You are invited", "You are invited to create an account. Choose a password here:",
		"If you do not want it, do nothing.",
	},
	LinkAddress: {
		"Confirm your mail address", "To make this the mail address of your account, confirm it here:",
		"If you did not ask for that, do nothing: the address stays as it is.",
	},
	noticeKnown: {
		"You already have an account", "Somebody, probably you, has registered with your address. You already have an account: sign in, or choose a new password on the sign-in page.",
		"If that was not you, there is nothing to do.",
	},
	noticeMoved: {
		"Your mail address was changed", "The mail address of your account was changed. Mails go to the new address from now on.",
		"If that was not you, tell the operator at once.",
	},
}

// compose returns the mail for a link or a notice in a language. The secret of the link is empty for a notice. A link
// is valid until expires.
func (a *Accounts) compose(language *locale.Language, kind, secret string, expires time.Time) *mail.Message {
	english := letterTexts[kind]
	body := language.Translate(english.before) + "\n\n"
	if secret != "" {
		body += a.linkURL(kind, secret) + "\n\n" +
			language.Translate("The link works once, until {when}.", "when", language.Until(expires.UTC())) + "\n\n"
	}
	return &mail.Message{
		Subject: language.Translate(english.subject) + " – " + a.Site,
		Text:    body + language.Translate(english.after) + "\n\n" + a.Site + "\n" + a.Issuer + "\n",
		About:   []zap.Field{zap.String("kind", kind)},
	}
}
