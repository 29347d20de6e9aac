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

// Swagger UI makes its list of servers without a name for those who hear the page.
new MutationObserver(() => {
  for (const list of document.querySelectorAll("#docs .servers select:not([aria-label])")) list.setAttribute("aria-label", "Server");
}).observe(document.getElementById("docs"), { childList: true, subtree: true });
