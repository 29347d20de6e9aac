// The session of the signed-in user. It is kept in sessionStorage: a reload keeps it, and
// closing the tab ends it.

const storageKey = 'tollgate.session';

export const session = Object.assign({ token: null, refresh: null, expires: 0, user: null, name: null }, restored());

// The gateway key that the user has just created or entered, and the language of the code in the playground. They are
// kept in memory only.
export const clipboard = { gatewayKey: '', language: 'curl' };

function restored() {
  try {
    return JSON.parse(sessionStorage.getItem(storageKey) ?? '{}');
  } catch {
    return {};
  }
}

export function keep(change) {
  Object.assign(session, change);
  try {
    sessionStorage.setItem(storageKey, JSON.stringify(session));
  } catch {
    // Without storage the session ends with a reload.
  }
}

export function forget() {
  Object.assign(session, { token: null, refresh: null, expires: 0, user: null, name: null });
  clipboard.gatewayKey = '';
  try {
    sessionStorage.removeItem(storageKey);
  } catch {
    // Without storage there is nothing to remove.
  }
}

const invitationKey = 'tollgate.invitation';

// rememberInvitation stores the token of an invitation from the fragment of the address until the
// user has signed in.
export function rememberInvitation() {
  const token = new URLSearchParams(location.hash.slice(1)).get('invitation');
  if (!token) return;
  history.replaceState(null, '', location.pathname + location.search);
  try {
    sessionStorage.setItem(invitationKey, token);
  } catch {
    // Without storage the token is lost on the way to the identity provider.
  }
}

// takeInvitation removes and returns the stored token of an invitation, or returns null.
export function takeInvitation() {
  try {
    const token = sessionStorage.getItem(invitationKey);
    sessionStorage.removeItem(invitationKey);
    return token;
  } catch {
    return null;
  }
}

// claims returns the payload of a JSON Web Token, or null if the text is not one. It does
// not check the signature; the gateway does.
export function claims(token) {
  try {
    const part = token.split('.')[1].replaceAll('-', '+').replaceAll('_', '/');
    const bytes = Uint8Array.from(atob(part), (c) => c.charCodeAt(0));
    const value = JSON.parse(new TextDecoder().decode(bytes));
    return value && typeof value === 'object' ? value : null;
  } catch {
    return null;
  }
}
