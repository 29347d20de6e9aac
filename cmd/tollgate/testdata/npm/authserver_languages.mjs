// The pages and mails of the authorization server for people whose browser asks for German.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { application, defects, faint, inBrowser } from './browser.mjs';

const url = process.env.ISSUER;
const main = (tab) => tab.locator('main');
const button = (tab, name) => main(tab).getByRole('button', { name, exact: true });
const email = 'neumann@example.com';
const password = 'richtiges Pferd';

async function sound(tab, name, language = 'de') {
  await tab.getByRole('heading', { level: 1, name, exact: true }).waitFor();
  assert.equal(await tab.evaluate(() => document.documentElement.lang), language, tab.url());
  assert.deepEqual(await defects(tab), [], tab.url());
  assert.deepEqual(await faint(tab), [], tab.url());
  const wide = await tab.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wide <= 0, `${tab.url()} is ${wide} pixels too wide`);
}

// letter waits for the next mail to an address and returns its text.
async function letter(to) {
  for (;;) {
    const answer = await fetch(process.env.MAILS_URL);
    assert.equal(answer.status, 200, 'no mail came');
    for (const mail of await answer.json()) {
      if (mail.To !== to) continue;
      const bytes = mail.Data.replaceAll('=\n', '').replace(/=([0-9A-F]{2})/g, (_, code) => String.fromCharCode(parseInt(code, 16)));
      return Buffer.from(bytes, 'latin1').toString('utf8');
    }
  }
}

async function request(redirect, more = {}) {
  const answer = await fetch(`${url}/oauth/register`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ token_endpoint_auth_method: 'none', client_name: 'Die App', redirect_uris: [redirect] }) });
  assert.equal(answer.status, 201, await answer.clone().text());
  const challenge = createHash('sha256').update(randomBytes(32)).digest('base64url');
  return `${url}/oauth/authorize?${new URLSearchParams({ response_type: 'code', client_id: (await answer.json()).client_id, redirect_uri: redirect, scope: 'openid email', state: 's0', code_challenge: challenge, code_challenge_method: 'S256', ...more })}`;
}

async function signIn(tab) {
  await tab.getByLabel('E-Mail-Adresse').fill(email);
  await tab.getByLabel('Passwort').fill(password);
  await button(tab, 'Anmelden').click();
}

inBrowser('registration, sign-in, consent and account in German', { locale: 'de-DE', viewport: { width: 390, height: 844 } }, async (tab, context) => {
  await tab.goto(`${url}/login`);
  await sound(tab, 'Anmelden');
  await tab.getByRole('link', { name: 'Konto erstellen' }).click();
  await sound(tab, 'Konto erstellen');
  await tab.getByLabel('E-Mail-Adresse').fill(email);
  await tab.getByLabel('Name').fill('Jörg Neumann');
  await button(tab, 'Link per E-Mail senden').click();
  await tab.getByRole('status').getByText(`Eine E-Mail an ${email} ist unterwegs`).waitFor();

  const mail = await letter(email);
  for (const part of ['Sie haben sich mit dieser Adresse registriert.', 'Der Link gilt einmal, bis ', 'müssen Sie nichts tun']) assert.ok(mail.includes(part), mail);
  await tab.goto(mail.match(/^http\S+\?link=[\w-]{43}$/m)[0]);
  await sound(tab, 'Passwort wählen');
  await tab.getByLabel('Passwort').fill(password);
  await button(tab, 'Konto erstellen').click();
  await tab.getByText('Ihr Konto ist erstellt.').first().waitFor();
  await tab.getByRole('button', { name: 'Schließen' }).waitFor(); // of the script

  const app = await application();
  await tab.goto(await request(`${app}/cb`));
  await sound(tab, 'Anmelden');
  await tab.getByText('um zu Die App zu gelangen').waitFor();
  await tab.getByLabel('E-Mail-Adresse').fill(email);
  await tab.getByLabel('Passwort').fill('falsch');
  await button(tab, 'Anmelden').click();
  await tab.getByRole('alert').getByText('Die E-Mail-Adresse oder das Passwort ist falsch.').waitFor();
  await sound(tab, 'Anmelden');
  await signIn(tab);
  await tab.getByText('Diese Anwendung möchte in Ihrem Namen handeln').waitFor();
  assert.deepEqual(await defects(tab), [], tab.url());
  await button(tab, 'Zulassen').click();
  await tab.getByRole('heading', { name: 'Back' }).waitFor();
  assert.ok(new URL(tab.url()).searchParams.get('code'), tab.url());

  await tab.goto(`${url}/account`);
  await sound(tab, 'Ihr Konto');
  await tab.getByRole('heading', { name: 'Aktivitäten der letzten 30 Tage' }).waitFor();
  await tab.goto(`${url}/confirm-address?link=none`);
  await sound(tab, 'Dieser Link ist abgelaufen');

  // An application that asks for English is heard, and what the person has set comes first.
  await tab.goto(`${url}/account?ui_locales=en`);
  await sound(tab, 'Your account', 'en');
  await tab.getByLabel('Language').selectOption({ label: 'Deutsch' });
  await button(tab, 'Save the language').click();
  await sound(tab, 'Ihr Konto');
  const elsewhere = await context.browser().newContext({ locale: 'en-GB' });
  const other = await elsewhere.newPage();
  await other.goto(`${url}/login?redirect=/account`);
  await sound(other, 'Sign in', 'en');
  await other.getByLabel('Mail address').fill(email);
  await other.getByLabel('Password').fill(password);
  await button(other, 'Sign in').click();
  await sound(other, 'Ihr Konto');
  await elsewhere.close();
});
