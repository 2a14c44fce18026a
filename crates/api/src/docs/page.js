"use strict";

// The key that is typed in stays in this page's memory: nothing is stored, and nothing but this server is asked.
SwaggerUIBundle({
  dom_id: "#page",
  url: "/openapi.json",
  deepLinking: true,
  defaultModelsExpandDepth: -1,
  displayRequestDuration: true,
  docExpansion: "list",
  persistAuthorization: false,
  validatorUrl: null,
});
