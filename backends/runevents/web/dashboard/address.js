// The address of a page: it contains the page, its subject and its filters, so that it can
// be passed on.

// here returns the current page: {name, subject, parameters}.
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

// environment returns the chosen environment, or an empty text for all of them.
export const environment = () => here().parameters.get('env') ?? '';

// link returns the address of a page in the current environment.
export function link(path, parameters = {}) {
  const search = kept({ env: environment(), ...parameters });
  return `#/${path}${search ? `?${search}` : ''}`;
}

// note changes filters in the address without loading a page.
export function note(parameters) {
  const at = here();
  const search = kept({ ...Object.fromEntries(at.parameters), ...parameters });
  history.replaceState(null, '', `#/${at.path}${search ? `?${search}` : ''}`);
}

const kept = (parameters) => new URLSearchParams(Object.entries(parameters).filter(([, value]) => value != null && value !== '')).toString();

// inEnvironment returns a query for rows that match the clauses and the chosen environment, or null if it has no
// conditions.
export function inEnvironment(field, ...clauses) {
  const all = [environment() && ['=', field, environment()], ...clauses].filter(Boolean);
  return all.length > 1 ? ['and', ...all] : all[0] ?? null;
}
