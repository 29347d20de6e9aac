// How members write on the board, with the script that helps them.
import assert from 'node:assert/strict';
import { defects, faint, inBrowser } from './browser.mjs';

const url = process.env.BOARD_URL;
const button = (tab, name) => tab.locator('main').getByRole('button', { name, exact: true });
const message = (tab) => tab.getByLabel('Message', { exact: true });

async function sound(tab) {
  assert.deepEqual(await defects(tab), [], tab.url());
  assert.deepEqual(await faint(tab), [], tab.url());
}

async function signIn(tab, name) {
  await tab.goto(`${url}/login`);
  await tab.getByLabel('Name or mail address').fill(name);
  await tab.getByLabel('Password').fill('correct horse');
  await button(tab, 'Sign in').click();
  await tab.getByRole('button', { name: 'Sign out' }).waitFor();
}

inBrowser('the toolbar marks up a text, and the preview follows it', {}, async (tab) => {
  await signIn(tab, 'henry');
  await tab.goto(`${url}/threads/1/reply`);
  const text = message(tab);
  await text.fill('big small');
  await text.evaluate((area) => area.setSelectionRange(0, 3));
  await button(tab, 'Bold').click();
  await text.evaluate((area) => area.setSelectionRange(8, 13));
  await tab.keyboard.press('Control+i');
  assert.equal(await text.inputValue(), '**big** *small*');
  await button(tab, 'Quote').click();
  await text.press('Control+End');
  await tab.keyboard.type('\n\nsite');
  await tab.keyboard.press('Shift+Control+ArrowLeft');
  await button(tab, 'Link').click();
  assert.equal(await text.inputValue(), '> **big** *small*\n\n[site](https://)');
  await text.press('Control+z');
  assert.equal(await text.inputValue(), '> **big** *small*\n\nsite', 'the browser can undo it');

  await button(tab, 'Preview').click();
  const preview = tab.getByRole('region', { name: 'Preview' });
  await preview.locator('blockquote strong').getByText('big').waitFor();
  await text.press('Control+End');
  await tab.keyboard.type(' and **more**');
  await preview.locator('strong').getByText('more').waitFor();
  assert.equal(new URL(tab.url()).pathname, '/threads/1/reply', 'the page is the same');
  await sound(tab);
});

inBrowser('a draft saves itself, is there later and elsewhere, and ends with the post', {}, async (tab, context) => {
  await signIn(tab, 'grace');
  await tab.goto(`${url}/threads/1`);
  await message(tab).pressSequentially('Half a thought');
  await tab.getByRole('status').getByText('Draft saved').waitFor();
  await context.clearCookies();
  await signIn(tab, 'grace');
  await tab.goto(`${url}/account/drafts`);
  await tab.getByText('Half a thought').waitFor();
  await sound(tab);
  await tab.getByRole('link', { name: 'Reply in Public thread' }).click();
  await tab.getByText('This is your draft').waitFor();
  assert.equal(await message(tab).inputValue(), 'Half a thought');
  await sound(tab);
  await message(tab).press('Control+End');
  await tab.keyboard.type(', and the rest');
  await button(tab, 'Save draft').click();
  await tab.getByRole('status').getByText('Draft saved').waitFor();
  await button(tab, 'Post reply').click();
  await tab.locator('article').last().getByText('Half a thought, and the rest').waitFor();
  await tab.goto(`${url}/account/drafts`);
  await tab.getByText('You have no drafts').waitFor();
});

inBrowser('names complete after @, and the one who is named is told', {}, async (tab, context) => {
  await signIn(tab, 'henry');
  await tab.goto(`${url}/threads/1`);
  await message(tab).pressSequentially('Ask @ad');
  const names = tab.getByRole('listbox', { name: 'Members' });
  await names.getByRole('option', { name: 'Ada Lovelace' }).waitFor();
  await sound(tab);
  await tab.keyboard.press('ArrowDown');
  await tab.keyboard.press('ArrowUp');
  await names.getByRole('option', { name: 'Ada Lovelace', selected: true }).waitFor();
  while (await names.getByRole('option', { selected: true }).innerText() !== 'Ada Lovelace') await tab.keyboard.press('ArrowDown');
  await tab.keyboard.press('Enter');
  assert.equal(await message(tab).inputValue(), 'Ask @"Ada Lovelace" ');
  await tab.keyboard.type('about it.');
  await button(tab, 'Post reply').click();
  await tab.locator('article').last().getByRole('link', { name: '@Ada Lovelace' }).waitFor();
  await sound(tab);

  await context.clearCookies();
  await signIn(tab, 'Ada Lovelace');
  await tab.getByRole('link', { name: 'Notifications 1 new' }).click();
  await tab.getByText('mentioned you in').waitFor();
  await sound(tab);
});

inBrowser('emoji complete after :, by keyboard and pointer', {}, async (tab) => {
  await signIn(tab, 'henry');
  await tab.goto(`${url}/threads/1`);
  await message(tab).pressSequentially('Well done :part');
  const signs = tab.getByRole('listbox', { name: 'Emoji' });
  await signs.getByRole('option', { name: '🎉 party', selected: true }).waitFor();
  await sound(tab);
  await tab.keyboard.press('Enter');
  assert.equal(await message(tab).inputValue(), 'Well done 🎉 ');
  await message(tab).pressSequentially('at 10:30 :sm');
  await signs.getByRole('option', { name: '🙂 smile' }).click();
  assert.equal(await message(tab).inputValue(), 'Well done 🎉 at 10:30 🙂 ');
  await signs.waitFor({ state: 'detached' });
});

inBrowser('quotations of several posts come into the text that has begun', {}, async (tab) => {
  await signIn(tab, 'mona');
  await tab.goto(`${url}/threads/1`);
  await message(tab).fill('To both of you:');
  await tab.getByLabel('Quote post 1 together with others').check();
  await tab.getByLabel('Quote post 2 together with others').check();
  await button(tab, 'Reply to the selected posts').click();
  await tab.waitForFunction(() => document.getElementById('message').value.includes('public second'));
  assert.match(await message(tab).inputValue(), /^To both of you:\n\n> \*\*alice\*\* wrote:\n>\n> public first\n\n> \*\*bob\*\* wrote:\n>\n> public second/);
  assert.equal(await tab.getByLabel('Quote post 1 together with others').isChecked(), false);
  await tab.getByRole('link', { name: 'Quote post 2', exact: true }).click();
  await tab.waitForFunction(() => document.getElementById('message').value.split('public second').length === 3);
});

// The same without script.
inBrowser('quotations of several posts begin a reply without script', { javaScriptEnabled: false }, async (tab) => {
  await signIn(tab, 'mona');
  await tab.goto(`${url}/threads/1`);
  await tab.getByLabel('Quote post 1 together with others').check();
  await tab.getByLabel('Quote post 2 together with others').check();
  await button(tab, 'Reply to the selected posts').click();
  await tab.getByRole('heading', { level: 1, name: 'Reply', exact: true }).waitFor();
  assert.match(await message(tab).inputValue(), /public first[^]*public second/);
  await button(tab, 'Save draft').click();
  await tab.getByRole('status').getByText('The draft is saved').waitFor();
  assert.match(await message(tab).inputValue(), /public first[^]*public second/);
  await sound(tab);
});

inBrowser('images come into the text by paste and drop', {}, async (tab) => {
  await signIn(tab, 'henry');
  await tab.goto(url);
  await tab.getByRole('link', { name: 'Public', exact: true }).first().click();
  await tab.getByRole('link', { name: 'New thread' }).click();
  await tab.getByLabel('Title').fill('Two pictures');
  await message(tab).fill('Look: ');
  for (const kind of ['paste', 'drop']) {
    await message(tab).evaluate(async (area, name) => {
      const canvas = Object.assign(document.createElement('canvas'), { width: 4, height: 4 });
      const blob = await new Promise((resolve) => { canvas.toBlob(resolve, 'image/png'); });
      const data = new DataTransfer();
      data.items.add(new File([blob], 'image.png', { type: 'image/png' }));
      const carried = name === 'paste' ? { clipboardData: data } : { dataTransfer: data };
      const Kind = name === 'paste' ? ClipboardEvent : DragEvent;
      area.dispatchEvent(new Kind(name, { ...carried, bubbles: true, cancelable: true }));
    }, kind);
  }
  assert.equal(await message(tab).inputValue(), 'Look: ![image](attachment:image.png)\n![image-2](attachment:image-2.png)\n');
  await button(tab, 'Start thread').click();
  await tab.getByRole('heading', { level: 1, name: 'Two pictures' }).waitFor();
  await tab.waitForFunction(() => [...document.querySelectorAll('.text img')].filter((image) => image.naturalWidth === 4).length === 2);
});
