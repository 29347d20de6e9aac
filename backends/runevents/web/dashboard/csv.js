// Tables as CSV files.

// download gives the browser rows of fields as a file.
export function download(name, fields, rows) {
  const text = [fields, ...rows.map((row) => fields.map((field) => row[field]))].map((line) => line.map(cell).join(',')).join('\r\n');
  const url = URL.createObjectURL(new Blob([`${text}\r\n`], { type: 'text/csv;charset=utf-8' }));
  const anchor = document.createElement('a');
  anchor.href = url;
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

// cell returns a value in quotes. Values that a spreadsheet would treat as a formula get a leading apostrophe.
function cell(value) {
  const text = value == null ? '' : typeof value === 'string' ? value : JSON.stringify(value);
  const safe = /^[=+\-@\t\r]/.test(text) && typeof value !== 'number' ? `'${text}` : text;
  return `"${safe.replaceAll('"', '""')}"`;
}
