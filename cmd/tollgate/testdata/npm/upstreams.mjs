// People of two other authorization servers sign in at a site: by the button of one, and by the mail address
// of the other, whose accounts they connect with those that they have here.
import assert from 'node:assert/strict';
import { defects, faint, inBrowser, settled } from './browser.mjs';

const { SITE, ADMIN, COMPANY, PARTNER, SHOTS } = process.env;
let shots = 0;
const phone = { viewport: { width: 390, height: 844 }, javaScriptEnabled: false };
const main = (tab) => tab.locator('main');
const button = (tab, name) => main(tab).getByRole('button', { name, exact: true });
const anchor = (tab, name) => main(tab).getByRole('link', { name, exact: true });

const shot = async (tab, name) => SHOTS && tab.screenshot({ path: `${SHOTS}/upstreams-${++shots}-${name.replaceAll(' ', '-')}.png`, fullPage: true });

async function sound(tab, name) {
  await tab.getByRole('heading', { level: 1, name, exact: true }).waitFor();
  await shot(tab, name);
  assert.deepEqual(await defects(tab), [], tab.url());
  assert.deepEqual(await faint(tab), [], tab.url());
  const wide = await tab.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wide <= 0, `${tab.url()} is ${wide} pixels too wide`);
}

// signIn fills in the form of a server.
async function signIn(tab, server, email) {
  await tab.waitForURL((to) => to.origin === server && to.pathname === '/login');
  await tab.getByLabel('Mail address').fill(email);
  await tab.getByLabel('Password').fill('correct horse');
  await button(tab, 'Sign in').click();
}

const signedInAs = (tab, email) => tab.locator('header .who').getByText(email, { exact: true }).waitFor();

async function send(path, body) {
  const answer = await fetch(ADMIN + path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
  assert.equal(answer.status, 201, await answer.text());
}

inBrowser('by the button, with a new account', phone, async (tab) => {
  await tab.goto(`${SITE}/login?redirect=/account`);
  await sound(tab, 'Sign in');
  assert.equal(await anchor(tab, 'Sign in with A Partner').count(), 0);
  await anchor(tab, 'Sign in with The Company').click();
  await signIn(tab, COMPANY, 'ann@company.example');
  await sound(tab, 'Your account');
  assert.equal(new URL(tab.url()).origin, SITE);
  await signedInAs(tab, 'ann@company.example');
  assert.equal(await main(tab).getByLabel('Name').inputValue(), 'Ann Stone');

  // It is the only way to sign in.
  await button(tab, 'Disconnect The Company ann@company.example').or(main(tab).getByRole('button', { name: /^Disconnect The Company/ })).first().click();
  await main(tab).getByText('this is the only way that you have').waitFor();
  await sound(tab, 'Your account');
});

inBrowser('by the mail address, with an account that there is', phone, async (tab) => {
  await send('/admin/users', { email: 'ann@partner.example', name: 'Ann of here', password: 'correct horse' });
  await tab.goto(`${SITE}/login?redirect=/account`);
  await tab.getByLabel('Mail address').fill('ann@nowhere.example');
  await button(tab, 'Sign in with my organization').click();
  await main(tab).getByText('No organization is known for this mail address').waitFor();
  await sound(tab, 'Sign in');
  await tab.getByLabel('Mail address').fill('ann@partner.example');
  await button(tab, 'Sign in with my organization').click();
  await signIn(tab, PARTNER, 'ann@partner.example');

  // The address alone is no key: they prove that the account here is theirs.
  await main(tab).getByText('is not connected with an account here yet').waitFor();
  await sound(tab, 'Sign in');
  assert.equal(await tab.locator('header .who').count(), 0);
  await signIn(tab, SITE, 'ann@partner.example');
  await sound(tab, 'Connect an account');
  await main(tab).getByText('A Partner').waitFor();
  await button(tab, 'Connect').click();
  await sound(tab, 'Your account');
  await signedInAs(tab, 'ann@partner.example');

  // From then on they go through, for an account that is signed in there already.
  await tab.goto(`${SITE}/oauth/logout`);
  await button(tab, 'Sign out').click();
  await tab.goto(`${SITE}/login?redirect=/account`);
  await tab.getByLabel('Mail address').fill('ann@partner.example');
  await button(tab, 'Sign in with my organization').click();
  await sound(tab, 'Your account');
  await signedInAs(tab, 'ann@partner.example');

  // One more is connected from the account, and one is taken away.
  await anchor(tab, 'Connect The Company').click();
  await signIn(tab, COMPANY, 'ann@company.example');
  await sound(tab, 'Connect an account');
  await button(tab, 'Connect').click();
  await main(tab).getByText('That account is connected with another one here').waitFor();
  await sound(tab, 'Connect an account');
  await anchor(tab, 'Not now').click();
  await main(tab).getByRole('button', { name: /^Disconnect A Partner/ }).click();
  await main(tab).getByText('can no longer be used to sign in').or(tab.getByText('The account is disconnected')).first().waitFor();
  await sound(tab, 'Your account');
  assert.equal(await main(tab).getByRole('button', { name: /^Disconnect/ }).count(), 0);
});

inBrowser('a provider that does not answer', { javaScriptEnabled: false }, async (tab) => {
  await tab.goto(`${SITE}/login`);
  await anchor(tab, 'Sign in with Nobody').click();
  await main(tab).getByText('the identity provider').waitFor();
  assert.equal(new URL(tab.url()).origin, SITE);
});

inBrowser('the operator sees them', {}, async (tab) => {
  await tab.goto(`${ADMIN}/admin/ui/#/upstreams`);
  await tab.getByRole('heading', { level: 1, name: 'Sign-in providers' }).waitFor();
  await settled(tab);
  for (const [name, state] of [['The Company', 'works'], ['A Partner', 'works'], ['Nobody', 'fails']]) {
    const card = main(tab).getByRole('region', { name, exact: true });
    await card.getByText(state, { exact: true }).waitFor();
  }
  const company = main(tab).getByRole('region', { name: 'The Company', exact: true });
  await company.getByText(`${SITE}/oidc/company/callback`).waitFor();
  await company.getByText('open for company.example').waitFor();
  await main(tab).getByRole('region', { name: 'Nobody', exact: true }).getByText('connection refused').waitFor();
  assert.deepEqual(await defects(tab), []);
  await shot(tab, 'administration');
  await tab.getByRole('button', { name: 'Check again' }).click();
  await settled(tab);

  // A user's connections are on their page.
  await tab.goto(`${ADMIN}/admin/ui/#/users`);
  await main(tab).getByRole('link', { name: 'ann@company.example' }).click();
  const connected = main(tab).getByRole('region', { name: 'Connected accounts', exact: true });
  await connected.getByRole('button', { name: 'Disconnect' }).click();
  await tab.getByRole('dialog').getByRole('button', { name: 'Disconnect' }).click();
  await connected.waitFor({ state: 'detached' });
  await tab.getByText('The account is disconnected').first().waitFor();
});
