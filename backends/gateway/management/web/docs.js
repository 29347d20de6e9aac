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

// Swagger UI makes its list of servers without a name for those who hear the page, links inside of buttons, and texts that only
// a mouse can scroll.
new MutationObserver(() => {
  for (const link of document.querySelectorAll("#docs .opblock-summary-control a[href]")) link.removeAttribute("href");
  for (const text of document.querySelectorAll("#docs pre:not([tabindex])")) text.tabIndex = 0; // it scrolls
  for (const list of document.querySelectorAll("#docs .servers select:not([aria-label])")) list.setAttribute("aria-label", "Server");
}).observe(document.getElementById("docs"), { childList: true, subtree: true });
