package factors

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base32"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/boombuler/barcode/qr"
	"github.com/pquerna/otp/hotp"

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// The parameters that all authenticator apps support (RFC 6238 section 4): six digits of HMAC-SHA-1, with a new code
// every 30 seconds. The clock of a phone may differ by one such step.
const (
	codeDigits = 6
	codePeriod = 30
	codeSkew   = 1
	// secretSize is the length of a secret in bytes (RFC 4226 section 4, R6). The base32 form of that length needs no
	// padding.
	secretSize = 20
)

// Draft is an authenticator app during its setup. Nothing is stored until the user has entered a code that the app
// shows.
type Draft struct {
	// Secret is the text to type into the app, in groups of four characters.
	Secret string
	// QR is the QR code to scan with the app.
	QR QR
	// Signed is the signed text that the form sends back.
	Signed string
}

var errNoApps = apierror.New(http.StatusServiceUnavailable, "temporarily_unavailable",
	"Apps cannot be used here: their secrets have to be stored encrypted, and data_encryption.driver is not set. Ask the operator.")

// NewApp starts the setup of an app. The parameter browser is the secret to which the forms of the user's browser are
// bound.
func (f *Factors) NewApp(u *users.User, browser string) (*Draft, error) {
	if f.encryptor == nil {
		return nil, errNoApps
	}
	raw := make([]byte, secretSize)
	_, _ = rand.Read(raw) // never fails
	return f.draft(base32.StdEncoding.EncodeToString(raw), f.Now(), u, browser)
}

// draft returns a draft with a secret and the time at which the setup began.
func (f *Factors) draft(secret string, begun time.Time, u *users.User, browser string) (*Draft, error) {
	code, err := newQR(appURL(f.name, u.Email, secret))
	if err != nil {
		return nil, err
	}
	payload := strconv.FormatInt(begun.UnixMicro(), 10) + " " + secret
	return &Draft{Secret: groups(secret, " "), QR: code, Signed: f.Signer("app").Sign([]byte(payload), browser, u.ID)}, nil
}

// Draft returns the draft from the signed text of a form. The error has status 400 if the text belongs to another user
// or browser, or is too old.
func (f *Factors) Draft(signed string, u *users.User, browser string) (*Draft, error) {
	secret, begun, err := f.openDraft(signed, u, browser)
	if err != nil {
		return nil, err
	}
	return f.draft(secret, begun, u, browser)
}

var errOldForm = apierror.New(http.StatusBadRequest, "bad_request",
	"This form is out of date. Go back to the page that shows your apps and passkeys, and begin there.")

// openDraft returns the secret and the start of the setup from the signed text of a form; see Draft.
func (f *Factors) openDraft(signed string, u *users.User, browser string) (secret string, begun time.Time, err error) {
	payload, ok := f.Signer("app").Open(signed, browser, u.ID)
	begunText, secret, _ := strings.Cut(string(payload), " ")
	micros, err := strconv.ParseInt(begunText, 10, 64)
	begun = time.UnixMicro(micros)
	if !ok || err != nil || f.Now().Sub(begun) >= timeLimit {
		return "", begun, errOldForm
	}
	return secret, begun, nil
}

// AddApp stores the authenticator app of a draft, with label as its name. signed is the signed text of the draft,
// which contains the app's secret. code is the current code of the app, which proves that the app has the secret. If
// the app is the user's first factor, AddApp returns recovery codes.
func (f *Factors) AddApp(
	ctx context.Context, u *users.User, browser, signed, label, code string,
) (recovery []string, err error) {
	if f.encryptor == nil {
		return nil, errNoApps
	}
	secret, _, err := f.openDraft(signed, u, browser)
	if err != nil {
		return nil, err
	}
	step, ok := stepOf(secret, compact(code), f.Now(), 0)
	if !ok {
		return nil, &apierror.Error{
			Status: http.StatusUnprocessableEntity, Code: "validation_failed", Param: "code",
			Message: "this is not the code that the app shows now",
			Details: []apierror.Detail{{
				Field: "code", Reason: "invalid",
				Message: "this is not the code that the app shows now; look whether the clock of the telephone is right",
			}},
		}
	}
	factor := &Factor{ID: kernel.NewID(), Kind: App, Name: label, step: step}
	if factor.secret, err = f.encryptor.Seal(ctx, []byte(secret), place(factor.ID)); err != nil {
		return nil, err
	}
	return f.add(ctx, u.ID, factor, "")
}

// stepOf returns the time step (RFC 6238) of a code, the number of periods since 1970. The result ok is false if the
// code is not valid now. Only steps after lastStep, the step of the last accepted code, are valid, so that a code
// cannot be used twice.
func stepOf(secret, code string, now time.Time, lastStep int64) (step int64, ok bool) {
	currentStep := now.Unix() / codePeriod
	for s := currentStep - codeSkew; s <= currentStep+codeSkew; s++ {
		expected, err := hotp.GenerateCode(secret, uint64(s)) //nolint:gosec // not negative after 1970
		if err == nil && subtle.ConstantTimeCompare([]byte(expected), []byte(code)) == 1 && s > lastStep {
			step, ok = s, true
		}
	}
	return step, ok
}

// checkCode checks the current code of a user's app and marks it as used. It returns ErrWrong if the code belongs to no
// app of the user.
func (f *Factors) checkCode(ctx context.Context, user, code string) error {
	list, err := f.Of(ctx, user)
	if err != nil {
		return err
	}
	for _, factor := range list {
		if factor.Kind != App {
			continue
		}
		secret, err := f.secretOf(ctx, factor)
		if err != nil {
			return err
		}
		step, ok := stepOf(secret, code, f.Now(), factor.step)
		if !ok {
			continue
		}
		// The condition on the step makes sure that of two concurrent uses of the code only one is accepted.
		used, err := f.useUp(ctx, "UPDATE authserver_factors SET step = ?, used_at = ? WHERE id = ? AND step < ?",
			step, f.Micros(), factor.ID, step)
		if err != nil || used {
			return err
		}
	}
	return ErrWrong
}

// secretOf returns the secret of an app in base32.
func (f *Factors) secretOf(ctx context.Context, app *Factor) (string, error) {
	if f.encryptor == nil {
		return "", errNoApps
	}
	secret, err := f.encryptor.Open(ctx, app.secret, place(app.ID))
	if err != nil {
		return "", fmt.Errorf("opening the secret of an app: %w", err)
	}
	return string(secret), nil
}

// useUp runs a statement that uses up a single-use value. It reports whether the value existed.
func (f *Factors) useUp(ctx context.Context, statement string, args ...any) (used bool, err error) {
	err = f.Write(ctx, func(c store.Conn) error {
		n, err := c.Exec(statement, args...)
		used = n > 0
		return err
	})
	return used, err
}

// compact returns a code without spaces and hyphens, in upper case. It cuts off a text that is much too long.
func compact(code string) string {
	return strings.ToUpper(strings.Map(func(r rune) rune {
		if r == ' ' || r == '-' || r == '\t' || r == '\u00a0' {
			return -1
		}
		return r
	}, code[:min(len(code), 100)]))
}

// groups splits a text into groups of four characters, divided by separator.
func groups(text, separator string) string {
	var out strings.Builder
	for i := 0; i < len(text); i += 4 {
		if i > 0 {
			out.WriteString(separator)
		}
		out.WriteString(text[i:min(i+4, len(text))])
	}
	return out.String()
}

// QR is a QR code. Path is the path of an SVG image of Size by Size that draws the dark modules, each 1 by 1.
type QR struct {
	Size int
	Path string
}

// qrMargin is the width of the light margin around a QR code (ISO/IEC 18004 section 9.1).
const qrMargin = 4

// newQR returns the QR code of a text.
func newQR(content string) (QR, error) {
	code, err := qr.Encode(content, qr.M, qr.Auto)
	if err != nil {
		return QR{}, fmt.Errorf("drawing a code: %w", err)
	}
	size := code.Bounds().Dx()
	var path strings.Builder
	for y := range size {
		for x := range size {
			if r, _, _, _ := code.At(x, y).RGBA(); r == 0 {
				fmt.Fprintf(&path, "M%d %dh1v1h-1z", x+qrMargin, y+qrMargin)
			}
		}
	}
	return QR{size + 2*qrMargin, path.String()}, nil
}

// appURL returns the URL in the QR code, which apps read. Spaces are escaped as %20, since some apps do not accept a
// plus sign.
func appURL(issuer, account, secret string) string {
	escape := func(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }
	return "otpauth://totp/" + escape(issuer) + ":" + escape(account) + "?secret=" + secret + "&issuer=" + escape(issuer)
}

// ImportApp returns a function that stores an authenticator app that a user has set up at another server. The function
// runs in the transaction of the caller. The secret is in base32 (RFC 4226). The user gets no recovery codes. The error
// has status 422 if the secret is invalid, or if this server cannot encrypt it.
func (f *Factors) ImportApp(ctx context.Context, label, secret string) (func(c store.Conn, user string) error, error) {
	if f.encryptor == nil {
		return nil, users.Invalid("totp", "the user has an authenticator app, whose secret has to be stored encrypted: set data_encryption.driver")
	}
	encoding := base32.StdEncoding.WithPadding(base32.NoPadding)
	raw, err := encoding.DecodeString(NormalSecret(secret))
	if err != nil || len(raw) < 10 || len(raw) > 128 {
		return nil, users.Invalid("totp", "the secret of the authenticator app must be 10 to 128 bytes in base32")
	}
	app := &Factor{ID: kernel.NewID(), Kind: App, Name: label}
	if app.secret, err = f.encryptor.Seal(ctx, []byte(encoding.EncodeToString(raw)), place(app.ID)); err != nil {
		return nil, err
	}
	return func(c store.Conn, user string) error { return f.insert(c, user, app, "") }, nil
}

// NormalSecret returns the base32 form of a secret without spaces and padding, and in upper case.
func NormalSecret(secret string) string {
	return strings.TrimRight(strings.ToUpper(strings.ReplaceAll(secret, " ", "")), "=")
}

// AppSecrets returns the secrets of a user's authenticator apps in base32, for an export to another server.
func (f *Factors) AppSecrets(ctx context.Context, user string) (secrets []string, err error) {
	list, err := f.Of(ctx, user)
	if err != nil {
		return nil, err
	}
	for _, factor := range list {
		if factor.Kind != App {
			continue
		}
		secret, err := f.secretOf(ctx, factor)
		if err != nil {
			return nil, err
		}
		secrets = append(secrets, secret)
	}
	return secrets, nil
}
