// The page that is shown while no reports are stored.
import { address } from './api.js';
import { copyButton, h } from './parts/dom.js';

export function welcome() {
  const line = (text) => {
    const code = h('pre.code', null, text);
    return h('div.command', null, code, copyButton(text));
  };
  const root = new URL('.', address('x')).href;
  const { origin } = new URL(root);
  return h('section.panel.welcome', { 'aria-label': 'No data yet' },
    h('h2', null, 'No node has reported yet'),
    h('p', null, 'No reports are stored yet. Reports come from an agents’ server. For a server that reports to a PuppetDB, give this service the option ',
      h('code', null, 'alias /pdb'), ' and allow its certificate to submit. Then configure the address in the server:'),
    line(`# puppetdb.conf\n[main]\nserver_urls = ${origin}\n\n# puppet.conf\n[server]\nreports = puppetdb`),
    h('p', null, 'You can send a report in a file by hand, and a folder of reports with ', h('code', null, 'tollgate events import <folder>'), ':'),
    line(`curl -H 'Content-Type: application/json' --data-binary @report.json '${root}cmd/v1?command=store_report&version=8&certname=web01.example.com'`),
    h('p.small.muted', null, 'This page checks again every minute.'));
}
