// What the address says: the page, its subject and its filters. Whoever is sent the
// address sees the same.

// here is the place in the dashboard: {name, subject, parameters}.
export function here() {
  const [path, search] = location.hash.replace(/^#\/?/, '').split('?');
  const [name, ...rest] = path.split('/');
  return { path, name, subject: decode(rest.join('/')), parameters: new URLSearchParams(search) };
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

// environment is the one that is looked at; empty: all of them.
export const environment = () => here().parameters.get('env') ?? '';

// link leads to a page. The environment stays the same.
export function link(path, parameters = {}) {
  const search = kept({ env: environment(), ...parameters });
  return `#/${path}${search ? `?${search}` : ''}`;
}

// note writes filters into the address without going anywhere.
export function note(parameters) {
  const at = here();
  const search = kept({ ...Object.fromEntries(at.parameters), ...parameters });
  history.replaceState(null, '', `#/${at.path}${search ? `?${search}` : ''}`);
}

const kept = (parameters) => new URLSearchParams(Object.entries(parameters).filter(([, value]) => value != null && value !== '')).toString();

// inEnvironment is a query with the chosen environment; null asks for everything.
export function inEnvironment(field, ...clauses) {
  const all = [environment() && ['=', field, environment()], ...clauses].filter(Boolean);
  return all.length > 1 ? ['and', ...all] : all[0] ?? null;
}
