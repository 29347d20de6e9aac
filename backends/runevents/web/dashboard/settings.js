// The settings of the dashboard from the server's configuration.
export const settings = { unreportedAfter: 2 * 3600000 };

export async function loadSettings() {
  try {
    const response = await fetch(new URL('settings.json', import.meta.url), { credentials: 'same-origin' });
    if (response.ok) settings.unreportedAfter = (await response.json()).unreported_after * 1000;
  } catch {
    // The pages show what is wrong with the service.
  }
}

// unreported returns the query for nodes without a recent report.
export const unreported = () => ['or', ['null?', 'report_timestamp', true], ['<', 'report_timestamp', new Date(Date.now() - settings.unreportedAfter).toISOString()]];

// late reports whether a node is one of them.
export const late = (node) => !node.report_timestamp || Date.parse(node.report_timestamp) < Date.now() - settings.unreportedAfter;
