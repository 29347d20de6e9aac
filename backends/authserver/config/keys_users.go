package config

var sessionKeys = []Key{
	{
		Name: "session.cookie_name", Default: "authserver_session", check: cookieName,
		Rule: "name of the session cookie",
	},
	{
		Name: "session.fail_closed", Default: "true",
		Rule: "when true a transient user-store lookup error rejects the cookie; when false such errors keep sessions valid",
	},
	{
		Name: "session.max_age", Default: "24h", check: positive,
		Rule: "how long a login lasts",
	},
	{
		Name: "session.passkey_login", Default: "true", Own: true,
		Rule: "users with a passkey may sign in with the passkey alone, which counts as two factors; `false`: passkeys are second factors only",
	},
	{
		Name: "session.same_site", Default: "lax", check: oneOf("lax", "strict", "none"),
		Rule: "`lax`, `strict`, `none`",
	},
	{
		Name: "session.second_factor", Default: "optional", Own: true, check: oneOf(Optional, Required),
		Rule: "`optional`: users who have set up a passkey or an authenticator app are asked for it after the password; `required`: users without one must set one up when they sign in with a password",
	},
	{
		Name: "session.secret", Secret: true, check: required(public),
		Rule: "required when server.issuer is not localhost",
	},
	{
		Name: "session.secure", Default: "false",
		Rule: "the cookie is sent over https only; always true with same_site `none`",
	},
}

var oidcKeys = []Key{
	{
		Name: "oidc.client_id", check: required(oidcEnabled),
		Rule: "required when oidc is enabled",
	},
	{
		Name: "oidc.client_secret", Secret: true, check: oidcSecret,
		Rule: "mutually exclusive with client_secret_ref",
	},
	{
		Name: "oidc.client_secret_env", Env: none, check: sameName,
		Rule: "deprecated earlier name of client_secret_ref, normalized into it at load",
	},
	{
		Name: "oidc.client_secret_ref", Env: none,
		Rule: "env var name holding the secret",
	},
	{
		Name: "oidc.connector_id",
		Rule: "optional upstream connector identifier",
	},
	{
		Name: "oidc.display_name",
		Rule: "login button text",
	},
	{
		Name: "oidc.enabled",
		Rule: "login by an upstream provider",
	},
	{
		Name: "oidc.include_groups_scope", Default: "true",
		Rule: "include the `groups` scope if the upstream supports it",
	},
	{
		Name: "oidc.issuer", check: required(oidcEnabled, address),
		Rule: "upstream issuer URL; required when oidc is enabled",
	},
	{
		Name: "oidc.redirect_uri", check: required(oidcEnabled, address),
		Rule: "callback redirect URI; required when oidc is enabled",
	},
	{
		Name: "oidc.scopes", Default: "openid, email, profile", check: upstreamScopes,
		Rule: "scopes requested from the upstream provider; must contain `openid`",
	},
	{
		Name: "oidc.show_local_login", Default: "true",
		Rule: "false hides the password form and `POST /login` answers 404",
	},
}

var pagesKeys = []Key{
	{
		Name: "pages.folder", Own: true,
		Rule: "folder with templates and styles that replace those of the built-in pages",
	},
	{
		Name: "pages.language", Default: "en", Own: true, check: languageTags,
		Rule: "language of pages and mails for people whose own languages are not available: `en`, `de`, or a language with a catalogue in `pages.texts`",
	},
	{
		Name: "pages.languages", Own: true, check: languageTags,
		Rule: "languages of pages and mails, such as `en,de`; empty means English and all languages that have a catalogue",
	},
	{
		Name: "pages.texts", Own: true,
		Rule: "folder with catalogues, such as `de.json`, that replace built-in texts or add a language",
	},
}

var mailKeys = []Key{
	{
		Name: "mail.from", Own: true, check: required(mailEnabled, sender),
		Rule: "sender of mails, such as `Accounts <accounts@example.com>`",
	},
	{
		Name: "mail.password", Own: true, Secret: true,
		Rule: "password for the mail server, if it requires one",
	},
	{
		Name: "mail.url", Own: true, check: mailServer,
		Rule: "mail server: `smtp://host:port`, which must offer STARTTLS unless it is this machine, or `smtps://host:port`; without a server no mail is sent, and the pages that need mail do not exist",
	},
	{
		Name: "mail.user", Own: true,
		Rule: "user name for the mail server, if it requires one",
	},
}

var accountsKeys = []Key{
	{
		Name: "accounts.deletion_grace", Own: true, check: notNegative,
		Rule: "how long an account is kept after its user has deleted it, such as `336h`; until then the user can restore it; 0 means that users cannot delete their accounts",
	},
	{
		Name: "accounts.leaked_passwords", Own: true,
		Rule: "file of leaked passwords, which are refused: SHA-1 hashes in ascending order, one on each line, as Have I Been Pwned publishes them; the file is searched on disk and not read into memory",
	},
	{
		Name: "accounts.password_length", Default: "8", Own: true, check: between(8, 64),
		Rule: "minimum number of characters of a new password",
	},
	{
		Name: "accounts.registration", Default: "off", Own: true,
		check: all(oneOf(RegistrationOff, RegistrationOpen), registration),
		Rule:  "`off`: the operator creates or invites each user; `open`: everybody who confirms a mail address gets an account, which needs `mail.url`",
	},
	{
		Name: "accounts.registration_domains", Own: true, check: mailDomains,
		Rule: "allowed domains of the mail addresses of people who register; empty means all",
	},
}
