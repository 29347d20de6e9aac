// Who is signed in. Tokens live in this tab alone: in sessionStorage, so that a
// reload keeps them and closing the tab ends them.

const storageKey = 'tollgate.session';

export const session = Object.assign({ token: null, refresh: null, expires: 0, user: null, name: null }, restored());

// A gateway key the user has just made or typed in, and the language of code in the playground; in
// memory only.
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
    // There was none.
  }
}

const invitationKey = 'tollgate.invitation';

// rememberInvitation keeps the token of an invitation, which the address ends with, for the
// sign-in that follows.
export function rememberInvitation() {
  const token = new URLSearchParams(location.hash.slice(1)).get('invitation');
  if (!token) return;
  history.replaceState(null, '', location.pathname + location.search);
  try {
    sessionStorage.setItem(invitationKey, token);
  } catch {
    // Without storage it does not survive the way to the identity provider.
  }
}

// takeInvitation returns the token of an invitation once, or null.
export function takeInvitation() {
  try {
    const token = sessionStorage.getItem(invitationKey);
    sessionStorage.removeItem(invitationKey);
    return token;
  } catch {
    return null;
  }
}

// claims reads the payload of a JSON Web Token without checking it: the gateway
// does that. null: it is none.
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
