// The pages of the authorization server in a browser, without script.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { darkness, defects, faint, inBrowser } from './browser.mjs';

const url = process.env.AUTHSERVER_URL;
const password = process.env.AUTHSERVER_PASSWORD;
const shots = process.env.SHOTS; // a folder for pictures of the pages; none where it is not set
const phone = { viewport: { width: 390, height: 844 }, javaScriptEnabled: false };
const dark = { colorScheme: 'dark', javaScriptEnabled: false };

const button = (tab, name) => tab.locator('main').getByRole('button', { name, exact: true });
const at = (tab, name) => tab.getByRole('heading', { level: 1, name }).waitFor();

// sound looks at the page with a heading as users of keyboards, screen readers and small screens do.
async function sound(tab, name, picture) {
  await at(tab, name);
  if (shots && picture) await tab.screenshot({ path: `${shots}/${picture}.png`, fullPage: true });
  assert.deepEqual(await defects(tab), [], tab.url());
  assert.deepEqual(await faint(tab), [], tab.url());
  const wide = await tab.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wide <= 0, `${tab.url()} is ${wide} pixels too wide`);
}

async function signIn(tab, pass = password) {
  await tab.getByLabel('Mail address').fill('ann@example.com');
  await tab.getByLabel('Password').fill(pass);
  const answered = tab.waitForEvent('domcontentloaded');
  await button(tab, 'Sign in').click();
  await answered;
}

async function register(metadata) {
  const answer = await fetch(`${url}/oauth/register`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ token_endpoint_auth_method: 'none', ...metadata }) });
  assert.equal(answer.status, 201, await answer.clone().text());
  return (await answer.json()).client_id;
}

function request(client, redirect, more = {}) {
  const challenge = createHash('sha256').update(randomBytes(32)).digest('base64url');
  return `${url}/oauth/authorize?${new URLSearchParams({ response_type: 'code', client_id: client, redirect_uri: redirect, scope: 'openid email read write', state: 's0', code_challenge: challenge, code_challenge_method: 'S256', ...more })}`;
}

// leaves returns what waits until the browser is led to an address, where nobody is, and tells the whole of it.
function leaves(tab, address) {
  const led = [];
  tab.on('request', (request) => {
    if (request.isNavigationRequest() && request.url().startsWith(address)) led.push(request.url());
  });
  return async () => {
    await tab.waitForURL((to) => to.protocol === 'chrome-error:');
    assert.equal(led.length, 1, `${led}`);
    return led.pop();
  };
}

// arrives returns what waits for an answer to an application.
function arrives(tab, redirect) {
  const left = leaves(tab, redirect);
  return async () => {
    const answer = new URL(await left()).searchParams;
    assert.equal(answer.get('state'), 's0');
    assert.equal(answer.get('iss'), url);
    return answer;
  };
}

inBrowser('somebody signs in on a phone and lets an application in', phone, async (tab) => {
  const redirect = 'https://app.example/cb';
  const back = arrives(tab, redirect);
  const client = await register({ client_name: 'Photo Album', redirect_uris: [redirect] });
  await tab.goto(request(client, redirect));
  await sound(tab, 'Sign in', 'login-phone');
  await tab.getByText('to continue to Photo Album').waitFor();
  await signIn(tab, 'a wrong one');
  await tab.getByRole('alert').getByText('The mail address or the password is wrong').waitFor();
  await sound(tab, 'Sign in', 'login-wrong-phone');
  assert.equal(await tab.getByLabel('Mail address').inputValue(), 'ann@example.com', 'what was typed is kept');
  await signIn(tab);
  await sound(tab, 'Photo Album', 'consent-phone');
  await tab.getByText('self-declared').waitFor();
  await tab.getByText('app.example', { exact: true }).waitFor();
  assert.equal(await tab.getByRole('checkbox', { checked: true }).count(), 4);
  await tab.getByRole('checkbox', { name: 'Change your files' }).uncheck();
  await button(tab, 'Allow').click();
  const answer = await back();
  assert.ok(answer.get('code').length >= 43);

  const granted = await tab.request.get(request(client, redirect, { scope: 'openid read' }), { maxRedirects: 0 });
  const again = new URL(granted.headers().location).searchParams.get('code');
  assert.ok(again.length >= 43 && again !== answer.get('code'), 'what was granted is not asked again');

  // Back to the form, and once more: the decision may be sent twice.
  await tab.goto(request(client, redirect, { prompt: 'consent' }));
  await at(tab, 'Photo Album');
  await button(tab, 'Allow').click();
  await back();
  await tab.goBack();
  await at(tab, 'Photo Album');
  await button(tab, 'Deny').click();
  assert.equal((await back()).get('error'), 'access_denied');

  await tab.goto(`${url}/`);
  await sound(tab, 'You are signed in', 'home-phone');
  await button(tab, 'Sign out').click();
  await tab.getByText('You are signed out.').waitFor();
});

inBrowser('a program on this device is told of, in the dark', dark, async (tab) => {
  const redirect = 'http://127.0.0.1:1/cb';
  const back = arrives(tab, 'http://127.0.0.1:1/cb');
  const client = await register({ client_name: 'A program with a rather long name that does not fit on one line, and <b>marks</b>', redirect_uris: ['http://127.0.0.1/cb'], application_type: 'native' });
  await tab.goto(request(client, redirect));
  await sound(tab, 'Sign in', 'login-dark');
  const shade = await darkness(tab);
  assert.ok(shade.dark > 0.8, `${JSON.stringify(shade)} is not dark`);
  await signIn(tab);
  await sound(tab, 'A program with', 'consent-dark');
  await tab.getByRole('note').getByText('This is a program on the device in front of you').waitFor();
  await button(tab, 'Deny').click();
  assert.equal((await back()).get('error'), 'access_denied');
  await tab.goto(request(client, 'https://evil.example/'));
  await sound(tab, 'This request cannot be served', 'error-dark');
});

inBrowser('a device is connected by its code', phone, async (tab) => {
  const client = await register({ client_name: 'Television', redirect_uris: [], response_types: [], grant_types: ['urn:ietf:params:oauth:grant-type:device_code'] });
  const answer = await fetch(`${url}/oauth/device_authorization`, { method: 'POST', body: new URLSearchParams({ client_id: client, scope: 'openid read' }) });
  const device = await answer.json();
  await tab.goto(device.verification_uri);
  await signIn(tab);
  await sound(tab, 'Connect a device', 'device-phone');
  await tab.getByLabel('Code').fill('BBBB-BBBB');
  await button(tab, 'Continue').click();
  await tab.getByRole('alert').getByText('No device waits with this code').waitFor();
  await tab.getByLabel('Code').fill(device.user_code.toLowerCase().replace('-', ' '));
  await button(tab, 'Continue').click();
  await sound(tab, 'Television', 'device-consent-phone');
  await tab.getByText(device.user_code).waitFor();
  await button(tab, 'Allow').click();
  await sound(tab, 'The device is connected', 'device-done-phone');
});

inBrowser('an application has somebody signed out', { javaScriptEnabled: false }, async (tab) => {
  const bye = 'https://app.example/bye';
  const left = leaves(tab, bye);
  const client = await register({ client_name: 'Photo Album', redirect_uris: ['https://app.example/cb'], post_logout_redirect_uris: [bye] });
  await tab.goto(`${url}/login`);
  await signIn(tab);
  await tab.goto(`${url}/oauth/logout?${new URLSearchParams({ client_id: client, post_logout_redirect_uri: bye, state: 's0' })}`);
  await sound(tab, 'Sign out?', 'logout');
  await button(tab, 'Sign out').click();
  assert.equal(await left(), `${bye}?state=s0`);
  await tab.goto(`${url}/oauth/logout`);
  await sound(tab, 'You are signed out', 'signedout');
});

// The last: nobody signs in as them for a while.
inBrowser('who guesses is locked out', dark, async (tab) => {
  await tab.goto(`${url}/login`);
  for (let i = 0; i < 3; i++) {
    await signIn(tab, `guess ${i}`);
    await tab.getByRole('alert').getByText('The mail address or the password is wrong').waitFor();
  }
  await signIn(tab);
  await tab.getByRole('alert').getByText('Too many logins failed').waitFor();
  await sound(tab, 'Sign in', 'lockout-dark');
});
