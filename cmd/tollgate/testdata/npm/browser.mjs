// A headless Chromium for the cases of the console. What a page complains of,
// its Content-Security-Policy above all, fails the case that opened it.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, test } from 'node:test';
import { chromium } from 'playwright-core';

// It finds this machine alone. With HTTPS_PORT every site is at that port of it.
const sites = process.env.HTTPS_PORT ? `MAP *:443 127.0.0.1:${process.env.HTTPS_PORT}, ` : '';
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox', `--host-resolver-rules=${sites}MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE *.localhost, EXCLUDE 127.0.0.1`] });
after(() => browser.close());

// page opens a tab of its own. complaints collects what went wrong in it; loading
// answers of an error status is what some cases are about, and no complaint.
async function page(options) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, locale: 'en-GB', ...options });
  context.setDefaultTimeout(20000);
  const tab = await context.newPage();
  const complaints = [];
  tab.on('pageerror', (error) => complaints.push(`${error.stack}`));
  tab.on('console', (message) => {
    const text = message.text();
    if (['error', 'warning'].includes(message.type()) && !text.startsWith('Failed to load resource')) complaints.push(text);
  });
  await tab.addInitScript(() => addEventListener('securitypolicyviolation', (e) => console.error(`policy: ${e.violatedDirective} ${e.blockedURI}`)));
  return { tab, complaints, context };
}

// inBrowser is a test with a tab.
export function inBrowser(name, options, run) {
  test(name, async () => {
    const { tab, complaints, context } = await page(options);
    try {
      await run(tab, context);
      assert.deepEqual(complaints, []);
    } catch (error) {
      const seen = await tab.locator('body').innerText({ timeout: 1000 }).catch(() => '');
      throw new Error(`${tab.url()} shows:\n${seen.slice(0, 2000)}\nIt complains: ${complaints.join('\n')}`, { cause: error });
    } finally {
      await context.close();
    }
  });
}

// application is where people come back to, a page called Back, on a port or on a free one.
export async function application(port = 0) {
  const server = createServer((request, answer) => answer.setHeader('Content-Type', 'text/html').end('<!doctype html><html lang="en"><title>The App</title><h1>Back</h1>'));
  await new Promise((listening) => server.listen(port, '127.0.0.1', listening));
  after(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${server.address().port}`;
}

// settled waits until the page of the address is there and nothing loads.
export async function settled(tab) {
  await tab.waitForFunction(() => document.querySelector('nav [aria-current=page]')?.dataset.path === location.hash.replace(/^#\/?/, '')
    && !document.querySelector('[aria-busy=true], .loading, button.working'));
}

// darkness is how much of what the window shows is dark and how much is light, in
// parts of all its pixels: what filters make of colours counts, too.
export async function darkness(tab) {
  const picture = (await tab.screenshot()).toString('base64');
  const bare = await tab.context().newPage(); // no policy of a page
  try {
    return await bare.evaluate(async (data) => {
      const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
      const bitmap = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
      const canvas = new OffscreenCanvas(bitmap.width, bitmap.height).getContext('2d');
      canvas.drawImage(bitmap, 0, 0);
      const pixels = canvas.getImageData(0, 0, bitmap.width, bitmap.height).data;
      let dark = 0;
      let light = 0;
      for (let i = 0; i < pixels.length; i += 4) {
        const shade = 0.2126 * pixels[i] + 0.7152 * pixels[i + 1] + 0.0722 * pixels[i + 2];
        if (shade < 64) dark++;
        if (shade > 160) light++;
      }
      const all = pixels.length / 4;
      return { dark: dark / all, light: light / all };
    }, picture);
  } finally {
    await bare.close();
  }
}

// defects lists what users of screen readers and keyboards would stumble over.
export function defects(tab) {
  return tab.evaluate(() => {
    const found = [];
    const visible = (e) => e.checkVisibility?.({ visibilityProperty: true }) ?? true;
    const text = (e) => e?.textContent.trim() ?? '';
    const name = (e) => {
      const by = e.getAttribute('aria-labelledby');
      if (by) return by.split(' ').map((id) => text(document.getElementById(id))).join(' ').trim();
      return e.getAttribute('aria-label')?.trim() || [...(e.labels ?? [])].map(text).join(' ') || (/^(BUTTON|A|SUMMARY)$/.test(e.tagName) ? text(e) : '') || e.getAttribute('alt') || '';
    };
    const tell = (e, what) => found.push(`${what}: ${e.outerHTML.slice(0, 160)}`);
    for (const e of document.querySelectorAll('input, select, textarea, button, a[href], dialog, nav, summary')) if (visible(e) && !name(e)) tell(e, 'without a name');
    for (const e of document.querySelectorAll('svg[role=img], section')) if (!name(e)) tell(e, 'without a name');
    for (const e of document.querySelectorAll('img:not([alt])')) tell(e, 'without alt');
    for (const e of document.querySelectorAll('[tabindex]')) if (Number(e.getAttribute('tabindex')) > 0) tell(e, 'tabindex above 0');
    for (const attribute of ['aria-describedby', 'aria-labelledby', 'aria-controls', 'for']) {
      for (const e of document.querySelectorAll(`[${attribute}]`)) {
        for (const id of e.getAttribute(attribute).split(' ')) if (!document.getElementById(id)) tell(e, `${attribute} leads nowhere`);
      }
    }
    const ids = [...document.querySelectorAll('[id]')].map((e) => e.id);
    for (const id of ids.filter((one, i) => ids.indexOf(one) !== i)) found.push(`the id ${id} is there twice`);
    if (document.querySelectorAll('h1').length !== 1) found.push('not one h1');
    if (document.querySelectorAll('main').length !== 1) found.push('not one main');
    for (const table of document.querySelectorAll('table')) if (!text(table.caption)) tell(table, 'without a caption');
    for (const th of document.querySelectorAll('th')) if (!text(th)) tell(th, 'without text');
    for (const list of document.querySelectorAll('ul, ol')) {
      for (const child of list.children) if (child.tagName !== 'LI') tell(child, 'in a list but no item');
    }
    if (!document.documentElement.lang || !document.title) found.push('no language or title');
    return found;
  });
}

// faint lists the visible texts whose contrast with what is behind them is below
// that of WCAG 2.2 AA: 4.5, or 3 for large text. What is disabled does not count.
export function faint(tab) {
  return tab.evaluate(() => {
    const canvas = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
    const rgba = (colour) => {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = colour;
      canvas.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
      return [r, g, b, a / 255];
    };
    const over = (top, below) => top.slice(0, 3).map((c, i) => c * top[3] + below[i] * (1 - top[3]));
    const behind = (e) => {
      const layers = [];
      for (let at = e; at; at = at.parentElement) {
        const colour = rgba(getComputedStyle(at).backgroundColor);
        layers.push(colour);
        if (colour[3] === 1) break;
      }
      return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255]);
    };
    const light = (rgb) => {
      const [r, g, b] = rgb.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const found = new Set();
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const e = node.parentElement;
      if (!node.data.trim() || !e.checkVisibility({ visibilityProperty: true }) || e.closest('.hidden, .skip, [aria-disabled=true], option, noscript, svg, .off')) continue;
      const style = getComputedStyle(e);
      const below = behind(e);
      const text = over(rgba(style.color), below);
      const [high, low] = [light(text), light(below)].sort((a, b) => b - a);
      const contrast = (high + 0.05) / (low + 0.05);
      const size = parseFloat(style.fontSize);
      const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
      if (contrast < (large ? 3 : 4.5)) found.add(`${contrast.toFixed(2)}: ${node.data.trim().slice(0, 40)}`);
    }
    return [...found];
  });
}
