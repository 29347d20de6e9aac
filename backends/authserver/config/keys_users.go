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
		Rule: "whoever has set up a passkey may sign in with it alone, which counts as two factors; `false`: passkeys are second factors only",
	},
	{
		Name: "session.same_site", Default: "lax", check: oneOf("lax", "strict", "none"),
		Rule: "`lax`, `strict`, `none`",
	},
	{
		Name: "session.second_factor", Default: "optional", Own: true, check: oneOf(Optional, Required),
		Rule: "`optional`: who has set up a passkey or an authenticator app is asked for it behind the password; `required`: without one who signs in with a password gets no further than to set one up",
	},
	{
		Name: "session.secret", Secret: true, check: required(public),
		Rule: "required when server.issuer is not localhost",
	},
	{
		Name: "session.secure", Default: "false",
		Rule: "the cookie is sent by https only; always so with same_site `none`",
	},
}

var oidcKeys = []Key{
	{
		Name: "oidc.client_id", check: required(upstream),
		Rule: "required when oidc is enabled",
	},
	{
		Name: "oidc.client_secret", Secret: true, check: oidcSecret,
		Rule: "mutually exclusive with client_secret_ref",
	},
	{
		Name: "oidc.client_secret_env", Env: none, check: oneName,
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
		Name: "oidc.issuer", check: required(upstream, address),
		Rule: "upstream issuer URL; required when oidc is enabled",
	},
	{
		Name: "oidc.redirect_uri", check: required(upstream, address),
		Rule: "callback redirect URI; required when oidc is enabled",
	},
	{
		Name: "oidc.scopes", Default: "openid, email, profile", check: upstreamScopes,
		Rule: "scopes asked for upstream; must hold `openid`",
	},
	{
		Name: "oidc.show_local_login", Default: "true",
		Rule: "false hides the password form and `POST /login` answers 404",
	},
}

var pagesKeys = []Key{
	{
		Name: "pages.folder", Own: true,
		Rule: "folder with templates and styles that stand in for the built-in pages",
	},
	{
		Name: "pages.language", Default: "en", Own: true, check: languageTags,
		Rule: "language of pages and mails for people who ask for none that there is: `en`, `de`, or one that has a catalogue in `pages.texts`",
	},
	{
		Name: "pages.languages", Own: true, check: languageTags,
		Rule: "languages in which pages and mails are shown, such as `en,de`; empty means English and all that there is a catalogue of",
	},
	{
		Name: "pages.texts", Own: true,
		Rule: "folder with catalogues, such as `de.json`, whose texts stand in for the built-in ones, or that add a language",
	},
}

var mailKeys = []Key{
	{
		Name: "mail.from", Own: true, check: required(mailing, sender),
		Rule: "who mails are from, such as `Accounts <accounts@example.com>`",
	},
	{
		Name: "mail.password", Own: true, Secret: true,
		Rule: "password at the mail server, if it asks for one",
	},
	{
		Name: "mail.url", Own: true, check: mailServer,
		Rule: "the server that sends mails on: `smtp://host:port`, which needs STARTTLS unless it is this machine, or `smtps://host:port`; without one nobody is mailed, and the pages that need mail are not there",
	},
	{
		Name: "mail.user", Own: true,
		Rule: "name at the mail server, if it asks for one",
	},
}

var accountsKeys = []Key{
	{
		Name: "accounts.deletion_grace", Own: true, check: notNegative,
		Rule: "how long an account is kept whose user has deleted it, such as `336h`: until then they can keep it; 0 means that users cannot delete their accounts",
	},
	{
		Name: "accounts.leaked_passwords", Own: true,
		Rule: "file of passwords that are refused because they have been leaked: their SHA-1 hashes in ascending order, one on each line, as Have I Been Pwned publishes them; it is searched where it is and not read into memory",
	},
	{
		Name: "accounts.password_length", Default: "8", Own: true, check: between(8, 64),
		Rule: "characters that a new password has at least",
	},
	{
		Name: "accounts.registration", Default: "off", Own: true,
		check: all(oneOf(RegistrationOff, RegistrationOpen), registration),
		Rule:  "`off`: the operator makes or invites each user; `open`: whoever confirms a mail address may have an account, which needs `mail.url`",
	},
	{
		Name: "accounts.registration_domains", Own: true, check: mailDomains,
		Rule: "domains that the mail addresses of those who register must have; empty means all",
	},
}
