// The frame of a console with several pages: the navigation at the side and the current page.
import { bar, entitle, h } from './dom.js';

// frame fills app with the navigation and shows the page that the location names:
// #/path, #/path/id or #/path?query. groups are [[title, {path: page}]]. The very first
// page is the default. A page has a title, an optional introduction about, and a
// function show, which gets
//
//   body, actions    the elements for the content and for buttons beside the heading
//   heading          the heading, in which the page can name what it shows
//   id, query        the id and query of the location; id is empty if there is none
//   signal           is aborted when the user leaves the page
//   every(ms, work)  runs work regularly while the page is visible
//
// who is the name of the signed-in user, and signOut is called by the button for signing
// out. Both are optional. frame returns the function that removes everything.
export function frame(app, { groups, last = [], who, whoTitle, signOut }) {
  const pages = Object.assign({}, ...groups.map(([, list]) => list));
  const [home] = Object.values(pages);
  let leave = null; // the AbortController of the current page

  const nav = h('nav.side', { id: 'nav', 'aria-label': 'Console' }, groups.map(([title, list]) => [
    title && h('h2', null, title),
    h('ul', null, Object.entries(list).map(([path, page]) => h('li', null, h('a', { href: `#/${path}`, 'data-path': path }, page.title)))),
  ]), last.length > 0 && h('ul.last', null, last.map((link) => h('li', null, link))));
  const toggle = h('button.quiet.menu', { type: 'button', 'aria-expanded': 'false', 'aria-controls': 'nav' }, 'Menu');
  const open = (on) => {
    toggle.setAttribute('aria-expanded', String(on));
    app.classList.toggle('open', on);
  };
  toggle.addEventListener('click', () => open(toggle.getAttribute('aria-expanded') !== 'true'));
  nav.addEventListener('click', (event) => { if (event.target.closest('a')) open(false); });
  nav.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && toggle.getAttribute('aria-expanded') === 'true') {
      open(false);
      toggle.focus();
    }
  });
  const main = h('main', { id: 'main', tabindex: '-1' });
  bar(h('div.account', null, toggle, who && h('span.who', { title: whoTitle }, who), signOut && h('button.plain', { type: 'button', onclick: signOut }, 'Sign out')));
  app.replaceChildren(nav, main);

  const abandon = () => {
    leave?.abort();
    leave = null;
    document.querySelectorAll('dialog').forEach((d) => d.close());
  };
  const navigate = () => {
    abandon();
    leave = new AbortController();
    const { signal } = leave;
    const [place, query] = location.hash.replace(/^#\/?/, '').split('?');
    const [path, ...rest] = place.split('/');
    const page = pages[path] ?? home;
    for (const link of nav.querySelectorAll('a[data-path]')) {
      if (pages[link.dataset.path] === page) link.setAttribute('aria-current', 'page');
      else link.removeAttribute('aria-current');
    }
    entitle(page.title);
    const heading = h('h1', { tabindex: '-1' }, page.title);
    const actions = h('div.actions.do');
    const body = h('div.page', null);
    main.replaceChildren(h('div.head', null, h('div', null, heading, page.about && h('p.lead', null, page.about)), actions), body);
    page.show({
      body, actions, heading, signal,
      id: plain(rest.join('/')),
      query: new URLSearchParams(query),
      every(ms, work) {
        const timer = setInterval(() => { if (!document.hidden) work(); }, ms);
        signal.addEventListener('abort', () => clearInterval(timer));
      },
    });
    scrollTo(0, 0);
    heading.focus({ preventScroll: true });
  };
  addEventListener('hashchange', navigate);
  navigate();
  return () => {
    bar();
    removeEventListener('hashchange', navigate);
    abandon();
  };
}

function plain(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // an address that was typed by hand
  }
}
