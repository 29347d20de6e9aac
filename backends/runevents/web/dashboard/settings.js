// What the server was told about the dashboard.
export const settings = { unreportedAfter: 2 * 3600000 };

export async function loadSettings() {
  try {
    const response = await fetch(new URL('settings.json', import.meta.url), { credentials: 'same-origin' });
    if (response.ok) settings.unreportedAfter = (await response.json()).unreported_after * 1000;
  } catch {
    // The pages tell what is wrong with the service.
  }
}

// unreported is the query for nodes of which no report came lately.
export const unreported = () => ['or', ['null?', 'report_timestamp', true], ['<', 'report_timestamp', new Date(Date.now() - settings.unreportedAfter).toISOString()]];

// late tells whether a node is one of them.
export const late = (node) => !node.report_timestamp || Date.parse(node.report_timestamp) < Date.now() - settings.unreportedAfter;
