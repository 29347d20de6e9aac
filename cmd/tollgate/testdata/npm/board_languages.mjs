// The pages and mails of the board for people whose browser asks for German.
import assert from 'node:assert/strict';
import { defects, faint, inBrowser } from './browser.mjs';

const url = process.env.BOARD_URL;
const phone = { locale: 'de-DE', viewport: { width: 390, height: 844 } };
const button = (tab, name) => tab.locator('main').getByRole('button', { name, exact: true });

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

async function signIn(tab, name) {
  await tab.goto(`${url}/login`);
  await tab.getByLabel('Name oder E-Mail-Adresse').fill(name);
  await tab.getByLabel('Passwort').fill('correct horse');
  await button(tab, 'Anmelden').click();
  await tab.getByRole('button', { name: 'Abmelden' }).waitFor();
}

inBrowser('somebody joins, confirms, starts a thread and answers in German, and chooses English', phone, async (tab, context) => {
  await tab.goto(url);
  await sound(tab, 'Board');
  await tab.getByRole('link', { name: 'Mitmachen' }).click(); // a text of the operator
  await sound(tab, 'Mitmachen');
  await tab.getByLabel('Name', { exact: true }).fill('Jörg');
  await tab.getByLabel('E-Mail-Adresse').fill('joerg@example.com');
  const join = async () => {
    await tab.getByLabel('Passwort').fill('correct horse');
    const answered = tab.waitForEvent('domcontentloaded');
    await button(tab, 'Mitmachen').click();
    await answered;
  };
  await join();
  // A browser that is steered may be faster than people; what was typed stays.
  while (await tab.getByRole('alert').getByText('schneller gesendet, als Menschen tippen').count()) await join();
  await sound(tab, 'E-Mail-Adresse bestätigen');
  const mail = await letter('joerg@example.com');
  for (const part of ['Hallo Jörg,', 'willkommen bei Board.', 'Der Link gilt einmal, bis ']) assert.ok(mail.includes(part), mail);
  await tab.goto(mail.match(/^http\S+token=[\w-]{43}$/m)[0]);
  await sound(tab, 'E-Mail-Adresse');
  await button(tab, 'Adresse bestätigen').click();
  await tab.getByText('joerg@example.com ist bestätigt. Willkommen!').first().waitFor();
  await sound(tab, 'Board');

  await tab.getByRole('link', { name: 'Public' }).first().click();
  await sound(tab, 'Public');
  await tab.getByRole('link', { name: 'Neues Thema' }).click();
  await sound(tab, 'Neues Thema');
  await tab.getByLabel('Titel').fill('Grüße aus Wien');
  await tab.getByLabel('Nachricht').fill('x');
  await button(tab, 'Thema erstellen').click();
  await tab.getByRole('alert').getByText('Die Nachricht muss mindestens 2 Zeichen haben.').waitFor();
  await sound(tab, 'Neues Thema');
  await tab.getByLabel('Nachricht').fill('Guten Tag zusammen');
  await button(tab, 'Thema erstellen').click();
  await sound(tab, 'Grüße aus Wien');
  await tab.getByText('0 Antworten').first().waitFor();
  await tab.getByLabel('Nachricht', { exact: true }).fill('Noch etwas');
  await button(tab, 'Antwort absenden').click();
  await tab.getByText('Sie schreiben zu schnell').or(tab.getByText('1 Antwort')).first().waitFor();

  for (const [path, name] of [
    ['/search?q=public', 'Suchen'], ['/new', 'Neues'], ['/conversations', 'Nachrichten'], ['/account/notifications', 'Ihr Konto'],
    ['/account/subscriptions', 'Ihr Konto'], ['/account/password', 'Ihr Konto'], ['/account/email', 'Ihr Konto'],
    ['/account/tokens', 'Ihr Konto'], ['/account/drafts', 'Ihr Konto'], ['/account/bookmarks', 'Ihr Konto'], ['/account/warnings', 'Ihr Konto'], ['/conversations/new', 'Neue Unterhaltung'],
    ['/nowhere', 'Seite nicht gefunden'], ['/reset?token=none', 'Dieser Link ist abgelaufen'],
  ]) {
    await tab.goto(url + path);
    await sound(tab, name);
  }

  // What the member has chosen comes first, in every browser.
  await tab.goto(`${url}/account`);
  await sound(tab, 'Ihr Konto');
  await tab.getByLabel('Sprache').selectOption({ label: 'English' });
  await button(tab, 'Sprache speichern').click();
  await sound(tab, 'Your account', 'en');
  const elsewhere = await context.browser().newContext({ locale: 'de-DE' });
  const other = await elsewhere.newPage();
  await other.goto(`${url}/login?next=/account`);
  await sound(other, 'Anmelden');
  await other.getByLabel('Name oder E-Mail-Adresse').fill('Jörg');
  await other.getByLabel('Passwort').fill('correct horse');
  await button(other, 'Anmelden').click();
  await sound(other, 'Your account', 'en');
  await elsewhere.close();
});

inBrowser('a moderator works in German', phone, async (tab) => {
  await signIn(tab, 'mona');
  for (const [path, name, language] of [
    ['/moderation', 'Moderation'], ['/moderation/reports', 'Meldungen'], ['/moderation/find', 'Beiträge finden'],
    ['/moderation/log', 'Log', 'en'],
  ]) {
    await tab.goto(url + path);
    await sound(tab, name, language);
  }
  await tab.goto(`${url}/threads/1`);
  await tab.getByRole('link', { name: 'Thema verwalten' }).click();
  await sound(tab, 'Thema verwalten');
  await button(tab, 'Anheften').click();
  await tab.getByText('Das Thema bleibt oben in seinem Forum.').first().waitFor();
  await tab.getByRole('link', { name: 'Beitrag 2 melden' }).click();
  await sound(tab, 'Diesen Beitrag melden');
  await tab.getByLabel('Was ist daran nicht in Ordnung?').fill('Werbung');
  await button(tab, 'Den Moderatoren melden').click();
  await tab.getByText('Vielen Dank. Die Moderatoren sehen es sich an.').first().waitFor();
  await tab.goto(`${url}/moderation/reports`);
  await sound(tab, 'Meldungen');
  await button(tab, 'Schließen').first().click();
  await tab.getByText('Die Meldung ist geschlossen.').first().waitFor();
});
