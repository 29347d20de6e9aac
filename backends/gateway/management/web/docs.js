SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#docs",
  deepLinking: true,
  displayRequestDuration: true,
  docExpansion: "list",
  persistAuthorization: false,
  tryItOutEnabled: true,
  validatorUrl: null,
});

// Swagger UI has faults of accessibility: its list of servers has no name for screen readers, it puts links into buttons,
// and some texts can only be scrolled with a mouse. This mends them whenever the page changes.
new MutationObserver(() => {
  for (const link of document.querySelectorAll("#docs .opblock-summary-control a[href]")) link.removeAttribute("href");
  for (const text of document.querySelectorAll("#docs pre:not([tabindex])")) text.tabIndex = 0; // it scrolls
  for (const list of document.querySelectorAll("#docs .servers select:not([aria-label])")) list.setAttribute("aria-label", "Server");
}).observe(document.getElementById("docs"), { childList: true, subtree: true });
