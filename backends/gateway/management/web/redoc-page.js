// In dark mode the style sheet inverts the page, so the parts that Redoc draws dark are made light here.
const dark = matchMedia("(prefers-color-scheme: dark)").matches;
document.querySelector("redoc").setAttribute("theme", JSON.stringify({
  colors: { primary: { main: "#0b6159" } },
  ...(dark && { rightPanel: { backgroundColor: "#eef1f1", textColor: "#263238" }, codeBlock: { backgroundColor: "#263238" } }),
}));

// Redoc has faults of accessibility: wrong roles in its menu, buttons whose names differ from their texts, skipped levels
// of headings, and samples that can only be scrolled with a mouse. This mends them whenever the page changes.
new MutationObserver(() => {
  const all = (selector) => document.querySelectorAll(`redoc :is(${selector})`);
  for (const part of all("label[role=menuitem], ul[role=navigation], ul[role=menu], li[role=menuitem], .dropdown[role=button]")) part.removeAttribute("role");
  for (const button of all("button[aria-label='expand properties']")) button.removeAttribute("aria-label");
  for (const heading of all("h5:not([aria-level])")) {
    heading.setAttribute("role", "heading");
    heading.setAttribute("aria-level", "3");
  }
  for (const sample of all(".redoc-json, div:has(> pre), div:has(> code), div:has(> .redoc-json)")) sample.tabIndex = 0;
}).observe(document.querySelector("redoc"), { childList: true, subtree: true });
